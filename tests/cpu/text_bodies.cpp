// The functions of the shared headers that have two forms, for a test that compares these. If TEXT_PADDING is 64 they read
// words and vectors; if it is 0 they read bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "find.hpp"
#include "memory.hpp"
#include "packing.hpp"
#include "team.hpp"

#define ROWS 1
#define KEY_BITS 64
#include "host.cuh"

namespace {
#include "keys.cuh"
#if TEXT_PADDING
#include "corank.cuh"
#include "line_images.hpp"
#endif

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

// The image of the text as the order's first key, whether it is exact, whether the text is invalid, and the image's bits.
void image(const long long* table, const unsigned char* text, int64_t size, uint64_t* found)
{
    const LineOrder& order = order_at(table);
    const KeyIn one{order, order.key(0), {text, text + size}};
    KeyImage image{0, false};
#define IMAGE(name) \
    if (one.key.is(KIND_##name)) image = kind_##name::image(one);
    IMAGED_KINDS(IMAGE)
#undef IMAGE
    if (image.invalid) image = no_image();
    const uint64_t all[] = {image.first, image.second, image.exact, image.invalid, static_cast<uint64_t>(image.width)};
    std::copy_n(all, 5, found);
}

// Whether vectors read the text as the order's first key; -1 if there are none.
int is_read_by_vectors([[maybe_unused]] const long long* table, [[maybe_unused]] const unsigned char* text, [[maybe_unused]] int64_t size)
{
#if HAS_VECTORS
    KeyImage image;
    const Text all{text, text + size};
    switch (order_at(table).key(0).kind) {
    case KIND_hex: return kind_hex::exact_image(all, image);
    case KIND_size: return kind_size::exact_image(all, image);
    case KIND_address: return kind_address::exact_image(all, image);
    }
#endif
    return -1;
}

#if TEXT_PADDING
// The words of a line, the bits of its key, whether these are exact, and whether it is at fault, for any keys.
void any_words(const long long* table, const unsigned char* line, int64_t size, uint64_t* found)
{
    const KeyWords made(order_at(table), {line, line + size});
    const uint64_t all[] = {made.words[0], made.words[1], static_cast<uint64_t>(made.key_bits), made.exact, made.fault};
    std::copy_n(all, 5, found);
}

// The same by the way for the order's only key, if that has one.
void own_words(const long long* table, const unsigned char* line, int64_t size, uint64_t* found)
{
    any_words(table, line, size, found);
#if HAS_VECTORS
    by_kind(order_at(table), [&](auto* words) {
        const std::remove_pointer_t<decltype(words)> made(order_at(table), {line, line + size});
        const uint64_t all[] = {made.words[0], made.words[1], static_cast<uint64_t>(made.key_bits), made.exact, made.fault};
        std::copy_n(all, 5, found);
    });
#endif
}

// The integer at the start of a text, whether it fits, and whether the text is its usual form.
void integer(const unsigned char* text, int64_t size, int64_t* found)
{
    const ShortInteger integer = short_integer({text, text + size});
    const int64_t all[] = {integer.value, integer.fits, integer.canonical};
    std::copy_n(all, 3, found);
}

// As key_bounds, of `count` lines that end at `ends`, each with a byte behind it. The bounds of all lines come key by key.
void bounds_of_lines(const long long* table, const unsigned char* lines, const int64_t* ends, int64_t count, int64_t* bounds)
{
    const LineOrder& order = order_at(table);
    std::vector<Text> texts, parts(static_cast<size_t>(count));
    for (int64_t line = 0, start = 0; line < count; start = ends[line++] + 1) texts.push_back({lines + start, lines + ends[line]});
    const FieldsOfLines fields(order.separator, texts.data(), static_cast<int>(count));
    for (long long number = 0; number < order.keys; ++number) {
        fields.take(order.key(number), parts.data());
        for (int64_t line = 0; line < count; ++line) {
            *bounds++ = parts[static_cast<size_t>(line)].start - texts[static_cast<size_t>(line)].start;
            *bounds++ = parts[static_cast<size_t>(line)].stop - texts[static_cast<size_t>(line)].start;
        }
    }
}
#endif

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
