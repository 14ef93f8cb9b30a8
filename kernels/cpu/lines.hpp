// Where the CPU's rows lie. Included by lines.cuh.
//
// The number of a record's row counts records. That of a line's row is its place: the byte at which it starts, and its
// length, so that neither merges nor gathers look anything up. Places ascend as lines do.
#pragma once

struct LineOrder;

constexpr int LENGTH_BITS = 24;
constexpr long long LONG_LINE = (1ll << LENGTH_BITS) - 1;  // the length, terminator counted, from which on it is looked up

struct LongLine {
    long long start, length;
};

struct Lines {
    const unsigned char* text = nullptr;
    // See keys.cuh and lines.cuh: what rows of equal prefixes may still differ in.
    bool have_ties = true, keys_told = false;

    // Of lines. long_lines: all those of LONG_LINE bytes or more, ascending. common: bytes in which all lines are alike.
    const LineOrder* order = nullptr;
    const LongLine* long_lines = nullptr;
    long long long_count = 0, common = 0;

    // Of records.
    long long record = 0, offset = 0, width = 0;
    int kind = 0;
    bool big_endian = false, descending = false;

    long long alike(long long) const { return common; }

    static long long place_of(long long start, long long length)
    {
        return start << LENGTH_BITS | (length < LONG_LINE ? length : LONG_LINE);
    }

    static long long start_of(long long place) { return place >> LENGTH_BITS; }

    // Bytes of a line with its terminator.
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
