// Keys of several fields of a line. Included behind lines.cuh.
#pragma once

// Whether the key is all of the line. Then it is taken as it stands, with all its quotes, and keys in it are compared.
inline bool is_whole_line(const LineOrder& order)
{
    return order.keys == 1 && order.key(0).start_field == 0 && order.key(0).end_field < 0;
}

// A key of CSV as its field stands in the line, with its quotes.
inline Text as_it_stands(const LineOrder& order, Text line, Text key)
{
    const bool quoted = is_quoted(order.separator) && key.start > line.start && key.start[-1] == '"';
    // Behind a line's last quote there is no field.
    return quoted && key.stop < line.stop ? Text{key.start - 1, key.stop + 1} : key;
}

// Writes a separator, or a space for blanks, to `out`: width_of(separator) bytes. Returns the place behind it.
inline unsigned char* put_separator(long long separator, unsigned char* out)
{
    *out++ = static_cast<unsigned char>(separator < 0 ? ' ' : separator);
    for (long long rest = rest_of(separator); rest != 0; rest >>= 8) *out++ = static_cast<unsigned char>(rest);
    return out;
}

// The bytes that several_keys may write for a line of so many bytes.
inline size_t bytes_of_keys(const LineOrder& order, long long bytes)
{
    return static_cast<size_t>(bytes + order.keys * width_of(order.separator));
}

// Writes the keys of a line as they stand to `out`, with separators between them. part(key): where a key lies in the line.
template <typename Part>
inline Text several_keys(const LineOrder& order, Text line, unsigned char* out, Part part)
{
    unsigned char* at = out;
    for (long long number = 0; number < order.keys; ++number) {
        if (number > 0) at = put_separator(order.separator, at);
        const Text key = as_it_stands(order, line, part(order.key(number)));
        const size_t length = static_cast<size_t>(key.stop - key.start);
        if (length > 0) __builtin_memcpy(at, key.start, length);
        at += length;
    }
    return {out, at};
}
