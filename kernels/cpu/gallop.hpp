// A search that begins at the front, because the next piece of a run begins where the last one ends.
#pragma once

#include <cstdint>

// The number of `count` items that go ahead. goes_ahead(index) must be true of a first part, and false of the rest.
// Source: Bentley and Yao, An Almost Optimal Algorithm for Unbounded Searching, 1976.
template <typename GoesAhead>
inline int64_t gallop(int64_t count, GoesAhead goes_ahead)
{
    int64_t low = 0, step = 32;
    while (low + step < count && goes_ahead(low + step)) {
        low += step + 1;
        step *= 2;
    }
    int64_t high = low + step < count ? low + step : count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (goes_ahead(middle)) low = middle + 1;
        else high = middle;
    }
    return low;
}
