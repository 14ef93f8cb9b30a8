// The entries that compare single items. They use the shared headers without TEXT_PADDING: texts may end where memory ends.
#include <cstring>
#include <vector>

#include "compare.hpp"
#include "rows_kinds.hpp"

#define ROWS 1
#define KEY_BITS 64
#include "../host.cuh"

namespace {

#include "../keys.cuh"

// The words of a table, in the type that the shared headers read.
std::vector<long long> words_of(const int64_t* table)
{
    std::vector<long long> words(static_cast<size_t>(8 + 8 * table[1]));
    std::memcpy(words.data(), table, words.size() * sizeof(long long));
    return words;
}

int compare_lines(const LineOrder& order, Text a, Text b)
{
    if (!(order.flags & PLAIN)) return compare_by_keys(order, a, b);
    const int result = compare_bytes(a, b);
    return order.flags & REVERSE ? -result : result;
}

Word image_at(const unsigned char* key, int64_t width, int kind, bool big_endian, bool descending)
{
    const int bytes = width < 8 ? static_cast<int>(width) : 8;
    Word bits = 0;
    for (int at = 0; at < bytes; ++at) bits = bits << 8 | key[big_endian ? at : bytes - 1 - at];
    return image_of(bits, 8 * bytes, kind, descending);
}

int compare_fields(const unsigned char* a, const unsigned char* b, const FieldSpec& field)
{
    const int kind = static_cast<int>(field.kind);
    a += field.offset;
    b += field.offset;
    const Word x = image_at(a, field.width, kind, field.big_endian, field.descending);
    const Word y = image_at(b, field.width, kind, field.big_endian, field.descending);
    if (x != y) return x < y ? -1 : 1;
    if (field.width <= 8) return 0;
    const int rest = std::memcmp(a + 8, b + 8, static_cast<size_t>(field.width - 8));
    return field.descending ? -rest : rest;
}

int compare_keys(const unsigned char* a, const unsigned char* b, const OrderSpec& order)
{
    if (order.kind != RECORDS) return compare_fields(a, b, {0, order.width, order.kind, 0, order.descending});
    int result = 0;
    for (int64_t number = 0; result == 0 && number < fields_of(order); ++number)
        result = compare_fields(a, b, field_of(order, number));
    return result;
}

}  // namespace

int64_t gm_compare(const OrderSpec* order, const unsigned char* a, int64_t a_size, const unsigned char* b, int64_t b_size)
{
    if (order->kind != LINES) return compare_keys(a, b, *order);
    const std::vector<long long> words = words_of(order->table);
    return compare_lines(*reinterpret_cast<const LineOrder*>(words.data()), {a, a + a_size}, {b, b + b_size});
}

void gm_key_bounds(const OrderSpec* order, int64_t number, const unsigned char* line, int64_t size, int64_t* bounds)
{
    const std::vector<long long> words = words_of(order->table);
    const LineOrder& lines = *reinterpret_cast<const LineOrder*>(words.data());
    const Text text = key_text(lines.key(number), lines.separator, {line, line + size});
    bounds[0] = text.start - line;
    bounds[1] = text.stop - line;
}

std::unique_ptr<Workspace> make_rows(const OrderSpec& order, int threads)
{
    return order.kind == RECORDS ? make_record_rows(order, threads) : make_line_rows(order, threads);
}
