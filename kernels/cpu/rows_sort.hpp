// Sorts rows, stably. They are divided by the highest digit in which their prefixes differ, until a part fits a core's cache.
// A part is sorted by its digits from the lowest on, and rows with equal prefixes by their text. Needs rows_merge.hpp.
#pragma once

constexpr int64_t LEAST_ROWS = 1 << 13;  // the fewest rows that another thread is worth
constexpr long long FEW_ROWS = 20, SOME_ROWS = 200;
constexpr long long CACHED_ROWS = 24 << 10;  // 384 KiB, and as much to sort into: they fit a core's second cache
constexpr int FAIR = 4;  // parts a thread, at least: then none waits long for the last one
constexpr int MOST_DIGIT_BITS = 11, MOST_PASSES = 4;

struct Counts {
    unsigned of[MOST_PASSES][1 << MOST_DIGIT_BITS];
};

inline void insertion_sort(Item* rows, long long count, const Lines& lines)
{
    for (long long at = 1; at < count; ++at) {
        const Item row = rows[at];
        long long to = at;
        for (; to > 0 && before(row, rows[to - 1], lines); --to) rows[to] = rows[to - 1];
        rows[to] = row;
    }
}

// Sorts by comparisons, in place, through `other`, which has as much room.
inline void merge_sort(Item* rows, Item* other, long long count, const Lines& lines)
{
    constexpr long long BLOCK = 8;
    for (long long at = 0; at < count; at += BLOCK) insertion_sort(rows + at, smaller(BLOCK, count - at), lines);
    Item *from = rows, *to = other;
    for (long long width = BLOCK; width < count; width *= 2) {
        for (long long at = 0; at < count; at += 2 * width) {
            const long long middle = smaller(at + width, count), stop = smaller(at + 2 * width, count);
            Chain chain{from + at, from + middle, from + middle, from + stop, to + at};
            chain.finish(lines);
        }
        Item* const swapped = from;
        from = to;
        to = swapped;
    }
    if (from != rows) __builtin_memcpy(rows, from, sizeof(Item) * static_cast<size_t>(count));
}

inline Word differing_bits(const Item* rows, long long count)
{
    Word differing = 0;
    for (long long at = 1; at < count; ++at) differing |= rows[at].prefix ^ rows[0].prefix;
    return differing;
}

// Sorts each stretch of rows with equal prefixes.
inline void sort_ties(Item* rows, Item* other, long long count, const Lines& lines)
{
    if (!lines.have_ties) return;
    for (long long first = 0; first < count;) {
        long long last = first + 1;
        while (last < count && rows[last].prefix == rows[first].prefix) ++last;
        if (last - first > FEW_ROWS) merge_sort(rows + first, other + first, last - first, lines);
        else if (last - first > 1) insertion_sort(rows + first, last - first, lines);
        first = last;
    }
}

// Sorts by `bits` bits of the prefixes, from bit `low` on. Returns `rows` or `other`, whichever holds the result.
inline Item* sort_by_digits(Item* rows, Item* other, long long count, int low, int bits, Counts& counts)
{
    const int passes = (bits + MOST_DIGIT_BITS - 2) / (MOST_DIGIT_BITS - 1);
    const int digit = (bits + passes - 1) / passes;
    const Word mask = (1ull << digit) - 1;
    for (int pass = 0; pass < passes; ++pass) __builtin_memset(counts.of[pass], 0, sizeof(unsigned) << digit);
    for (long long at = 0; at < count; ++at) {
        Word rest = rows[at].prefix >> low;
        for (int pass = 0; pass < passes; ++pass, rest >>= digit) ++counts.of[pass][rest & mask];
    }
    Item *from = rows, *to = other;
    for (int pass = 0; pass < passes; ++pass) {
        unsigned* const places = counts.of[pass];
        unsigned place = 0;
        for (Word value = 0; value <= mask; ++value) {
            const unsigned here = places[value];
            places[value] = place;
            place += here;
        }
        const int shift = low + pass * digit;
        for (long long at = 0; at < count; ++at) to[places[from[at].prefix >> shift & mask]++] = from[at];
        Item* const swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

// Sorts rows through `other`. The result lies in place, or in `other` if `over`.
inline void sort_piece(Item* rows, Item* other, long long count, bool over, const Lines& lines, Counts& counts)
{
    Item* const out = over ? other : rows;
    Item* const spare = over ? rows : other;
    const auto bring = [&](const Item* from) {
        if (from != out) __builtin_memcpy(out, from, sizeof(Item) * static_cast<size_t>(count));
    };
    if (count <= SOME_ROWS) {
        bring(rows);
        if (count <= FEW_ROWS) insertion_sort(out, count, lines);
        else merge_sort(out, spare, count, lines);
        return;
    }
    const Word differing = differing_bits(rows, count);
    const int low = differing == 0 ? 0 : __builtin_ctzll(differing);
    const int bits = differing == 0 ? 0 : 64 - __builtin_clzll(differing) - low;
    if (count <= CACHED_ROWS && bits <= MOST_PASSES * (MOST_DIGIT_BITS - 1)) {
        bring(bits == 0 ? rows : sort_by_digits(rows, other, count, low, bits, counts));
        sort_ties(out, spare, count, lines);
        return;
    }
    if (bits == 0) {
        bring(rows);
        sort_ties(out, spare, count, lines);
        return;
    }
    const int wanted = 64 - __builtin_clzll(static_cast<Word>(count)) - 3;
    const int digit = smaller(smaller(bits, wanted), 8);
    const int shift = low + bits - digit;
    const Word mask = (1ull << digit) - 1;
    long long places[257] = {};
    for (long long at = 0; at < count; ++at) ++places[1 + (rows[at].prefix >> shift & mask)];
    for (int value = 0; value < 256; ++value) places[value + 1] += places[value];
    long long ends[257];
    __builtin_memcpy(ends, places, sizeof(ends));
    for (long long at = 0; at < count; ++at) other[ends[rows[at].prefix >> shift & mask]++] = rows[at];
    for (Word value = 0; value <= mask; ++value) {
        const long long first = places[value], size = places[value + 1] - first;
        if (size > 0) sort_piece(other + first, rows + first, size, !over, lines, counts);
    }
}

// Deals `rows` out to `dealt` by their highest digit, with all threads, and sorts each part through `other`. The result lies in
// `dealt`, or in `other` if `over`; rows may lie in `other`. fair: a part of more rows is dealt out again by all threads.
inline void sort_wide(const Item* rows, Item* dealt, Item* other, int64_t count, bool over, int64_t fair, const Lines& lines,
    const Team& team)
{
    std::vector<Word> found(static_cast<size_t>(team.size()), 0);
    team.share(count, LEAST_ROWS, [&](int64_t first, int64_t last, int part) {
        Word differing = 0;
        for (int64_t at = first; at < last; ++at) differing |= rows[at].prefix ^ rows[0].prefix;
        found[static_cast<size_t>(part)] = differing;
    });
    Word differing = 0;
    for (const Word word : found) differing |= word;
    const int height = differing == 0 ? 0 : 64 - __builtin_clzll(differing);
    const int low = differing == 0 ? 0 : __builtin_ctzll(differing);
    int digit = 0;
    while (digit < MOST_DIGIT_BITS && digit < height - low && count >> digit > (1 << 12)) ++digit;
    const int shift = height - digit;
    const Word mask = (1ull << digit) - 1;

    const size_t values = size_t{1} << digit;
    std::vector<int64_t> places(values * static_cast<size_t>(team.size()), 0);
    const int parts = team.share(count, LEAST_ROWS, [&](int64_t first, int64_t last, int part) {
        int64_t* const here = places.data() + values * static_cast<size_t>(part);
        if (digit == 0) here[0] = last - first;
        else
            for (int64_t at = first; at < last; ++at) ++here[rows[at].prefix >> shift & mask];
    });
    std::vector<int64_t> edges(values + 1, 0);
    int64_t place = 0;
    for (size_t value = 0; value < values; ++value) {
        edges[value] = place;
        for (int part = 0; part < parts; ++part) {
            int64_t& here = places[values * static_cast<size_t>(part) + value];
            const int64_t rows_here = here;
            here = place;
            place += rows_here;
        }
    }
    edges[values] = place;
    team.share(count, LEAST_ROWS, [&](int64_t first, int64_t last, int part) {
        int64_t* const here = places.data() + values * static_cast<size_t>(part);
        if (digit == 0) std::memcpy(dealt + here[0], rows + first, sizeof(Item) * static_cast<size_t>(last - first));
        else
            for (int64_t at = first; at < last; ++at) dealt[here[rows[at].prefix >> shift & mask]++] = rows[at];
    });

    std::atomic<size_t> next{0};
    const auto is_shared = [&](size_t value) { return digit > 0 && edges[value + 1] - edges[value] > fair; };
    team.share(team.size(), 1, [&](int64_t, int64_t, int) {
        Counts counts;
        for (size_t value = next++; value < values; value = next++)
            if (edges[value + 1] > edges[value] && !is_shared(value))
                sort_piece(dealt + edges[value], other + edges[value], edges[value + 1] - edges[value], over, lines, counts);
    });
    for (size_t value = 0; value < values; ++value)
        if (const int64_t first = edges[value]; is_shared(value))
            sort_wide(dealt + first, other + first, dealt + first, edges[value + 1] - first, !over, fair, lines, team);
}

// Sorts rows[0 .. count) to out with all threads. `spare` has as much room as out.
inline void sort_wide(
    const Item* rows, Item* out, Item* spare, int64_t count, const Lines& lines, const Team& team)
{
    const int64_t share = count / (FAIR * team.size());
    sort_wide(rows, spare, out, count, true, team.size() == 1 ? count : std::max<int64_t>(CACHED_ROWS, share), lines, team);
}
