// Which items of a group of equal neighbours go out: see equals.h.
#pragma once

#include "equals.h"

// Whether an item goes out. ahead, behind: whether it equals the neighbour there.
__device__ __forceinline__ unsigned stays(Equals equals, bool ahead, bool behind)
{
    static_assert(LAST_OF == SINGLE << 1 && FIRST_OF == SINGLE << 2 && INNER == SINGLE << 3, "stays() shifts by the neighbours");
    return static_cast<unsigned>(equals) / SINGLE >> (ahead + 2 * behind) & 1;
}

// Whether the item that stands for a group of `count` items goes out. Only rules of places leave one out.
__device__ __forceinline__ bool group_stays(Equals equals, long long count)
{
    return (equals & BY_PLACE) == 0 || (equals & (count == 1 ? SINGLE : FIRST_OF | LAST_OF)) != 0;
}

// Whether the last item stands for a group, and not the first one.
__device__ __forceinline__ bool by_last(Equals equals) { return (equals & (FIRST_OF | LAST_OF)) == LAST_OF; }
