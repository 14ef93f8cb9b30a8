// The functions of the shared headers that have two forms, for a test that compares these. If TEXT_PADDING is 64 they read
// words and vectors; if it is 0 they read bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "find.hpp"

#define ROWS 1
#define KEY_BITS 64
#include "host.cuh"

namespace {
#include "keys.cuh"

int sign(int order) { return (order > 0) - (order < 0); }
const LineOrder& order_at(const long long* table) { return *reinterpret_cast<const LineOrder*>(table); }
}  // namespace

extern "C" {

// Where keys begin and end in the line, in pairs.
void key_bounds(const long long* table, const unsigned char* line, int64_t size, int64_t* bounds)
{
    const LineOrder& order = order_at(table);
    const FieldMarks marks(order, {line, line + size});
    for (long long number = 0; number < order.keys; ++number) {
        const Text text = marks.part(order.key(number));
        *bounds++ = text.start - line;
        *bounds++ = text.stop - line;
    }
}

// The first 64 bits of the keys' images.
uint64_t prefix(const long long* table, const unsigned char* line, int64_t size)
{
    return static_cast<uint64_t>(key_prefix(order_at(table), {line, line + size}).bits >> (PREFIX_BITS - 64));
}

uint64_t number(const unsigned char* text, int64_t size) { return number_image({text, text + size}); }

// The byte's place, the first blank's, and how x and y compare by bytes and by the order's keys.
void looks(const long long* table, const unsigned char* x, int64_t x_size, const unsigned char* y, int64_t y_size, int64_t* found)
{
    const Text a{x, x + x_size}, b{y, y + y_size};
    found[0] = find_byte(a.start, a.stop, ',') - x;
    found[1] = find_blank(a.start, a.stop) - x;
    found[2] = sign(compare_bytes(a, b));
    found[3] = sign(compare_by_keys(order_at(table), a, b));
}
}
