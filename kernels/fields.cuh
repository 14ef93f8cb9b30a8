// The order of lines as plain data, where its keys lie in lines, and which of their bytes count.
// gpumerge_cli/order/rules.py lays the data out.
#pragma once

#include "bytes.cuh"
#include "field_separator.cuh"

// The kinds of keys, in the order of KINDS in gpumerge_cli/order/key_kinds.py. key_kinds.cuh has a function for each.
#define COMPARISONS(KIND) KIND(bytes) IMAGED_KINDS(KIND)
#define IMAGED_KINDS(KIND) \
    KIND(numeric) KIND(human) KIND(general) KIND(month) KIND(random) KIND(version) KIND(locale) TYPED_KINDS(KIND)
#define TYPED_KINDS(KIND) \
    KIND(hex) KIND(length) KIND(bytes_length) KIND(size) KIND(duration) KIND(address) KIND(list) \
    TIMED_KINDS(KIND)
#define TIMED_KINDS(KIND) KIND(time) KIND(log_time)

enum KeyKind {
#define NUMBER(name) KIND_##name,
    COMPARISONS(NUMBER)
#undef NUMBER
    NO_KEYS
};

// COMPARED has a bit for each kind among the keys of the order, and bit NO_KEYS for an order without keys. The code for all
// other kinds is left out, because compiling it takes longer than compiling a merge. By default every order is served.
#ifndef COMPARED
#define COMPARED ((2 << NO_KEYS) - 1)
#endif

// Flags of an order, and of a key.
enum OrderFlag {
    STABLE = 1, REVERSE = 2, PLAIN = 4, NUMERIC = 8, CHECKS_VALUES = 16, IN_LOCALE = 32, RECORD_AHEAD = 64
};
enum KeyFlag {
    KEY_REVERSE = 1, FOLD = 2, DICTIONARY = 4, PRINTABLE = 8, SKIP_START = 16, SKIP_END = 32,
    CLASSED = 64, NULLS = 128, NULLS_FIRST = 256, NAMED_NULLS = 512, INVALID_FIRST = 1024, CHECKED = 2048, SEPARATED = 4096,
    LOOSE = 8192
};

// Where the flags of a key with SEPARATED hold the byte between digits, 0 for none, and that ahead of the fraction.
constexpr int THOUSANDS_AT = 16, DECIMAL_AT = 24;

// end_field is negative for the end of the line; end_char 0 for the end of the field. parameters: the place in the order, in
// words, of what the kind needs to know besides, which takes parameter_words (see key_kinds.cuh).
struct Key {
    long long kind, start_field, start_char, end_field, end_char, flags, parameters, parameter_words;

    __device__ __forceinline__ bool is(KeyKind other) const { return COMPARED >> other & 1 && kind == other; }
};

// The keys lie directly behind this struct, and the parameters of keys behind them. words: the number of words of all these.
// locale: with IN_LOCALE, the word at which the name of the locale begins; it ends in NUL. opened: in a workspace's own copy of
// the order, the address of that locale; else 0.
struct LineOrder {
    long long flags, keys, separator, terminator, words, locale, opened, spare;

    __device__ __forceinline__ bool plain() const
    {
        return COMPARED == 1 << NO_KEYS || (COMPARED >> NO_KEYS & 1 && flags & PLAIN);
    }

    __device__ __forceinline__ bool numeric() const { return COMPARED >> KIND_numeric & 1 && flags & NUMERIC; }

    __device__ __forceinline__ const Key& key(long long number) const
    {
        return reinterpret_cast<const Key*>(this + 1)[number];
    }

    __device__ __forceinline__ const char* locale_name() const
    {
        return reinterpret_cast<const char*>(reinterpret_cast<const long long*>(this) + locale);
    }

    __device__ __forceinline__ const long long* parameters_of(const Key& key) const
    {
        return reinterpret_cast<const long long*>(this) + key.parameters;
    }
};

static_assert(sizeof(LineOrder) == 8 * sizeof(long long) && sizeof(Key) == 8 * sizeof(long long), "see rules.py");

// The place `characters` behind `at`, or `stop` if that comes first.
__device__ __forceinline__ Place forward(Place at, Place stop, long long characters)
{
    return stop - at < characters ? stop : at + characters;
}

__device__ inline Place skip_blanks(Place at, Place stop)
{
    while (at < stop && is_blank(*at)) ++at;
    return at;
}

// The place behind the blanks at `at` and behind the non-blanks that follow them.
__device__ inline Place skip_field(Place at, Place stop)
{
    return find_blank(skip_blanks(at, stop), stop);
}

// Whether the bytes of `rest`, which rest_of gives, are at `at`.
__device__ inline bool follows(Place at, Place stop, long long rest)
{
    for (; rest != 0; rest >>= 8, ++at)
        if (at >= stop || *at != (rest & 255)) return false;
    return true;
}

// The end of the field that begins at `at`: a separator that no quotes enclose, or `stop`.
__device__ inline Place field_end(Place at, Place stop, long long separator)
{
    if (is_quoted(separator))
        while (at < stop && *at == '"') at = forward(find_byte(at + 1, stop, '"'), stop, 1);
    at = find_byte(at, stop, separator & 255);
    if (const long long rest = rest_of(separator); rest != 0)
        while (at < stop && !follows(at + 1, stop, rest)) at = find_byte(at + 1, stop, separator & 255);
    return at;
}

// The end of a record: ahead of the carriage return of its newline.
__device__ __forceinline__ Place record_end(Text line)
{
    return line.stop - (line.start < line.stop && line.stop[-1] == '\r');
}

// The end of the part of a line in which keys lie.
__device__ __forceinline__ Place keys_end(Text line, long long separator)
{
    const long long flags = flags_of(separator);
    if (flags & FIRST_LINE) line.stop = find_byte(line.start, line.stop, '\n');
    return flags & RECORD_END ? record_end(line) : line.stop;
}

// The part of a line that is the key. It may be empty. The quotes of a quoted field do not belong to it; only a quoted field
// may end in a quote.
__device__ __noinline__ Text key_text(const Key& key, long long separator, Text line)
{
    const bool quoted = is_quoted(separator);
    const Place stop = keys_end(line, separator);
    const int width = width_of(separator);
    Place begin = line.start;
    for (long long field = 0; field < key.start_field && begin < stop; ++field)
        begin = separator >= 0 ? forward(field_end(begin, stop, separator), stop, width) : skip_field(begin, stop);
    const Place field_start = begin;
    if (quoted && begin < stop && *begin == '"') ++begin;
    if (key.flags & SKIP_START) begin = skip_blanks(begin, stop);
    begin = forward(begin, stop, key.start_char);
    if (key.end_field < 0) return {begin, stop};

    long long left = key.end_field + (key.end_char == 0);
    Place end = line.start;
    if (left >= key.start_field) {  // the fields ahead of the key are passed already
        end = field_start;
        left -= key.start_field;
    }
    while (left > 0 && end < stop) {
        --left;
        if (separator < 0) {
            end = skip_field(end, stop);
            continue;
        }
        end = field_end(end, stop, separator);
        if (end < stop && (left > 0 || key.end_char > 0)) end += width;
    }
    if (key.end_char > 0) {
        if (key.flags & SKIP_END) end = skip_blanks(end, stop);
        end = forward(end, stop, key.end_char);
    } else if (quoted && end > begin && end[-1] == '"') {
        --end;
    }
    return {begin, end < begin ? begin : end};
}

#if TEXT_PADDING
#include "cpu/field_marks.hpp"
#else

// The parts of one line that are its keys.
struct FieldMarks {
    const LineOrder& order;
    Text line;

    __device__ __forceinline__ FieldMarks(const LineOrder& order, Text line) : order(order), line(line) {}
    __device__ __forceinline__ Text part(const Key& key) const { return key_text(key, order.separator, line); }
};

#endif

// Whether a byte counts in a key with these flags.
__device__ inline bool counts(int byte, long long flags)
{
    if (flags & DICTIONARY) return is_blank(byte) || is_digit(byte) || is_letter(byte);
    return !(flags & PRINTABLE) || (byte >= 32 && byte <= 126);
}

// The first place from `at` on whose byte counts, or `stop`.
__device__ inline Place next_counting(Place at, Place stop, long long flags)
{
    if (flags & (DICTIONARY | PRINTABLE))
        while (at < stop && !counts(*at, flags)) ++at;
    return at;
}

// The byte that stands for this one in comparisons.
__device__ __forceinline__ int folded(int byte, long long flags)
{
    return flags & FOLD && is_small(byte) ? byte - 32 : byte;
}
