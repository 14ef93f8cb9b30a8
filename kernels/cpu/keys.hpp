// Keys: items that are numbers themselves. What is compiled for each kind of key (keys.cpp), and what is made of it.
#pragma once

#include <cstdint>

#include "entries.h"

typedef unsigned char Byte;

// Functions on items of one kind; addresses are of items and need no alignment beyond theirs, counts are of items.
// Whatever the order of the items, nothing outside is touched, and a merge gives all of them.
struct KeyFunctions {
    // The co-rank of output position `rank`, which lies in [0, m + n].
    int64_t (*co_rank)(int64_t rank, const Byte* a, int64_t m, const Byte* b, int64_t n);
    // Merges A and B to out. scratch: room for 2 * launch.tile items if the kernel stages (see stages()).
    void (*merge)(
        const Byte* a, int64_t m, const Byte* b, int64_t n, Byte* out, const LaunchSpec& launch, Byte* scratch);
    // The first index in [first + 1, last) whose item goes before the one ahead of it (strict: or equals it), or -1.
    int64_t (*first_disorder)(const Byte* items, int64_t first, int64_t last, bool strict);
    // Moves the first of equal neighbours to the front, in place, and gives their number. like_first: items that equal
    // the first item are left out, and so is that.
    int64_t (*drop_equals)(Byte* items, int64_t count, bool like_first);
    // images[i] becomes an unsigned integer that orders as the item does.
    void (*images)(const Byte* items, int64_t count, uint64_t* images);
    // How many of the sorted items have an image below this, or (through) at most this. Searches from the front on.
    int64_t (*bound)(const Byte* items, int64_t count, uint64_t image, bool through);
};

// Null for an order that is not one of keys.
const KeyFunctions* key_functions(const OrderSpec& order);
