// Sets of two sorted sequences: which items go out, and where the work can be cut.
//
// A walk goes through A and B at once. Each step looks at the next item of each. If they are equal, the step passes both;
// otherwise it passes the lesser one. Equals says for each of these three cases whether the item goes out: of equal items it
// is A's. So the k-th of equal items of A meets the k-th of B, and the rules are those of the multisets of the C++ standard:
// union, intersection, difference and symmetric difference. A merge is a walk that never passes two items.
// Source: Green, McColl and Bader, GPU Merge Path, 2012, for the cut of a merge; Baxter, moderngpu, Balanced Path, 2013, for
// that of a walk.
#pragma once

#include "corank.cuh"
#include "equals.h"

// equals: a rule with SET. side: 0 if both hold the item, 1 if only A does, 2 if only B does.
__device__ __forceinline__ unsigned goes_out(Equals equals, long long side)
{
    static_assert(EQUAL == 1 && ONLY_A == 1 << 1 && ONLY_B == 1 << 2, "sides are places of bits");
    return static_cast<unsigned>(equals) >> side & 1;
}

// The number of items of a[0 .. end) that go before `item`. It is near `end` if few items equal it.
template <typename Index, typename Sequence>
__device__ __forceinline__ Index group_start(Sequence a, Index end, Item item, Lines lines)
{
    if (end == 0 || before(a[end - 1], item, lines)) return end;
    if (!before(a[0], item, lines)) return 0;
    Index low = 1, step = 1;
    for (--end; step <= end; step *= 8) {
        if (before(a[end - step], item, lines)) {
            low = end - step + 1;
            break;
        }
        end -= step;
    }
    while (low < end) {
        const Index middle = (low + end) >> 1;
        if (before(a[middle], item, lines)) low = middle + 1;
        else end = middle;
    }
    return low;
}

// The first index in [start, m] whose item goes behind `item`. It is near `start` if few items equal it.
template <typename Index, typename Sequence>
__device__ __forceinline__ Index group_end(Sequence a, Index start, Index m, Item item, Lines lines)
{
    if (start == m || before(item, a[start], lines)) return start;
    if (!before(item, a[m - 1], lines)) return m;
    Index high = m - 1, step = 1;
    for (++start; step <= m - start; step *= 8) {
        if (before(item, a[start + step - 1], lines)) {
            high = start + step - 1;
            break;
        }
        start += step;
    }
    while (start < high) {
        const Index middle = (start + high) >> 1;
        if (before(item, a[middle], lines)) high = middle;
        else start = middle + 1;
    }
    return start;
}

// The numbers of items of A and B that a walk has passed.
template <typename Index>
struct Passed {
    Index a, b;

    __device__ __forceinline__ Index both() const { return a + b; }
};

// The state of the walk at a cut of the merge, which takes equal items from A first, where a walk takes them in pairs. It has
// passed i + j items, or one less where the next step would pass two. i must lie in [0, m], and j in [0, n]. Whatever the items
// are, `a` lies in [0, m] and `b` in [0, n].
template <typename Index, typename SequenceA, typename SequenceB>
__device__ __forceinline__ Passed<Index> walk_from_cut(
    Index i, Index j, SequenceA a, Index m, SequenceB b, Index n, Lines lines)
{
    if (i == m && j == n) return {i, j};
    const Item next = j < n && (i == m || before(b[j], a[i], lines)) ? b[j] : a[i];
    const Index first_a = group_start<Index>(a, i, next, lines), first_b = group_start<Index>(b, j, next, lines);
    const Index inside = i + j - first_a - first_b;
    if (inside == 0) return {i, j};
    // The merge took all of A's equal items before it took one of B's. The walk begins so many pairs in as many items, if
    // there are enough.
    const Index most = (inside + 1) / 2;
    if (j > first_b && i - first_a < most) return {i, j};
    if (most <= n - first_b && !before(next, b[first_b + most - 1], lines)) return {first_a + inside / 2, first_b + inside / 2};
    const Index pairs = group_end<Index>(b, j, smaller(n, first_b + most), next, lines) - first_b;
    return {first_a + inside - pairs, first_b + pairs};
}

// A state of the walk that has passed k items, or k - 1 where step k would pass two. k must lie in [0, m + n].
template <typename Index, typename SequenceA, typename SequenceB>
__device__ __forceinline__ Passed<Index> walk_cut(Index k, SequenceA a, Index m, SequenceB b, Index n, Lines lines)
{
    const Index i = co_rank<Index>(k, a, m, b, n, lines);
    return walk_from_cut<Index>(i, k - i, a, m, b, n, lines);
}
