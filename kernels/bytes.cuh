// Text between two places, and the classes of its bytes.
//
// A text may lie at any address and end where its memory ends. So these functions read single bytes, and none behind the
// text's end, but for memcmp where host.cuh defines ON_HOST. A unit of the CPU may define TEXT_PADDING (64): that many bytes behind every text can be read. The hot loops
// then read words.
#pragma once

#ifndef TEXT_PADDING
#define TEXT_PADDING 0
#endif

typedef unsigned long long Word;  // of 64 bits
typedef const unsigned char* Place;

// The bytes in [start, stop).
struct Text {
    Place start, stop;
};

// Space, tab or newline. A line may hold newlines if NUL ends it.
__device__ __forceinline__ bool is_blank(int byte) { return byte == ' ' || byte == '\t' || byte == '\n'; }

__device__ __forceinline__ bool is_digit(int byte) { return byte >= '0' && byte <= '9'; }

__device__ __forceinline__ bool is_capital(int byte) { return byte >= 'A' && byte <= 'Z'; }

__device__ __forceinline__ bool is_small(int byte) { return byte >= 'a' && byte <= 'z'; }

__device__ __forceinline__ bool is_letter(int byte) { return is_capital(byte) || is_small(byte); }

__device__ __forceinline__ bool digit_at(Place at, Place stop) { return at < stop && is_digit(*at); }

#if TEXT_PADDING
#include "cpu/words.hpp"
#else

// Negative, zero or positive, as in memcmp. If one text begins the other, the shorter one goes first.
__device__ inline int compare_bytes(Text x, Text y)
{
#if ON_HOST
    const long long longer = (x.stop - x.start) - (y.stop - y.start);
    const long long shorter = longer < 0 ? x.stop - x.start : y.stop - y.start;
    const int result = shorter > 0 ? __builtin_memcmp(x.start, y.start, static_cast<unsigned long>(shorter)) : 0;
    return result != 0 ? result : (longer > 0) - (longer < 0);
#else
    for (; x.start < x.stop && y.start < y.stop; ++x.start, ++y.start) {
        const int difference = static_cast<int>(*x.start) - static_cast<int>(*y.start);
        if (difference != 0) return difference;
    }
    return (x.start < x.stop) - (y.start < y.stop);
#endif
}

// The first place of the byte, or `stop`.
__device__ inline Place find_byte(Place at, Place stop, long long byte)
{
    while (at < stop && *at != byte) ++at;
    return at;
}

// The first place of a blank, or `stop`.
__device__ inline Place find_blank(Place at, Place stop)
{
    while (at < stop && !is_blank(*at)) ++at;
    return at;
}

#endif
