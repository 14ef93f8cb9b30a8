// Two slices that are merged, and the code that the staging rungs share. Included by ladder.hpp.
//
// Searches, and loops that finish what little is left, are not inlined: a tile calls each of them a few times, and each copy of
// them would take its part of the build's time.
#pragma once

// Two slices, and the place of their merge.
struct Pair {
    const Item* a;
    long long m;
    const Item* b;
    long long n;
    Item* out;
    const Lines* lines;  // by which rows compare

    long long total() const { return m + n; }
    long long certain() const { return smaller(m, n); }
    __noinline__ long long co_rank_of(long long rank) const { return co_rank<long long>(rank, a, m, b, n, *lines); }
    // The pairs ahead of output position `rank` and behind it; i is its co-rank. They partition the slices, even if these are
    // not sorted.
    Pair head(long long rank, long long i) const { return {a, i, b, rank - i, out, lines}; }
    Pair tail(long long rank, long long i) const { return {a + i, m - i, b + (rank - i), n - (rank - i), out + rank, lines}; }

    void advance(long long i, long long j)
    {
        a += i;
        m -= i;
        b += j;
        n -= j;
        out += i + j;
    }
};

// Merges two staged sequences to `count` outputs, divided among `block` threads. Returns how many of them come from A.
template <typename Sequence>
long long merge_round(
    Sequence a, long long m, Sequence b, long long n, long long count, long long block, Item* out, const Lines& lines)
{
    const long long items = (count + block - 1) / block;
    long long i = 0;
    for (long long k = 0; k < count; k += items) {
        const long long stop = smaller(k + items, count);
        // If items are not sorted, a co-rank may lie ahead of the last one, or too far behind it.
        const long long rank = co_rank<long long>(stop, a, m, b, n, lines);
        const long long i_stop = smaller(rank > i ? rank : i, i + stop - k);
        merge_sequential<long long>(a, i, i_stop, b, k - i, stop - i_stop, stop - k, out + k, lines);
        i = i_stop;
    }
    return i;
}

inline void copy_items(Item* to, const Item* from, long long count)
{
    if (count > 0) std::memcpy(to, from, count * sizeof(Item));
}
