// What stands between the fields of lines, as one number. gpumerge_cli/order/rules.py makes it.
#pragma once

// A separator's lowest byte is the first byte that stands between fields, and its flags follow. The other bytes, none of which
// is NUL, lie from bit REST_AT on. It is negative if blanks separate fields; then its complement has the flags.
// QUOTED: fields may be quoted as in CSV. RECORD_END: a carriage return at a line's end belongs to no key. FIRST_LINE: nor does
// what lies behind the first newline.
enum SeparatorFlag { QUOTED = 256, RECORD_END = 512, FIRST_LINE = 1024 };
constexpr int REST_AT = 12;

__device__ __forceinline__ long long flags_of(long long separator) { return separator ^ separator >> 63; }

// Whether one byte or blanks separate fields, and there are no flags.
__device__ __forceinline__ bool is_plain(long long separator) { return flags_of(separator) < QUOTED; }

__device__ __forceinline__ bool is_quoted(long long separator) { return separator >= 0 && (separator & QUOTED) != 0; }

// The bytes between fields behind the first one, the next one lowest; 0 if there are none.
__device__ __forceinline__ long long rest_of(long long separator) { return separator < 0 ? 0 : separator >> REST_AT; }

// The number of bytes between fields.
__device__ __forceinline__ int width_of(long long separator)
{
    int width = 1;
    for (long long rest = rest_of(separator); rest != 0; rest >>= 8) ++width;
    return width;
}
