// Text between two places, and what its bytes are.
//
// No place behind a text's end is read, nor are words: a text may lie at any address and end where its memory does. A
// unit of the CPU's may say, by TEXT_PADDING, that at least so many bytes behind every text can be read (64); the hot
// loops then read words.
#pragma once

#ifndef TEXT_PADDING
#define TEXT_PADDING 0
#endif

typedef unsigned long long Word;  // of 64 bits
typedef const unsigned char* Place;

// The bytes from `start` up to `stop`, which is not one of them.
struct Text {
    Place start, stop;
};

// Space, tab or newline, which a line may hold if NUL ends it.
__device__ __forceinline__ bool is_blank(int byte) { return byte == ' ' || byte == '\t' || byte == '\n'; }

__device__ __forceinline__ bool is_digit(int byte) { return byte >= '0' && byte <= '9'; }

__device__ __forceinline__ bool is_capital(int byte) { return byte >= 'A' && byte <= 'Z'; }

__device__ __forceinline__ bool is_small(int byte) { return byte >= 'a' && byte <= 'z'; }

__device__ __forceinline__ bool is_letter(int byte) { return is_capital(byte) || is_small(byte); }

__device__ __forceinline__ bool digit_at(Place at, Place stop) { return at < stop && is_digit(*at); }

#if TEXT_PADDING
#include "cpu/words.hpp"
#else

// Negative, zero or positive, as memcmp; what ends first goes first.
__device__ inline int compare_bytes(Text x, Text y)
{
    for (; x.start < x.stop && y.start < y.stop; ++x.start, ++y.start) {
        const int difference = static_cast<int>(*x.start) - static_cast<int>(*y.start);
        if (difference != 0) return difference;
    }
    return (x.start < x.stop) - (y.start < y.stop);
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
