// The items that are merged: what an item is, the image of its key, and which of two items goes first.
//
// There are three kinds of items. A key is moved as an unsigned integer with its bits. A small record has RECORD_SIZE bytes,
// and its key is among them. With ROWS, a row is the prefix and the number of a line or a record (see lines.cuh).
// A key image is an integer with the order of the key. This is NumPy's order: NaNs are equal and last, -0.0 equals 0.0, and
// NaT, the least integer of a date or a time span, is last.
// DESCENDING takes the complement. The order is that of the images; gpu/share.cuh compares floats themselves where this is the
// same. The twin of this file is gpumerge_cli/order/keys.py. There all images are unsigned. Here the images of wide signed
// keys are signed, so their signs need not be flipped.
//
// Macros: KEY_BITS 8, 16, 32 or 64; KEY_KIND 0 unsigned, 1 signed, 2 float, 5 date; DESCENDING, ROWS 0 or 1. Records also have
// RECORD_SIZE, KEY_OFFSET, KEY_SIZE and KEY_BIG_ENDIAN, and KEY_KIND is the kind of their key; or, as rows, KEY_FIELDS. There is
// no macro for the order of lines: kernels read it.
#pragma once

#ifndef KEY_BITS
#define KEY_BITS 64
#endif
#ifndef KEY_KIND
#define KEY_KIND 0
#endif
#ifndef DESCENDING
#define DESCENDING 0
#endif
#ifndef ROWS
#define ROWS 0
#endif

#include "lines.cuh"

#if KEY_BITS == 8
typedef unsigned char Bits;
typedef signed char SignedBits;
#elif KEY_BITS == 16
typedef unsigned short Bits;
typedef short SignedBits;
#elif KEY_BITS == 32
typedef unsigned int Bits;
typedef int SignedBits;
#elif KEY_BITS == 64
typedef unsigned long long Bits;
typedef long long SignedBits;
#else
#error "KEY_BITS must be 8, 16, 32 or 64"
#endif

// The image of a key of `bits` bits. `key` may be wider. kind: as KEY_KIND.
template <typename Bits>
__device__ __forceinline__ Bits image_of(Bits key, int bits, int kind, bool descending)
{
    const Bits sign_bit = static_cast<Bits>(1ull << (bits - 1));
    const Bits all_bits = static_cast<Bits>(~0ull >> (64 - bits));
    Bits ascending = key;
    if (kind == 2) {
        const Bits infinity = static_cast<Bits>(bits == 16   ? 0x7c00ull
                                                : bits == 32 ? 0x7f800000ull
                                                             : 0x7ff0000000000000ull);
        const Bits magnitude = key & static_cast<Bits>(~sign_bit);
        ascending = key & sign_bit ? sign_bit - magnitude : sign_bit + magnitude;
        if (magnitude > infinity) ascending = all_bits;
    } else if (kind == 1) {
        ascending = key ^ sign_bit;
    } else if (kind == 5) {
        ascending = static_cast<Bits>((key ^ sign_bit) - 1) & all_bits;
    }
    return descending ? static_cast<Bits>(ascending ^ all_bits) : ascending;
}

// The same, when the compiler knows everything but the key.
template <int BITS, typename Bits>
__device__ __forceinline__ Bits image_of(Bits key)
{
    return image_of(key, BITS, KEY_KIND, DESCENDING);
}

constexpr Bits NAT_IS_LAST = KEY_KIND == 5 ? 1 : 0;  // subtracted from a key, so that NaT becomes the greatest integer
#define SIGNED_IMAGES (!ROWS && !RECORD_SIZE && (KEY_KIND == 1 || KEY_KIND == 5) && KEY_BITS >= 32)
#if SIGNED_IMAGES
typedef SignedBits Image;
#else
typedef Bits Image;
#endif

#if ROWS

struct __align__(16) Item {
    Image prefix;
    long long line;
};

__device__ __forceinline__ Image image(Item row) { return row.prefix; }

#if RECORD_SIZE

#include "records.cuh"

#elif !TEXT_PADDING

__device__ inline Image row_prefix(Lines lines, long long line) { return line_prefix(lines, line); }

#endif

#elif RECORD_SIZE

struct __align__(RECORD_SIZE % 16 == 0 ? 16 : RECORD_SIZE % 8 == 0 ? 8 : 4) Item {
    unsigned words[RECORD_SIZE / 4];
};

__device__ __forceinline__ Image image(const Item& record)
{
    Image bits = 0;
#pragma unroll
    for (int turn = 0; turn < KEY_SIZE; ++turn) {
        const int at = KEY_OFFSET + (KEY_BIG_ENDIAN ? turn : KEY_SIZE - 1 - turn);
        bits = bits << 8 | (record.words[at / 4] >> (at % 4 * 8) & 0xff);
    }
    return image_of<8 * KEY_SIZE>(bits);
}

#else

typedef Bits Item;

#if SIGNED_IMAGES
__device__ __forceinline__ Image image(Item key)
{
    return static_cast<Image>(DESCENDING ? ~(key - NAT_IS_LAST) : key - NAT_IS_LAST);
}
#else
__device__ __forceinline__ Image image(Item key) { return image_of<KEY_BITS>(key); }
#endif

#endif

// Whether y goes strictly before x, by their images. For ties the caller keeps the order of the inputs.
__device__ __forceinline__ bool before([[maybe_unused]] Item y, Image y_image, [[maybe_unused]] Item x, Image x_image,
    [[maybe_unused]] Lines lines)
{
#if ROWS
    if (y_image == x_image && lines.have_ties) return line_before(lines, y.line, x.line);
#endif
    return y_image < x_image;
}

__device__ __forceinline__ bool before(Item y, Item x, Lines lines)
{
    return before(y, image(y), x, image(x), lines);
}
