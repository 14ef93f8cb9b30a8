// The kinds of keys whose texts are values of a type: TYPED_KINDS in fields.cuh lists them.
//
// A text may be no value of its kind. Then its image says so, and key_classes.cuh places it. `compare` is called for values
// only. Blanks around a value do not count, nor does a carriage return behind it.
#pragma once

// Without the blanks at either end, and the carriage return of a newline.
__device__ inline Text trimmed(Text text)
{
    text.start = skip_blanks(text.start, text.stop);
    while (text.start < text.stop && (is_blank(text.stop[-1]) || text.stop[-1] == '\r')) --text.stop;
    return text;
}

// The digits of a hexadecimal number, with or without 0x ahead of them. They compare as numbers of any length: by the count of
// digits behind the leading zeros, then digit by digit.
struct kind_hex {
    static constexpr int BITS = 72, HELD = 16;  // a byte for the count, and so many digits

    // The digits behind the leading zeros. Whether all are digits is not known.
    __device__ static inline Text digits(Text text)
    {
        text = trimmed(text);
        if (text.stop - text.start > 2 && *text.start == '0' && (text.start[1] | 32) == 'x') text.start += 2;
        while (text.stop - text.start > 1 && *text.start == '0') ++text.start;
        return text;
    }

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
        const long long count = found.stop - found.start;
        held <<= 4 * (HELD - taken);
        return {static_cast<Word>(count < 255 ? count : 255) << 56 | held >> 8, count <= HELD, held << 56};
    }

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
