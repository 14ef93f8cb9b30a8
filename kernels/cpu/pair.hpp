// Two slices on their way to being merged, and what the rungs that stage rounds have in common. Included by ladder.hpp.
#pragma once

// Two slices and where their merge goes.
struct Pair {
    const Item* a;
    long long m;
    const Item* b;
    long long n;
    Item* out;
    const Lines* lines;  // that rows compare by

    long long total() const { return m + n; }
    long long certain() const { return smaller(m, n); }
    long long co_rank_of(long long rank) const { return co_rank<long long>(rank, a, m, b, n, *lines); }
    // The merge on either side of an output position and its co-rank: of slices that partition these, sorted or not.
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

// The first `count` outputs of the merge of two staged sequences, shared out among `block` threads. Gives how many of
// them came from A.
template <typename Sequence>
long long merge_round(
    Sequence a, long long m, Sequence b, long long n, long long count, long long block, Item* out, const Lines& lines)
{
    const long long items = (count + block - 1) / block;
    long long i = 0;
    for (long long k = 0; k < count; k += items) {
        const long long stop = smaller(k + items, count);
        // Of items that are not sorted a co-rank may lie before the last, or too far behind it.
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
