// The runs that are merged. They are a table of up to 16 runs; or, with BATCHED, all runs of one level of a sort; or, with
// GROUPED, groups of runs that lie anywhere. In a level each RUNS neighbours form a group. Each group is merged on its own. A
// kernel asks any of these which group a block works on, and on which part of the group. A table is one group, and asking
// costs nothing.
//
// Macros: RUNS 2, 4, 8 or 16, in a table or a group; BATCHED 0 or 1; GROUPED 0 or 1, not with BATCHED or columns.
#pragma once

#include "columns.cuh"

#ifndef RUNS
#define RUNS 2
#endif
#ifndef BATCHED
#define BATCHED 0
#endif
#ifndef GROUPED
#define GROUPED 0
#endif

// The work of a block: a group, and the number of the block among those of the group.
struct Part {
    long long group;
    unsigned block;
};

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

    // The part of this block, if each group has `each` blocks.
    __device__ __forceinline__ Part here(unsigned each) const { return {blockIdx.x / each, blockIdx.x % each}; }

    // If every edge of a tile has a cut, and each group has `edges` edges: the number of cuts ahead of a group, and its edges.
    __device__ __forceinline__ long long cuts_ahead(long long group, long long edges) const { return group * edges; }
    __device__ __forceinline__ long long edges_of(const Runs&, long long edges, long long) const { return edges; }
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

#if !GROUPED
    __device__ __forceinline__ long long start_of(long long) const { return 0; }
    __device__ __forceinline__ long long largest() const { return total(); }
    __device__ __forceinline__ long long group_at(long long) const { return 0; }
    __device__ __forceinline__ const Runs& group(long long) const { return *this; }
    __device__ __forceinline__ Part here(unsigned) const { return {0, blockIdx.x}; }
    __device__ __forceinline__ long long cuts_ahead(long long, long long) const { return 0; }
    __device__ __forceinline__ long long edges_of(const Runs&, long long edges, long long) const { return edges; }
#endif
};

#if GROUPED

// A group, with one item at least.
struct Group {
    Runs runs;
    long long start;       // the item of the output at which its results begin
    long long cuts_ahead;  // the cuts of all groups ahead, which have one at each edge of a tile
};

// Groups of any lengths, in device memory.
struct Source {
    const Group* groups;
    const long long* blocks;  // the first block of each group in this launch
    long long count;          // of groups

    __device__ __forceinline__ long long start_of(long long group) const { return groups[group].start; }
    __device__ __forceinline__ long long largest() const { return 0; }  // `here` needs none
    __device__ __forceinline__ const Runs& group(long long number) const { return groups[number].runs; }
    __device__ __forceinline__ Part here(unsigned) const
    {
        int group = 0;  // the last one that begins with this block, or ahead of it
        for (int left = static_cast<int>(count); left > 1;) {
            const int half = left / 2;
            if (blocks[group + half] <= blockIdx.x) {
                group += half;
                left -= half;
            } else {
                left = half;
            }
        }
        return {group, blockIdx.x - static_cast<unsigned>(blocks[group])};
    }
    __device__ __forceinline__ long long cuts_ahead(long long group, long long) const { return groups[group].cuts_ahead; }
    __device__ __forceinline__ long long edges_of(const Runs& group, long long, long long tile) const
    {
        return (group.total() + tile - 1) / tile + 1;
    }
};

#else

typedef Runs Source;

#endif
#endif

#if !GROUPED

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
#endif
