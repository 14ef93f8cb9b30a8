// One block's work in the kernels that stage items in shared memory: it finds the section of the output that the block owns,
// and merges one staged round.
#pragma once

#include "runs.cuh"

extern __shared__ __align__(16) unsigned char shared_bytes[];

__device__ __forceinline__ Item* shared_items() { return reinterpret_cast<Item*>(shared_bytes); }

// The inputs of the output positions [first, last) of a pair. Every thread of the block must call this, and all must meet at
// a barrier before they call it again.
__device__ inline Range block_section(const Runs& pair, long long first, long long last, Lines lines)
{
    __shared__ long long cuts[2];  // not in shared_items(): an item may be narrower than a co-rank
    for (int edge = threadIdx.x; edge < 2; edge += blockDim.x)
        cuts[edge] = co_rank<long long>(edge == 0 ? first : last, pair.items_of(0), pair.count_of(0), pair.items_of(1),
            pair.count_of(1), lines);
    __syncthreads();  // both cuts are there before any thread reads one
    return range_between(first, cuts[0], last, cuts[1]);
}

#if !GROUPED

// Calls work(a, b, section, to) for this block's section of each pair of runs. All blocks get equal lengths of output; only
// the last blocks may get less, or nothing. Every thread of the block must call this.
template <typename Work>
__device__ __forceinline__ void for_sections(const Source& source, Item* out, Lines lines, Work work)
{
    const long long each = (source.total() + gridDim.x - 1) / gridDim.x;
    for_groups(source, out, each * blockIdx.x, each * blockIdx.x + each,
        [&](const Runs& pair, Item* to, long long first, long long last) {
            work(pair.items_of(0), pair.items_of(1), block_section(pair, first, last, lines), to);
        });
}
#endif

// Merges the first `round` items of two staged sequences to out[0 .. round). A thread merges `items` outputs at a time.
// *a_used becomes the number of them that come from A. Read it behind the next barrier.
template <typename SequenceA, typename SequenceB>
__device__ __forceinline__ void merge_round(
    SequenceA a, int a_count, SequenceB b, int b_count, int round, int items, Item* out, int* a_used, Lines lines)
{
    for (int k = threadIdx.x * items; k < round; k += blockDim.x * items) {
        const int count = k + items < round ? items : round - k;
        const int i = co_rank<int>(k, a, a_count, b, b_count, lines);
        const int i_end = merge_sequential<int>(a, i, a_count, b, k - i, b_count, count, out + k, lines);
        if (k + count == round) *a_used = i_end;
    }
}
