// Sets of rows. Needs ladder.hpp and rows_merging.hpp.
#pragma once

#include "walk.hpp"

// The two rows of a step. Text is read only where prefixes are equal. MARKS: the case in which a row goes out becomes its
// prefix: 0 if the rows are equal, 1 if only A has it, and 2 if only B does. of_b: whether equal rows are written as B has them, as
// comm does; they may differ where a locale compares whole lines.
template <bool MARKS>
struct RowSides {
    const Lines& lines;
    bool of_b = false;

    bool equals_of_b() const { return MARKS && of_b; }

    static void mark(Item* rows, long long count, int side)
    {
        if constexpr (MARKS)
            for (long long at = 0; at < count; ++at) rows[at].prefix = static_cast<Word>(side);
    }

    int compare(const Item& x, const Item& y) const
    {
        if (x.prefix == y.prefix && lines.have_ties) return compare_rows(lines, x.line, y.line);
        return (y.prefix < x.prefix) - (x.prefix < y.prefix);
    }
    static const Item& chosen(const Item* a, const Item* b, bool take_b)
    {
        uintptr_t taken = take_b;
        __asm__("" : "+r"(taken));  // without this, compilers make a branch of it
        const uintptr_t from = reinterpret_cast<uintptr_t>(a), other = reinterpret_cast<uintptr_t>(b);
        return *reinterpret_cast<const Item*>(from ^ ((from ^ other) & -taken));
    }
};

// Rows, as Combining wants its items.
struct RowSets {
    const Lines& lines;
    const LaunchSpec& launch;

    int64_t walk(const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, Equals equals) const
    {
        const Pair pair{RowKind::items_at(a), m, RowKind::items_at(b), n, RowKind::items_at(out), &lines};
        return walk_tiles(pair, launch.tile, equals, RowSides<false>{lines});
    }
    int64_t walk_marking(Run a, Run b, Item* out, Equals equals) const
    {
        const Pair pair{RowKind::items_at(a.items), a.count, RowKind::items_at(b.items), b.count, out, &lines};
        return walk_tiles(pair, launch.tile, equals, RowSides<true>{lines, compare_whole_in_locale(lines)});
    }
    void walk_cut(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n, int64_t* passed) const
    {
        const auto found = walk_cut_of({RowKind::items_at(a), m, RowKind::items_at(b), n, nullptr, &lines}, rank);
        passed[0] = found.a;
        passed[1] = found.b;
    }
    int64_t drop_equals(Byte* items, int64_t count) const
    {
        return ::drop_equals(RowKind::items_at(items), count, false, lines);
    }
};
