// Sorts the items of one thread in its registers, by a network of exchanges that does not depend on the data.
//
// Integers with equal images are equal, so they may change places. They take Batcher's odd-even merge sort: n log(n)^2 / 4
// exchanges, each a minimum and a maximum. Other items must keep the order of equals, so only neighbours are exchanged: the
// odd-even transposition sort, n^2 / 2 exchanges. It is a loop, because all of its exchanges would take seconds to compile.
// Shares that are not full are sorted in this way, too.
// Source: Knuth, The Art of Computer Programming 3, 5.3.4; Batcher, Sorting Networks and Their Applications, 1968.
#pragma once

#include "../keys.cuh"

#define ALIKE_IF_EQUAL (!ROWS && !RECORD_SIZE && KEY_KIND != 2)
#define KEEPS_IMAGE (!ROWS && !RECORD_SIZE && KEY_KIND == 2)

// An item in the network. The image of a float takes long to compute, so it is kept beside the item.
struct Held {
    Item item;
#if KEEPS_IMAGE
    Image kept;
    __device__ __forceinline__ Image key() const { return kept; }
#else
    __device__ __forceinline__ Image key() const { return image(item); }
#endif
};

__device__ __forceinline__ Held held(Item item)
{
    Held to{};
    to.item = item;
#if KEEPS_IMAGE
    to.kept = image(item);
#endif
    return to;
}

// Exchanges x and y if y goes before x.
__device__ __forceinline__ void exchange(Held& x, Held& y, Lines lines)
{
    const bool swap = before(y.item, y.key(), x.item, x.key(), lines);
    const Held least = swap ? y : x, most = swap ? x : y;
    x = least;
    y = most;
}

// One turn of the transposition sort exchanges the neighbours from places 0, 2, 4, ... on, and then those from 1, 3, 5, ...
// Items from `count` on stay.
template <bool CHECKED, int ITEMS>
__device__ __forceinline__ void transpose(Held (&items)[ITEMS], int count, Lines lines)
{
#pragma unroll
    for (int first = 0; first < 2; ++first) {
#pragma unroll
        for (int low = first; low + 1 < ITEMS; low += 2)
            if (!CHECKED || low + 1 < count) exchange(items[low], items[low + 1], lines);
    }
}

// Sorts items[0 .. count).
template <int ITEMS>
__device__ __forceinline__ void sort_some(Held (&items)[ITEMS], int count, Lines lines)
{
#pragma unroll 1
    for (int sorted = 0; sorted < count; sorted += 2) transpose<true>(items, count, lines);
}

#if ALIKE_IF_EQUAL

// Merges sorted stretches of SPAN items in pairs: exchanges items that are STEP apart, then STEP / 2, and so on.
template <int ITEMS, int SPAN, int STEP>
struct MergeExchange {
    static __device__ __forceinline__ void run(Held (&items)[ITEMS], Lines lines)
    {
#pragma unroll
        for (int low = STEP % SPAN; low + STEP < ITEMS; ++low) {
            const int high = low + STEP;
            const bool chosen = (low - STEP % SPAN) % (2 * STEP) < STEP && low / (2 * SPAN) == high / (2 * SPAN);
            if (chosen) exchange(items[low], items[high], lines);
        }
        MergeExchange<ITEMS, SPAN, STEP / 2>::run(items, lines);
    }
};
template <int ITEMS, int SPAN>
struct MergeExchange<ITEMS, SPAN, 0> {
    static __device__ __forceinline__ void run(Held (&)[ITEMS], Lines) {}
};

template <int ITEMS, int SPAN, bool DONE = (SPAN >= ITEMS)>
struct Spans {
    static __device__ __forceinline__ void run(Held (&items)[ITEMS], Lines lines)
    {
        MergeExchange<ITEMS, SPAN, SPAN>::run(items, lines);
        Spans<ITEMS, 2 * SPAN>::run(items, lines);
    }
};
template <int ITEMS, int SPAN>
struct Spans<ITEMS, SPAN, true> {
    static __device__ __forceinline__ void run(Held (&)[ITEMS], Lines) {}
};

// Sorts all items. No difference from a stable sort can be seen.
template <int ITEMS>
__device__ __forceinline__ void sort_all(Held (&items)[ITEMS], Lines lines)
{
    Spans<ITEMS, 1>::run(items, lines);
}

#else

template <int ITEMS>
__device__ __forceinline__ void sort_all(Held (&items)[ITEMS], Lines lines)
{
    // Kept images fill the registers, and a shorter loop would spill more of them.
#pragma unroll (KEEPS_IMAGE ? 2 : 1)
    for (int sorted = 0; sorted < ITEMS; sorted += 2) transpose<false>(items, ITEMS, lines);
}

#endif
