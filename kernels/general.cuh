// Numbers as C's strtold reads them: exponents, infinities, NaNs, hexadecimal.
//
// Decimal numbers compare exactly, so they differ where long doubles are equal. The limits are those of a long double: a
// number that is infinite or zero there is so here. Hexadecimal numbers are cut to 64 bits. All computing is on integers.
#pragma once

#include "separated.cuh"

enum GeneralClass { NO_NUMBER, NOT_A_NUMBER, MINUS_INFINITY, FINITE, PLUS_INFINITY };

constexpr int LEADING_DIGITS = 18;
constexpr long long LARGEST_EXPONENT = 4933, SMALLEST_EXPONENT = -4950;
// Numbers above the first one round to infinity, and numbers below the second one round to zero. Both are the 18 digits
// behind "0.", and belong to the exponents above.
constexpr Word TOO_LARGE = 118973149535723176, TOO_SMALL = 182259976594123730;
constexpr long long MANY = 1ll << 40;
constexpr long long INFINITE = MANY;
// The same limits for binary numbers: 2^16384 is infinite, and half of 2^-16445 rounds to zero.
constexpr long long LARGEST_HEIGHT = 16384, SMALLEST_HEIGHT = -16445;
constexpr long long MOST_BITS = 20000;  // binary exponents are clipped here, far beyond the limits

// The number 0.DIGITS x 10^exponent. Zero has 18 digits 0.
struct Decimal {
    long long exponent;
    Word digits;
};

// A number of any kind. The rests are the digits that follow the 18 digits of `decimal`; the whole part may have separators.
struct General {
    int kind;
    bool negative;
    Decimal decimal;
    Text whole, fraction;

    __device__ __forceinline__ int sign() const { return decimal.digits == 0 ? 0 : negative ? -1 : 1; }
};

// The byte at a place, in lower case; 0 at the end.
__device__ inline int lower_at(Place at, Place stop)
{
    if (at >= stop) return 0;
    return is_capital(*at) ? *at + 32 : *at;
}

// The value of a hexadecimal digit in lower case; -1 if the byte is no digit.
__device__ inline int hex_value(int byte)
{
    if (is_digit(byte)) return byte - '0';
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

// The signed number behind the letter at `at`, clipped; 0 if there is none.
__device__ inline long long exponent_behind(Place at, Place stop, int letter)
{
    if (lower_at(at, stop) != letter) return 0;
    ++at;
    const bool negative = at < stop && *at == '-';
    if (at < stop && (*at == '-' || *at == '+')) ++at;
    long long value = 0;
    for (; digit_at(at, stop); ++at) {
        value = value * 10 + (*at - '0');
        if (value > MANY) value = MANY;
    }
    return negative ? -value : value;
}

// `value` must not be 0.
__device__ inline Decimal decimal_of(Word value)
{
    long long exponent = LEADING_DIGITS;
    for (; value >= 1000000000000000000; value /= 10) ++exponent;
    for (; value < 100000000000000000; value *= 10) --exponent;
    return {exponent, value};
}

// mantissa x 2^scale. The result is exact if 64 bits hold its decimal digits. A number that is too large gets an exponent
// beyond the limit.
__device__ inline Decimal decimal_of(Word mantissa, long long scale)
{
    for (; (mantissa & 1) == 0; mantissa >>= 1) ++scale;
    long long height = scale;  // the place of the highest bit, counted from 1
    for (Word rest = mantissa; rest != 0; rest >>= 1) ++height;
    if (height > LARGEST_HEIGHT) return {INFINITE, 0};
    if (height < SMALLEST_HEIGHT || (height == SMALLEST_HEIGHT && mantissa == 1)) return {0, 0};
    for (; scale > 0 && mantissa >> 63 == 0; mantissa <<= 1) --scale;
    long long power = 0;  // the power of ten that the mantissa is to be multiplied by
    for (; scale < 0 && mantissa < 3689348814741910323; ++scale) {
        mantissa *= 5;  // m / 2 = 5 m / 10
        --power;
    }
    // The rest is not exact: the mantissa is doubled or halved, and 64 bits are kept.
    for (; scale > 0; --scale) {
        if (mantissa >> 63 != 0) {
            mantissa = mantissa / 10 + (mantissa % 10 >= 5);
            ++power;
        }
        mantissa *= 2;
    }
    for (; scale < 0; ++scale) {
        if (mantissa < 1844674407370955161) {
            mantissa *= 10;
            --power;
        }
        mantissa /= 2;
    }
    Decimal decimal = decimal_of(mantissa);
    decimal.exponent += power;
    return decimal;
}

// The number behind 0x.
__device__ inline Decimal hexadecimal(Place at, Place stop, int point)
{
    Word mantissa = 0;
    long long scale = 0;
    bool behind = false;
    for (; at < stop; ++at) {
        const int byte = lower_at(at, stop);
        const int digit = hex_value(byte);
        if (*at == point && !behind) {
            behind = true;
        } else if (digit < 0) {
            break;
        } else if (mantissa >> 60 == 0) {
            mantissa = mantissa << 4 | static_cast<Word>(digit);
            scale -= 4 * behind;
        } else {
            scale += 4 * !behind;
        }
    }
    if (mantissa == 0) return {0, 0};
    scale += exponent_behind(at, stop, 'p');
    return decimal_of(mantissa, scale < -MOST_BITS ? -MOST_BITS : scale > MOST_BITS ? MOST_BITS : scale);
}

__device__ inline bool word_follows(Place at, Place stop, int a, int b, int c)
{
    return lower_at(at, stop) == a && lower_at(at + 1, stop) == b && lower_at(at + 2, stop) == c;
}

__device__ __noinline__ General parsed(Text text, long long flags)
{
    const int separator = flags & SEPARATED ? flags >> THOUSANDS_AT & 255 : 0;
    const int point = flags & SEPARATED ? flags >> DECIMAL_AT & 255 : '.';
    const auto point_at = [&](Place at) { return at < text.stop && *at == point; };
    const Place stop = text.stop;
    Place at = text.start;
    while (at < stop && (*at == ' ' || (*at >= '\t' && *at <= '\r'))) ++at;
    General number{NO_NUMBER, at < stop && *at == '-', {0, 0}, {stop, stop}, {stop, stop}};
    if (at < stop && (*at == '-' || *at == '+')) ++at;
    const int infinity = number.negative ? MINUS_INFINITY : PLUS_INFINITY;
    if (word_follows(at, stop, 'i', 'n', 'f')) {
        number.kind = infinity;
        return number;
    }
    if (word_follows(at, stop, 'n', 'a', 'n')) {
        number.kind = NOT_A_NUMBER;
        return number;
    }
    if (lower_at(at, stop) == '0' && lower_at(at + 1, stop) == 'x') {
        if (hex_value(lower_at(at + 2 + point_at(at + 2), stop)) >= 0) {
            number.kind = FINITE;
            number.decimal = hexadecimal(at + 2, stop, point);
            if (number.decimal.exponent == INFINITE) {
                number.kind = infinity;
                number.decimal = {0, 0};
            }
            return number;
        }
    }
    if (!digit_at(at, stop) && !(point_at(at) && digit_at(at + 1, stop))) return number;

    number.kind = FINITE;
    while (at < stop && (*at == '0' || separates(at, text, separator, false))) ++at;
    Text whole{at, at};
    long long separators = 0;
    for (; at < stop; ++at) {
        if (is_digit(*at)) continue;
        if (!separates(at, text, separator, false)) break;
        ++separators;
    }
    whole.stop = at;
    Text fraction{at, at};
    if (point_at(at)) {
        fraction.start = ++at;
        while (digit_at(at, stop)) ++at;
        fraction.stop = at;
    }
    const long long scale = exponent_behind(at, stop, 'e');
    long long exponent = whole.stop - whole.start - separators;
    if (exponent == 0) {
        for (; fraction.start < fraction.stop && *fraction.start == '0'; ++fraction.start) --exponent;
        if (fraction.start == fraction.stop) return number;
    }
    Word digits = 0;
    int taken = 0;
    for (; whole.start < whole.stop && taken < LEADING_DIGITS; ++whole.start) {
        if (!is_digit(*whole.start)) continue;
        digits = digits * 10 + (*whole.start - '0');
        ++taken;
    }
    for (; fraction.start < fraction.stop && taken < LEADING_DIGITS; ++fraction.start, ++taken)
        digits = digits * 10 + (*fraction.start - '0');
    for (; taken < LEADING_DIGITS; ++taken) digits *= 10;
    exponent += scale;
    if (exponent > LARGEST_EXPONENT || (exponent == LARGEST_EXPONENT && digits > TOO_LARGE)) {
        number.kind = infinity;
        return number;
    }
    if (exponent < SMALLEST_EXPONENT || (exponent == SMALLEST_EXPONENT && digits < TOO_SMALL)) return number;
    number.decimal = {exponent, digits};
    number.whole = whole;
    number.fraction = fraction;
    return number;
}

// Images ascend from no number to NaN, minus infinity, finite numbers and infinity.
__device__ inline Word general_image(Text text, long long flags)
{
    const General number = parsed(text, flags);
    if (number.kind == PLUS_INFINITY) return ~0ull;
    if (number.kind != FINITE) return static_cast<Word>(number.kind);
    const Decimal decimal = number.decimal;
    const Word magnitude = decimal.digits == 0 ? 0 : magnitude_image(decimal.exponent, decimal.digits / 100, false);
    return signed_image(number.negative, magnitude >> 1);
}

// The next digit of a whole part and of the fraction behind it; 0 after the last digit.
__device__ inline int next_digit(Text& whole, Text& fraction)
{
    while (whole.start < whole.stop)
        if (const int byte = *whole.start++; is_digit(byte)) return byte;
    return fraction.start < fraction.stop ? *fraction.start++ : '0';
}

__device__ inline int compare_rests(General x, General y)
{
    while (x.whole.start < x.whole.stop || x.fraction.start < x.fraction.stop || y.whole.start < y.whole.stop ||
        y.fraction.start < y.fraction.stop) {
        const int difference = next_digit(x.whole, x.fraction) - next_digit(y.whole, y.fraction);
        if (difference != 0) return difference;
    }
    return 0;
}

__device__ inline int compare_general(Text a, Text b, long long flags)
{
    const General x = parsed(a, flags), y = parsed(b, flags);
    if (x.kind != y.kind) return x.kind - y.kind;
    if (x.kind == NOT_A_NUMBER) return x.negative - y.negative;
    if (x.kind != FINITE) return 0;
    const int sign = x.sign();
    if (sign != y.sign() || sign == 0) return sign - y.sign();
    if (x.decimal.exponent != y.decimal.exponent) return x.decimal.exponent > y.decimal.exponent ? sign : -sign;
    if (x.decimal.digits != y.decimal.digits) return x.decimal.digits > y.decimal.digits ? sign : -sign;
    return sign * compare_rests(x, y);
}
