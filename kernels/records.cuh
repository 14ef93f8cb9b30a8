// Compares records as rows, and makes their prefixes: see lines.cuh. Needs image_of of keys.cuh.
#pragma once

#include "record_fields.cuh"

__device__ __forceinline__ Place place_of(Lines records, long long record) { return records.text + record * records.record; }

// The first 8 bytes of the images of a record's fields, one after the other.
__device__ inline Word row_prefix(Lines records, long long record)
{
    const Place start = place_of(records, record);
    Word prefix = 0;
    int room = 8;
#pragma unroll
    for (int number = 0; number < records.fields(); ++number) {
        const KeyField field = records.field(number);
        const int bytes = field.width < 8 ? static_cast<int>(field.width) : 8;
        const int taken = bytes < room ? bytes : room;
        if (taken == 0) break;
        const Word image = field_image(field, start + field.offset, bytes) >> (8 * (bytes - taken));
        prefix = taken == 8 ? image : prefix << (8 * taken) | image;
        room -= taken;
    }
    return prefix;
}

// Negative, zero or positive, if record y goes before, with or behind record x. Their prefixes must be equal, because fields
// that lie in a prefix are not read again.
__device__ __forceinline__ int compare_rows(Lines lines, long long y, long long x)
{
    const Place start_y = place_of(lines, y), start_x = place_of(lines, x);
    long long known = 8;
#pragma unroll
    for (int number = 0; number < lines.fields(); ++number) {
        const KeyField field = lines.field(number);
        if (known >= field.width) {
            known -= field.width;
            continue;
        }
        const int order = compare_field(field, start_y + field.offset, start_x + field.offset, known);
        if (order != 0) return order;
        known = 0;
    }
    return 0;
}

// Whether record y goes strictly before record x. Preconditions: as for compare_rows.
__device__ __noinline__ bool line_before(Lines lines, long long y, long long x) { return compare_rows(lines, y, x) < 0; }
