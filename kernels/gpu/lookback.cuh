// Counts that tiles publish for each other, and sums of counts in a block.
//
// A tile may have to know how many items all tiles ahead of it have. It first publishes its own count. Then it looks back, and
// adds up the counts of the tiles ahead until one of them has published the sum of all tiles up to it. At last it publishes its
// own sum. No tile waits for ever if all tiles ahead are under way or done.
// Source: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.
//
// Macros: BLOCK_SIZE threads a block, a multiple of 32; WIDE: 0 for sums of less than 2^30.
#pragma once

#ifndef WIDE
#define WIDE 0
#endif

#include "../corank.cuh"
#include "warp.cuh"

constexpr int WARPS = BLOCK_SIZE / WARP;
static_assert(BLOCK_SIZE % WARP == 0, "sums are made by whole warps");

// A tile publishes one word for each of its counts. OWN: the tile's own items are counted. SUM: those of all tiles up to it.
// 0: nothing was published yet. A word is written and read as a whole. It guards no other memory, so it needs no fence.
#if WIDE
typedef unsigned long long Said;
#else
typedef unsigned Said;
#endif
constexpr Said OWN = static_cast<Said>(1) << (8 * sizeof(Said) - 2);
constexpr Said SUM = OWN << 1;

#if defined(__CUDA_ARCH__) && WIDE
__device__ __forceinline__ void say(Said* at, Said said)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(said) : "memory");
}
__device__ __forceinline__ Said heard(const Said* at)
{
    Said said;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(said) : "l"(at) : "memory");
    return said;
}
#elif defined(__CUDA_ARCH__)
__device__ __forceinline__ void say(Said* at, Said said)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(said) : "memory");
}
__device__ __forceinline__ Said heard(const Said* at)
{
    Said said;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(said) : "l"(at) : "memory");
    return said;
}
#else
inline void say(Said* at, Said said) { __atomic_store_n(at, said, __ATOMIC_RELAXED); }
inline Said heard(const Said* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
#endif

// The sum of what all tiles ahead of `tile` count, from word number `bin` of each. A tile has COUNTS words. A thread that
// looks at AT_ONCE tiles at once calls this by itself.
template <int COUNTS, int AT_ONCE>
__device__ __forceinline__ Said look_back(const Said* said, long long tile, int bin)
{
    Said sum = 0;
    for (long long before = tile - 1;;) {
        Said words[AT_ONCE];
#pragma unroll
        for (int step = 0; step < AT_ONCE; ++step)
            words[step] = before - step >= 0 ? heard(said + (before - step) * COUNTS + bin) : SUM;
        bool waits = false;
#pragma unroll
        for (int step = 0; step < AT_ONCE; ++step) {
            waits = waits || words[step] == 0;
            if (waits) continue;
            sum += words[step] & (OWN - 1);
            if (words[step] & SUM) return sum;
            --before;
        }
    }
}

// The same for tiles of one count, found by a whole warp, which looks at WARP tiles at once. All its lanes must call this.
__device__ __forceinline__ Said look_back_together(const Said* said, long long tile)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    Said sum = 0;
    for (long long before = tile - 1, found = 0; found == 0;) {
        const Said word = before - lane >= 0 ? heard(said + before - lane) : SUM;
        const unsigned silent = __ballot_sync(ALL, word == 0), knowing = __ballot_sync(ALL, (word & SUM) != 0);
        const int spoke = silent == 0 ? WARP : __ffs(silent) - 1;
        const int wanted = knowing == 0 ? WARP + 1 : __ffs(knowing);  // up to the first tile that knows the sum
        if (lane < smaller(spoke, wanted)) sum += word & (OWN - 1);
        found = wanted <= spoke;
        before -= spoke;
    }
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) sum += static_cast<Said>(__shfl_xor_sync(ALL, sum, step));
    return sum;
}

// The sum of `own` over all lanes up to this one. Every lane of the warp must call this.
template <typename Number>
__device__ __forceinline__ Number sum_up_to(Number own)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const Number other = __shfl_up_sync(ALL, own, step, WARP);
        if (lane >= step) own += other;
    }
    return own;
}

// The sum of `own` over all threads with a lower number. COUNTED: only the first so many warps have numbers other than 0.
// sums: WARPS numbers of shared memory, which are free. Every thread of the block must call this, and all must meet at a
// barrier before they call it again.
template <int COUNTED = WARPS, typename Number>
__device__ __forceinline__ Number sum_ahead(Number own, Number* sums)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    const Number with_own = sum_up_to(own);
    if (lane == WARP - 1) sums[warp] = with_own;
    __syncthreads();  // the sums of all warps are there before any thread reads one
    Number ahead = with_own - own;
#pragma unroll
    for (int other = 0; other < COUNTED; ++other)
        if (other < warp) ahead += sums[other];
    return ahead;
}

// The same for numbers whose sum over the block is less than 2^16. *all becomes that sum.
__device__ __forceinline__ unsigned sums_of(unsigned own, unsigned* sums, unsigned* all)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    const unsigned with_own = sum_up_to(own);
    if (lane == WARP - 1) sums[warp] = with_own;
    __syncthreads();  // the sums of all warps are there before any thread reads one
    unsigned both = lane < WARPS ? sums[lane] : 0;  // of all warps, and above it of those ahead
    if (lane < warp) both |= both << 16;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) both += __shfl_xor_sync(ALL, both, step);
    *all = both & 0xffff;
    return with_own - own + (both >> 16);
}
