// The kinds of keys of text lines. COMPARISONS in fields.cuh lists them.
//
// A kind is a struct kind_NAME with a function `image`: it makes an integer of BITS bits, 128 at the most, whose order is that
// of keys. Keys whose images are equal may differ only where an image is not exact. Then the struct has a function `compare`
// for any two keys; that of ExactKind serves all other kinds. Both functions know the order, its key and their parameters.
// Bytes are compared as they stand: their images have any length, and Prefix makes them (see lines.cuh).
#pragma once

#include "digest.cuh"
#include "general.cuh"
#include "separated.cuh"
#include "version.cuh"

// A key in one line: the order, which of its keys it is, and its text.
struct KeyIn {
    const LineOrder& order;
    const Key& key;
    Text text;

    __device__ __forceinline__ long long flags() const { return key.flags; }
    // What LineKey.parameters holds, in words of 8 bytes, little-endian: the host's words, so Python packs them by "<q". The words
    // of a key begin at a multiple of 8 bytes, and the last one is filled up with zeros. There are key.parameter_words, those of
    // KeyKind.default if the key gives none. Text among them needs TEXT_PADDING bytes behind it (bytes.cuh), which Python appends,
    // because compare_bytes and others read whole words beyond a text's end.
    __device__ __forceinline__ const long long* parameters() const { return order.parameters_of(key); }
};

// The bits of an image, the most significant one first. exact: no other key has this image. A prefix of 64 bits does not ask.
// invalid: the text is no value of the kind, and has no image. Kinds of TYPED_KINDS alone have such texts.
struct KeyImage {
    Word first;
    bool exact;
    Word second = 0;
    bool invalid = false;
    int width = 0;  // the bits of it that count, which no other image begins with; 0 for all
};

// What the kinds of TYPED_KINDS give for a text that they cannot read.
__device__ __forceinline__ KeyImage no_image() { return {0, false, 0, true}; }

// Kinds whose images are all exact.
template <typename Kind>
struct ExactKind {
    __device__ static inline int compare(const KeyIn& a, const KeyIn& b)
    {
        const KeyImage x = Kind::image(a), y = Kind::image(b);
        if (x.first != y.first) return x.first < y.first ? -1 : 1;
        return (x.second > y.second) - (x.second < y.second);
    }
};

__device__ inline int compare_translated(Text x, Text y, long long flags)
{
#if TEXT_PADDING
    if (!(flags & (FOLD | DICTIONARY | PRINTABLE))) return compare_bytes(x, y);
#endif
    x.start = next_counting(x.start, x.stop, flags);
    y.start = next_counting(y.start, y.stop, flags);
    while (x.start < x.stop && y.start < y.stop) {
        const int difference = folded(*x.start, flags) - folded(*y.start, flags);
        if (difference != 0) return difference;
        x.start = next_counting(x.start + 1, x.stop, flags);
        y.start = next_counting(y.start + 1, y.stop, flags);
    }
    return (x.start < x.stop) - (y.start < y.stop);
}

struct kind_bytes {
    __device__ static inline int compare(const KeyIn& a, const KeyIn& b) { return compare_translated(a.text, b.text, a.flags()); }
};

struct kind_numeric {
    static constexpr int BITS = 64;
    __device__ static __forceinline__ KeyImage image(const KeyIn& one)
    {
        Word found;
        if (one.flags() & SEPARATED) {
            const Separated number = separated_number(one.text, one.flags());
            found = signed_image(number.number.negative, magnitude_of(number));
        } else
            found = number_image(one.text);
        return {found, is_exact(found)};
    }
    __device__ static inline int compare(const KeyIn& a, const KeyIn& b)
    {
        if (!(a.flags() & SEPARATED)) return compare_numbers(a.text, b.text);
        return compare_separated(separated_number(a.text, a.flags()), separated_number(b.text, b.flags()));
    }
};

struct kind_human {
    static constexpr int BITS = 64;
    // The number that a unit follows. Its separators lie between digits, even if those of the number that compares are loose.
    __device__ static inline Number ahead_of_unit(const KeyIn& one)
    {
        return separated_number(one.text, one.flags() & ~static_cast<long long>(LOOSE)).number;
    }
    __device__ static inline KeyImage image(const KeyIn& one)
    {
        if (one.flags() & SEPARATED) {
            const Separated found = separated_number(one.text, one.flags());
            return {unit_image(ahead_of_unit(one), magnitude_of(found), one.text, one.flags()), false};
        }
        const Number number = leading_number(one.text);
        return {unit_image(number, magnitude_of(number), one.text, one.flags()), false};
    }
    __device__ static inline int compare(const KeyIn& a, const KeyIn& b)
    {
        const long long flags = a.flags();
        if (!(flags & SEPARATED)) return compare_units(a.text, b.text, flags);
        const Separated x = separated_number(a.text, flags), y = separated_number(b.text, flags);
        const int difference = unit_order(ahead_of_unit(a), a.text, flags) - unit_order(ahead_of_unit(b), b.text, flags);
        return difference != 0 ? difference : compare_separated(x, y);
    }
};

struct kind_general {
    static constexpr int BITS = 64;
    __device__ static inline KeyImage image(const KeyIn& one) { return {general_image(one.text, one.flags()), false}; }
    __device__ static inline int compare(const KeyIn& a, const KeyIn& b) { return compare_general(a.text, b.text, a.flags()); }
};

// The number of the month whose name begins the text: 1 to 12, 0 for none.
__device__ inline int month_of(Text text)
{
    const Place at = skip_blanks(text.start, text.stop);
    if (text.stop - at < 3) return 0;
    switch (folded(at[0], FOLD) << 16 | folded(at[1], FOLD) << 8 | folded(at[2], FOLD)) {
    case 'J' << 16 | 'A' << 8 | 'N': return 1;
    case 'F' << 16 | 'E' << 8 | 'B': return 2;
    case 'M' << 16 | 'A' << 8 | 'R': return 3;
    case 'A' << 16 | 'P' << 8 | 'R': return 4;
    case 'M' << 16 | 'A' << 8 | 'Y': return 5;
    case 'J' << 16 | 'U' << 8 | 'N': return 6;
    case 'J' << 16 | 'U' << 8 | 'L': return 7;
    case 'A' << 16 | 'U' << 8 | 'G': return 8;
    case 'S' << 16 | 'E' << 8 | 'P': return 9;
    case 'O' << 16 | 'C' << 8 | 'T': return 10;
    case 'N' << 16 | 'O' << 8 | 'V': return 11;
    case 'D' << 16 | 'E' << 8 | 'C': return 12;
    }
    return 0;
}

// A key's parameters may name the months. They have MONTH_WORDS words for each name, in ascending order of the names: the number
// of the month, the bytes of the name, and the name, folded.
constexpr int MONTHS = 12, MONTH_WORDS = 6;

// The number of the month whose name in the parameters begins the text; 0 for none.
__device__ __noinline__ int named_month(const KeyIn& one)
{
    const Place at = skip_blanks(one.text.start, one.text.stop);
    int low = 0, high = MONTHS;
    while (low < high) {
        const int middle = (low + high) / 2;
        const long long* const entry = one.parameters() + middle * MONTH_WORDS;
        const Place name = reinterpret_cast<Place>(entry + 2);
        int difference = 0;
        for (long long byte = 0; byte < entry[1] && difference == 0; ++byte)
            difference = (at + byte < one.text.stop ? folded(at[byte], FOLD) : 0) - name[byte];
        if (difference == 0) return static_cast<int>(entry[0]);
        if (difference < 0) high = middle;
        else low = middle + 1;
    }
    return 0;
}

struct kind_month : ExactKind<kind_month> {
    static constexpr int BITS = 8;
    __device__ static inline KeyImage image(const KeyIn& one)
    {
        const int month = one.key.parameter_words > 0 ? named_month(one) : month_of(one.text);
        return {static_cast<Word>(month) << 56, true};
    }
};

struct kind_version {
    static constexpr int BITS = 64;
    __device__ static inline KeyImage image(const KeyIn& one) { return {version_image(one.text, one.flags()), false}; }
    __device__ static inline int compare(const KeyIn& a, const KeyIn& b) { return compare_versions(a.text, b.text, a.flags()); }
};

__device__ inline int compare_random(const long long* salt, Text a, Text b, long long flags)
{
    const int as_text = compare_translated(a, b, flags);
    if (as_text == 0) return 0;
    const Digest x = digest(salt, a, flags), y = digest(salt, b, flags);
    if (x.first != y.first) return x.first < y.first ? -1 : 1;
    if (x.rest != y.rest) return x.rest < y.rest ? -1 : 1;
    return as_text;
}

struct kind_random {
    static constexpr int BITS = 128;
    __device__ static inline KeyImage image(const KeyIn& one)
    {
        const Digest found = digest(one.parameters(), one.text, one.flags());
        return {found.first, false, found.rest};
    }
    __device__ static inline int compare(const KeyIn& a, const KeyIn& b)
    {
        return compare_random(a.parameters(), a.text, b.text, a.flags());
    }
};

#include "locale_keys.cuh"
#include "typed_keys.cuh"
