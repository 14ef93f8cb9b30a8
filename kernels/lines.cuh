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

#include "key_kinds.cuh"

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

#if TEXT_PADDING
typedef WideWord PrefixBits;
constexpr int PREFIX_BITS = 128;
#else
typedef Word PrefixBits;
constexpr int PREFIX_BITS = 64;
#endif

// A prefix while it is made. Its bytes are put in, the most significant one first. Bytes that do not fit are dropped.
struct Prefix {
    PrefixBits bits = 0;
    int room = PREFIX_BITS;
    int rest = 0;      // the room that is left behind the keys
    bool exact = true;  // whether lines with equal bits have equal keys

    __device__ __forceinline__ bool full() const { return room <= 0; }

    // turned: 0, or 255 to take the complement.
    __device__ __forceinline__ void put(int byte, int turned)
    {
        room -= 8;
        if (room >= 0) bits |= static_cast<PrefixBits>(byte ^ turned) << room;
    }

    // Puts the first `width` bits of `image`; the bits behind them must be 0. There must be room for at least one bit.
    __device__ __forceinline__ void put_image(PrefixBits image, int width)
    {
        bits |= image >> (PREFIX_BITS - room);
        room -= width;
    }

    // Puts the first BITS bits of an image, or their complement. There must be room for at least one bit.
    template <int BITS>
    __device__ __forceinline__ void put_key(const KeyImage& image, bool turned)
    {
#if TEXT_PADDING
        PrefixBits bits = static_cast<PrefixBits>(image.first) << 64 | image.second;
#else
        PrefixBits bits = image.first;
#endif
        if (turned) bits = ~bits;
        if (BITS < PREFIX_BITS) bits &= ~(~static_cast<PrefixBits>(0) >> (BITS % PREFIX_BITS));
        put_image(bits, BITS);
    }

#if TEXT_PADDING
    // Puts an image that fills all the room, if there is any. It has no branch, because the lengths of keys would decide it,
    // and processors cannot predict them.
    __device__ __forceinline__ void put_last(PrefixBits image)
    {
        const PrefixBits all = 0 - static_cast<PrefixBits>(room > 0);
        bits |= (image >> (static_cast<unsigned>(PREFIX_BITS - room) % PREFIX_BITS)) & all;
        room = 0;
    }
#endif

    // Puts a key that is compared by bytes. A byte 0 or 1 takes two bytes, and 0 ends the key.
    __device__ inline void put_text(Text text, long long flags, int turned)
    {
#if TEXT_PADDING
        if (!(flags & (DICTIONARY | PRINTABLE))) {
            const WideText wide(text, flags & FOLD);
            if (!wide.has_0_or_1 && room > 0) {
                put_image(wide.image(turned), 8 * wide.length + 8);
                return;
            }
        }
#endif
        for (Place at = next_counting(text.start, text.stop, flags); at < text.stop && !full();
             at = next_counting(at + 1, text.stop, flags)) {
            int byte = folded(*at, flags);
            if (byte < 2) {
                put(1, turned);
                ++byte;
            }
            put(byte, turned);
        }
        put(0, turned);
    }
};

// The images of a line's keys, one after the other, and then the bytes of the line, until the prefix is full. If an image
// does not hold all of its key, nothing follows it.
__device__ __noinline__ Prefix key_prefix(const LineOrder& order, Text line)
{
    Prefix prefix;
    const FieldMarks marks(order, line);
    for (long long number = 0; number < order.keys; ++number) {
        if (prefix.full()) {
            prefix.exact = false;
            return prefix;
        }
        const Key& key = order.key(number);
        const Text text = marks.part(key);
        const int turned = key.flags & KEY_REVERSE ? 255 : 0;
        if (key.is(KIND_bytes)) {
            prefix.put_text(text, key.flags, turned);
        }
#define PUT(name) \
    else if (key.is(KIND_##name)) { \
        const KeyImage image = kind_##name::image({order, key, text}); \
        prefix.put_key<kind_##name::BITS>(image, turned != 0); \
        if (PREFIX_BITS <= kind_##name::BITS || !image.exact) { \
            prefix.exact = false; \
            return prefix; \
        } \
    }
        IMAGED_KINDS(PUT)
#undef PUT
        prefix.exact = prefix.exact && prefix.room >= 0;
    }
    prefix.rest = prefix.room;
    if (!(order.flags & STABLE)) {
        const int turned = order.flags & REVERSE ? 255 : 0;
#if TEXT_PADDING
        prefix.put_last(WideText(line, false).bytes ^ (0 - static_cast<WideWord>(turned != 0)));
#else
        for (Place at = line.start; !prefix.full(); ++at) prefix.put(at < line.stop ? *at : 0, turned);
#endif
    }
    return prefix;
}

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

__device__ inline int compare_key(const LineOrder& order, const Key& key, Text a, Text b)
{
    const Text x = key_text(key, order.separator, a), y = key_text(key, order.separator, b);
#define COMPARE(name) \
    if (key.is(KIND_##name)) return kind_##name::compare({order, key, x}, {order, key, y});
    COMPARISONS(COMPARE)
#undef COMPARE
    return 0;
}

// Compares lines whose keys are all equal.
__device__ inline int compare_last_resort(const LineOrder& order, Text a, Text b)
{
    if (order.flags & STABLE) return 0;
    const int result = compare_bytes(a, b);
    return order.flags & REVERSE ? -result : result;
}

// Compares lines by their keys and then, unless the order is stable, by their bytes. The result is as memcmp's.
__device__ __noinline__ int compare_by_keys(const LineOrder& order, Text a, Text b)
{
    for (long long number = 0; number < order.keys; ++number) {
        const Key& key = order.key(number);
        const int result = compare_key(order, key, a, b);
        if (result != 0) return key.flags & KEY_REVERSE ? -result : result;
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
