// Merges rows in four chains at once, checks their order, and drops equals. Needs corank.cuh with ROWS.
#pragma once

#include "../places.cuh"

// Takes the next item of a merge. Arithmetic, not a branch, decides which item it is, because processors cannot predict it.
// Ties for which text must be read are rare enough for a branch.
__attribute__((always_inline)) inline void step(const Item*& a, const Item*& b, Item* out, const Lines& lines)
{
    uintptr_t take_b = before(*b, *a, lines);
    __asm__("" : "+r"(take_b));  // without this, compilers make a branch of it
    const uintptr_t from = reinterpret_cast<uintptr_t>(a), other = reinterpret_cast<uintptr_t>(b);
    *out = *reinterpret_cast<const Item*>(from ^ ((from ^ other) & -take_b));
    a += 1 - take_b;
    b += take_b;
}

// The state of a two-way merge.
struct Chain {
    const Item *a, *a_end, *b, *b_end;
    Item* out;

    // The number of outputs that are certain to come before either side runs out.
    long long certain() const { return smaller(static_cast<long long>(a_end - a), static_cast<long long>(b_end - b)); }

    void finish(const Lines& lines)
    {
        for (long long left = certain(); left > 0; left = certain())
            for (; left > 0; --left) step(a, b, out++, lines);
        __builtin_memcpy(out, a, sizeof(Item) * static_cast<size_t>(a_end - a));
        __builtin_memcpy(out + (a_end - a), b, sizeof(Item) * static_cast<size_t>(b_end - b));
    }
};

constexpr long long FEW_CERTAIN = 16;

// The co-rank of k_stop. It lies behind the cut at output k, whose co-rank is i: neither side goes back, even if items are
// not in order.
inline long long cut_behind(long long k, long long i, long long k_stop, const Item* a, long long m, const Item* b, long long n,
    const Lines& lines)
{
    const long long found = co_rank(k_stop, a, m, b, n, lines);
    return found < i ? i : smaller(found, i + (k_stop - k));
}

// Merges all of a[0 .. m) and b[0 .. n): four equal sections of the merge path in one loop. Four independent chains hide each
// other's latency. HAVE_TIES: equals lines.have_ties, so that the loop need not read it.
template <bool HAVE_TIES>
__attribute__((noinline)) void merge_four(
    const Item* a, long long m, const Item* b, long long n, Item* out, const Lines& given)
{
    Lines lines = given;  // a copy, which no store of an item can change
    lines.have_ties = HAVE_TIES;
    const long long quarter = (m + n) / 4;
    long long i[5] = {0, 0, 0, 0, m}, k[5] = {0, quarter, 2 * quarter, 3 * quarter, m + n};
    for (int part = 1; part < 4; ++part) i[part] = cut_behind(k[part - 1], i[part - 1], k[part], a, m, b, n, lines);
    const auto chain = [&](int part) {
        return Chain{a + i[part], a + i[part + 1], b + k[part] - i[part], b + k[part + 1] - i[part + 1], out + k[part]};
    };
    Chain c0 = chain(0), c1 = chain(1), c2 = chain(2), c3 = chain(3);
    for (;;) {
        const long long certain =
            smaller(smaller(c0.certain(), c1.certain()), smaller(c2.certain(), c3.certain()));
        if (certain < FEW_CERTAIN) break;
        const Item *a0 = c0.a, *a1 = c1.a, *a2 = c2.a, *a3 = c3.a;
        const Item *b0 = c0.b, *b1 = c1.b, *b2 = c2.b, *b3 = c3.b;
        Item *const out0 = c0.out, *const out1 = c1.out, *const out2 = c2.out, *const out3 = c3.out;
        for (long long at = 0; at < certain; ++at) {
            step(a0, b0, out0 + at, lines);
            step(a1, b1, out1 + at, lines);
            step(a2, b2, out2 + at, lines);
            step(a3, b3, out3 + at, lines);
        }
        c0 = {a0, c0.a_end, b0, c0.b_end, out0 + certain};
        c1 = {a1, c1.a_end, b1, c1.b_end, out1 + certain};
        c2 = {a2, c2.a_end, b2, c2.b_end, out2 + certain};
        c3 = {a3, c3.a_end, b3, c3.b_end, out3 + certain};
    }
    c0.finish(lines);
    c1.finish(lines);
    c2.finish(lines);
    c3.finish(lines);
}

// Merges all of a[0 .. m) and b[0 .. n), one tile after the other.
inline void merge_tiles(const Item* a, long long m, const Item* b, long long n, Item* out, long long tile, const Lines& lines)
{
    long long i = 0;
    for (long long k = 0; k < m + n;) {
        const long long k_stop = smaller(k + tile, m + n);
        const long long i_stop = cut_behind(k, i, k_stop, a, m, b, n, lines);
        (lines.have_ties ? merge_four<true> : merge_four<false>)(
            a + i, i_stop - i, b + (k - i), (k_stop - i_stop) - (k - i), out + k, lines);
        i = i_stop;
        k = k_stop;
    }
}

// The first row of [first, last) that goes before the one ahead of it, or -1. strict: or equals it. first must not be 0.
inline long long first_disorder(const Item* rows, long long first, long long last, bool strict, const Lines& lines)
{
    constexpr long long BLOCK = 32;  // a tie among more rows is likely, and then they are compared one by one
    const bool ties = strict || lines.have_ties;
    for (long long low = first; low < last; low += BLOCK) {
        const long long high = smaller(low + BLOCK, last);
        bool suspects = false;  // the loop has no exit, so that it compiles to vector compares
        for (long long at = low; at < high; ++at)
            suspects |= (rows[at].prefix < rows[at - 1].prefix) | ((rows[at].prefix == rows[at - 1].prefix) & ties);
        if (!suspects) continue;
        for (long long at = low; at < high; ++at)
            if (strict ? !before(rows[at - 1], rows[at], lines) : before(rows[at], rows[at - 1], lines)) return at;
    }
    return -1;
}

// Keeps the first of equal neighbours: moves these to the front, in place, and returns their number. ahead: items equal to
// the first one went out earlier, so none of them stays.
inline long long drop_equals(Item* rows, long long count, bool ahead, const Lines& lines)
{
    if (count == 0) return 0;
    Item last = rows[0];
    long long kept = ahead ? 0 : 1;
    for (long long at = 1; at < count; ++at) {
        const Item row = rows[at];
        const bool differs = before(last, row, lines);
        rows[kept] = row;
        kept += differs;
        last = row;
    }
    return kept;
}

// Keeps the items that `equals`, a rule of places, keeps: moves these to the front, in place, and returns their number.
inline long long keep_places(Item* rows, long long count, Equals equals, const Lines& lines)
{
    bool ahead = (equals & CONTINUED) != 0;
    long long kept = 0;
    for (long long at = 0; at < count; ++at) {
        const Item row = rows[at];
        const bool behind = at + 1 < count ? !before(row, rows[at + 1], lines) : (equals & FOLLOWED) != 0;
        rows[kept] = row;
        kept += stays(equals, ahead, behind);
        ahead = behind;
    }
    return kept;
}

// Notes for each item whether it equals the one ahead of it.
inline void note_groups(const Item* rows, long long count, int64_t* follows, Equals equals, const Lines& lines)
{
    if (count > 0) follows[0] = (equals & CONTINUED) != 0;
    for (long long at = 1; at < count; ++at) follows[at] = !before(rows[at - 1], rows[at], lines);
}
