// Times in a format of strptime's letters. gpumerge_cli/order/times.py refuses other letters, and puts %H:%M:%S and the like in
// place of %T and its kin.
#pragma once

#include "time_reader.cuh"

constexpr int EPOCH_DIGITS = 11;  // the most of %s

struct TimeFormat : TimeReader {
    long long epoch = 0, day_of_year = 0;
    bool has_epoch = false, before_epoch = false, twelve_hours = false, afternoon = false;

    // Up to `most` digits, at least one.
    __device__ inline bool number(int most, long long& value)
    {
        const int count = digits_ahead(most);
        return count > 0 && digits(count, value);
    }

    // Letters of a name in lower case, whose first three are enough.
    __device__ inline bool name(const char* whole)
    {
        int length = 0;
        while (whole[length] != 0) ++length;
        for (int letter = 0; letter < length; ++letter)
            if (lower_at(at + letter, stop) != whole[letter]) {
                if (letter < 3) return false;
                at += 3;
                return true;
            }
        at += length;
        return true;
    }

    __device__ inline bool month_name()
    {
        const char* const NAMES[] = {"january", "february", "march", "april", "may", "june", "july", "august", "september",
                                         "october", "november", "december"};
        for (int month = 0; month < 12; ++month)
            if (name(NAMES[month])) {
                time.month = month + 1;
                return true;
            }
        return false;
    }

    __device__ inline bool weekday_name()
    {
        const char* const NAMES[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
        for (int day = 0; day < 7; ++day)
            if (name(NAMES[day])) return true;
        return false;
    }

    __device__ inline bool field(int letter)
    {
        switch (letter) {
        case 'Y': return digits(YEAR_DIGITS, time.year);
        case 'y': return short_year();
        case 'm': return number(2, time.month);
        case 'd': return number(2, time.day);
        case 'j': return number(3, day_of_year) && day_of_year > 0;
        case 'H': return number(2, time.hour);
        case 'I': twelve_hours = true; return number(2, time.hour) && time.hour >= 1 && time.hour <= 12;
        case 'p': {
            const int first = lower_at(at, stop);
            if ((first != 'a' && first != 'p') || lower_at(at + 1, stop) != 'm') return false;
            afternoon = first == 'p';
            at += 2;
            return true;
        }
        case 'M': return number(2, time.minute);
        case 'S': return number(2, time.second);
        case 'f': return fraction();
        case 'b': return month_name();
        case 'a': return weekday_name();
        case 'z': return offset();
        case 's':
            before_epoch = take('-');
            has_epoch = number(EPOCH_DIGITS, epoch);
            return has_epoch;
        }
        return false;
    }

    // Whether the text begins with a time of this format. Blanks of the format stand for any number of blanks.
    __device__ __noinline__ bool matches(Text format)
    {
        for (Place mark = format.start; mark < format.stop; ++mark) {
            if (is_blank(*mark)) {
                at = skip_blanks(at, stop);
            } else if (*mark != '%' || *++mark == '%') {
                if (at >= stop || *at != *mark) return false;
                ++at;
            } else if (!field(*mark)) {
                return false;
            }
        }
        return true;
    }

    __device__ __forceinline__ bool lacks_year(const TimeParameters& by) const { return !has_epoch && time.lacks_year(by); }

    __device__ inline Instant instant(const TimeParameters& by)
    {
        if (has_epoch) return since_epoch(epoch, time.nanos, before_epoch);
        if (twelve_hours) time.hour = time.hour % 12 + (afternoon ? 12 : 0);
        if (day_of_year > 0) {  // the format has a year, too
            if (day_of_year > 337 + days_of_month(time.year, 2)) return {};
            time.month = 1;
            while (day_of_year > days_of_month(time.year, time.month)) day_of_year -= days_of_month(time.year, time.month++);
            time.day = day_of_year;
        }
        return instant_of(time, by);
    }
};
