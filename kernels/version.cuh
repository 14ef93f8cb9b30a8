// Names in the order of the versions in them, as in gnulib's filevercmp.
// A key may leave some bytes out. Only the bytes that count are looked at.
#pragma once

#include "fields.cuh"

constexpr int NO_BYTE = -1;

// The byte that stands for the one at `at` in comparisons; NO_BYTE at the end.
__device__ __forceinline__ int byte_or_end(Place at, Place stop, long long flags)
{
    return at < stop ? folded(*at, flags) : NO_BYTE;
}

// Reads the bytes of a name that count, one after the other.
struct Reader {
    Place at, stop;
    long long flags;
    int byte;

    __device__ __forceinline__ Reader(Text name, long long key_flags)
        : at(name.start), stop(name.stop), flags(key_flags), byte(byte_or_end(name.start, name.stop, key_flags))
    {
    }

    __device__ __forceinline__ void next()
    {
        at = next_counting(at + 1, stop, flags);
        byte = byte_or_end(at, stop, flags);
    }
};

// The place where the suffix of a name begins. A suffix is as many parts as possible, each of them a dot, then a letter or
// '~', then letters, digits and '~'s. All of a name may be suffix, as in coreutils 9.1. `name` must start with a byte that
// counts.
__device__ __noinline__ Place suffix_start(Text name, long long flags)
{
    for (Reader reader(name, flags);; reader.next()) {
        const Place found = reader.at;
        while (reader.byte == '.') {
            Reader behind = reader;
            behind.next();
            if (!is_letter(behind.byte) && behind.byte != '~') break;
            do behind.next();
            while (is_letter(behind.byte) || is_digit(behind.byte) || behind.byte == '~');
            reader = behind;
        }
        if (reader.at >= name.stop) return found;
    }
}

// The place in the order of a byte that is no digit.
__device__ inline int version_place(int byte)
{
    if (byte == NO_BYTE) return -1;
    if (is_digit(byte)) return 0;
    if (is_letter(byte)) return byte;
    return byte == '~' ? -2 : byte + 256;
}

__device__ __noinline__ int compare_parts(Text a, Text b, long long flags)
{
    Reader x(a, flags), y(b, flags);
    while (x.byte != NO_BYTE || y.byte != NO_BYTE) {
        while ((x.byte != NO_BYTE && !is_digit(x.byte)) || (y.byte != NO_BYTE && !is_digit(y.byte))) {
            const int difference = version_place(x.byte) - version_place(y.byte);
            if (difference != 0) return difference;
            x.next();
            y.next();
        }
        while (x.byte == '0') x.next();
        while (y.byte == '0') y.next();
        int first = 0;
        while (is_digit(x.byte) && is_digit(y.byte)) {
            if (first == 0) first = x.byte - y.byte;
            x.next();
            y.next();
        }
        if (is_digit(x.byte)) return 1;
        if (is_digit(y.byte)) return -1;
        if (first != 0) return first;
    }
    return 0;
}

// The class of a name: 0 for an empty one, 1 for ".", 2 for "..", 3 if it begins with a dot, 4 for all others.
__device__ inline int name_class(Text name, long long flags)
{
    Reader reader(name, flags);
    if (reader.byte == NO_BYTE) return 0;
    if (reader.byte != '.') return 4;
    reader.next();
    if (reader.byte == NO_BYTE) return 1;
    if (reader.byte != '.') return 3;
    reader.next();
    return reader.byte == NO_BYTE ? 2 : 3;
}

// flags: the flags of the key.
__device__ inline int compare_versions(Text a, Text b, long long flags)
{
    a.start = next_counting(a.start, a.stop, flags);
    b.start = next_counting(b.start, b.stop, flags);
    const int kind = name_class(a, flags);
    const int difference = kind - name_class(b, flags);
    if (difference != 0 || kind < 3) return difference;
    const Place a_suffix = suffix_start(a, flags), b_suffix = suffix_start(b, flags);
    const int result = compare_parts({a.start, a_suffix}, {b.start, b_suffix}, flags);
    if (result != 0 || (a_suffix == a.stop && b_suffix == b.stop)) return result;
    return compare_parts(a, b, flags);
}

// The byte in an image for a byte that is no digit: '~' is 0, the end of a part is 1, then come letters, then all others.
__device__ inline int version_character(int byte)
{
    if (byte == '~') return 0;
    if (is_capital(byte)) return byte - 62;
    if (is_small(byte)) return byte - 68;
    return 55 + byte - 10 * (byte > '9') - 26 * (byte > 'Z') - 26 * (byte > 'z') - (byte > '~');
}

// Collects the bytes of an image, the most significant one first. Bytes that do not fit are dropped.
struct ImageBytes {
    Word image = 0;
    int shift = 56;

    __device__ __forceinline__ void put(int byte)
    {
        if (shift >= 0) image |= static_cast<Word>(byte) << shift;
        shift -= 8;
    }
};

// The first eight bytes of this sequence: the class of the name, then in turn a part without digits and a number.
__device__ inline Word version_image(Text name, long long flags)
{
    name.start = next_counting(name.start, name.stop, flags);
    const int kind = name_class(name, flags);
    ImageBytes bytes;
    bytes.put(kind);
    if (kind < 3) return bytes.image;
    Reader reader({name.start, suffix_start(name, flags)}, flags);
    while (bytes.shift >= 0) {
        if (reader.byte != NO_BYTE && !is_digit(reader.byte)) {
            bytes.put(version_character(reader.byte));
            reader.next();
            continue;
        }
        bytes.put(1);
        while (reader.byte == '0') reader.next();
        int digits = 0;
        for (Reader ahead = reader; digits < 255 && is_digit(ahead.byte); ahead.next()) ++digits;
        bytes.put(digits);
        if (digits == 255) break;
        for (; digits > 0; --digits, reader.next()) bytes.put(reader.byte);
    }
    return bytes.image;
}
