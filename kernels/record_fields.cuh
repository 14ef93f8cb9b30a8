// Fields of records: their images, and which of two goes first. Needs image_of of keys.cuh.
#pragma once

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

// Negative, zero or positive, if the field at key_y goes before, with or behind the one at key_x. known: the number of bytes
// that two fields of bytes are known to have in common at their starts.
__device__ __forceinline__ int compare_field(KeyField field, Place key_y, Place key_x, long long known)
{
    if (field.is_bytes()) {
        const int order = compare_bytes({key_y + known, key_y + field.width}, {key_x + known, key_x + field.width});
        return field.descending ? -order : order;
    }
    const int bytes = static_cast<int>(field.width);
    const Word image_y = field_image(field, key_y, bytes), image_x = field_image(field, key_x, bytes);
    return (image_y > image_x) - (image_y < image_x);
}
