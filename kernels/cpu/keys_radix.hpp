// Radix sorts of keys.
#pragma once

#include "keys.hpp"
#include "memory.hpp"
#include "team.hpp"

// Does what sort_keys does: by digits or, for few different values, by counting them.
void radix_sort_keys(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, Byte* out,
    const Team& team);

// Sorts each tile of `tile` items on its own, with one thread a tile.
void radix_sort_tiles(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, int64_t tile,
    Byte* out, const Team& team);

// Sorts pieces, one after the other, with one thread.
class PieceSorter {
public:
    // Makes room for pieces of at most `items` items. Throws std::bad_alloc; sort() throws nothing.
    void reserve(int64_t items, int64_t width);
    void sort(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, Byte* out);

private:
    Buffer other_, counts_;
};

// numbers[k] becomes the index of the word that is k-th in stable order; the words may lie in `numbers`.
void radix_sort_ranks(const uint64_t* words, int64_t count, int64_t* numbers, const Team& team);
