// The kinds of keys whose texts are values of a type: TYPED_KINDS in fields.cuh lists them.
//
// A text may be no value of its kind. Then its image says so, and key_classes.cuh places it. `compare` is called for values
// only. Blanks around a value do not count, nor does a carriage return behind it.
#pragma once

// With vectors, some kinds have a function `exact_image`. It makes the image of a text that vectors read, and which is exact.
#if TEXT_PADDING && defined(__SSE4_1__)
#define HAS_VECTORS 1
#include "cpu/typed_words.hpp"
#else
#define HAS_VECTORS 0
#endif

__device__ __noinline__ Text without_blanks(Text text)
{
    text.start = skip_blanks(text.start, text.stop);
    while (text.start < text.stop && (is_blank(text.stop[-1]) || text.stop[-1] == '\r')) --text.stop;
    return text;
}

// Without the blanks at either end, and the carriage return of a newline.
__device__ __forceinline__ Text trimmed(Text text)
{
    if (text.start < text.stop && *text.start > ' ' && text.stop[-1] > ' ') return text;
    return without_blanks(text);
}

// The digits of a hexadecimal number, with or without 0x ahead of them. They compare as numbers of any length: by the count of
// digits behind the leading zeros, then digit by digit.
struct kind_hex {
    static constexpr int BITS = 72, HELD = 16;  // a byte for the count, and so many digits

    // The digits without 0x. Whether all are digits is not known.
    __device__ static __forceinline__ Text bare(Text text)
    {
        text = trimmed(text);
        if (text.stop - text.start > 2 && *text.start == '0' && (text.start[1] | 32) == 'x') text.start += 2;
        return text;
    }

    // The same behind the leading zeros.
    __device__ static inline Text digits(Text text)
    {
        text = bare(text);
        while (text.stop - text.start > 1 && *text.start == '0') ++text.start;
        return text;
    }

    // held: the first digits behind the leading zeros, from the top of the word on. count: the number of all of these.
    __device__ static __forceinline__ KeyImage image_of(Word held, long long count)
    {
        if (count >= 255) return {255ull << 56, false};  // the digits say nothing where the counts may differ
        return {static_cast<Word>(count) << 56 | held >> 8, count <= HELD, held << 56};
    }

#if HAS_VECTORS
    __device__ static __forceinline__ bool exact_image(Text text, KeyImage& image)
    {
        text = bare(text);
        const long long count = text.stop - text.start;
        Word held;
        if (count == 0 || count > HELD || !hex_digits(text.start, static_cast<int>(count), held)) return false;
        const long long zeros = held == 0 ? count - 1 : __builtin_clzll(held) / 4;
        image = image_of(held << 4 * zeros, count - zeros);
        return true;
    }

    __device__ static __noinline__ KeyImage image(const KeyIn& one)
    {
        KeyImage found;
        if (exact_image(one.text, found)) return found;
        const Text all = digits(one.text);
        const auto next = [&](Place at, Word& held) {
            return hex_digits(at, all.stop - at < HELD ? static_cast<int>(all.stop - at) : HELD, held);
        };
        Word held, others;
        if (all.start == all.stop || !next(all.start, held)) return no_image();
        for (Place at = all.start + HELD; at < all.stop; at += HELD)
            if (!next(at, others)) return no_image();
        return image_of(held, all.stop - all.start);
    }
#else
    __device__ static inline KeyImage image(const KeyIn& one)
    {
        const Text found = digits(one.text);
        if (found.start == found.stop) return no_image();
        Word held = 0;
        int taken = 0;
        for (Place at = found.start; at < found.stop; ++at) {
            const int digit = hex_value(*at | (*at >= 'A') << 5);
            if (digit < 0) return no_image();
            if (taken < HELD) {
                held = held << 4 | static_cast<Word>(digit);
                ++taken;
            }
        }
        return image_of(held << 4 * (HELD - taken), found.stop - found.start);
    }
#endif

    __device__ static inline int compare(const KeyIn& a, const KeyIn& b)
    {
        Text x = digits(a.text), y = digits(b.text);
        const long long longer = (x.stop - x.start) - (y.stop - y.start);
        if (longer != 0) return longer < 0 ? -1 : 1;
        for (; x.start < x.stop; ++x.start, ++y.start) {
            const int difference = hex_value(lower_at(x.start, x.stop)) - hex_value(lower_at(y.start, y.stop));
            if (difference != 0) return difference;
        }
        return 0;
    }
};

// Keys by their number of characters of UTF-8. Blanks count.
struct kind_length : ExactKind<kind_length> {
    static constexpr int BITS = 40;
    __device__ static inline KeyImage image(const KeyIn& one)
    {
        Word count = 0;
        for (Place at = one.text.start; at < one.text.stop; ++at) count += (*at & 0xc0) != 0x80;
        return {count << (64 - BITS), true};
    }
};

struct kind_bytes_length : ExactKind<kind_bytes_length> {
    static constexpr int BITS = 40;
    __device__ static inline KeyImage image(const KeyIn& one)
    {
        return {static_cast<Word>(one.text.stop - one.text.start) << (64 - BITS), true};
    }
};

// Keys by their places in a list of values. Its parameters: the number of values, for each in the order of their bytes the word at
// which it begins, its bytes and its place in the list; then the values. Other keys go behind all these, by their bytes.
struct kind_list {
    static constexpr int BITS = 40;

    __device__ static inline long long place(const KeyIn& one)
    {
        const long long* const words = one.parameters();
        const Text text = trimmed(one.text);
        long long low = 0, high = words[0];
        while (low < high) {
            const long long middle = (low + high) / 2;
            const long long* const entry = words + 1 + 3 * middle;
            const Place start = reinterpret_cast<Place>(words + entry[0]);
            const int order = compare_bytes(text, {start, start + entry[1]});
            if (order == 0) return entry[2];
            if (order < 0) high = middle;
            else low = middle + 1;
        }
        return words[0];
    }

    __device__ static inline KeyImage image(const KeyIn& one)
    {
        const long long found = place(one);
        return {static_cast<Word>(found) << (64 - BITS), found < one.parameters()[0]};
    }

    __device__ static inline int compare(const KeyIn& a, const KeyIn& b)
    {
        const long long x = place(a), y = place(b);
        if (x != y) return x < y ? -1 : 1;
        return x < a.parameters()[0] ? 0 : compare_bytes(trimmed(a.text), trimmed(b.text));
    }
};

#include "address_keys.cuh"
#include "duration_keys.cuh"
#include "size_keys.cuh"
#include "time_keys.cuh"
