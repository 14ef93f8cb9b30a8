// Merges of keys of 4 or 8 bytes, each with a value of 4 or 8 bytes that lies in an array of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "keys.hpp"
#include "memory.hpp"
#include "team.hpp"

// A run: keys, which are aligned, and as many values, which need not be.
struct PairRun {
    const Byte *keys, *values;
    int64_t count;
};

// Everything that a merge needs besides the runs. order: of unsigned or signed integers, or floats; then NaNs are equal and last,
// and zeros are equal.
struct PairMerge {
    const OrderSpec& order;
    const KeyFunctions& keys;
    const LaunchSpec& launch;  // VECTOR: by vectors where they are faster than items; any other kernel: item by item
    int64_t value_bytes;
    const Team& team;

    // Merges the runs to `out` and `out_values`, which share no memory with them. Equal keys keep the order of the runs. Each key
    // has its value beside it, even if the runs are not in order. Runs are merged in pairs, level by level, back and forth
    // between the output and room for as much. Throws std::bad_alloc.
    void merge(std::vector<PairRun> runs, Byte* out, Byte* out_values) const;

private:
    void merge_two(const PairRun& a, const PairRun& b, Byte* out, Byte* out_values) const;
};
