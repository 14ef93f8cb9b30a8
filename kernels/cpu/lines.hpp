// The places of the CPU's rows. Included by lines.cuh.
//
// The row of a record holds the record's number. The row of a line holds the line's place, so merges and gathers need no table.
#pragma once

#include "line_place.hpp"

struct LineOrder;

struct Lines {
    const unsigned char* text = nullptr;
    // Whether rows with equal prefixes may still differ: see keys.cuh and lines.cuh.
    bool have_ties = true, keys_exact = false;

    // For lines only. long_lines: the lines of LONG_LINE bytes or more, ascending. common: the number of bytes that all lines
    // share.
    const LineOrder* order = nullptr;
    const LongLine* long_lines = nullptr;
    long long long_count = 0, common = 0;

    // For records only.
    long long record = 0;
    const KeyField* key_fields = nullptr;
    int field_count = 0;

    int fields() const { return field_count; }
    const KeyField& field(int number) const { return key_fields[number]; }

    long long alike(long long) const { return common; }

    static long long start_of(long long place) { return place >> LENGTH_BITS; }

    // The number of bytes of a line, with its terminator.
    long long length_of(long long place) const
    {
        const long long length = place & LONG_LINE;
        return length < LONG_LINE ? length : long_length_of(start_of(place));
    }

    __attribute__((noinline)) long long long_length_of(long long start) const
    {
        long long low = 0, high = long_count - 1;
        while (low < high) {
            const long long middle = (low + high) >> 1;
            if (long_lines[middle].start < start) low = middle + 1;
            else high = middle;
        }
        return long_lines[low].length;
    }
};

#if !RECORD_SIZE

inline const LineOrder& order_of(const Lines& lines) { return *lines.order; }

inline Text text_of(const Lines& lines, long long place)
{
    const Place start = lines.text + Lines::start_of(place);
    return {start, start + lines.length_of(place) - 1};
}

#endif
