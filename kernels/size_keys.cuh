// Sizes: numbers with units, as 10 MB, 1.5GiB or 900k, compared by their values, whatever their units and digits.
//
// K, M, G, ... are powers of 1000, Ki, Mi, Gi, ... powers of 1024. A product of decimal digits and a power of 1024 is made digit by
// digit, the least significant one first, so it needs no memory and is exact.
#pragma once

#include "numbers.cuh"

constexpr int MOST_POWER = 10;  // Q

// A number times 1000^power or, if `binary`, 1024^power.
struct Size {
    Number number;
    int power;
    bool binary, valid;

    __device__ __forceinline__ long long scale() const { return binary ? 0 : 3 * power; }
};

// The power that a letter in lower case stands for; 0 for other bytes.
__device__ inline int power_of(int letter)
{
    switch (letter) {
    case 'k': return 1;
    case 'm': return 2;
    case 'g': return 3;
    case 't': return 4;
    case 'p': return 5;
    case 'e': return 6;
    case 'z': return 7;
    case 'y': return 8;
    case 'r': return 9;
    case 'q': return MOST_POWER;
    }
    return 0;
}

// Whether the text is "byte" or "bytes", in any case.
__device__ inline bool is_bytes_word(Place at, Place stop)
{
    if (stop - at != 4 && stop - at != 5) return false;
    return word_follows(at, stop, 'b', 'y', 't') && lower_at(at + 3, stop) == 'e' && (stop - at == 4 || lower_at(at + 4, stop) == 's');
}

// The text must be trimmed.
__device__ inline Size size_of(Text text)
{
    if (text.start < text.stop && *text.start == '+') {
        ++text.start;
        if (text.start < text.stop && *text.start == '-') return {{}, 0, false, false};
    }
    const Place digits = text.start + (text.start < text.stop && *text.start == '-');
    const bool has_digits = digit_at(digits, text.stop) || (lower_at(digits, text.stop) == '.' && digit_at(digits + 1, text.stop));
    if (!has_digits) return {{}, 0, false, false};
    Size size{leading_number(text), 0, false, true};
    Place at = skip_blanks(size.number.end, text.stop);
    if (is_bytes_word(at, text.stop)) return size;
    size.power = power_of(lower_at(at, text.stop));
    at += size.power > 0;
    if (size.power > 0 && lower_at(at, text.stop) == 'i') {
        size.binary = true;
        ++at;
    }
    at += lower_at(at, text.stop) == 'b';
    size.valid = at == text.stop;
    return size;
}

// The decimal digits of a size without its sign, the least significant one first. `place` is that of the next one: 0 for ones.
struct SizeDigits {
    Text whole, fraction;
    int power;
    long long place;
    unsigned carries[MOST_POWER] = {};

    __device__ inline explicit SizeDigits(const Size& size)
        : whole(size.number.whole), fraction(size.number.fraction), power(size.binary ? size.power : 0),
          place(size.scale() - (fraction.stop - fraction.start))
    {
    }

    // Whether only zeros follow.
    __device__ inline bool over() const
    {
        if (whole.start < whole.stop || fraction.start < fraction.stop) return false;
        unsigned any = 0;
        for (int stage = 0; stage < power; ++stage) any |= carries[stage];
        return any == 0;
    }

    __device__ inline int next()
    {
        unsigned digit = 0;
        if (fraction.start < fraction.stop) digit = *--fraction.stop - '0';
        else if (whole.start < whole.stop) digit = *--whole.stop - '0';
        ++place;
        for (int stage = 0; stage < power; ++stage) {
            const unsigned product = digit * 1024 + carries[stage];
            digit = product % 10;
            carries[stage] = product / 10;
        }
        return static_cast<int>(digit);
    }
};

// The magnitude of a size in powers of 1024, see magnitude_of.
__device__ __noinline__ Word binary_magnitude(const Size& size)
{
    constexpr Word FIRST = 1000000000000000;  // of 16 digits
    SizeDigits digits(size);
    Word window = 0, found = 0;
    long long exponent = 0;
    bool more = false, found_more = false;
    while (!digits.over()) {
        const int digit = digits.next();
        more = more || window % 10 != 0;
        window = window / 10 + static_cast<Word>(digit) * FIRST;
        if (digit == 0) continue;
        found = window;
        found_more = more;
        exponent = digits.place;
    }
    return found == 0 ? 0 : magnitude_image(exponent, found, found_more);
}

// The same if the product is an integer of 16 digits at most, times a power of ten; 0 if it is not.
__device__ inline Word short_binary_magnitude(const Size& size)
{
    constexpr Word BEYOND = 10000000000000000;
    Word digits = 0;
    const long long whole = size.number.whole.stop - size.number.whole.start;
    const long long fraction = size.number.fraction.stop - size.number.fraction.start;
    if (whole + fraction > IMAGE_DIGITS || size.power > 5) return 0;
    for (Place at = size.number.whole.start; at < size.number.whole.stop; ++at) digits = digits * 10 + (*at - '0');
    for (Place at = size.number.fraction.start; at < size.number.fraction.stop; ++at) digits = digits * 10 + (*at - '0');
    if (digits >= BEYOND >> 10 * size.power) return 0;
    digits <<= 10 * size.power;
    long long exponent = IMAGE_DIGITS - fraction;
    for (; digits < BEYOND / 10; digits *= 10) --exponent;
    return magnitude_image(exponent, digits, false);
}

struct kind_size {
    static constexpr int BITS = 64;

#if HAS_VECTORS
    __device__ static __forceinline__ bool exact_image(Text text, KeyImage& image)
    {
        const ShortSize found = short_size(trimmed(text));
        if (found.digits == 0) return false;
        image = {signed_image(found.negative, magnitude_image(found.exponent, found.digits, false)), true};
        return true;
    }
#endif

    __device__ static inline KeyImage image(const KeyIn& one)
    {
#if HAS_VECTORS
        KeyImage found;
        if (exact_image(one.text, found)) return found;
#endif
        return image_of(size_of(trimmed(one.text)));
    }

    __device__ static __noinline__ KeyImage image_of(const Size& size)
    {
        if (!size.valid) return no_image();
        Word magnitude = 0;
        if (!size.binary) magnitude = magnitude_of(size.number, size.scale());
        else if (!size.number.zero()) {
            magnitude = short_binary_magnitude(size);
            if (magnitude == 0) magnitude = binary_magnitude(size);
        }
        const Word found = signed_image(size.number.negative, magnitude);
        return {found, is_exact(found)};
    }

    __device__ static __noinline__ int compare(const KeyIn& a, const KeyIn& b)
    {
        const Size x = size_of(trimmed(a.text)), y = size_of(trimmed(b.text));
        const int sign = x.number.sign();
        if (sign != y.number.sign() || sign == 0) return sign - y.number.sign();
        SizeDigits left(x), right(y);
        int result = 0;
        for (long long place = left.place < right.place ? left.place : right.place; !left.over() || !right.over(); ++place) {
            const int of_left = place < left.place ? 0 : left.next(), of_right = place < right.place ? 0 : right.next();
            if (of_left != of_right) result = of_left < of_right ? -1 : 1;
        }
        return sign * result;
    }
};
