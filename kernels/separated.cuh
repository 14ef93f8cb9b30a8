// Numbers with separators between their digits, as 1,234.50 and 1.234,50: keys with the flag SEPARATED.
#pragma once

#include "numbers.cuh"

// `number.whole` has separators between its digits, of which there are `digits`.
struct Separated {
    Number number;
    long long digits;
};

// The separator counts only between two digits, unless it is loose. It is 0 if there is none.
__device__ inline bool separates(Place at, Text text, int separator, bool loose)
{
    if (loose) return separator != 0 && *at == separator;
    return separator != 0 && *at == separator && at > text.start && is_digit(at[-1]) && digit_at(at + 1, text.stop);
}

__device__ inline Separated separated_number(Text text, long long flags)
{
    const int separator = flags >> THOUSANDS_AT & 255, point = flags >> DECIMAL_AT & 255;
    const bool loose = flags & LOOSE;
    Separated found{leading_number({text.start, text.start}), 0};
    Number& number = found.number;
    Place at = skip_blanks(text.start, text.stop);
    number.negative = at < text.stop && *at == '-';
    at += number.negative;
    while (at < text.stop && (*at == '0' || separates(at, text, separator, loose))) ++at;
    number.whole.start = at;
    for (; at < text.stop && (is_digit(*at) || separates(at, text, separator, loose)); ++at) found.digits += is_digit(*at);
    number.whole.stop = number.fraction.start = number.fraction.stop = at;
    if (at < text.stop && *at == point) {
        number.fraction.start = number.fraction.stop = ++at;
        for (; digit_at(at, text.stop); ++at)
            if (*at != '0') number.fraction.stop = at + 1;
    }
    number.end = at;
    return found;
}

// As magnitude_of for a number without separators.
__device__ inline Word magnitude_of(const Separated& found)
{
    if (found.number.zero()) return 0;
    const Text parts[2] = {found.number.whole, found.number.fraction};
    long long exponent = found.digits;
    Word digits = 0;
    int taken = 0;
    bool more = false;
    for (const Text& part : parts)
        for (Place at = part.start; at < part.stop; ++at) {
            if (!is_digit(*at)) continue;
            if (taken == 0 && *at == '0') --exponent;
            else if (taken < IMAGE_DIGITS) {
                digits = digits * 10 + (*at - '0');
                ++taken;
            } else
                more = more || *at != '0';
        }
    for (; taken < IMAGE_DIGITS; ++taken) digits *= 10;
    return magnitude_image(exponent, digits, more);
}

// As compare_numbers.
__device__ inline int compare_separated(const Separated& x, const Separated& y)
{
    const int sign = x.number.sign();
    if (sign != y.number.sign()) return sign < y.number.sign() ? -1 : 1;
    if (sign == 0) return 0;
    if (x.digits != y.digits) return x.digits < y.digits ? -sign : sign;
    Place b = y.number.whole.start;
    for (Place a = x.number.whole.start; a < x.number.whole.stop; ++a) {
        if (!is_digit(*a)) continue;
        while (!is_digit(*b)) ++b;
        if (*a != *b) return *a < *b ? -sign : sign;
        ++b;
    }
    return sign * compare_bytes(x.number.fraction, y.number.fraction);
}
