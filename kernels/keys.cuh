// What is merged: the item, its key image, and which of two items goes before the other.
//
// An item is a key (its bits, moved as an unsigned integer) or, with ROWS, a row: a line's prefix and its number.
// A key image is an integer that orders as the key does: NumPy's order, in which NaNs are equal and last and -0.0 equals
// 0.0; DESCENDING takes its complement. Every comparison is one of images, never of floats, which this toolchain would
// flush to zero (-ftz). Twin of gpumerge_cli/order.py; there all images are unsigned, here those of wide signed keys are
// signed, which spares flipping their sign.
//
// Macros: KEY_BITS 8, 16, 32 or 64; KEY_KIND 0 unsigned, 1 signed, 2 float; DESCENDING, ROWS, NUMERIC, STABLE 0 or
// 1.
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

#if KEY_KIND == 1 && KEY_BITS >= 32
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

#else

typedef Bits Item;

#if KEY_KIND == 2
constexpr Image SIGN_BIT = static_cast<Image>(1ull << (KEY_BITS - 1));
constexpr Image INFINITY_BITS = static_cast<Image>(KEY_BITS == 16   ? 0x7c00ull
                                                   : KEY_BITS == 32 ? 0x7f800000ull
                                                                    : 0x7ff0000000000000ull);
#endif

__device__ __forceinline__ Image image(Item key)
{
#if KEY_KIND == 2
    const Image magnitude = key & static_cast<Image>(~SIGN_BIT);
    Image ascending = key & SIGN_BIT ? SIGN_BIT - magnitude : SIGN_BIT + magnitude;
    if (magnitude > INFINITY_BITS) ascending = static_cast<Image>(~0ull);
#elif KEY_KIND == 1 && KEY_BITS < 32
    const Image ascending = key ^ static_cast<Image>(1u << (KEY_BITS - 1));
#else
    const Image ascending = static_cast<Image>(key);
#endif
    return DESCENDING ? static_cast<Image>(~ascending) : ascending;
}

#endif

// Whether y goes strictly before x, given their images. Ties go to the caller, who keeps input order.
__device__ __forceinline__ bool before(Item y, Image y_image, Item x, Image x_image, Lines lines)
{
#if ROWS
    if (y_image == x_image) return line_before(lines, y.line, x.line);
#endif
    return y_image < x_image;
}

__device__ __forceinline__ bool before(Item y, Item x, Lines lines)
{
    return before(y, image(y), x, image(x), lines);
}
