// A radix sort of words, or of pairs of a word and a number, that stays in cache. Equal words keep their order.
//
// Many items are first dealt out to buckets that are sorted in a core's caches. A table finds the bucket of an item by the first
// bits of its word. The table is made from a sample: if many items have equal first bits, it divides them by the bits that
// follow, and if few have, they share a bucket. (Half of all floats may share an exponent.) A bucket is sorted by its top
// bits, as many as tell nearly all of its words apart, one digit after the other from the lowest (LSD). The few groups with
// equal top bits are sorted again by the bits in which they differ.
//
// Sources: Knuth, The Art of Computer Programming 3, 5.2.5; Wassenberg and Sanders, Engineering a Multi-core Radix Sort
// (2011).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace radix {

constexpr int DIGIT = 11;        // the most bits of a digit: its counts stay in the innermost cache
constexpr int MOST_DIGITS = 3;
constexpr int SPARE_BITS = 7;    // bits beyond those that number the items: 1 item in 128 meets an equal one
constexpr int64_t INSERTION = 16;

struct Pair {
    uint64_t word, number;
};

inline uint8_t word_of(uint8_t item) { return item; }
inline uint16_t word_of(uint16_t item) { return item; }
inline uint32_t word_of(uint32_t item) { return item; }
inline uint64_t word_of(uint64_t item) { return item; }
inline uint64_t word_of(const Pair& item) { return item.word; }

template <typename Item>
using Word = decltype(word_of(Item{}));

// The number of the highest bit that is set, counted from 1; 0 if none is.
inline int bit_width(uint64_t word) { return word == 0 ? 0 : 64 - __builtin_clzll(word); }

struct Counts {
    uint32_t of[MOST_DIGITS][1 << DIGIT];
};

template <typename Item>
void insertion_sort(Item* items, int64_t count)
{
    for (int64_t i = 1; i < count; ++i) {
        const Item item = items[i];
        int64_t k = i;
        for (; k > 0 && word_of(item) < word_of(items[k - 1]); --k) items[k] = items[k - 1];
        items[k] = item;
    }
}

template <int PASSES, typename Item>
void count_digits(const Item* items, int64_t count, int low, int width, Counts& counts)
{
    for (int pass = 0; pass < PASSES; ++pass) std::memset(counts.of[pass], 0, sizeof(uint32_t) << width);
    const uint32_t mask = (1u << width) - 1;
    for (int64_t i = 0; i < count; ++i) {
        const Word<Item> word = word_of(items[i]) >> low;
        ++counts.of[0][word & mask];
        if (PASSES > 1) ++counts.of[1][word >> width & mask];
        if (PASSES > 2) ++counts.of[2][word >> 2 * width & mask];
    }
}

// Moves the items, one after the other, to the places of their digits in `out`. Items that changed since they were counted may
// overwrite others, and never leave `out`.
template <typename Item>
void deal(const Item* items, int64_t count, Item* out, int shift, int width, uint32_t* counts)
{
    const uint32_t mask = (1u << width) - 1;
    uint32_t place = 0;
    for (uint32_t digit = 0; digit <= mask; ++digit) {
        const uint32_t held = counts[digit];
        counts[digit] = place;
        place += held;
    }
    for (int64_t i = 0; i < count; ++i) {
        const Item item = items[i];
        const uint32_t at = counts[word_of(item) >> shift & mask]++;
        if (at < count) out[at] = item;
    }
}

template <typename Item>
void sort_piece(Item* items, Item* other, int64_t count, Counts& counts);

// Sorts those groups of items with equal bits from `low` on that are not in order. All other items must be in order.
template <typename Item>
void sort_groups(Item* items, Item* other, int64_t count, int low, Counts& counts)
{
    constexpr int64_t BLOCK = 64;
    const auto top = [=](int64_t i) { return word_of(items[i]) >> low; };
    for (int64_t i = 1; i < count;) {
        const int64_t stop = std::min(i + BLOCK, count);
        bool bad = false;  // the loop has no exit, so that it compiles to vector compares
        for (int64_t k = i; k < stop; ++k) bad |= word_of(items[k]) < word_of(items[k - 1]);
        if (!bad) {
            i = stop;
            continue;
        }
        while (i + 1 < stop && !(word_of(items[i]) < word_of(items[i - 1]))) ++i;
        int64_t first = i - 1, last = i + 1;
        while (first > 0 && top(first - 1) == top(i)) --first;
        while (last < count && top(last) == top(i)) ++last;
        sort_piece(items + first, other, last - first, counts);
        i = last;
    }
}

// Sorts the items in place. `other` has room for as many. Their number must be below 2 ** 32.
template <typename Item>
void sort_piece(Item* items, Item* other, int64_t count, Counts& counts)
{
    if (count <= INSERTION) return insertion_sort(items, count);
    Word<Item> differing = 0;
    for (int64_t i = 0; i < count; ++i) differing |= word_of(items[i]) ^ word_of(items[0]);
    if (differing == 0) return;
    const int height = bit_width(differing), size = bit_width(count);
    const int most = std::min(DIGIT, std::max(4, size - 2));
    const int wanted = std::min(height, size + SPARE_BITS);
    const int passes = std::min(MOST_DIGITS, (wanted + most - 1) / most);
    const int width = (std::min(wanted, passes * most) + passes - 1) / passes;
    const int low = std::max(0, height - passes * width);
    if (passes == 1) count_digits<1>(items, count, low, width, counts);
    else if (passes == 2) count_digits<2>(items, count, low, width, counts);
    else count_digits<3>(items, count, low, width, counts);
    Item *from = items, *to = other;
    for (int pass = 0; pass < passes; ++pass) {
        const int shift = low + pass * width;
        if ((differing >> shift & ((1u << width) - 1)) == 0) continue;
        deal(from, count, to, shift, width, counts.of[pass]);
        std::swap(from, to);
    }
    if (from != items) std::memcpy(items, from, count * sizeof(Item));
    if (low > 0) sort_groups(items, other, count, low, counts);
}

}  // namespace radix
