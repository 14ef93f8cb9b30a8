// Sorts the items of one thread in its registers, by a network of exchanges that does not depend on the data.
//
// Integers with equal images are equal, so they may change places. They take Batcher's odd-even merge sort: n log(n)^2 / 4
// exchanges, each a minimum and a maximum. Other items must keep the order of equals, so only neighbours are exchanged: the
// odd-even transposition sort, n^2 / 2 exchanges.
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

#if ALIKE_IF_EQUAL

// Merges sorted stretches of SPAN items in pairs: exchanges items that are STEP apart, then STEP / 2, and so on. Items from
// `count` on never move, as if they went last.
template <int ITEMS, bool CHECKED, int SPAN, int STEP>
struct MergeExchange {
    static __device__ __forceinline__ void run(Held (&items)[ITEMS], int count, Lines lines)
    {
#pragma unroll
        for (int low = STEP % SPAN; low + STEP < ITEMS; ++low) {
            const int high = low + STEP;
            const bool chosen = (low - STEP % SPAN) % (2 * STEP) < STEP && low / (2 * SPAN) == high / (2 * SPAN);
            if (chosen && (!CHECKED || high < count)) exchange(items[low], items[high], lines);
        }
        MergeExchange<ITEMS, CHECKED, SPAN, STEP / 2>::run(items, count, lines);
    }
};
template <int ITEMS, bool CHECKED, int SPAN>
struct MergeExchange<ITEMS, CHECKED, SPAN, 0> {
    static __device__ __forceinline__ void run(Held (&)[ITEMS], int, Lines) {}
};

template <int ITEMS, bool CHECKED, int SPAN, bool DONE = (SPAN >= ITEMS)>
struct Spans {
    static __device__ __forceinline__ void run(Held (&items)[ITEMS], int count, Lines lines)
    {
        MergeExchange<ITEMS, CHECKED, SPAN, SPAN>::run(items, count, lines);
        Spans<ITEMS, CHECKED, 2 * SPAN>::run(items, count, lines);
    }
};
template <int ITEMS, bool CHECKED, int SPAN>
struct Spans<ITEMS, CHECKED, SPAN, true> {
    static __device__ __forceinline__ void run(Held (&)[ITEMS], int, Lines) {}
};

// Sorts items[0 .. count). No difference from a stable sort can be seen. CHECKED: count may be less than ITEMS.
template <bool CHECKED, int ITEMS>
__device__ __forceinline__ void sort_own(Held (&items)[ITEMS], int count, Lines lines)
{
    Spans<ITEMS, CHECKED, 1>::run(items, count, lines);
}

#else

template <bool CHECKED, int ITEMS>
__device__ __forceinline__ void sort_own(Held (&items)[ITEMS], int count, Lines lines)
{
#pragma unroll
    for (int turn = 0; turn < ITEMS; ++turn) {
#pragma unroll
        for (int low = turn % 2; low + 1 < ITEMS; low += 2)
            if (!CHECKED || low + 1 < count) exchange(items[low], items[low + 1], lines);
    }
}

#endif
