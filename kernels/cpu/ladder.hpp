// The first rungs of the ladder on the CPU, for teaching and for comparison. A host thread runs the threads of a block one
// after the other. Each rung is the twin of a kernel in gpu/. The fast rung is keys_path.hpp for keys and rows_merge.hpp for
// rows.
//
// Included in the anonymous namespace of each unit, behind corank.cuh.
#pragma once

#include "merge_basic.hpp"
#include "merge_circular.hpp"
#include "merge_tiled.hpp"
#include "pair.hpp"

// Merges by the rung that the launch names, or by merge_path(pair, launch.tile). scratch: room for 2 * launch.tile items, if
// the rung stages items.
template <typename Path>
void merge_by(const LaunchSpec& launch, const Pair& pair, Item* scratch, Path merge_path)
{
    switch (launch.kernel) {
    case BASIC: return merge_basic(pair, launch.items);
    case TILED_FULL: return merge_tiled_full(pair, launch, scratch);
    case TILED_EXACT: return merge_tiled_exact(pair, launch, scratch);
    case CIRCULAR: return merge_circular(pair, launch, scratch);
    default: return merge_path(pair, launch.tile);
    }
}
