// The twin of gpu/merge_basic.cu. Included by ladder.hpp.
#pragma once

#include "pair.hpp"

// Each thread finds the co-rank at the end of its section of launch.items outputs (0: all), and merges the section in place.
inline void merge_basic(Pair pair, const LaunchSpec& launch, Item*)
{
    const long long items = launch.items;
    while (pair.total() > 0) {
        const long long count = items > 0 ? smaller(items, pair.total()) : pair.total();
        const long long i = pair.co_rank_of(count);
        merge_sequential<long long>(pair.a, 0, i, pair.b, 0, count - i, count, pair.out, *pair.lines);
        pair = pair.tail(count, i);
    }
}
