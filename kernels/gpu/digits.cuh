// The digits of keys, and what the launches of a sort by digits share: a plan of its passes, and the words of its tiles.
//
// Macros: BLOCK_SIZE threads a block, a multiple of 32; PASSES: bytes of a key image that are not all the same, at the most,
// from the lowest one on; WIDE: 0 for fewer than 2^30 items. PAIRS: 1 if keys and their values lie in arrays of their own,
// before and after the sort. An item is then a record of both (RECORD_SIZE): the key, in whole words, and the value.
#pragma once

#ifndef PASSES
#define PASSES 4
#endif
#ifndef PAIRS
#define PAIRS 0
#endif

#include "beside.cuh"
#include "lookback.cuh"

extern __shared__ __align__(16) unsigned char shared_bytes[];

constexpr int DIGIT_BITS = 8;
static_assert(DIGITS == 1 << DIGIT_BITS, "see sizes.cuh");
constexpr int BINS = (DIGITS + BLOCK_SIZE - 1) / BLOCK_SIZE;  // a thread's share of the digits
constexpr int COUNTING_WARPS = WARPS < DIGITS / BINS / WARP ? WARPS : DIGITS / BINS / WARP;  // that have digits
static_assert(BINS == 1 || BINS * BLOCK_SIZE == DIGITS, "all threads have the same share of digits");

// Digit number `pass` of the key, from the lowest one on.
__device__ __forceinline__ unsigned digit_of(const Item& item, int pass)
{
#if SIGNED_IMAGES
    const Bits bits = static_cast<Bits>(image(item)) ^ static_cast<Bits>(1) << (KEY_BITS - 1);
#else
    const Bits bits = image(item);
#endif
#if defined(__CUDA_ARCH__) && KEY_BITS <= 32
    return __byte_perm(bits, 0, 0x4440 + pass);
#else
    return static_cast<unsigned>(bits >> pass * DIGIT_BITS) & (DIGITS - 1);
#endif
}

// An item in the input of the sort.
#if PAIRS

template <int SIZE>
struct KeyOf;
template <>
struct KeyOf<1> {
    typedef unsigned char Type;
};
template <>
struct KeyOf<2> {
    typedef unsigned short Type;
};
template <>
struct KeyOf<4> {
    typedef unsigned Type;
};
template <>
struct KeyOf<8> {
    typedef unsigned long long Type;
};
typedef KeyOf<KEY_SIZE>::Type Given;
constexpr int KEY_WORDS = KEY_SIZE == 8 ? 2 : 1, VALUE_WORDS = RECORD_SIZE / 4 - KEY_WORDS;

// A key without its value.
__device__ __forceinline__ Item as_item(Given key)
{
    Item item{};
    item.words[0] = static_cast<unsigned>(key);
    if (KEY_WORDS == 2) item.words[KEY_WORDS - 1] = static_cast<unsigned>(static_cast<unsigned long long>(key) >> 32);
    return item;
}

__device__ __forceinline__ unsigned long long joined(unsigned low, unsigned high)
{
    return low | static_cast<unsigned long long>(high) << 32;
}

// The arrays of values, as words, and of the sorted keys. Without values (null) they are the places of the keys in the input,
// and come out as integers of 64 bits. The sorted keys may be left out (null).
struct Ends {
    const unsigned* values;
    Given* keys_out;
    unsigned* values_out;

    __device__ __forceinline__ Item taken(const Given* keys, long long at) const
    {
        Item item = as_item(keys[at]);
#pragma unroll
        for (int word = 0; word < VALUE_WORDS; ++word)
            item.words[KEY_WORDS + word] =
                values ? values[at * VALUE_WORDS + word] : static_cast<unsigned>(static_cast<unsigned long long>(at) >> 32 * word);
        return item;
    }

    __device__ __forceinline__ void put(long long at, const Item& item) const
    {
        const unsigned* const value = item.words + KEY_WORDS;
        if (keys_out)
            keys_out[at] = static_cast<Given>(joined(item.words[0], KEY_WORDS == 2 ? item.words[KEY_WORDS - 1] : 0));
        if (!values) {
            reinterpret_cast<unsigned long long*>(values_out)[at] =
                joined(value[0], VALUE_WORDS == 2 ? value[VALUE_WORDS - 1] : 0);
            return;
        }
#pragma unroll
        for (int word = 0; word < VALUE_WORDS; ++word) values_out[at * VALUE_WORDS + word] = value[word];
    }
};

#else

typedef Item Given;
__device__ __forceinline__ Item as_item(const Given& item) { return item; }

#endif

// All bytes of a plan are 0 ahead of the first launch.
struct Plan {
    unsigned long long starts[PASSES][DIGITS];  // of each digit, first the number of items with it, then their first place
    unsigned routes[PASSES];                    // see route
    unsigned tickets[PASSES];                   // the tiles that blocks have taken
    unsigned finished;                          // the blocks that have counted
};

static_assert(sizeof(Plan) == plan_bytes(PASSES), "see sizes.cuh");

// A pass reads items from `from` and writes them to `to`: 0 the input, 1 and 2 the buffers; with PAIRS `to` may be 0, the
// arrays of Ends. turn: the passes ahead of it. The route of a pass that is not needed is 0.
__device__ __forceinline__ unsigned route(int from, int to, int turn) { return 1u | from << 1 | to << 3 | turn << 5; }
