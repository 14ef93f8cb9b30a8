// The index of a text: rows with the places of its lines. A unit of its own, so that little is compiled for each level.
#pragma once

#include <cstdint>
#include <vector>

#include "line_place.hpp"

// The number of terminators in a stretch, and the place behind the last one; -1 if there is none.
struct Terminators {
    int64_t count, behind_last;
};

// Counts in the bytes [first, last). PADDING bytes behind `last` must be readable.
Terminators count_terminators(const unsigned char* text, int64_t first, int64_t last, unsigned char terminator);

// Makes a row of 16 bytes for each line that ends in the bytes [first, last), and returns their number. If there are more than
// `room`, it returns -1; rows and long_lines then hold some of them. The first line starts at `start`.
// The second 8 bytes of a row are the line's place. The first 8 get any value: they are for the prefix. Lines of LONG_LINE bytes
// or more are added to long_lines. PADDING bytes behind `last` must be readable.
int64_t index_lines(const unsigned char* text, int64_t first, int64_t last, unsigned char terminator, int64_t start, int64_t room,
    void* rows, std::vector<LongLine>& long_lines);
