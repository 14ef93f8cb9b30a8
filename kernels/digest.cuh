// MD5 (RFC 1321) of a salt and of those bytes of a key that count. The random order compares these digests.
#pragma once

#include "fields.cuh"

// The integer parts of 2^32 |sin(turn + 1)|.
__constant__ unsigned DIGEST_SINES[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
__constant__ unsigned char DIGEST_TURNS[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

// The state so far, and the next block of 64 bytes, least significant byte first.
struct Digester {
    unsigned block[16];
    unsigned state[4];
    int held;  // bytes in the block

    __device__ inline void clear()
    {
#pragma unroll
        for (int place = 0; place < 16; ++place) block[place] = 0;
        held = 0;
    }

    __device__ __noinline__ void mix()
    {
        unsigned a = state[0], b = state[1], c = state[2], d = state[3];
#pragma unroll 1
        for (int turn = 0; turn < 64; ++turn) {
            const int part = turn >> 4;
            unsigned mixed;
            int place;
            if (part == 0) mixed = (b & c) | (~b & d), place = turn;
            else if (part == 1) mixed = (d & b) | (~d & c), place = (5 * turn + 1) & 15;
            else if (part == 2) mixed = b ^ c ^ d, place = (3 * turn + 5) & 15;
            else mixed = c ^ (b | ~d), place = (7 * turn) & 15;
            const unsigned total = a + mixed + DIGEST_SINES[turn] + block[place];
            const int by = DIGEST_TURNS[4 * part + (turn & 3)];
            a = d;
            d = c;
            c = b;
            b += total << by | total >> (32 - by);
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        clear();
    }

    // Adds a byte. A full block is mixed into the state.
    __device__ inline void put(unsigned byte)
    {
        block[held >> 2] |= byte << (8 * (held & 3));
        if (++held == 64) mix();
    }
};

__device__ __forceinline__ Word most_significant_first(unsigned low, unsigned high)
{
    Word word = 0;
#pragma unroll
    for (int byte = 0; byte < 4; ++byte) {
        word |= static_cast<Word>(low >> (8 * byte) & 0xff) << (56 - 8 * byte);
        word |= static_cast<Word>(high >> (8 * byte) & 0xff) << (24 - 8 * byte);
    }
    return word;
}

// Two words, most significant byte first.
struct Digest {
    Word first, rest;
};

// The digest of the salt's 16 bytes and of those bytes of the text that count.
__device__ __noinline__ Digest digest(const long long* salt, Text text, long long flags)
{
    Digester digester;
    digester.state[0] = 0x67452301;
    digester.state[1] = 0xefcdab89;
    digester.state[2] = 0x98badcfe;
    digester.state[3] = 0x10325476;
    digester.clear();
#pragma unroll
    for (int place = 0; place < 4; ++place)
        digester.block[place] = static_cast<unsigned>(static_cast<Word>(salt[place / 2]) >> (32 * (place % 2)));
    digester.held = 16;
    Word length = 16;
    for (Place at = next_counting(text.start, text.stop, flags); at < text.stop;
         at = next_counting(at + 1, text.stop, flags), ++length)
        digester.put(folded(*at, flags));
    digester.put(0x80);
    if (digester.held > 56) digester.mix();
    digester.block[14] = static_cast<unsigned>(8 * length);
    digester.block[15] = static_cast<unsigned>(8 * length >> 32);
    digester.mix();
    return {most_significant_first(digester.state[0], digester.state[1]),
        most_significant_first(digester.state[2], digester.state[3])};
}
