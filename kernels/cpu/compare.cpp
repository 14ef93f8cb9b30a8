#include "compare.hpp"

#include <algorithm>
#include <cstring>

#include "../host.cuh"

#define ROWS 1
#define KEY_KIND 0
#define DESCENDING 0
namespace {
#include "../lines.cuh"
#include "key_fields.hpp"

uint64_t word_of(const unsigned char* at, int64_t width, bool big_endian)
{
    uint64_t bits = 0;
    for (int64_t byte = 0; byte < width; ++byte) bits = bits << 8 | at[big_endian ? byte : width - 1 - byte];
    return bits;
}

// The ascending image of a number: see keys.cuh.
uint64_t image_of(uint64_t bits, int64_t kind, int64_t width)
{
    const uint64_t sign = 1ull << (8 * width - 1);
    if (kind == SIGNED_KEYS) return bits ^ sign;
    if (kind != FLOAT_KEYS) return bits;
    const uint64_t infinity = width == 2 ? 0x7c00ull : width == 4 ? 0x7f800000ull : 0x7ff0000000000000ull;
    const uint64_t magnitude = bits & (sign - 1);
    if (magnitude > infinity) return ~0ull;
    return bits & sign ? sign - magnitude : sign + magnitude;
}

int compare_field(const FieldSpec& field, const unsigned char* a, const unsigned char* b)
{
    a += field.offset;
    b += field.offset;
    int result = 0;
    if (field.kind == UNSIGNED_KEYS && field.big_endian) {
        result = std::memcmp(a, b, static_cast<size_t>(field.width));
    } else {
        const uint64_t x = image_of(word_of(a, field.width, field.big_endian), field.kind, field.width);
        const uint64_t y = image_of(word_of(b, field.width, field.big_endian), field.kind, field.width);
        result = (x > y) - (x < y);
    }
    return field.descending ? -result : result;
}

int compare_records(const OrderSpec& order, const unsigned char* a, const unsigned char* b)
{
    int result = 0;
    for (int64_t number = 0; result == 0 && number < fields_of(order); ++number)
        result = compare_field(field_of(order, number), a, b);
    return result;
}

}  // namespace

uint64_t image_of_key(const OrderSpec& order, const unsigned char* item)
{
    const FieldSpec field = order.kind == RECORDS ? field_of(order, 0)
                                                  : FieldSpec{0, order.width, order.kind, 0, order.descending};
    const int64_t width = field.width < 8 ? field.width : 8;
    const uint64_t bits = word_of(item + field.offset, width, field.big_endian);
    const uint64_t ascending = image_of(bits, field.kind, width);
    return field.descending ? ~ascending : ascending;
}

bool is_plain(const OrderSpec& order) { return order.kind == LINES && (order.table[0] & PLAIN) != 0; }

int compare_items(const OrderSpec& order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size)
{
    if (order.kind == RECORDS) return compare_records(order, a, b);
    if (order.kind != LINES) return compare_field({0, order.width, order.kind, 0, order.descending}, a, b);
    const LineOrder& lines = *reinterpret_cast<const LineOrder*>(order.table);
    if (!(lines.flags & PLAIN)) return compare_by_keys(lines, {a, a + a_size}, {b, b + b_size});
    const int64_t shorter = a_size < b_size ? a_size : b_size;
    int result = shorter > 0 ? std::memcmp(a, b, static_cast<size_t>(shorter)) : 0;
    if (result == 0) result = (a_size > b_size) - (a_size < b_size);
    return lines.flags & REVERSE ? -result : result;
}

Bytes record_key(const OrderSpec& order, const int64_t* table, const unsigned char* record, Buffer& made)
{
    const int64_t count = fields_in(table);
    if (count == 1) {
        const FieldSpec field = field_in(table, 0);
        if (field.big_endian == field_of(order, 0).big_endian) return {record + field.offset, field.width};
    }
    unsigned char* const out = made.reserve(static_cast<size_t>(order.record));
    for (int64_t number = 0; number < count; ++number) {
        const FieldSpec field = field_in(table, number), key = field_of(order, number);
        unsigned char* const at = out + key.offset;
        std::memcpy(at, record + field.offset, static_cast<size_t>(field.width));
        if (field.big_endian != key.big_endian) std::reverse(at, at + field.width);
    }
    return {out, order.record};
}

Bytes key_part(const OrderSpec& order, const int64_t* table, Bytes item, Buffer& made)
{
    if (order.kind == RECORDS) return record_key(order, table, item.at, made);
    const LineOrder& places = *reinterpret_cast<const LineOrder*>(table);
    const Text line{item.at, item.at + item.size};
    if (places.keys == 1) {
        const Text part = key_text(places.key(0), places.separator, line);
        return {part.start, part.stop - part.start};
    }
    unsigned char* const out = made.reserve(static_cast<size_t>(item.size + places.keys));
    const Text key = several_keys(places, line, out, [&](const Key& one) { return key_text(one, places.separator, line); });
    return {key.start, key.stop - key.start};
}
