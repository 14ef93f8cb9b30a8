// CUDA's words for a C++ compiler, so that the shared headers compile for the CPU unchanged.
#pragma once

#define ON_HOST 1
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)
