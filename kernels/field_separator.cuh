// The separator of fields, packed into one number. separator_word of gpumerge_cli/order/rules.py packs it.
#pragma once

// The lowest byte of the number is the first byte of the separator. The flags are the bits from 256 on. The separator's other
// bytes begin at bit REST_AT, the second one lowest; none of them is NUL. Where blanks separate fields, the number is the
// complement of the flags, so it is negative.
// QUOTED: fields may be quoted as in CSV. RECORD_END: a carriage return at the end of a line belongs to no key. FIRST_LINE: keys
// lie ahead of the first newline in a line.
enum SeparatorFlag { QUOTED = 256, RECORD_END = 512, FIRST_LINE = 1024 };
constexpr int REST_AT = 12;

__device__ __forceinline__ long long flags_of(long long separator) { return separator ^ separator >> 63; }

// Whether one byte or blanks separate fields, and there are no flags.
__device__ __forceinline__ bool is_plain(long long separator) { return flags_of(separator) < QUOTED; }

__device__ __forceinline__ bool is_quoted(long long separator) { return separator >= 0 && (separator & QUOTED) != 0; }

// The bytes of a separator behind the first one, the second one lowest; 0 if there are none.
__device__ __forceinline__ long long rest_of(long long separator) { return separator < 0 ? 0 : separator >> REST_AT; }

// The number of bytes of a separator; 1 for blanks.
__device__ __forceinline__ int width_of(long long separator)
{
    int width = 1;
    for (long long rest = rest_of(separator); rest != 0; rest >>= 8) ++width;
    return width;
}
