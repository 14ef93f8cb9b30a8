// A cascade of merges of two runs, by one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "entries.h"

typedef unsigned char Byte;

struct Run {
    const Byte* items;
    int64_t count;
};

// Merges neighbouring runs: first each half of them, then the two results. So most merges have both inputs in cache.
template <typename Kind>
struct Cascade {
    const Kind& kind;
    int64_t width;
    const LaunchSpec& launch;
    const Run* runs;
    const int64_t* ends;  // ends[i]: the number of items in runs[0 .. i]

    int64_t start(int64_t run) const { return run == 0 ? 0 : ends[run - 1]; }

    // Returns the merge of the runs [first, last). It lies in `target`, at its place among all runs; a single run stays where
    // it is. `other` has as much room as `target`.
    const Byte* merge(int64_t first, int64_t last, Byte* target, Byte* other) const
    {
        if (last - first == 1) return runs[first].items;
        const int64_t start = this->start(first), end = ends[last - 1];
        // The run that holds the middle goes to the side on which more of it lies.
        int64_t middle = std::lower_bound(ends + first, ends + last - 1, start + (end - start) / 2) - ends;
        if (2 * (start + (end - start) / 2) > this->start(middle) + ends[middle]) ++middle;
        middle = std::clamp(middle, first + 1, last - 1);
        const Byte* const a = merge(first, middle, other, target);
        const Byte* const b = merge(middle, last, other, target);
        const int64_t m = ends[middle - 1] - start;
        kind.merge(a, m, b, end - start - m, target + start * width, launch, nullptr);
        return target + start * width;
    }
};
