// Numbers in text: their bounds, their 64-bit images, and their exact comparison.
//
// Numbers of any length compare by their decimal digits. An image holds a sign, 7 bits of decimal exponent and 16 digits.
// The rest is clipped, so numbers with equal images need not be equal.
#pragma once

#include "fields.cuh"

constexpr int IMAGE_DIGITS = 16;
constexpr int IMAGE_DIGIT_BITS = 56;
constexpr Word IMAGE_SCALE = 7;  // 16 digits times this still fit into 56 bits, and fill them better
constexpr long long IMAGE_BIAS = 64;

// The digits of a number, without leading zeros of the whole part and trailing zeros of the fraction.
struct Number {
    bool negative;
    Text whole, fraction;
    Place end;  // the place behind the number and all its zeros

    __device__ __forceinline__ bool zero() const
    {
        return whole.start == whole.stop && fraction.start == fraction.stop;
    }

    __device__ __forceinline__ int sign() const { return zero() ? 0 : negative ? -1 : 1; }
};

__device__ inline Number leading_number(Text text)
{
    Place at = skip_blanks(text.start, text.stop);
    Number number;
    number.negative = at < text.stop && *at == '-';
    if (number.negative) ++at;
    while (at < text.stop && *at == '0') ++at;
    number.whole.start = at;
    while (digit_at(at, text.stop)) ++at;
    number.whole.stop = number.fraction.start = number.fraction.stop = at;
    if (at < text.stop && *at == '.') {
        number.fraction.start = number.fraction.stop = ++at;
        for (; digit_at(at, text.stop); ++at)
            if (*at != '0') number.fraction.stop = at + 1;
    }
    number.end = at;
    return number;
}

// The image of 0.d1d2... x 10^exponent without its sign. digits: the first 16 digits as an integer; d1 must not be 0.
// more: digits other than 0 follow. Then the image differs from the one of the number with just these digits.
__device__ inline Word magnitude_image(long long exponent, Word digits, bool more)
{
    const long long biased = exponent + IMAGE_BIAS;
    if (biased >= 2 * IMAGE_BIAS - 1) return ~0ull >> 1;
    if (biased <= 0) return 1;
    return (static_cast<Word>(biased) << IMAGE_DIGIT_BITS) + digits * IMAGE_SCALE + more;
}

// The image with its sign. The image of zero is in the middle.
__device__ __forceinline__ Word signed_image(bool negative, Word magnitude)
{
    const Word sign = 0 - static_cast<Word>(negative);  // without a branch, because processors cannot predict signs
    return (1ull << 63) + ((magnitude ^ sign) - sign);
}

// The image of a number times 10^scale without its sign; 0 for zero.
__device__ inline Word magnitude_of(const Number& number, long long scale = 0)
{
    if (number.zero()) return 0;
    long long exponent = number.whole.stop - number.whole.start;
    Word digits = 0;
    int taken = 0;
    Place at = number.whole.start;
    for (; at < number.whole.stop && taken < IMAGE_DIGITS; ++at, ++taken) digits = digits * 10 + (*at - '0');
    bool more = false;
    for (; at < number.whole.stop && !more; ++at) more = *at != '0';
    at = number.fraction.start;
    if (exponent == 0)
        for (; *at == '0'; ++at) --exponent;
    for (; at < number.fraction.stop && taken < IMAGE_DIGITS; ++at, ++taken) digits = digits * 10 + (*at - '0');
    for (; taken < IMAGE_DIGITS; ++taken) digits *= 10;
    return magnitude_image(exponent + scale, digits, more || at < number.fraction.stop);
}

// Whether no other number has this image.
__device__ inline bool is_exact(Word image)
{
    constexpr Word zero = 1ull << 63;
    const Word magnitude = image >= zero ? image - zero : zero - image;
    const Word biased = magnitude >> IMAGE_DIGIT_BITS;
    if (biased == 0 || biased == 2 * IMAGE_BIAS - 1) return magnitude == 0;
    return (magnitude & ((1ull << IMAGE_DIGIT_BITS) - 1)) % IMAGE_SCALE == 0;
}

// The image of the leading number of a text; the image of 0 if there is none.
__device__ inline Word number_image(Text text)
{
#if TEXT_PADDING
    const ShortNumber found = short_number(skip_blanks(text.start, text.stop), text.stop);
    if (found.digits > 0)
        return signed_image(found.negative, magnitude_image(found.exponent, found.digits, false));
#endif
    const Number number = leading_number(text);
    return signed_image(number.negative, magnitude_of(number));
}

__device__ __noinline__ int compare_numbers(Text a, Text b)
{
    const Number x = leading_number(a), y = leading_number(b);
    const int sign = x.sign();
    if (sign != y.sign()) return sign < y.sign() ? -1 : 1;
    if (sign == 0) return 0;
    const long long longer = (x.whole.stop - x.whole.start) - (y.whole.stop - y.whole.start);
    int result = longer < 0 ? -1 : longer > 0 ? 1 : 0;
    if (result == 0) result = compare_bytes(x.whole, y.whole);
    if (result == 0) result = compare_bytes(x.fraction, y.fraction);
    return sign * result;
}

// The place of a number's suffix in K, M, G, ..., with the number's sign; 0 if it has no suffix, or only digits 0.
__device__ __noinline__ int unit_order(const Number& number, Text text, long long flags)
{
    if (number.zero() || number.end >= text.stop) return 0;
    int order = 0;
    switch (*number.end == 'k' ? 'K' : folded(*number.end, flags)) {
    case 'K': order = 1; break;
    case 'M': order = 2; break;
    case 'G': order = 3; break;
    case 'T': order = 4; break;
    case 'P': order = 5; break;
    case 'E': order = 6; break;
    case 'Z': order = 7; break;
    case 'Y': order = 8; break;
    }
    return number.negative ? -order : order;
}

// The image of a number with a suffix: sign, place of the suffix, number. magnitude: that of the number.
__device__ inline Word unit_image(const Number& number, Word magnitude, Text text, long long flags)
{
    const int order = unit_order(number, text, flags);
    const Word place = static_cast<Word>(order < 0 ? -order : order);
    return signed_image(number.negative, (magnitude >> 4) + (place << 59));
}

// Compares by sign and suffix, then as compare_numbers.
__device__ inline int compare_units(Text a, Text b, long long flags)
{
    const int difference = unit_order(leading_number(a), a, flags) - unit_order(leading_number(b), b, flags);
    return difference != 0 ? difference : compare_numbers(a, b);
}
