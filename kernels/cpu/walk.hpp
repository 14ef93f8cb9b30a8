// Walks of two sorted sequences on the CPU: see sets.cuh. Four sections of a walk run in one loop, as in keys_path.hpp and
// rows_merge.hpp. Each writes to where it would begin if every item went out; then gaps are closed.
//
// Included in the anonymous namespace of each unit, behind ladder.hpp. Sides is a type with two functions:
//     compare(x, y)         negative, zero or positive, if x goes before, with or behind y
//     chosen(a, b, take_b)  *b or *a, without a branch
//     mark(items, count, side)
//                           takes note that these items went out because both sides hold them (0), only A (1), or only B (2)
#pragma once

#include "../sets.cuh"

constexpr long long FEW_STEPS = 16;     // fewer certain steps are not worth the set-up of a loop without checks
constexpr long long LEAST_WALKED = 64;  // items of a tile

template <typename Sides>
__forceinline__ void walk_step(const Item*& a, const Item*& b, Item*& out, unsigned rule, const Sides& sides)
{
    const auto order = sides.compare(*a, *b);
    const bool a_first = order < 0, b_first = order > 0;
    *out = sides.chosen(a, b, b_first);  // each item is written, even if the next one overwrites it
    sides.mark(out, 1, a_first + 2 * b_first);
    out += goes_out(rule, a_first, b_first);
    a += 1 - b_first;
    b += 1 - a_first;
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

    // Passes all that is left.
    template <typename Sides>
    void finish(unsigned rule, const Sides& sides)
    {
        for (long long left = certain(); left > 0; left = certain())
            for (; left > 0; --left) walk_step(a, b, out, rule, sides);
        if (rule & ONLY_A) out = pass(out, a, a_end - a, 1, sides);
        if (rule & ONLY_B) out = pass(out, b, b_end - b, 2, sides);
    }
};

template <typename Sides>
void walk_certain(Section (&sections)[4], long long certain, unsigned rule, const Sides& sides)
{
    Section s0 = sections[0], s1 = sections[1], s2 = sections[2], s3 = sections[3];
    for (long long step = 0; step < certain; ++step) {
        walk_step(s0.a, s0.b, s0.out, rule, sides);
        walk_step(s1.a, s1.b, s1.out, rule, sides);
        walk_step(s2.a, s2.b, s2.out, rule, sides);
        walk_step(s3.a, s3.b, s3.out, rule, sides);
    }
    sections[0] = s0;
    sections[1] = s1;
    sections[2] = s2;
    sections[3] = s3;
}

// The walk through all of the pair, in four sections; returns the end of what went out.
template <typename Sides>
Item* walk_four(const Pair& pair, unsigned rule, const Sides& sides)
{
    Section sections[4];
    Item* starts[4];
    Passed<long long> at{0, 0};
    for (int part = 0; part < 4; ++part) {
        // The search is in the rest of both. So sections never go backwards, even if items are not in order.
        const long long m = pair.m - at.a, n = pair.n - at.b;
        const long long rank = std::clamp((part + 1) * pair.total() / 4 - at.both(), 0ll, m + n);
        const Passed<long long> cut =
            part == 3 ? Passed<long long>{m, n} : walk_cut<long long>(rank, pair.a + at.a, m, pair.b + at.b, n, *pair.lines);
        starts[part] = pair.out + at.both();
        sections[part] = {pair.a + at.a, pair.a + at.a + cut.a, pair.b + at.b, pair.b + at.b + cut.b, starts[part]};
        at = {at.a + cut.a, at.b + cut.b};
    }
    for (;;) {
        const long long certain = smaller(
            smaller(sections[0].certain(), sections[1].certain()), smaller(sections[2].certain(), sections[3].certain()));
        if (certain < FEW_STEPS) break;
        walk_certain(sections, certain, rule, sides);
    }
    Item* end = pair.out;
    for (int part = 0; part < 4; ++part) {
        sections[part].finish(rule, sides);
        const long long count = sections[part].out - starts[part];
        if (end != starts[part]) std::memmove(end, starts[part], sizeof(Item) * static_cast<size_t>(count));
        end += count;
    }
    return end;
}

// The walk through all of the pair, tile by tile; returns the number of items that went out. `out` has room for all.
template <typename Sides>
long long walk_tiles(Pair pair, long long tile, unsigned rule, const Sides& sides)
{
    Item* const begin = pair.out;
    tile = tile < LEAST_WALKED ? LEAST_WALKED : tile;
    while (pair.m > 0 && pair.n > 0) {
        Passed<long long> cut{pair.m, pair.n};
        if (pair.total() > tile) {
            cut = walk_cut<long long>(tile, pair.a, pair.m, pair.b, pair.n, *pair.lines);
            if (cut.both() == 0) cut = {pair.m, pair.n};  // only if items are not in order
        }
        const Pair here{pair.a, cut.a, pair.b, cut.b, pair.out, pair.lines};
        if (here.certain() >= 4 * FEW_STEPS) {
            pair.out = walk_four(here, rule, sides);
        } else {
            Section all{here.a, here.a + here.m, here.b, here.b + here.n, here.out};
            all.finish(rule, sides);
            pair.out = all.out;
        }
        pair = {pair.a + cut.a, pair.m - cut.a, pair.b + cut.b, pair.n - cut.b, pair.out, pair.lines};
    }
    if (rule & ONLY_A) pair.out = pass(pair.out, pair.a, pair.m, 1, sides);
    if (rule & ONLY_B) pair.out = pass(pair.out, pair.b, pair.n, 2, sides);
    return pair.out - begin;
}
