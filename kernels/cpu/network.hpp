// Vectors of integers, by the compiler's own vector types, and the network that merges two of them: a bitonic one (Batcher 1968),
// which has neither branches nor dependent loads.
#pragma once

#include <utility>

#include "../host.cuh"

// Vectors of BYTES bytes. DESCENDS: greater lanes go first.
template <typename Integer, int BYTES, bool DESCENDS = false>
struct Network {
    typedef Integer Vector __attribute__((vector_size(BYTES)));
    static constexpr int LANES = BYTES / static_cast<int>(sizeof(Integer));

    // In each lane the one that goes first, or the one that goes last.
    static __forceinline__ Vector first(Vector x, Vector y) { return DESCENDS ? greater(x, y) : lesser(x, y); }
    static __forceinline__ Vector last(Vector x, Vector y) { return DESCENDS ? lesser(x, y) : greater(x, y); }
    static __forceinline__ Vector lesser(Vector x, Vector y) { return x < y ? x : y; }
    static __forceinline__ Vector greater(Vector x, Vector y) { return x > y ? x : y; }

    static __forceinline__ Vector reversed(Vector x) { return reversed_by(x, EachLane{}); }

    // Puts a bitonic vector in order.
    template <int DISTANCE = LANES / 2>
    static __forceinline__ Vector in_order(Vector x)
    {
        if constexpr (DISTANCE == 0) return x;
        else return in_order<DISTANCE / 2>(exchanged<DISTANCE>(x, EachLane{}));
    }

private:
    typedef std::make_integer_sequence<int, LANES> EachLane;

    template <int... LANE>
    static __forceinline__ Vector reversed_by(Vector x, std::integer_sequence<int, LANE...>)
    {
        return __builtin_shufflevector(x, x, (LANES - 1 - LANE)...);
    }

    // Puts each two lanes that are DISTANCE apart in order.
    template <int DISTANCE, int... LANE>
    static __forceinline__ Vector exchanged(Vector x, std::integer_sequence<int, LANE...>)
    {
        const Vector other = __builtin_shufflevector(x, x, (LANE ^ DISTANCE)...);
        x = __builtin_shufflevector(first(x, other), last(x, other), (LANE & DISTANCE ? LANES + LANE : LANE)...);
#ifdef __AVX512BW__
        // So that the blend becomes a mask of the instruction ahead, and no part of the next shuffle.
        if constexpr (BYTES == 64) asm("" : "+v"(x));
#endif
        return x;
    }
};
