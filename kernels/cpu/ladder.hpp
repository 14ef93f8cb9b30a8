// The first rungs of the ladder on the CPU. A host thread runs the threads of a block one after the other. These are the
// twins of merge_basic.cu, merge_tiled.cu and merge_circular.cu, for teaching and for comparison. The fast rung is
// keys_path.hpp for keys and rows_merge.hpp for rows.
//
// Included in the anonymous namespace of each unit, behind corank.cuh.
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
    long long co_rank_of(long long rank) const { return co_rank<long long>(rank, a, m, b, n, *lines); }
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

// Each thread finds the co-rank at the end of its section of `items` outputs (0: all), and merges the section in place.
inline void merge_basic(Pair pair, long long items)
{
    while (pair.total() > 0) {
        const long long count = items > 0 ? smaller(items, pair.total()) : pair.total();
        const long long i = pair.co_rank_of(count);
        merge_sequential<long long>(pair.a, 0, i, pair.b, 0, count - i, count, pair.out, *pair.lines);
        pair = pair.tail(count, i);
    }
}

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

// Stages up to `tile` items of each input, because either may fill the round alone. Half of them are staged again.
inline void merge_tiled_full(Pair pair, const LaunchSpec& launch, Item* scratch)
{
    Item *const tile_a = scratch, *const tile_b = scratch + launch.tile;
    while (pair.total() > 0) {
        const long long m = smaller(static_cast<long long>(launch.tile), pair.m);
        const long long n = smaller(static_cast<long long>(launch.tile), pair.n);
        const long long count = smaller(static_cast<long long>(launch.tile), pair.total());
        copy_items(tile_a, pair.a, m);
        copy_items(tile_b, pair.b, n);
        const long long used = merge_round<const Item*>(tile_a, m, tile_b, n, count, launch.block_size, pair.out, *pair.lines);
        pair.advance(used, count - used);
    }
}

// Stages only the items that the round consumes. For this it first finds the co-rank of the round's end in the inputs.
inline void merge_tiled_exact(Pair pair, const LaunchSpec& launch, Item* scratch)
{
    while (pair.total() > 0) {
        const long long count = smaller(static_cast<long long>(launch.tile), pair.total());
        const long long m = pair.co_rank_of(count);
        copy_items(scratch, pair.a, m);
        copy_items(scratch + m, pair.b, count - m);
        merge_round<const Item*>(scratch, m, scratch + m, count - m, count, launch.block_size, pair.out, *pair.lines);
        pair.advance(m, count - m);
    }
}

// A view of a ring that begins at its oldest unread item.
struct Ring {
    Item* items;
    long long size, head;

    Item& operator[](long long at) const
    {
        const long long place = head + at;
        return items[place < size ? place : place - size];
    }
};

// The state of one input. The ring holds `held` unread items, and `next` is the first item that was never loaded.
struct Feed {
    const Item *next, *end;
    Ring ring;
    long long held;

    void refill()
    {
        const long long count = smaller(ring.size - held, static_cast<long long>(end - next));
        for (long long at = 0; at < count; ++at) ring[held + at] = next[at];
        next += count;
        held += count;
    }

    void consume(long long count)
    {
        ring.head = (ring.head + count) % ring.size;
        held -= count;
    }
};

// As merge_tiled_full, but items that a round leaves over stay in a ring, and only the places of consumed ones are refilled.
inline void merge_circular(Pair pair, const LaunchSpec& launch, Item* scratch)
{
    Feed a{pair.a, pair.a + pair.m, {scratch, launch.tile, 0}, 0};
    Feed b{pair.b, pair.b + pair.n, {scratch + launch.tile, launch.tile, 0}, 0};
    for (long long left = pair.total(); left > 0;) {
        a.refill();
        b.refill();
        const long long count = smaller(static_cast<long long>(launch.tile), left);
        const long long used = merge_round(a.ring, a.held, b.ring, b.held, count, launch.block_size, pair.out, *pair.lines);
        a.consume(used);
        b.consume(count - used);
        pair.out += count;
        left -= count;
    }
}

// Merges by the rung that the launch names, or by merge_path(pair, launch.tile). scratch: room for 2 * launch.tile items, if
// the rung stages items.
template <typename Path>
void merge_by(const LaunchSpec& launch, const Pair& pair, Item* scratch, Path merge_path)
{
    switch (launch.kernel) {
    case BASIC: return merge_basic(pair, launch.items);
    case TILED_FULL: return merge_tiled_full(pair, launch, scratch);
    case TILED_EXACT: return merge_tiled_exact(pair, launch, scratch);
    case CIRCULAR: return merge_circular(pair, launch, scratch);
    default: return merge_path(pair, launch.tile);
    }
}
