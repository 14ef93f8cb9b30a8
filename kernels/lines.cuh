// Rows: text lines, or records of one size by a key in them. How they compare, and the 64-bit prefix that decides most
// comparisons without touching the text.
//
// Lines compare as GNU sort has it in the C locale: by their unsigned bytes, a line that ends first going first; or,
// with NUMERIC, by their leading number (blanks, an optional '-', digits, an optional fraction; no number is 0; of any
// length, compared exactly) and on equal numbers by their bytes, or with STABLE not at all. DESCENDING reverses the whole
// comparison.
// A prefix orders lines as the comparison does, except that different lines may share one: only then is text read.
// Twin of gpumerge_cli/order.py.
//
// With RECORD_SIZE, rows are records of so many bytes. What is compared is the key of KEY_SIZE bytes at KEY_OFFSET: a
// number, by the image of keys.cuh, or bytes as memcmp has it. KEY_BIG_ENDIAN: its most significant byte comes first, as
// that of bytes does. A key of at most 8 bytes is all in its prefix.
#pragma once

#ifndef NUMERIC
#define NUMERIC 0
#endif
#ifndef STABLE
#define STABLE 0
#endif

#ifndef RECORD_SIZE
#define RECORD_SIZE 0
#endif
#ifndef KEY_OFFSET
#define KEY_OFFSET 0
#endif
#ifndef KEY_SIZE
#define KEY_SIZE 8
#endif
#ifndef KEY_BIG_ENDIAN
#define KEY_BIG_ENDIAN 0
#endif

// Line L is text[starts[L] .. starts[L + 1] - 1), its newline left out; `starts` holds one entry more than lines.
// Record R is text[R * RECORD_SIZE .. (R + 1) * RECORD_SIZE); it has no starts.
struct Lines {
    const unsigned char* text;
    const long long* starts;
};

struct Line {
    const unsigned char* bytes;
    long long length;
};

// A line without its newline, or the key of a record.
__device__ __forceinline__ Line line_of(Lines lines, long long line)
{
#if RECORD_SIZE
    return {lines.text + line * RECORD_SIZE + KEY_OFFSET, KEY_SIZE};
#else
    return {lines.text + lines.starts[line], lines.starts[line + 1] - 1 - lines.starts[line]};
#endif
}

// Negative, zero or positive, as memcmp; the first `known` bytes are known to be equal.
__device__ inline int compare_bytes(Line x, Line y, long long known)
{
    const long long shared = x.length < y.length ? x.length : y.length;
    for (long long at = known; at < shared; ++at) {
        const int difference = static_cast<int>(x.bytes[at]) - static_cast<int>(y.bytes[at]);
        if (difference != 0) return difference;
    }
    return x.length == y.length ? 0 : x.length < y.length ? -1 : 1;
}

// sign: -1, 0 or 1. whole: digits before the point, no leading zeros. fraction: digits after it, no trailing zeros.
struct Number {
    int sign;
    Line whole, fraction;
};

__device__ inline bool is_digit(const unsigned char* at, const unsigned char* end)
{
    return at < end && *at >= '0' && *at <= '9';
}

__device__ inline Number leading_number(Line line)
{
    const unsigned char* at = line.bytes;
    const unsigned char* const end = line.bytes + line.length;
    while (at < end && (*at == ' ' || *at == '\t')) ++at;
    const bool minus = at < end && *at == '-';
    if (minus) ++at;
    while (at < end && *at == '0') ++at;

    Number number;
    number.whole.bytes = at;
    while (is_digit(at, end)) ++at;
    number.whole.length = at - number.whole.bytes;

    const bool has_fraction = at < end && *at == '.';
    if (has_fraction) ++at;
    number.fraction.bytes = at;
    while (has_fraction && is_digit(at, end)) ++at;
    while (at > number.fraction.bytes && at[-1] == '0') --at;
    number.fraction.length = at - number.fraction.bytes;

    const bool zero = number.whole.length == 0 && number.fraction.length == 0;
    number.sign = zero ? 0 : minus ? -1 : 1;
    return number;
}

__device__ inline int compare_numbers(Number x, Number y)
{
    if (x.sign != y.sign) return x.sign < y.sign ? -1 : 1;
    int magnitude = 0;
    if (x.whole.length != y.whole.length) magnitude = x.whole.length < y.whole.length ? -1 : 1;
    if (magnitude == 0) magnitude = compare_bytes(x.whole, y.whole, 0);
    if (magnitude == 0) magnitude = compare_bytes(x.fraction, y.fraction, 0);
    return x.sign < 0 ? -magnitude : magnitude;
}

// Whether line y goes strictly before line x. Their prefixes must be equal: bytes that a prefix holds are not read.
// Not inlined: ties are the rare case, and the path kernel would repeat this once an item.
__device__ __noinline__ bool line_before(Lines lines, long long y, long long x)
{
    const Line line_y = line_of(lines, y);
    const Line line_x = line_of(lines, x);
#if NUMERIC
    int order = compare_numbers(leading_number(line_y), leading_number(line_x));
    if (order == 0 && !STABLE) order = compare_bytes(line_y, line_x, 0);
#else
    const long long shorter = line_y.length < line_x.length ? line_y.length : line_x.length;
    const int order = compare_bytes(line_y, line_x, shorter < 8 ? shorter : 8);
#endif
    return DESCENDING ? order > 0 : order < 0;
}

// The first 8 bytes, big endian, zero padded.
__device__ inline unsigned long long bytewise_prefix(Line line)
{
    unsigned long long prefix = 0;
    for (int at = 0; at < 8; ++at) prefix = prefix << 8 | (at < line.length ? line.bytes[at] : 0);
    return prefix;
}

constexpr int PREFIX_DIGITS = 14;    // the most whose value fits below 2^47
constexpr long long PREFIX_BIAS = 32768;

// Sign, 16 bits of decimal exponent and 14 significant digits, as one number that grows as the line's number does.
// The exponent is the count of whole digits, or minus the count of zeros right behind the point.
__device__ inline unsigned long long numeric_prefix(Line line)
{
    const Number number = leading_number(line);
    const unsigned long long zero = 1ull << 63;
    if (number.sign == 0) return zero;

    long long zeros = 0;
    if (number.whole.length == 0)
        while (number.fraction.bytes[zeros] == '0') ++zeros;
    unsigned long long digits = 0;
    for (int at = 0; at < PREFIX_DIGITS; ++at) {
        const long long behind = at - number.whole.length + zeros;
        unsigned digit = 0;
        if (at < number.whole.length) digit = number.whole.bytes[at] - '0';
        else if (behind < number.fraction.length) digit = number.fraction.bytes[behind] - '0';
        digits = digits * 10 + digit;
    }

    const long long exponent = PREFIX_BIAS + (number.whole.length > 0 ? number.whole.length : -zeros);
    unsigned long long magnitude;
    if (exponent >= 65535) magnitude = (65535ull << 47) | ((1ull << 47) - 1);
    else if (exponent <= 1) magnitude = 1ull << 47;
    else magnitude = static_cast<unsigned long long>(exponent) << 47 | digits;
    return number.sign > 0 ? zero + magnitude : zero - magnitude;
}

__device__ inline unsigned long long line_prefix(Line line)
{
#if NUMERIC
    const unsigned long long prefix = numeric_prefix(line);
#else
    const unsigned long long prefix = bytewise_prefix(line);
#endif
    return DESCENDING ? ~prefix : prefix;
}
