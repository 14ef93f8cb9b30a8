// Radix sorts of keys.
#pragma once

#include "keys.hpp"
#include "memory.hpp"
#include "team.hpp"

// As sort_keys, by digits or, of few different values, by their counts.
void radix_sort_keys(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, Byte* out,
    const Team& team);

// Sorts every `tile` items by themselves, each by one thread.
void radix_sort_tiles(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, int64_t tile,
    Byte* out, const Team& team);

// Sorts pieces, one after the other and by one thread.
class PieceSorter {
public:
    // For pieces of at most so many items. Throws std::bad_alloc, and sort() does not.
    void reserve(int64_t items, int64_t width);
    void sort(const OrderSpec& order, const KeyFunctions& keys, const Byte* items, int64_t count, Byte* out);

private:
    Buffer other_, counts_;
};

// numbers[k] becomes the index of the word that is k-th in stable order; the words may lie in `numbers`.
void radix_sort_ranks(const uint64_t* words, int64_t count, int64_t* numbers, const Team& team);
