// Keys: items that are numbers themselves. This declares the functions that keys.cpp compiles for each kind of key.
#pragma once

#include <cstdint>

#include "entries.h"

typedef unsigned char Byte;

// Functions on items of one kind. Addresses must be aligned to items, and counts are numbers of items. Even if items are not
// in order, no memory outside of the arguments is touched, and a merge gives all items.
struct KeyFunctions {
    // The co-rank of output position `rank`, which lies in [0, m + n].
    int64_t (*co_rank)(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n);
    // Merges A and B to out. scratch: room for 2 * launch.tile items if the kernel stages (see stages()).
    void (*merge)(
        const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, const LaunchSpec& launch, Byte* scratch);
    // The first index in [first + 1, last) whose item goes before the item ahead of it, or -1. strict: or equals it.
    int64_t (*first_disorder)(const Byte* items, int64_t first, int64_t last, bool strict);
    // Keeps the first of equal neighbours: moves these to the front, in place, and returns their number. like_first: leaves
    // out the first item and all items that equal it.
    int64_t (*drop_equals)(Byte* items, int64_t count, bool like_first);
    // Keeps the items that a rule of places keeps: moves these to the front, in place, and returns their number.
    int64_t (*keep_places)(Byte* items, int64_t count, Equals equals);
    // Moves one of equal neighbours to out, which may be the items themselves: the first one, or as `rule` says. equals[i]
    // becomes the number of those that equal out[i], itself included. Returns how many moved.
    int64_t (*count_equals)(const Byte* items, int64_t count, Byte* out, int64_t* equals, Equals rule);
    // Walks through A and B, and puts out what `equals` says: see ../sets.cuh. Returns the number of items that went out. `out`
    // has room for all. tile: the items that four sections share.
    int64_t (*walk)(const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, int64_t tile, Equals equals);
    // passed[0] and passed[1] become the items of A and B that a walk has passed at about output position `rank`.
    void (*walk_cut)(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n, int64_t* passed);
    // images[i] becomes an unsigned integer with the order of the item.
    void (*images)(const Byte* items, int64_t count, uint64_t* images);
    // The number of sorted items whose image is less than `image`; with `through` also those with an equal one. The search
    // begins at the front.
    int64_t (*bound)(const Byte* items, int64_t count, uint64_t image, bool through);
    // The number of items in [first, last) that go before the item at `bound` or equal it, as `selects` says: a sum of Selects.
    // The first `room` of them have their indices in `indices`, which ascend.
    int64_t (*select)(const Byte* items, int64_t first, int64_t last, const Byte* bound, int64_t selects, int64_t* indices,
        int64_t room);
    // indices[i], for i in [first, last), becomes the partner of item i of A, or -1. Null for float16.
    void (*asof)(const ArrayAsofSpec& spec, int64_t first, int64_t last, int64_t* indices);
    // See gm_vector_bytes.
    int64_t vector_bytes;
};

// The functions for an order; null if it is no order of keys.
const KeyFunctions* key_functions(const OrderSpec& order);
