// Keys that are no values: nulls, and texts that a kind cannot read. They have a place ahead of or behind all values, which
// KEY_REVERSE does not turn round. Keys with the flag CLASSED have two bits ahead of their images, which say this place.
//
// A null is a text without any byte but blanks or, with NAMED_NULLS, one of the texts in the key's parameters; all nulls are
// equal. Invalid texts lie between nulls and values, or on the other side, and compare by their bytes.
#pragma once

#include "key_kinds.cuh"

enum KeyClass { NULL_KEY, VALUE_KEY, INVALID_KEY };
constexpr int CLASS_BITS = 2;

__device__ __forceinline__ int place_of_class(const Key& key, KeyClass found)
{
    const int value = key.flags & NULLS_FIRST ? 2 : 1;
    if (found == VALUE_KEY) return value;
    if (found == NULL_KEY) return key.flags & NULLS_FIRST ? 0 : 3;
    return key.flags & INVALID_FIRST ? value - 1 : value + 1;
}

// The texts of nulls lie behind the other parameters of a key: their number, for each the word at which it begins, counted from
// this number, and its bytes, then the texts.
__device__ __noinline__ bool is_named_null(const KeyIn& one, Text text)
{
    const long long* const names = one.parameters() + one.key.parameter_words;
    for (long long name = 0; name < names[0]; ++name) {
        const Place start = reinterpret_cast<Place>(names + names[1 + 2 * name]);
        if (names[2 + 2 * name] == text.stop - text.start && compare_bytes(text, {start, start + names[2 + 2 * name]}) == 0)
            return true;
    }
    return false;
}

__device__ inline bool is_null(const KeyIn& one)
{
    if (!(one.flags() & NULLS)) return false;
    const Text text = trimmed(one.text);
    return text.start == text.stop || (one.flags() & NAMED_NULLS && is_named_null(one, text));
}

__device__ __noinline__ KeyClass class_of(const KeyIn& one)
{
    if (is_null(one)) return NULL_KEY;
#define INVALID(name) \
    if (one.key.is(KIND_##name)) return kind_##name::image(one).invalid ? INVALID_KEY : VALUE_KEY;
    TYPED_KINDS(INVALID)
#undef INVALID
    return VALUE_KEY;
}

// Whether a line is at fault: a key from number `first` on is invalid, and has the flag CHECKED.
template <typename Parts>
__device__ __noinline__ bool is_at_fault(const LineOrder& order, const Parts& parts, long long first)
{
    for (long long number = first; number < order.keys; ++number) {
        const Key& key = order.key(number);
        if (key.flags & CHECKED && class_of({order, key, parts.part(key)}) == INVALID_KEY) return true;
    }
    return false;
}
