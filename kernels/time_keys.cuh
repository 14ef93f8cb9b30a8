// Times: the forms that are known without a format, see data/manual/times.md, and those by a format (time_format.cuh).
#pragma once

#include "time_format.cuh"
#include "time_reader.cuh"

constexpr long long FIRST_SECOND = -(1ll << 39);  // ahead of all years and epochs
constexpr int SECOND_BITS = 40, NANO_BITS = 30;
constexpr int LEAST_LEADING_EPOCH = 10, MOST_EPOCH = 19;  // digits: of seconds since 2001, and of nanoseconds

__device__ __forceinline__ bool in_word(int byte) { return is_digit(byte) || static_cast<unsigned>((byte | 32) - 'a') < 26; }

struct KnownForms : TimeReader {
    // Whether a date may begin at `at`, where a word begins. Most words of lines are none.
    __device__ __forceinline__ bool may_be_dated() const
    {
        if (!is_digit(*at)) {
            if (is_digit(ahead(1))) return has_severity();
            return is_letter(ahead(1)) && is_letter(ahead(2)) && !is_letter(ahead(3)) && !is_digit(ahead(3));
        }
        const int count = digits_ahead(9), mark = ahead(count);
        if (count <= 2) return mark == '/' || mark == '-' || mark == ' ';
        return count == YEAR_DIGITS ? mark == '-' || mark == '/' : count == 8;
    }

    // Whether klog's letter of a severity lies ahead, and a date behind it.
    __device__ __forceinline__ bool has_severity() const
    {
        const int letter = ahead();
        if ((letter != 'I' && letter != 'W' && letter != 'E' && letter != 'F') || ahead(5) != ' ') return false;
        return is_digit(ahead(1)) && is_digit(ahead(2)) && is_digit(ahead(3)) && is_digit(ahead(4));
    }

    // I1231 10:20:30.000000, as klog writes it: logs of Kubernetes and glog.
    __device__ inline bool severity_first()
    {
        constexpr int SECONDS_END = 14;  // with seconds, since other words look the same up to the minutes
        const Place begin = at++;
        return digits(2, time.month) && digits(2, time.day) && take(' ') && clock() && at - begin >= SECONDS_END;
    }

    // A part of 2 digits at a place of a form of fixed width. fault: becomes true if they are none.
    __device__ __forceinline__ long long two(int place, bool& fault) const
    {
        const unsigned tens = at[place] - '0', ones = at[place + 1] - '0';
        fault |= tens > 9 || ones > 9;
        return tens * 10 + ones;
    }

    __device__ __forceinline__ void fixed_clock(int place, bool& fault)
    {
        time.hour = two(place, fault);
        time.minute = two(place + 3, fault);
        time.second = two(place + 6, fault);
        fault |= at[place + 2] != ':' || at[place + 5] != ':';
    }

    // 31/Jan/2024:10:20:30 and 2024-01-31T10:20:30, up to the seconds. Most logs have them. day_first and year_first read the same,
    // but more slowly.
    __device__ __forceinline__ bool fixed_day_first()
    {
        constexpr int WIDTH = 20;
        if (stop - at < WIDTH) return false;
        bool fault = at[2] != '/' || at[6] != '/' || at[11] != ':';
        time.day = two(0, fault);
        time.year = two(7, fault) * 100 + two(9, fault);
        fixed_clock(12, fault);
        time.month = month_of({at + 3, at + 6});
        if (fault || is_blank(at[3]) || time.month == 0) return false;
        at += WIDTH;
        return true;
    }

    __device__ __forceinline__ bool fixed_year_first()
    {
        constexpr int WIDTH = 19;
        if (stop - at < WIDTH) return false;
        bool fault = at[4] != '-' || at[7] != '-' || (at[10] != 'T' && at[10] != ' ');
        time.year = two(0, fault) * 100 + two(2, fault);
        time.month = two(5, fault);
        time.day = two(8, fault);
        fixed_clock(11, fault);
        if (fault) return false;
        at += WIDTH;
        return true;
    }

    // A time of day may follow a date, behind a T, a _ or blanks. Without one, the date is its midnight.
    __device__ inline bool maybe_clock(bool colons)
    {
        const Place begin = at;
        const WrittenTime date = time;
        if (!take('T') && !take('t') && !take('_')) at = skip_blanks(at, stop);
        if (at > begin && clock(colons)) {
            maybe_offset();
            return true;
        }
        at = begin;
        time = date;
        return true;
    }

    // 2024-01-31, 2024/01/31; 20240131 with a T and a time behind it.
    __device__ inline bool year_first(int digits_there)
    {
        if (!digits(YEAR_DIGITS, time.year)) return false;
        if (digits_there == 8) {
            if (!digits(2, time.month) || !digits(2, time.day)) return false;
            return (ahead() == 'T' || ahead() == 't') && maybe_clock(false) && !is_letter(ahead());
        }
        const int mark = *at++;
        if (!digits(2, time.month) || !take(mark) || !digits(2, time.day) || is_digit(ahead())) return false;
        return maybe_clock(true);
    }

    // 31/Jan/2024:10:20:30 +0000, 31-Jan-2024 10:20:30, 31 Jan 2024 10:20:30 GMT. Behind a day of the week, the year may have two
    // digits, as in RFC 822. Elsewhere 31 may be a number ahead of the date Jan 24.
    __device__ inline bool day_first(bool has_weekday)
    {
        if (!one_or_two(time.day)) return false;
        const int mark = ahead();
        if ((mark != '/' && mark != '-' && mark != ' ') || !take(mark) || !month() || !take(mark)) return false;
        const bool is_short = has_weekday && digits_ahead(3) == 2;
        if (!(is_short ? short_year() : digits(YEAR_DIGITS, time.year)) || !(take(':') || take(' ')) || !clock()) return false;
        maybe_offset();
        return true;
    }

    // Jan 31 10:20:30, with a year ahead of or behind the time if there is one, and an offset ahead of or behind that year.
    __device__ inline bool month_first(bool has_weekday)
    {
        if (!month() || !blanks() || !one_or_two(time.day) || !blanks()) return false;
        if (digits_ahead(5) == YEAR_DIGITS && ahead(4) == ' ') {
            digits(YEAR_DIGITS, time.year);
            ++at;
        }
        if (!clock()) return false;
        const Place behind = at;
        const WrittenTime found = time;
        if (take(' ') && (is_digit(ahead()) || (offset(true) && take(' '))) && time.year == NO_YEAR && digits_ahead(5) == YEAR_DIGITS
            && (at + 4 == stop || ahead(4) == ' ' || ahead(4) == ']' || (has_weekday && (ahead(4) == ':' || ahead(4) == ',')))) {
            digits(YEAR_DIGITS, time.year);
            if (!time.has_offset) maybe_offset();
            return true;
        }
        at = behind;
        time = found;
        maybe_offset();
        return true;
    }

    // A date and a time in one of the forms that a number alone does not have.
    __device__ inline bool dated()
    {
        if (is_letter(ahead())) {
            if (has_severity()) return severity_first();
            if (weekday()) {
                take(',');
                if (!blanks()) return false;
                return is_digit(ahead()) ? day_first(true) : month_first(true);
            }
            return month_first(false);
        }
        if (fixed_day_first() || fixed_year_first()) {
            maybe_fraction();
            maybe_offset();
            return true;
        }
        time = {};
        const int count = digits_ahead(9);
        if ((count == YEAR_DIGITS && (ahead(4) == '-' || ahead(4) == '/')) || count == 8) return year_first(count);
        return (count == 1 || count == 2) && day_first(false);
    }

    // Seconds, milliseconds, microseconds or nanoseconds since 1970, by their size.
    __device__ inline Instant epoch()
    {
        const bool negative = take('-');
        const int count = digits_ahead(MOST_EPOCH + 1);
        if (count == 0 || count > MOST_EPOCH) return {};
        Word number = 0;
        for (int digit = 0; digit < count; ++digit) number = number * 10 + static_cast<Word>(*at++ - '0');
        if (number >> 63) return {};
        if (ahead() == '.' && is_digit(ahead(1))) {
            ++at;
            fraction();
        }
        long long unit = 1;  // so many of it are a second
        for (Word most = 100000000000; number >= most && unit < NANOS; most *= 1000) unit *= 1000;
        const long long units = static_cast<long long>(number);
        return since_epoch(units / unit, units % unit * (NANOS / unit) + time.nanos / unit, negative);
    }
};

// The time that is all of a text. Brackets around it do not count.
__device__ inline Instant time_of(Text text, const TimeParameters& by)
{
    text = trimmed(text);
    if (by.format_bytes > 0) {
        TimeFormat reader{{text.start, text.stop, {}}};
        return reader.matches(by.format()) && reader.at == text.stop ? reader.instant(by) : Instant{};
    }
    if (text.start < text.stop && *text.start == '[') ++text.start;
    if (text.start < text.stop && text.stop[-1] == ']') --text.stop;
    KnownForms reader{{text.start, text.stop, {}}};
    if (reader.dated()) return reader.at == text.stop ? instant_of(reader.time, by) : Instant{};
    KnownForms number{{text.start, text.stop, {}}};
    const Instant found = number.epoch();
    return number.at == text.stop ? found : Instant{};
}

// Whether a place lies between two bytes of one word.
__device__ __forceinline__ bool inside_word(Place at, Text text)
{
    return at > text.start && at < text.stop && in_word(at[-1]) && in_word(*at);
}

// The first time in a text by its format.
__device__ __noinline__ Instant first_of_format(Text text, const TimeParameters& by, Text& where)
{
    for (Place at = text.start; at < text.stop; ++at) {
        TimeFormat reader{{at, text.stop, {}}};
        if (inside_word(at, text) || !reader.matches(by.format())) continue;
        if (inside_word(reader.at, text)) continue;
        if (reader.lacks_year(by)) return {};
        const Instant found = reader.instant(by);
        if (found.valid) {
            where = {at, reader.at};
            return found;
        }
    }
    return {};
}

// The first time in a text. It begins and ends with a word. An epoch counts only where the text begins with it, has at least
// LEAST_LEADING_EPOCH digits, and no word is directly behind it. where: its bounds, if it is valid.
__device__ inline Instant first_time(Text text, const TimeParameters& by, Text& where)
{
    text = trimmed(text);
    if (by.format_bytes > 0) return first_of_format(text, by, where);
    for (Place at = text.start; at < text.stop;) {
        KnownForms reader{{at, text.stop, {}}};
        Instant found;
        if (in_word(*at) && reader.may_be_dated() && reader.dated()) {
            if (reader.time.lacks_year(by) && !inside_word(reader.at, text)) return {};
            found = instant_of(reader.time, by);
        } else if (at == text.start) {
            reader = {{at, text.stop, {}}};
            if (reader.digits_ahead(LEAST_LEADING_EPOCH) == LEAST_LEADING_EPOCH) found = reader.epoch();
        }
        if (found.valid && !inside_word(reader.at, text)) {
            where = {at, reader.at};
            return found;
        }
        while (at < text.stop && in_word(*at)) ++at;
        while (at < text.stop && !in_word(*at)) ++at;
    }
    return {};
}

__device__ __forceinline__ const TimeParameters& time_parameters(const KeyIn& one)
{
    return *reinterpret_cast<const TimeParameters*>(one.parameters());
}

__device__ __forceinline__ KeyImage image_of(const Instant& found)
{
    if (!found.valid) return no_image();
    const Word nanos = static_cast<Word>(found.nanos);
    return {static_cast<Word>(found.seconds - FIRST_SECOND) << (64 - SECOND_BITS) | nanos >> (NANO_BITS - (64 - SECOND_BITS)), true,
            nanos << (128 - SECOND_BITS - NANO_BITS)};
}

// A kind of TIMED_KINDS has a function `read`. where: becomes the bounds of the time, if it is valid.
struct kind_time : ExactKind<kind_time> {
    static constexpr int BITS = SECOND_BITS + NANO_BITS;
    __device__ static inline Instant read(const KeyIn& one, Text& where)
    {
        where = trimmed(one.text);
        return time_of(one.text, time_parameters(one));
    }
    __device__ static inline KeyImage image(const KeyIn& one) { return image_of(time_of(one.text, time_parameters(one))); }
};

// Texts by the first time in them.
struct kind_log_time : ExactKind<kind_log_time> {
    static constexpr int BITS = kind_time::BITS;
    __device__ static inline Instant read(const KeyIn& one, Text& where) { return first_time(one.text, time_parameters(one), where); }
    __device__ static inline KeyImage image(const KeyIn& one)
    {
        Text where{nullptr, nullptr};
        return image_of(read(one, where));
    }
};
