// Rows, as Merging wants its items. Needs ladder.hpp and rows_sort.hpp.
#pragma once

struct RowKind {
    const Lines& lines;

    typedef Item Mark;
    typedef Counts Sorter;
    // Merging rows costs more than reading them from a cache further out. But short pieces are not worth their set-up.
    static constexpr int64_t PIECE_BYTES = 1 << 22, MOST_CASCADED = 1 << 30;

    int64_t co_rank(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n) const
    {
        return ::co_rank<long long>(rank, items_at(a), m, items_at(b), n, lines);
    }

    void merge(const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, const LaunchSpec& launch, Byte* scratch) const
    {
        const Pair whole{items_at(a), m, items_at(b), n, items_at(out), &lines};
        merge_by(launch, whole, items_at(scratch), [](const Pair& pair, long long tile, bool) {
            merge_tiles(pair.a, pair.m, pair.b, pair.n, pair.out, tile < 1 ? 1 : tile, *pair.lines);
        });
    }

    Mark mark(const Byte* item) const { return *items_at(item); }
    bool before(const Mark& x, const Mark& y) const { return ::before(x, y, lines); }

    int64_t bound(const Byte* items, int64_t count, const Mark& mark, bool through) const
    {
        const Item* const rows = items_at(items);
        return gallop(count, [&](int64_t at) { return through ? !before(mark, rows[at]) : before(rows[at], mark); });
    }

    void reserve(Sorter&, int64_t) const {}
    void sort_piece(Sorter& counts, Byte* items, int64_t count, Byte* out) const
    {
        ::sort_piece(items_at(items), items_at(out), count, true, lines, counts);
    }

    static const Item* items_at(const Byte* bytes) { return reinterpret_cast<const Item*>(bytes); }
    static Item* items_at(Byte* bytes) { return reinterpret_cast<Item*>(bytes); }
};

// Sorts each tile of `tile` rows of rows[0 .. count) to out. Throws std::bad_alloc.
inline void sort_tiles(const Item* rows, long long count, long long tile, Item* out, const Lines& lines, const Team& team)
{
    tile = smaller(tile, count);
    Room<Item> room;
    Item* const copies = room.reserve(static_cast<size_t>(team.size() * tile));
    team.share((count + tile - 1) / tile, 1, [&](int64_t first, int64_t last, int part) {
        Item* const copy = copies + part * tile;
        Counts counts;
        for (long long at = first * tile; at < smaller(static_cast<long long>(last) * tile, count); at += tile) {
            const long long here = smaller(tile, count - at);
            __builtin_memcpy(copy, rows + at, sizeof(Item) * static_cast<size_t>(here));
            sort_piece(copy, out + at, here, true, lines, counts);
        }
    });
}
