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
typedef unsigned long long Descriptor;
#else
typedef unsigned Descriptor;
#endif
constexpr Descriptor OWN = static_cast<Descriptor>(1) << (8 * sizeof(Descriptor) - 2);
constexpr Descriptor SUM = OWN << 1;

#if defined(__CUDA_ARCH__) && WIDE
__device__ __forceinline__ void store_descriptor(Descriptor* at, Descriptor descriptor)
{
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(descriptor) : "memory");
}
__device__ __forceinline__ Descriptor load_descriptor(const Descriptor* at)
{
    Descriptor descriptor;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(descriptor) : "l"(at) : "memory");
    return descriptor;
}
#elif defined(__CUDA_ARCH__)
__device__ __forceinline__ void store_descriptor(Descriptor* at, Descriptor descriptor)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(descriptor) : "memory");
}
__device__ __forceinline__ Descriptor load_descriptor(const Descriptor* at)
{
    Descriptor descriptor;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(descriptor) : "l"(at) : "memory");
    return descriptor;
}
#else
inline void store_descriptor(Descriptor* at, Descriptor descriptor) { __atomic_store_n(at, descriptor, __ATOMIC_RELAXED); }
inline Descriptor load_descriptor(const Descriptor* at)
{
    __nanosleep(0);  // or the thread that it waits for would never run
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}
#endif

// The sum of what all tiles ahead of `tile` count, from word number `bin` of each. A tile has COUNTS words. A thread that
// looks at AT_ONCE tiles at once calls this by itself.
template <int COUNTS, int AT_ONCE>
__device__ __forceinline__ Descriptor look_back(const Descriptor* descriptors, long long tile, int bin)
{
    Descriptor sum = 0;
    for (long long before = tile - 1;;) {
        Descriptor words[AT_ONCE];
#pragma unroll
        for (int step = 0; step < AT_ONCE; ++step)
            words[step] = before - step >= 0 ? load_descriptor(descriptors + (before - step) * COUNTS + bin) : SUM;
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

#if WIDE
// The same for tiles of one count, by a whole warp, in groups of WARP tiles. A tile also adds its count to its group's sum. The
// last tile of a group publishes the sum of all groups up to it. So a warp that looks back reads a word for each tile ahead in
// its own group, and two for each of WARP groups ahead, all at once.
//
// Words of 0 at first: one for each tile; one for each group, how many of its tiles were counted, and below that their sum;
// one for each group, SUM and the sum of all groups up to it.
constexpr int COUNTED_BIT = 32;  // the lowest bit of the number of tiles that were counted

// Publishes the count of a tile, which is less than 2^26. One thread must call this.
__device__ __forceinline__ void publish_count(Descriptor* descriptors, long long tile, long long tiles, unsigned count)
{
    store_descriptor(descriptors + tile, OWN | count);
    atomicAdd(descriptors + tiles + tile / WARP, (static_cast<Descriptor>(1) << COUNTED_BIT) + count);
}

// The sum of what all tiles ahead of `tile` count. All lanes of a warp must call this, behind say_count for the same tile.
__device__ __forceinline__ Descriptor look_back_together(
    Descriptor* descriptors, long long tile, long long tiles, unsigned count)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP, at = static_cast<int>(tile % WARP);
    const long long group = tile / WARP;
    const Descriptor* const sums = descriptors + tiles;
    Descriptor* const up_to = descriptors + tiles + (tiles + WARP - 1) / WARP;
    long long before = group - 1 - lane;
    const auto own_here = [&] { return lane < at ? load_descriptor(descriptors + group * WARP + lane) : OWN; };
    const auto known_here = [&] { return before >= 0 ? load_descriptor(up_to + before) : SUM; };
    const auto sum_here = [&] { return before >= 0 ? load_descriptor(sums + before) : 0; };
    Descriptor own = own_here(), known = known_here(), sum = sum_here();
    while (__ballot_sync(ALL, own == 0)) own = own_here();
    Descriptor ahead = own & (OWN - 1);
    for (;;) {
        const unsigned knowing = __ballot_sync(ALL, known != 0);
        const unsigned waiting = __ballot_sync(ALL, sum >> COUNTED_BIT != WARP);
        const int last = knowing == 0 ? WARP : __ffs(knowing) - 1;  // the lane of the nearest group that knows
        const unsigned wanted = last == WARP ? ALL : (1u << last) - 1;
        if ((waiting & wanted) == 0) {
            if (lane < last) ahead += sum & ((static_cast<Descriptor>(1) << COUNTED_BIT) - 1);
            if (lane == last) ahead += known & (OWN - 1);
            if (last < WARP) break;
            before -= WARP;
        }
        known = known_here();
        sum = sum_here();
    }
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) ahead += static_cast<Descriptor>(__shfl_xor_sync(ALL, ahead, step));
    if (at == WARP - 1 && lane == 0) store_descriptor(up_to + group, SUM | (ahead + count));
    return ahead;
}
#endif

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
