// Merges and sorts of keys by a team of host threads.
#pragma once

#include <cstdint>
#include <vector>

#include "combining.hpp"
#include "keys_radix.hpp"
#include "merging.hpp"

// Keys, as Merging wants its items.
struct KeyKind {
    const OrderSpec& order;
    const KeyFunctions& keys;

    typedef uint64_t Mark;
    typedef PieceSorter Sorter;
    static constexpr int64_t PIECE_BYTES = 1 << 18, MOST_CASCADED = 32;  // a piece stays in a core's second cache

    int64_t co_rank(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n) const
    {
        return keys.co_rank(rank, a, m, b, n);
    }
    void merge(const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, const LaunchSpec& launch, Byte* scratch) const
    {
        keys.merge(a, m, b, n, out, launch, scratch);
    }
    Mark mark(const Byte* item) const
    {
        Mark image;
        keys.images(item, 1, &image);
        return image;
    }
    bool before(Mark x, Mark y) const { return x < y; }
    int64_t bound(const Byte* items, int64_t count, Mark mark, bool through) const
    {
        return keys.bound(items, count, mark, through);
    }
    void reserve(Sorter& sorter, int64_t items) const { sorter.reserve(items, order.width); }
    void sort_piece(Sorter& sorter, Byte* items, int64_t count, Byte* out) const
    {
        sorter.sort(order, keys, items, count, out);
    }
};

// Keys, as Combining wants its items.
struct KeySets {
    const KeyFunctions& keys;
    const LaunchSpec& launch;

    int64_t walk(const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, Equals equals) const
    {
        return keys.walk(a, m, b, n, out, launch.tile, equals);
    }
    void walk_cut(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n, int64_t* passed) const
    {
        keys.walk_cut(rank, a, m, b, n, passed);
    }
    int64_t drop_equals(Byte* items, int64_t count) const { return keys.drop_equals(items, count, false); }
};

// Everything that a merge needs besides the runs. `spare` is kept from merge to merge.
struct KeyMerge {
    const OrderSpec& order;
    const KeyFunctions& keys;
    int64_t width;
    const LaunchSpec& launch;
    const Team& team;
    Buffer& spare;

    // See Merging.
    void merge(const std::vector<Run>& runs, Byte* out) const;
};
