// Finds line ends by vectors, 64 bytes at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "memory.hpp"

// Bit k says whether at[k] is the byte, for 64 bytes.
inline uint64_t matches_at(const unsigned char* at, unsigned char byte)
{
#if defined(__AVX2__)
    const __m256i pattern = _mm256_set1_epi8(static_cast<char>(byte));
    const auto half = [&](int which) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at) + which);
        return static_cast<uint64_t>(static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, pattern))));
    };
    return half(0) | half(1) << 32;
#elif defined(__SSE2__)
    const __m128i pattern = _mm_set1_epi8(static_cast<char>(byte));
    uint64_t found = 0;
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at) + part);
        found |= static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, pattern))) << 16 * part;
    }
    return found;
#else
    uint64_t found = 0;
    for (int part = 0; part < 8; ++part) {
        uint64_t word;
        std::memcpy(&word, at + 8 * part, 8);
        word ^= 0x0101010101010101u * byte;
        // Sets the high bit of exactly those bytes that are 0. The multiplication brings the eight bits together.
        const uint64_t marks = ~(((word & 0x7f7f7f7f7f7f7f7f) + 0x7f7f7f7f7f7f7f7f) | word | 0x7f7f7f7f7f7f7f7f);
        found |= ((marks >> 7) * 0x0102040810204080 >> 56) << 8 * part;
    }
    return found;
#endif
}

// The number of bytes that two stretches have in common ahead of their first difference, at most `most`. PADDING bytes behind
// them must be readable.
inline ptrdiff_t same_bytes(const unsigned char* a, const unsigned char* b, ptrdiff_t most)
{
    static_assert(PADDING >= 32);
    ptrdiff_t at = 0;
#if defined(__AVX2__)
    for (; at < most; at += 32) {
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + at));
        const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + at));
        const uint32_t differ = ~static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y)));
        if (differ != 0) return std::min<ptrdiff_t>(at + __builtin_ctz(differ), most);
    }
#elif defined(__SSE2__)
    for (; at < most; at += 16) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + at));
        const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + at));
        const uint32_t differ = 0xffff ^ static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)));
        if (differ != 0) return std::min<ptrdiff_t>(at + __builtin_ctz(differ), most);
    }
#endif
    while (at < most && a[at] == b[at]) ++at;
    return std::min(at, most);
}

// Calls visit(start, stop) for each line that ends in a text. A line stops behind its terminator.
template <typename Visit>
inline void each_line(const unsigned char* text, int64_t nbytes, unsigned char terminator, Visit visit)
{
    int64_t start = 0;
    for (int64_t at = 0; at < nbytes; at += 64) {
        uint64_t marks = matches_at(text + at, terminator);
        if (nbytes - at < 64) marks &= (uint64_t{1} << (nbytes - at)) - 1;
        for (; marks != 0; marks &= marks - 1) {
            const int64_t stop = at + __builtin_ctzll(marks) + 1;
            visit(start, stop);
            start = stop;
        }
    }
}
