// The kinds of keys whose texts are values of a type: TYPED_KINDS in fields.cuh lists them.
//
// A text may be no value of its kind. Then its image says so, and key_classes.cuh places it. `compare` is called for values
// only. Blanks around a value do not count.
#pragma once

// Without the blanks at either end.
__device__ inline Text trimmed(Text text)
{
    text.start = skip_blanks(text.start, text.stop);
    while (text.start < text.stop && is_blank(text.stop[-1])) --text.stop;
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
