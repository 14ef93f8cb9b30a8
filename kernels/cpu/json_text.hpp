// The texts of JSON: where a string ends, and what its escapes stand for. A control character, such as a newline, ends each
// loop. The last byte of every text is a newline, so no text needs a length.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "entries.h"

// An item of several texts has MARK behind each but the last one, and END behind that. JSON holds neither byte.
constexpr unsigned char MARK = 1, END = 0;

// Bit k says whether at[k] ends a string or needs a closer look: a quote, a backslash, a control character, or a byte that is
// not ASCII. Reads STRIDE bytes.
constexpr int STRIDE = 32;

inline uint32_t special_in_string(const unsigned char* at)
{
#if defined(__AVX2__)
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i low = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes);  // signed, so bytes from 0x80 on are low, too
    const __m256i marks = _mm256_or_si256(
        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')), _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')));
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(low, marks)));
#elif defined(__SSE2__)
    uint32_t found = 0;
    for (int part = 0; part < 2; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at) + part);
        const __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
        const __m128i marks =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        found |= static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(low, marks))) << 16 * part;
    }
    return found;
#else
    uint32_t found = 0;
    for (int place = 0; place < STRIDE; ++place) {
        const unsigned char byte = at[place];
        found |= static_cast<uint32_t>(byte == '"' || byte == '\\' || byte < 0x20 || byte >= 0x80) << place;
    }
    return found;
#endif
}

inline bool is_continuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// The bytes of the character of UTF-8 at `at`, which is no ASCII; 0 if it is invalid.
inline int utf8_size(const unsigned char* at)
{
    const unsigned char lead = at[0];
    if (lead >= 0xc2 && lead <= 0xdf) return is_continuation(at[1]) ? 2 : 0;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (!is_continuation(at[1]) || !is_continuation(at[2])) return 0;
        if (lead == 0xe0 && at[1] < 0xa0) return 0;
        return lead == 0xed && at[1] > 0x9f ? 0 : 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (!is_continuation(at[1]) || !is_continuation(at[2]) || !is_continuation(at[3])) return 0;
        if (lead == 0xf0 && at[1] < 0x90) return 0;
        return lead == 0xf4 && at[1] > 0x8f ? 0 : 4;
    }
    return 0;
}

// The place behind blanks within a line.
inline const unsigned char* behind_blanks(const unsigned char* at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r') ++at;
    return at;
}

inline bool is_digit(unsigned char byte) { return byte >= '0' && byte <= '9'; }

inline int hex_digit(unsigned char byte)
{
    if (is_digit(byte)) return byte - '0';
    const unsigned char lower = byte | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The number of four hexadecimal digits; -1 if they are none.
inline int hex_number(const unsigned char* at)
{
    int number = 0;
    for (int place = 0; place < 4; ++place) {
        const int digit = hex_digit(at[place]);
        if (digit < 0) return -1;
        number = number << 4 | digit;
    }
    return number;
}

// A string: `stop` is the closing quote. plain: it has no escapes.
struct JsonString {
    const unsigned char* start;
    const unsigned char* stop;
    bool plain;
};

// Finds the end of the string whose first byte is at `at`, behind the quote. Returns a JsonFault; `one.stop` is then its place.
inline int64_t read_string(const unsigned char* at, JsonString& one)
{
    one = {at, at, true};
    for (;;) {
        const uint32_t special = special_in_string(at);
        if (special == 0) {
            at += STRIDE;
            continue;
        }
        at += __builtin_ctz(special);
        one.stop = at;
        if (*at == '"') return NO_JSON_FAULT;
        if (*at >= 0x80) {
            do {
                const int size = utf8_size(at);
                one.stop = at;
                if (size == 0) return INVALID_UTF8;
                at += size;
            } while (*at >= 0x80);
        } else if (*at == '\\') {
            one.plain = false;
            switch (at[1]) {
            case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': at += 2; break;
            case 'u':
                if (hex_number(at + 2) < 0) return INVALID_ESCAPE;
                at += 6;
                break;
            default: return INVALID_ESCAPE;
            }
        } else {
            return *at == '\n' ? OPEN_STRING : CONTROL_IN_STRING;
        }
    }
}

// Calls put(bytes, count) for one stretch of the string's text after the other, without escapes. A surrogate without its other
// half becomes three bytes, as if it were a character. Stops as soon as `put` returns false.
template <typename Put>
inline void each_stretch(const JsonString& one, Put put)
{
    const unsigned char* at = one.start;
    if (one.plain) {
        put(at, one.stop - at);
        return;
    }
    while (at < one.stop) {
        const void* const found = std::memchr(at, '\\', static_cast<size_t>(one.stop - at));
        const unsigned char* const escape = found == nullptr ? one.stop : static_cast<const unsigned char*>(found);
        if (escape > at && !put(at, escape - at)) return;
        if (escape == one.stop) return;
        unsigned char made[4];
        int64_t size = 1;
        at = escape + 2;
        switch (escape[1]) {
        case 'b': made[0] = '\b'; break;
        case 'f': made[0] = '\f'; break;
        case 'n': made[0] = '\n'; break;
        case 'r': made[0] = '\r'; break;
        case 't': made[0] = '\t'; break;
        case 'u': {
            uint32_t code = static_cast<uint32_t>(hex_number(at));
            at += 4;
            if (code >> 10 == 0x36 && at[0] == '\\' && at[1] == 'u') {
                const uint32_t low = static_cast<uint32_t>(hex_number(at + 2));
                if (low >> 10 == 0x37) {
                    code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
                    at += 6;
                }
            }
            if (code < 0x80) {
                made[0] = static_cast<unsigned char>(code);
            } else {
                size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
                for (int64_t place = size - 1; place > 0; --place, code >>= 6)
                    made[place] = static_cast<unsigned char>(0x80 | (code & 0x3f));
                made[0] = static_cast<unsigned char>((0xf00 >> size & 0xff) | code);
            }
            break;
        }
        default: made[0] = escape[1];
        }
        if (!put(made, size)) return;
    }
}

// Whether the text of a string is `name`.
inline bool is_text(const JsonString& one, const unsigned char* name, int64_t size)
{
    if (one.plain) return one.stop - one.start == size && std::memcmp(one.start, name, static_cast<size_t>(size)) == 0;
    bool same = true;
    each_stretch(one, [&](const unsigned char* bytes, int64_t count) {
        same = count <= size && std::memcmp(bytes, name, static_cast<size_t>(count)) == 0;
        name += count;
        size -= count;
        return same;
    });
    return same && size == 0;
}
