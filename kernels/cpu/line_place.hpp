// The place of a line: the byte at which it starts, and its length with the terminator, in one integer. Places ascend in the
// order of the lines.
#pragma once

constexpr int LENGTH_BITS = 24;
constexpr long long LONG_LINE = (1ll << LENGTH_BITS) - 1;  // lengths from here on, with the terminator, are looked up

struct LongLine {
    long long start, length;
};

constexpr long long line_place(long long start, long long length)
{
    return start << LENGTH_BITS | (length < LONG_LINE ? length : LONG_LINE);
}
