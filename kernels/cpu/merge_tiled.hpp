// The twin of gpu/merge_tiled.cu. Included by ladder.hpp.
#pragma once

#include "pair.hpp"

// Stages up to `tile` items of each input, because either may fill the round alone. Half of them are staged again.
inline void merge_tiled_full(Pair pair, const LaunchSpec& launch, Item* scratch)
{
    Item *const tile_a = scratch, *const tile_b = scratch + launch.tile;
    while (pair.total() > 0) {
        const long long m = smaller(static_cast<long long>(launch.tile), pair.m);
        const long long n = smaller(static_cast<long long>(launch.tile), pair.n);
        const long long count = smaller(static_cast<long long>(launch.tile), pair.total());
        copy_items(tile_a, pair.a, m);
        copy_items(tile_b, pair.b, n);
        const long long used = merge_round<const Item*>(tile_a, m, tile_b, n, count, launch.block_size, pair.out, *pair.lines);
        pair.advance(used, count - used);
    }
}

// Stages only the items that the round consumes. For this it first finds the co-rank of the round's end in the inputs.
inline void merge_tiled_exact(Pair pair, const LaunchSpec& launch, Item* scratch)
{
    while (pair.total() > 0) {
        const long long count = smaller(static_cast<long long>(launch.tile), pair.total());
        const long long m = pair.co_rank_of(count);
        copy_items(scratch, pair.a, m);
        copy_items(scratch + m, pair.b, count - m);
        merge_round<const Item*>(scratch, m, scratch + m, count - m, count, launch.block_size, pair.out, *pair.lines);
        pair.advance(m, count - m);
    }
}
