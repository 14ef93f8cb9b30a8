// The part of CUDA that the puzzles need, for a compiler of C++. The reader's file is compiled behind this header with
// -fsanitize=thread, which puts a call ahead of each access to memory; runtime.cpp is what these calls reach.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __shared__ static  // for declarations that learn/on_cpu.py does not read; nothing checks these
#define __noinline__
#define __restrict__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

namespace emulator {

struct Dim {
    unsigned x, y, z;
};

extern Dim thread_index, block_index, block_dim, grid_dim;

// The memory of the shared array `name`, the same for all threads of a block.
void* shared_array(const char* name, unsigned long bytes, unsigned item);

// The shared memory that the launch asks for.
void* dynamic_shared(const char* name, unsigned item);

void atomic_begins();
void atomic_ends();

}  // namespace emulator

#define threadIdx emulator::thread_index
#define blockIdx emulator::block_index
#define blockDim emulator::block_dim
#define gridDim emulator::grid_dim

typedef decltype(sizeof 0) size_t;

extern "C" {
int printf(const char*, ...);
void __syncthreads();
void __syncwarp(unsigned = 0xffffffff);
void __threadfence();
}

template <typename T>
inline T min(T a, T b)
{
    return b < a ? b : a;
}

template <typename T>
inline T max(T a, T b)
{
    return a < b ? b : a;
}

// min and max of CUDA also take an int and an unsigned int, as threadIdx.x, and then give an unsigned int.
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }

inline double ceil(double value) { return __builtin_ceil(value); }
inline float ceilf(float value) { return __builtin_ceilf(value); }
inline float ceil(float value) { return __builtin_ceilf(value); }
inline double ceil(int value) { return value; }
inline double ceil(unsigned value) { return value; }

template <typename T>
inline T __ldg(const T* place)
{
    return *place;
}

template <typename T>
inline T atomicAdd(T* place, T value)
{
    emulator::atomic_begins();
    const T before = *place;
    *place = before + value;
    emulator::atomic_ends();
    return before;
}
