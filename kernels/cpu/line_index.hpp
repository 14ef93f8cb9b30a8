// The index of a text: the places of its lines, as rows. A unit of its own, so that few functions are compiled for each level.
#pragma once

#include <cstdint>
#include <vector>

#include "line_place.hpp"

// The number of terminators in a stretch, and the place behind the last one; -1 if there is none.
struct Terminators {
    int64_t count, behind_last;
};

// Of the bytes [first, last). PADDING bytes behind `last` must be readable.
Terminators count_terminators(const unsigned char* text, int64_t first, int64_t last, unsigned char terminator);

// Puts the place of each line that ends in the bytes [first, last) into the second 8 of the 16 bytes of its row, and any value
// into the first 8. count: the number of these lines, as count_terminators says; as many rows are written. The first line
// starts at `start`. Lines of LONG_LINE bytes or more are added to `long_lines`. PADDING bytes behind `last` must be readable.
void index_lines(const unsigned char* text, int64_t first, int64_t last, unsigned char terminator, int64_t start, int64_t count,
    void* rows, std::vector<LongLine>& long_lines);
