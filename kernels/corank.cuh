// One thread's work: it cuts two sorted sequences, and merges the items between two cuts.
//
// The co-rank of an output position k is the i for which the first k items of the merge of A and B are the merge of
// A[:i] and B[:k - i]. On ties A goes first, here and in merge_sequential alike: y of B goes before x of A only if
// before(y, x). The cut is therefore unique, and merges of neighbouring pieces join without a gap.
// Source: Kirk and Hwu, Programming Massively Parallel Processors, the chapter on merge; Green, McColl and Bader, GPU
// Merge Path, 2012.
//
// A sequence is anything with operator[]: a pointer, or a ring. Index is long long for global positions and int inside
// a tile.
#pragma once

#include "keys.cuh"

__device__ __forceinline__ long long smaller(long long x, long long y) { return x < y ? x : y; }
__device__ __forceinline__ int smaller(int x, int y) { return x < y ? x : y; }

// k must lie in [0, m + n]. Reads only a[0 .. m) and b[0 .. n). Whatever the items are, the result i lies in [0, m], and
// k - i lies in [0, n]. If the sequences are not in order, i is no co-rank, and a larger k may give a smaller i.
template <typename Index, typename SequenceA, typename SequenceB>
__device__ __forceinline__ Index co_rank(Index k, SequenceA a, Index m, SequenceB b, Index n, Lines lines)
{
    Index low = k > n ? k - n : 0;
    Index high = k < m ? k : m;
    while (low < high) {
        const Index middle = (low + high) >> 1;
        if (before(b[k - 1 - middle], a[middle], lines)) high = middle;
        else low = middle + 1;
    }
    return low;
}

// Merges A from i on and B from j on, and writes the next `count` items to out[0 .. count). Returns the i behind them: the
// co-rank of the end, without a search. m - i and n - j must add up to `count` or more.
template <typename Index, typename SequenceA, typename SequenceB>
__device__ __forceinline__ Index merge_sequential(
    SequenceA a, Index i, Index m, SequenceB b, Index j, Index n, Index count, Item* out, Lines lines)
{
    Item x{}, y{};
    if (i < m) x = a[i];
    if (j < n) y = b[j];
    for (Index k = 0; k < count; ++k) {
        if (j < n && (i >= m || before(y, x, lines))) {
            out[k] = y;
            if (++j < n) y = b[j];
        } else {
            out[k] = x;
            if (++i < m) x = a[i];
        }
    }
    return i;
}

// The pieces of A and B between two cuts; their merge is the output from a + b to a_end + b_end.
struct Range {
    long long a, a_end, b, b_end;

    __device__ __forceinline__ long long a_count() const { return a_end - a; }
    __device__ __forceinline__ long long b_count() const { return b_end - b; }
    __device__ __forceinline__ long long total() const { return a_count() + b_count(); }
    __device__ __forceinline__ long long out() const { return a + b; }
};

// The range from output position `first`, with co-rank a, to output position `last`, with co-rank a_end. If the sequences
// are not in order, a_end may lie anywhere. The range then ends where one of its pieces is empty, inside the sequences.
__device__ __forceinline__ Range range_between(long long first, long long a, long long last, long long a_end)
{
    a_end = a_end < a ? a : smaller(a_end, a + last - first);
    return {a, a_end, first - a, last - a_end};
}
