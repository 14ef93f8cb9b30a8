// Rows are text lines, or records of one size. This file compares them, and makes the 64-bit prefix that decides most
// comparisons without reading the text.
//
// Prefixes have the order of the rows, but different rows may have equal prefixes. Only then is the text read.
//
// Kernels read the order of lines as data: GNU sort's keys, in the layout of gpumerge_cli/order/rules.py. So one module
// serves all orders. tests/linekeys.py computes the same in Python, slowly: a prefix is the first word of its images, to the
// bit.
//
// With RECORD_SIZE, rows are records of that many bytes, and records.cuh compares them. KEY_FIELDS lists the fields of their
// key, the first one first; KEY_SIZE is the sum of their bytes. A prefix holds all of a key of at most 8 bytes. A list that is
// not given has one field: KEY_SIZE bytes at KEY_OFFSET.
//
// The CPU's rows (cpu/lines.hpp) find their items in another way, and know some of these values at run time only.
#pragma once

#ifndef RECORD_SIZE
#define RECORD_SIZE 0
#endif
#ifndef KEY_OFFSET
#define KEY_OFFSET 0
#endif
#ifndef KEY_SIZE
#define KEY_SIZE 8
#endif
#ifndef KEY_BIG_ENDIAN
#define KEY_BIG_ENDIAN 0
#endif

#ifndef KEY_FIELDS
#define KEY_FIELDS {KEY_OFFSET, KEY_SIZE, KEY_KIND, KEY_BIG_ENDIAN, DESCENDING}
#endif

#if ROWS
#include "bytes.cuh"
#endif

// A field of a record's key: `width` bytes at `offset`. It is a number of some kind (see KEY_KIND), compared by its image, or
// bytes, compared as in memcmp. big_endian: the most significant byte of the number comes first; bytes always have it, and are
// unsigned.
struct KeyField {
    long long offset, width;
    int kind;
    bool big_endian, descending;

    __device__ __forceinline__ bool is_bytes() const { return kind == 0 && big_endian; }
};

#if ROWS && TEXT_PADDING
#include "cpu/lines.hpp"
#else

// Line L is text[starts[L] .. starts[L + 1] - 1), without its terminator. `starts` has one entry more than there are lines.
// The entry ahead of starts[0] is the number of words of the lines' order. The order itself lies ahead of this entry.
// Record R is text[R * RECORD_SIZE .. (R + 1) * RECORD_SIZE). Records have no starts.
struct Lines {
    const unsigned char* text;
    const long long* starts;

    // have_ties: rows with equal prefixes may still differ in order. keys_exact: rows with equal prefixes have equal keys.
    static constexpr bool have_ties = RECORD_SIZE == 0 || KEY_SIZE > 8, keys_exact = false;
    // For records only.
    static constexpr long long record = RECORD_SIZE;

#if RECORD_SIZE
    __device__ __forceinline__ static constexpr int fields()
    {
        constexpr KeyField all[] = {KEY_FIELDS};
        return sizeof(all) / sizeof(KeyField);
    }

    __device__ __forceinline__ static constexpr KeyField field(int number)
    {
        constexpr KeyField all[] = {KEY_FIELDS};
        return all[number];
    }
#endif

    // The least number of bytes that two plain lines with equal prefixes have in common. length: that of the shorter line.
    __device__ __forceinline__ long long alike(long long length) const { return length < 8 ? length : 8; }
};

#endif

#if ROWS && !RECORD_SIZE

#include "prefix.cuh"

#if !TEXT_PADDING

__device__ __forceinline__ const LineOrder& order_of(Lines lines)
{
    return *reinterpret_cast<const LineOrder*>(lines.starts - 1 - lines.starts[-1]);
}

// A line without its terminator.
__device__ __forceinline__ Text text_of(Lines lines, long long line)
{
    return {lines.text + lines.starts[line], lines.text + lines.starts[line + 1] - 1};
}

#endif

#if !TEXT_PADDING

__device__ inline Word line_prefix(Lines lines, long long number)
{
    const LineOrder& order = order_of(lines);
    const Text line = text_of(lines, number);
    if (order.plain()) {
        Word prefix = 0;
        for (int at = 0; at < 8; ++at) prefix = prefix << 8 | (at < line.stop - line.start ? line.start[at] : 0);
        return order.flags & REVERSE ? ~prefix : prefix;
    }
    if (order.numeric()) {
        const Word image = number_image(line);
        return order.key(0).flags & KEY_REVERSE ? ~image : image;
    }
    return key_prefix(order, line).bits;
}

#endif

// Compares keys of one kind, neither of which is null or invalid.
__device__ inline int compare_values(const KeyIn& x, const KeyIn& y)
{
#define COMPARE(name) \
    if (x.key.is(KIND_##name)) return kind_##name::compare(x, y);
    COMPARISONS(COMPARE)
#undef COMPARE
    return 0;
}

// Negative, zero or positive, if the key goes before, with or behind that of the other line.
__device__ inline int compare_key(const LineOrder& order, const Key& key, Text a, Text b)
{
    const KeyIn x{order, key, key_text(key, order.separator, a)}, y{order, key, key_text(key, order.separator, b)};
    KeyClass both = VALUE_KEY;
    if (key.flags & CLASSED) {
        both = class_of(x);
        const KeyClass other = class_of(y);
        if (both != other) return place_of_class(key, both) - place_of_class(key, other);
        if (both == NULL_KEY) return 0;
    }
    const int result = both == INVALID_KEY ? compare_bytes(x.text, y.text) : compare_values(x, y);
    return key.flags & KEY_REVERSE ? -result : result;
}

// Compares lines whose keys are all equal.
__device__ inline int compare_last_resort(const LineOrder& order, Text a, Text b)
{
    if (order.flags & STABLE) return 0;
#if HAS_COLLATION
    const int result = order.flags & IN_LOCALE ? compare_lines_in_locale(order, a, b) : compare_bytes(a, b);
#else
    const int result = compare_bytes(a, b);
#endif
    return order.flags & REVERSE ? -result : result;
}

// Compares lines by their keys and then, unless the order is stable, by their bytes. The result is as memcmp's.
__device__ __noinline__ int compare_by_keys(const LineOrder& order, Text a, Text b)
{
    for (long long number = 0; number < order.keys; ++number) {
        const int result = compare_key(order, order.key(number), a, b);
        if (result != 0) return result;
    }
    return compare_last_resort(order, a, b);
}

// Compares lines of an order without keys.
__device__ __forceinline__ int compare_plain(const LineOrder& order, Text a, Text b)
{
    const int result = compare_bytes(a, b);
    return order.flags & REVERSE ? -result : result;
}

// Compares any two lines.
__device__ inline int compare_lines(const LineOrder& order, Text a, Text b)
{
    return order.plain() ? compare_plain(order, a, b) : compare_by_keys(order, a, b);
}

// This function is called by its address. So a merge holds only the registers of a call for it.
__device__ int (*compare_keyed)(const LineOrder& order, Text a, Text b) = compare_by_keys;

// Negative, zero or positive, if line y goes before, with or behind line x. Their prefixes must be equal, because the bytes
// that a prefix holds of a line without keys are not read again.
__device__ __forceinline__ int compare_rows(Lines lines, long long y, long long x)
{
    const LineOrder& order = order_of(lines);
    Text line_y = text_of(lines, y), line_x = text_of(lines, x);
#if HAS_COLLATION
    // strcoll is slow, and most ties are lines that are in both files, or twice in one.
    if (order.flags & IN_LOCALE && line_y.stop - line_y.start == line_x.stop - line_x.start && compare_bytes(line_y, line_x) == 0)
        return 0;
#endif
    if (lines.keys_exact) return compare_last_resort(order, line_y, line_x);
    if (!order.plain()) return compare_keyed(order, line_y, line_x);
    const long long y_length = line_y.stop - line_y.start, x_length = line_x.stop - line_x.start;
    const long long shorter = y_length < x_length ? y_length : x_length;
    const long long known = lines.alike(shorter);
    line_y.start += known;
    line_x.start += known;
    return compare_plain(order, line_y, line_x);
}

// Whether line y goes strictly before line x. Preconditions: as for compare_rows. It is not inlined, because ties are rare,
// and the path kernel would repeat it for each item.
__device__ __noinline__ bool line_before(Lines lines, long long y, long long x) { return compare_rows(lines, y, x) < 0; }

#endif
