// Enough of CUDA to run the kernels on a CPU, where sanitizers see every access: a fiber for each thread of a block,
// blocks one after another or a few at once, a barrier for __syncthreads. See fibers.hpp.
//
// Static shared memory keeps what the block before left in it, and dynamic shared memory is filled with a pattern, as
// neither is initialised on a device.
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "fibers.hpp"

#define __global__
#define __device__
#define __constant__ static const
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)
#define __grid_constant__

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

namespace shim {

constexpr unsigned WARP = 32;

// Lets the threads of a warp exchange values: each leaves a value, and reads those of others behind a barrier.
struct Warp {
    Barrier barrier;
    unsigned long long said[WARP];
};

struct AlignedDelete {
    void operator()(unsigned char* bytes) const { operator delete[](bytes, std::align_val_t(16)); }
};

// Exactly as many bytes as asked for, so that an overrun lands in the address sanitizer's red zone.
using Bytes = std::unique_ptr<unsigned char[], AlignedDelete>;

inline Bytes allocate(std::size_t bytes)
{
    return Bytes(static_cast<unsigned char*>(operator new[](bytes, std::align_val_t(16))));
}

// The threads that run one block after another, and what they share.
struct Block {
    explicit Block(unsigned threads) : warps((threads + WARP - 1) / WARP)
    {
        barrier.reset(threads);
        for (unsigned warp = 0; warp < warps.size(); ++warp) {
            const unsigned there = threads - warp * WARP;
            warps[warp].barrier.reset(there < WARP ? there : WARP);
        }
    }

    Barrier barrier;
    std::vector<Warp> warps;
    Bytes memory;
};

template <typename Read>
auto exchange(unsigned long long value, Read read)
{
    Warp& warp = block->warps[thread_index.x / WARP];
    warp.said[thread_index.x % WARP] = value;
    warp.barrier.wait();
    const auto heard = read(warp.said);
    warp.barrier.wait();
    return heard;
}

// together: the blocks that run at the same time. Kernels with static shared memory allow only one.
template <typename Kernel>
void launch(unsigned blocks, unsigned threads, std::size_t shared, Kernel kernel, unsigned together = 1)
{
    block_dim = {threads};
    grid_dim = {blocks};
    std::vector<std::unique_ptr<Block>> running;
    for (unsigned first = 0; first < together; ++first) running.push_back(std::make_unique<Block>(threads));
    run_fibers(together * threads, [&](unsigned fiber) {
        const unsigned first = fiber / threads, thread = fiber % threads;
        Block* const own = running[first].get();
        for (unsigned number = first; number < blocks; number += together) {
            if (thread == 0) {
                own->memory = allocate(shared);
                std::memset(own->memory.get(), 0xcd, shared);
            }
            own->barrier.wait();
            place_fiber(own, {thread}, {number}, own->memory.get());
            kernel();
            own->barrier.wait();
        }
    });
}

}  // namespace shim

#define threadIdx shim::thread_index
#define blockIdx shim::block_index
#define blockDim shim::block_dim
#define gridDim shim::grid_dim

inline void __syncthreads() { shim::block->barrier.wait(); }

inline void __syncwarp()
{
    shim::exchange(0, [](const unsigned long long*) { return 0; });
}

// Called by a thread that waits for a word of another one.
inline void __nanosleep(unsigned) { shim::let_others_run(); }

inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

inline unsigned __ballot_sync(unsigned mask, bool says)
{
    return shim::exchange(says, [&](const unsigned long long* said) {
        unsigned bits = 0;
        for (unsigned lane = 0; lane < shim::WARP; ++lane)
            if (mask >> lane & 1) bits |= static_cast<unsigned>(said[lane]) << lane;
        return bits;
    });
}

inline bool __any_sync(unsigned mask, bool says) { return __ballot_sync(mask, says) != 0; }

inline long long __shfl_sync(unsigned, long long value, int lane, int width)
{
    const int first = static_cast<int>(threadIdx.x % shim::WARP) / width * width;
    return shim::exchange(value, [&](const unsigned long long* said) -> long long { return said[first + lane % width]; });
}

inline long long __shfl_xor_sync(unsigned, long long value, int bits)
{
    return shim::exchange(value, [&](const unsigned long long* said) -> long long {
        return said[threadIdx.x % shim::WARP ^ bits];
    });
}

inline long long __shfl_up_sync(unsigned, long long value, int lanes, int)
{
    const int lane = static_cast<int>(threadIdx.x % shim::WARP);
    return shim::exchange(value, [&](const unsigned long long* said) -> long long {
        return said[lane < lanes ? lane : lane - lanes];
    });
}

inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }

// bits: not 0.
inline int __clz(int bits) { return __builtin_clz(static_cast<unsigned>(bits)); }

inline int __ffs(unsigned bits) { return __builtin_ffs(static_cast<int>(bits)); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }

template <typename T>
T atomicAdd(T* address, T value)
{
    return std::atomic_ref<T>(*address).fetch_add(value);
}

template <typename T>
T atomicOr(T* address, T value)
{
    return std::atomic_ref<T>(*address).fetch_or(value);
}

template <typename T>
T atomicMin(T* address, T value)
{
    std::atomic_ref<T> target(*address);
    T seen = target.load();
    while (value < seen && !target.compare_exchange_weak(seen, value)) {}
    return seen;
}

template <typename T>
T atomicMax(T* address, T value)
{
    std::atomic_ref<T> target(*address);
    T seen = target.load();
    while (value > seen && !target.compare_exchange_weak(seen, value)) {}
    return seen;
}
