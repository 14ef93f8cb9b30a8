// Compares records as rows, and makes their prefixes: see lines.cuh. Needs image_of of keys.cuh.
#pragma once

__device__ __forceinline__ Place place_of(Lines records, long long record) { return records.text + record * records.record; }

// The first `bytes` bytes of a field's image, as a number. bytes: 8 at most, and all of them for a field that is a number.
__device__ __forceinline__ Word field_image(KeyField field, Place key, int bytes)
{
#if TEXT_PADDING
    const Word bits = field.big_endian ? first_word({key, key + bytes}) >> (64 - 8 * bytes)
                                       : word_at(key) << (64 - 8 * bytes) >> (64 - 8 * bytes);
#else
    Word bits = 0;
#pragma unroll
    for (int at = 0; at < bytes; ++at) bits = bits << 8 | key[field.big_endian ? at : bytes - 1 - at];
#endif
    return image_of(bits, 8 * bytes, field.kind, field.descending);
}

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
        const Place key_y = start_y + field.offset, key_x = start_x + field.offset;
        if (field.is_bytes()) {
            const int order = compare_bytes({key_y + known, key_y + field.width}, {key_x + known, key_x + field.width});
            if (order != 0) return field.descending ? -order : order;
        } else {
            const int bytes = static_cast<int>(field.width);
            const Word image_y = field_image(field, key_y, bytes), image_x = field_image(field, key_x, bytes);
            if (image_y != image_x) return image_y < image_x ? -1 : 1;
        }
        known = 0;
    }
    return 0;
}

// Whether record y goes strictly before record x. Preconditions: as for compare_rows.
__device__ __noinline__ bool line_before(Lines lines, long long y, long long x) { return compare_rows(lines, y, x) < 0; }
