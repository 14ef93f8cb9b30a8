// The parts that the baselines of CCCL share: the type of keys, its own `<`, and the version of CCCL. nvcc compiles these
// files into libraries that Python loads (backends/gpu/cccl.py).
//
// Macros: ANCHOR_KEY, the C++ type of keys; ANCHOR_DESCENDING; ANCHOR_PAYLOAD, the bytes that go with each key in an array
// of their own: 0, 4 or 8.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>
#include <new>

typedef ANCHOR_KEY Key;

struct First {
    __host__ __device__ bool operator()(Key y, Key x) const { return ANCHOR_DESCENDING ? x < y : y < x; }
};

#if ANCHOR_PAYLOAD == 8
typedef std::uint64_t Payload;
#else
typedef std::uint32_t Payload;
#endif

// For Thrust: hands out pieces of the room, one behind the other.
struct Room {
    typedef char value_type;
    char *at, *end;

    char* allocate(std::ptrdiff_t bytes)
    {
        char* const piece = at;
        at += (bytes + 255) / 256 * 256;
        if (at > end) throw std::bad_alloc();
        return piece;
    }

    void deallocate(char*, std::size_t) {}
};

extern "C" const char* cccl_error(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }
