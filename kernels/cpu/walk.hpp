// Walks of two sorted sequences on the CPU: see sets.cuh. Four sections of a walk run in one loop, as in keys_path.hpp and
// rows_merge.hpp. Each writes to where it would begin if every item went out; then gaps are closed.
//
// Included in the anonymous namespace of each unit, behind ladder.hpp. Sides is a type with these members:
//     compare(x, y)         negative, zero or positive, if x goes before, with or behind y
//     chosen(a, b, take_b)  *b or *a, without a branch
//     equals_of_b()         whether B's item goes out if two are equal, and not A's
//     mark(items, count, side)
//                           takes note that these items went out because both sides hold them (0), only A (1), or only B (2)
#pragma once

#include "../sets.cuh"

constexpr long long FEW_STEPS = 16;     // fewer certain steps are not worth the set-up of a loop without checks
constexpr long long LEAST_WALKED = 64;  // items of a tile

template <typename Sides>
__forceinline__ void walk_step(const Item*& a, const Item*& b, Item*& out, Equals equals, const Sides& sides)
{
    const auto order = sides.compare(*a, *b);
    const long long a_first = order < 0, b_first = order > 0;  // as wide as addresses, or steps take more registers
    const long long side = a_first + 2 * b_first;
    // Each item is written, even if the next one overwrites it.
    *out = sides.chosen(a, b, sides.equals_of_b() ? 1 - a_first : b_first);
    sides.mark(out, 1, static_cast<int>(side));
    a += 1 - b_first;
    b += 1 - a_first;
    out += goes_out(equals, side);
}

// Puts out the items that only one side holds; returns their end.
template <typename Sides>
Item* pass(Item* out, const Item* from, long long count, int side, const Sides& sides)
{
    copy_items(out, from, count);
    sides.mark(out, count, side);
    return out + count;
}

// One section of a walk.
struct Section {
    const Item *a, *a_end, *b, *b_end;
    Item* out;

    // The steps that are certain to find an item on either side.
    long long certain() const { return smaller(static_cast<long long>(a_end - a), static_cast<long long>(b_end - b)); }

};

// Passes all that is left of a section; returns the end of what went out.
template <typename Sides>
__noinline__ Item* finish(Section section, Equals equals, const Sides& sides)
{
    auto& [a, a_end, b, b_end, out] = section;
    for (long long left = section.certain(); left > 0; left = section.certain())
        for (; left > 0; --left) walk_step(a, b, out, equals, sides);
    if (equals & ONLY_A) out = pass(out, a, a_end - a, 1, sides);
    if (equals & ONLY_B) out = pass(out, b, b_end - b, 2, sides);
    return out;
}

// The items of the pair that a walk has passed at about output position `rank`.
__noinline__ inline Passed<long long> walk_cut_of(const Pair& pair, long long rank)
{
    return walk_cut<long long>(rank, pair.a, pair.m, pair.b, pair.n, *pair.lines);
}

template <typename Sides>
__noinline__ void walk_certain(Section (&sections)[4], long long certain, Equals equals, const Sides& sides)
{
    Section s0 = sections[0], s1 = sections[1], s2 = sections[2], s3 = sections[3];
    for (long long step = 0; step < certain; ++step) {
        walk_step(s0.a, s0.b, s0.out, equals, sides);
        walk_step(s1.a, s1.b, s1.out, equals, sides);
        walk_step(s2.a, s2.b, s2.out, equals, sides);
        walk_step(s3.a, s3.b, s3.out, equals, sides);
    }
    sections[0] = s0;
    sections[1] = s1;
    sections[2] = s2;
    sections[3] = s3;
}

// The walk through all of the pair, in four sections; returns the end of what went out.
template <typename Sides>
Item* walk_four(const Pair& pair, Equals equals, const Sides& sides)
{
    Section sections[4];
    Item* starts[4];
    Passed<long long> at{0, 0};
    for (int part = 0; part < 4; ++part) {
        // The search is in the rest of both. So sections never go backwards, even if items are not in order.
        const Pair rest{pair.a + at.a, pair.m - at.a, pair.b + at.b, pair.n - at.b, pair.out, pair.lines};
        const long long rank = std::clamp((part + 1) * pair.total() / 4 - at.both(), 0ll, rest.total());
        const Passed<long long> cut = part == 3 ? Passed<long long>{rest.m, rest.n} : walk_cut_of(rest, rank);
        starts[part] = pair.out + at.both();
        sections[part] = {rest.a, rest.a + cut.a, rest.b, rest.b + cut.b, starts[part]};
        at = {at.a + cut.a, at.b + cut.b};
    }
    for (;;) {
        const long long certain = smaller(
            smaller(sections[0].certain(), sections[1].certain()), smaller(sections[2].certain(), sections[3].certain()));
        if (certain < FEW_STEPS) break;
        walk_certain(sections, certain, equals, sides);
    }
    Item* end = pair.out;
    for (int part = 0; part < 4; ++part) {
        const long long count = finish(sections[part], equals, sides) - starts[part];
        if (end != starts[part]) std::memmove(end, starts[part], sizeof(Item) * static_cast<size_t>(count));
        end += count;
    }
    return end;
}

// The walk through all of the pair, tile by tile; returns the number of items that went out. `out` has room for all.
template <typename Sides>
long long walk_tiles(Pair pair, long long tile, Equals equals, const Sides& sides)
{
    Item* const begin = pair.out;
    tile = tile < LEAST_WALKED ? LEAST_WALKED : tile;
    while (pair.m > 0 && pair.n > 0) {
        Passed<long long> cut{pair.m, pair.n};
        if (pair.total() > tile) {
            cut = walk_cut_of(pair, tile);
            if (cut.both() == 0) cut = {pair.m, pair.n};  // only if items are not in order
        }
        const Pair here{pair.a, cut.a, pair.b, cut.b, pair.out, pair.lines};
        pair.out = here.certain() >= 4 * FEW_STEPS
            ? walk_four(here, equals, sides)
            : finish(Section{here.a, here.a + here.m, here.b, here.b + here.n, here.out}, equals, sides);
        pair = {pair.a + cut.a, pair.m - cut.a, pair.b + cut.b, pair.n - cut.b, pair.out, pair.lines};
    }
    if (equals & ONLY_A) pair.out = pass(pair.out, pair.a, pair.m, 1, sides);
    if (equals & ONLY_B) pair.out = pass(pair.out, pair.b, pair.n, 2, sides);
    return pair.out - begin;
}
