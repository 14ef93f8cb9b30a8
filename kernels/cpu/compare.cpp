#include "compare.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "../host.cuh"

#define ROWS 1
namespace {
#include "../keys.cuh"
#include "../record_fields.cuh"
#include "key_fields.hpp"
#include "record_fields.hpp"

int compare_records(const OrderSpec& order, const unsigned char* a, const unsigned char* b)
{
    int result = 0;
    for (int64_t number = 0; result == 0 && number < fields_of(order); ++number) {
        const KeyField field = key_field(field_of(order, number));
        result = compare_field(field, a + field.offset, b + field.offset, 0);
    }
    return result;
}

const LineOrder& lines_of(const OrderSpec& order) { return *reinterpret_cast<const LineOrder*>(order.table); }

}  // namespace

uint64_t image_of_key(const OrderSpec& order, const unsigned char* item)
{
    const KeyField field = key_field(order.kind == RECORDS ? field_of(order, 0) : whole_key(order));
    return field_image(field, item + field.offset, field.width < 8 ? static_cast<int>(field.width) : 8);
}

size_t words_of_lines(const OrderSpec& order) { return static_cast<size_t>(lines_of(order).words); }

bool is_plain(const OrderSpec& order) { return order.kind == LINES && lines_of(order).plain(); }

bool is_reversed(const OrderSpec& order) { return (lines_of(order).flags & REVERSE) != 0; }

int compare_items(const OrderSpec& order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size)
{
    if (order.kind == RECORDS) return compare_records(order, a, b);
    if (order.kind != LINES) return compare_field(key_field(whole_key(order)), a, b, 0);
    return compare_lines(lines_of(order), {a, a + a_size}, {b, b + b_size});
}

bool is_invalid_key(const OrderSpec& order, int64_t number, Bytes line)
{
    const LineOrder& lines = lines_of(order);
    const Key& key = lines.key(number);
    return class_of({lines, key, key_text(key, lines.separator, {line.at, line.at + line.size})}) == INVALID_KEY;
}

bool read_time(const OrderSpec& order, int64_t number, Bytes line, int64_t* found)
{
    const LineOrder& lines = lines_of(order);
    const Key& key = lines.key(number);
    const KeyIn one{lines, key, key_text(key, lines.separator, {line.at, line.at + line.size})};
    if (class_of(one) == NULL_KEY) return false;
    Text where = one.text;
    Instant instant;
#define READ(name) \
    if (key.is(KIND_##name)) instant = kind_##name::read(one, where);
    TIMED_KINDS(READ)
#undef READ
    const int64_t all[] = {instant.seconds, instant.nanos, where.start - line.at, where.stop - line.at};
    std::copy(std::begin(all), std::end(all), found);
    return instant.valid;
}

Bytes key_in_line(const OrderSpec& order, int64_t number, Bytes line)
{
    const LineOrder& lines = lines_of(order);
    const Text text = key_text(lines.key(number), lines.separator, {line.at, line.at + line.size});
    return {text.start, text.stop - text.start};
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
    if (is_whole_line(places)) return item;
    const Text line{item.at, item.at + item.size};
    if (places.keys == 1) {
        const Text part = key_text(places.key(0), places.separator, line);
        return {part.start, part.stop - part.start};
    }
    unsigned char* const out = made.reserve(bytes_of_keys(places, item.size));
    const Text key = several_keys(places, line, out, [&](const Key& one) { return key_text(one, places.separator, line); });
    return {key.start, key.stop - key.start};
}
