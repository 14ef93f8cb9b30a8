// The runs that are merged. They are a table of up to 16 runs or, with BATCHED, all runs of one level of a sort. In a level
// each RUNS neighbours form a group, which is merged on its own. A kernel asks either of them which group a block works on,
// and on which part of the group. A table is one group, and asking costs nothing.
//
// Macros: RUNS 2, 4, 8 or 16, in a table or a group; BATCHED 0 or 1.
#pragma once

#include "columns.cuh"

#ifndef RUNS
#define RUNS 2
#endif
#ifndef BATCHED
#define BATCHED 0
#endif

#if BATCHED

// A group: runs of `length` items, one behind the other, and `whole` items in all. The last runs may be shorter, or empty.
struct Runs {
    const Item* items;
    long long length, whole;

    __device__ __forceinline__ long long start_of(int run) const { return smaller(run * length, whole); }
    __device__ __forceinline__ const Item* items_of(int run) const { return items + start_of(run); }
    __device__ __forceinline__ long long count_of(int run) const { return start_of(run + 1) - start_of(run); }
    __device__ __forceinline__ long long total() const { return whole; }
};

// `count` items in sorted runs of `length` items. The last run may be shorter.
struct Source {
    const Item* items;
    long long length, count;

    __device__ __forceinline__ long long total() const { return count; }

    // The number of items ahead of a group, in the input and in the output.
    __device__ __forceinline__ long long start_of(long long group) const { return group * RUNS * length; }
    __device__ __forceinline__ long long largest() const { return smaller(RUNS * length, count); }
    __device__ __forceinline__ long long group_at(long long item) const { return item / (RUNS * length); }
    __device__ __forceinline__ Runs group(long long number) const
    {
        const long long start = start_of(number);
        return {items + start, length, smaller(RUNS * length, count - start)};
    }

    // If each group has `each` blocks: the group of this block, and the number of this block in its group.
    __device__ __forceinline__ unsigned group_here(unsigned each) const { return blockIdx.x / each; }
    __device__ __forceinline__ unsigned block_here(unsigned each) const { return blockIdx.x % each; }
};

#else

struct Runs {
#if FROM_COLUMNS
    const Key* keys[RUNS];
    long long counts[RUNS];

    __device__ __forceinline__ KeyColumn items_of(int run) const { return {keys[run]}; }
#else
    const Item* items[RUNS];
    long long counts[RUNS];

    __device__ __forceinline__ const Item* items_of(int run) const { return items[run]; }
#endif
    __device__ __forceinline__ long long count_of(int run) const { return counts[run]; }
    __device__ __forceinline__ long long total() const
    {
        long long sum = 0;
#pragma unroll
        for (int run = 0; run < RUNS; ++run) sum += counts[run];
        return sum;
    }

    __device__ __forceinline__ long long start_of(long long) const { return 0; }
    __device__ __forceinline__ long long largest() const { return total(); }
    __device__ __forceinline__ long long group_at(long long) const { return 0; }
    __device__ __forceinline__ const Runs& group(long long) const { return *this; }
    __device__ __forceinline__ unsigned group_here(unsigned) const { return 0; }
    __device__ __forceinline__ unsigned block_here(unsigned) const { return blockIdx.x; }
};

typedef Runs Source;

#endif

// Calls work(group, to, first, last) for each group that has output in [begin, end). The output positions [first, last) of
// the group belong to that range, and `to` is where the group's output begins.
template <typename Work>
__device__ __forceinline__ void for_groups(
    const Source& source, Item* out, long long begin, long long end, Work work)
{
    end = smaller(end, source.total());
    while (begin < end) {
        const long long number = source.group_at(begin);
        const long long start = source.start_of(number);
        const Runs& group = source.group(number);
        const long long last = smaller(end - start, group.total());
        work(group, out + start, begin - start, last);
        begin = start + last;
    }
}
