// Reads the parts of a time from left to right.
#pragma once

#include "calendar.cuh"

constexpr int NANO_DIGITS = 9;

struct TimeReader {
    Place at, stop;
    WrittenTime time;

    // The byte so many places on; 0 behind the end.
    __device__ __forceinline__ int ahead(long long places = 0) const { return stop - at > places ? at[places] : 0; }

    __device__ __forceinline__ bool take(int byte)
    {
        const bool found = ahead() == byte;
        at += found;
        return found;
    }

    // The count of digits at `at`, but no more than `most`.
    __device__ inline int digits_ahead(int most) const
    {
        int count = 0;
        while (count < most && is_digit(ahead(count))) ++count;
        return count;
    }

    // Exactly `count` digits.
    __device__ __forceinline__ bool digits(int count, long long& value)
    {
        if (stop - at < count) return false;
        value = 0;
        for (int taken = 0; taken < count; ++taken) {
            if (!is_digit(at[taken])) return false;
            value = value * 10 + (at[taken] - '0');
        }
        at += count;
        return true;
    }

    // One or two digits.
    __device__ __forceinline__ bool one_or_two(long long& value) { return digits(is_digit(ahead(1)) ? 2 : 1, value); }

    // The digits of a fraction: nanoseconds. Further digits do not count.
    __device__ inline bool fraction()
    {
        if (!is_digit(ahead())) return false;
        int taken = 0;
        time.nanos = 0;
        for (; is_digit(ahead()); ++at)
            if (taken < NANO_DIGITS) {
                time.nanos = time.nanos * 10 + (*at - '0');
                ++taken;
            }
        for (; taken < NANO_DIGITS; ++taken) time.nanos *= 10;
        return true;
    }

    // The fraction behind seconds, if there is one.
    __device__ __forceinline__ void maybe_fraction()
    {
        if ((ahead() == '.' || ahead() == ',') && is_digit(ahead(1))) {
            ++at;
            fraction();
        }
    }

    // Three letters that begin the name of a month, and no letter behind them.
    __device__ inline bool month()
    {
        if (is_blank(ahead())) return false;
        const int found = month_of({at, stop});
        if (found == 0 || is_letter(ahead(3))) return false;
        time.month = found;
        at += 3;
        return true;
    }

    // Three letters that begin the name of a day of the week, and no letter behind them. It says nothing that the date does not.
    __device__ inline bool weekday()
    {
        if (!is_letter(ahead(2)) || is_letter(ahead(3))) return false;
        switch (folded(at[0], FOLD) << 16 | folded(at[1], FOLD) << 8 | folded(at[2], FOLD)) {
        case 'M' << 16 | 'O' << 8 | 'N':
        case 'T' << 16 | 'U' << 8 | 'E':
        case 'W' << 16 | 'E' << 8 | 'D':
        case 'T' << 16 | 'H' << 8 | 'U':
        case 'F' << 16 | 'R' << 8 | 'I':
        case 'S' << 16 | 'A' << 8 | 'T':
        case 'S' << 16 | 'U' << 8 | 'N': at += 3; return true;
        }
        return false;
    }

    // One or two blanks.
    __device__ __forceinline__ bool blanks()
    {
        if (!take(' ')) return false;
        take(' ');
        return true;
    }

    // hh:mm, hh:mm:ss and hh:mm:ss.f, or without the colons.
    __device__ inline bool clock(bool colons = true)
    {
        if (!digits(2, time.hour) || (colons && !take(':')) || !digits(2, time.minute)) return false;
        const bool has_seconds = colons ? ahead() == ':' : is_digit(ahead());
        if (!has_seconds) return true;
        at += colons;
        if (!digits(2, time.second)) return false;
        maybe_fraction();
        return true;
    }

    // Z, UTC or GMT, +hh, +hhmm or +hh:mm. long_only: not +hh, which may be a number of its own behind a blank.
    __device__ inline bool offset(bool long_only = false)
    {
        const Place begin = at;
        if (is_letter(ahead())) {
            const int first = folded(*at, FOLD), second = folded(ahead(1), FOLD), third = folded(ahead(2), FOLD);
            const int letters = first == 'Z' ? 1
                : (first == 'U' && second == 'T' && third == 'C') || (first == 'G' && second == 'M' && third == 'T') ? 3 : 0;
            if (letters == 0 || is_letter(ahead(letters)) || is_digit(ahead(letters))) return false;
            at += letters;
            time.has_offset = true;
            return true;
        }
        if (ahead() != '+' && ahead() != '-') return false;
        const bool negative = *at++ == '-';
        long long hours = 0, minutes = 0;
        bool found = digits(2, hours);
        if (found && (ahead() == ':' || is_digit(ahead()))) {
            take(':');
            found = digits(2, minutes);
        } else if (long_only) {
            found = false;
        }
        if (!found || hours >= 24 || minutes >= 60 || is_digit(ahead())) {
            at = begin;
            return false;
        }
        time.offset = (hours * 60 + minutes) * (negative ? -60 : 60);
        time.has_offset = true;
        return true;
    }

    // A year of two digits, from 1969 to 2068.
    __device__ inline bool short_year()
    {
        if (!digits(2, time.year)) return false;
        time.year += time.year < 69 ? 2000 : 1900;
        return true;
    }

    // An offset, if there is one, maybe behind a blank.
    __device__ inline void maybe_offset()
    {
        if (offset()) return;
        const Place begin = at;
        if (!take(' ') || !offset(true)) at = begin;
    }
};
