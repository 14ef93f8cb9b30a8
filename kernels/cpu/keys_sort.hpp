// Sorts of keys by a team of host threads.
#pragma once

#include "keys_merge.hpp"

// Sorts `count` items to out, stably, by the algorithm that merging.launch names. items and out must share no memory, and the
// items do not change. Throws std::bad_alloc.
void sort_keys(const KeyMerge& merging, const Byte* items, int64_t count, Byte* out);
// ranks[k] becomes the index of the item that is k-th in stable order. It always sorts by digits. Throws std::bad_alloc.
void sort_key_ranks(const KeyMerge& merging, const Byte* items, int64_t count, int64_t* ranks);
