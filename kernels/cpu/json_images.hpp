// Images of JSON values: bytes without 0 and 1 that compare as the values do. Within a key, values are of one type.
//
// A number is 0.D1D2... * 10^E with D1 != 0. Its first byte says the sign and E, if -40 <= E <= 78; else E follows in bytes of
// 7 bits. Then come pairs of digits. All bytes of a negative number are complements, and one that is above all of them ends it,
// since the shorter of two such numbers is the larger one.
#pragma once

#include "json_text.hpp"

constexpr unsigned char LOWEST = 3;  // the bytes below are the mark, the end, and the escape of both
constexpr unsigned char ZERO = 0x80, NEGATIVE_END = 0xf0, FALSE_IMAGE = 'f', TRUE_IMAGE = 't', TEXT_IMAGE = 's';
constexpr int64_t LEAST_EXPONENT = -40, MOST_EXPONENT = 78;
constexpr unsigned char FIRST_EXPONENT = 0x82, SMALLER = 0x81, LARGER = 0xf9;
constexpr int EXPONENT_BYTES = 9;
constexpr int64_t EXPONENT_BIAS = int64_t{1} << 61;
constexpr int64_t LONGEST_EXPONENT = 18;  // digits
constexpr int64_t LONGEST_NUMBER = 16;    // bytes by which an image may be longer than its text

// Writes the image of a number in [at, stop) to `out`, which has room for its bytes and LONGEST_NUMBER more. Zeros may lead.
// Returns the place behind it; null with a JsonFault for a text that is no number or has too long an exponent.
inline unsigned char* number_image(const unsigned char* at, const unsigned char* stop, unsigned char* out, int64_t& fault)
{
    const bool negative = at < stop && *at == '-';
    at += at < stop && (*at == '-' || *at == '+');
    const auto digit_follows = [&] { return at < stop && is_digit(*at); };
    const unsigned char* const digits = at;
    const unsigned char* first = nullptr;  // the first digit but 0, and the place behind the last one
    const unsigned char* last = nullptr;
    const auto take_digits = [&] {
        for (; digit_follows(); ++at) {
            if (*at == '0') continue;
            if (first == nullptr) first = at;
            last = at + 1;
        }
    };
    take_digits();
    const unsigned char* const point = at;
    const bool has_point = at < stop && *at == '.';
    if (has_point) {
        ++at;
        take_digits();
    }
    fault = NO_NUMBER;
    if (at - digits == has_point) return nullptr;
    int64_t exponent = 0;
    if (at < stop && (*at | 0x20) == 'e') {
        ++at;
        const bool below = at < stop && *at == '-';
        at += at < stop && (*at == '-' || *at == '+');
        if (!digit_follows()) return nullptr;
        while (at < stop && *at == '0') ++at;
        const unsigned char* const start = at;
        for (; digit_follows(); ++at)
            if (at - start < LONGEST_EXPONENT) exponent = 10 * exponent + (*at - '0');
        if (at - start > LONGEST_EXPONENT && first != nullptr) fault = LONG_EXPONENT;
        if (below) exponent = -exponent;
    }
    if (at != stop || fault == LONG_EXPONENT) return nullptr;
    fault = NO_JSON_FAULT;
    if (first == nullptr) {
        *out++ = ZERO;
        return out;
    }
    exponent += first < point ? point - first : point + 1 - first;
    unsigned char* const begin = out;
    if (exponent >= LEAST_EXPONENT && exponent <= MOST_EXPONENT) {
        *out++ = static_cast<unsigned char>(FIRST_EXPONENT + (exponent - LEAST_EXPONENT));
    } else {
        *out++ = exponent < 0 ? SMALLER : LARGER;
        const uint64_t biased = static_cast<uint64_t>(exponent + EXPONENT_BIAS);
        for (int place = EXPONENT_BYTES - 1; place >= 0; --place)
            *out++ = static_cast<unsigned char>(LOWEST + (biased >> 7 * place & 0x7f));
    }
    unsigned char* const pairs = out;
    const auto next = [&] {
        if (first == point) ++first;  // there is a digit behind the point
        return first < last ? *first++ - '0' : 0;
    };
    while (first < last) {
        const int high = next();
        *out++ = static_cast<unsigned char>(LOWEST + 10 * high + next());
    }
    if (!negative) return out;
    *begin = static_cast<unsigned char>(0x100 - *begin);
    for (unsigned char* one = begin + 1; one < out; ++one)
        *one = static_cast<unsigned char>((one < pairs ? 2 * LOWEST + 0x7f : 2 * LOWEST + 99) - *one);
    *out++ = NEGATIVE_END;
    return out;
}

// Writes the text of a string to `out`, with 0, 1 and 2 as pairs. It needs no more bytes than the string has: such bytes are
// escapes there.
inline unsigned char* escaped_text(const JsonString& one, unsigned char* out)
{
    if (one.plain) {  // without escapes, a string has none of these bytes
        std::memcpy(out, one.start, static_cast<size_t>(one.stop - one.start));
        return out + (one.stop - one.start);
    }
    each_stretch(one, [&](const unsigned char* bytes, int64_t count) {
        for (int64_t at = 0; at < count; ++at) {
            if (bytes[at] < LOWEST) {
                *out++ = 2;
                *out++ = static_cast<unsigned char>(LOWEST + bytes[at]);
            } else {
                *out++ = bytes[at];
            }
        }
        return true;
    });
    return out;
}

// The same without pairs, for kinds that read texts: 3 stands for 0, 1 and 2, so that the text has as many characters.
inline unsigned char* bare_text(const JsonString& one, unsigned char* out)
{
    each_stretch(one, [&](const unsigned char* bytes, int64_t count) {
        for (int64_t at = 0; at < count; ++at) *out++ = bytes[at] < LOWEST ? LOWEST : bytes[at];
        return true;
    });
    return out;
}
