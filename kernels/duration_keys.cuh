// Durations: 1h30m, 250ms, 1.5 days, 01:02:03.5 and PT1H30M, compared to the nanosecond.
#pragma once

#include "numbers.cuh"

constexpr long long NANOS = 1000000000;  // of a second
constexpr long long MOST_SECONDS = 1ll << 61, MOST_WHOLE = 9223372036854775799;

// seconds and nanos: of the duration without its sign.
struct Duration {
    long long seconds = 0, nanos = 0;
    bool valid = false;
};

// A word of up to 8 bytes as an integer.
__device__ constexpr Word word_named(const char* name)
{
    Word word = 0;
    for (; *name != 0; ++name) word = word << 8 | static_cast<unsigned char>(*name);
    return word;
}

// The nanoseconds of a unit, whose name is in lower case; 0 for other words.
__device__ inline long long nanos_of_unit(Word name)
{
    switch (name) {
    case word_named("w"): case word_named("week"): case word_named("weeks"): return 604800 * NANOS;
    case word_named("d"): case word_named("day"): case word_named("days"): return 86400 * NANOS;
    case word_named("h"): case word_named("hr"): case word_named("hour"): case word_named("hours"): return 3600 * NANOS;
    case word_named("m"): case word_named("min"): case word_named("minute"): case word_named("minutes"): return 60 * NANOS;
    case word_named("s"): case word_named("sec"): case word_named("second"): case word_named("seconds"): return NANOS;
    case word_named("ms"): return NANOS / 1000;
    case word_named("us"): case word_named("\xc2\xb5s"): case word_named("\xce\xbcs"): return NANOS / 1000000;
    case word_named("ns"): return 1;
    }
    return 0;
}

// Reads one duration from left to right.
struct DurationReader {
    Place at, stop;
    Duration found;

    // Whole digits, and those behind a point. Digits must be there.
    struct Figures {
        long long whole = 0;
        Text fraction{nullptr, nullptr};
        bool valid = false;
    };

    __device__ inline Figures figures(bool comma)
    {
        Figures read;
        if (!digit_at(at, stop)) return read;
        read.valid = true;
        for (; digit_at(at, stop); ++at) {
            if (read.whole > MOST_WHOLE / 10) read.valid = false;
            else read.whole = read.whole * 10 + (*at - '0');
        }
        read.fraction = {at, at};
        if (at < stop && (*at == '.' || (comma && *at == ','))) {
            read.fraction.start = ++at;
            while (digit_at(at, stop)) ++at;
            read.fraction.stop = at;
        }
        return read;
    }

    // Adds a number of units. False if it is too large.
    __device__ inline bool add(const Figures& number, long long unit)
    {
        if (unit >= NANOS) {
            const long long each = unit / NANOS;
            if (number.whole > MOST_SECONDS / each) return false;
            found.seconds += number.whole * each;
        } else {
            const long long each = NANOS / unit;
            found.seconds += number.whole / each;
            found.nanos += number.whole % each * unit;
        }
        long long part = 0;  // the fraction of the unit, cut to whole nanoseconds
        for (Place digit = number.fraction.stop; digit > number.fraction.start; --digit)
            part = (part + (digit[-1] - '0') * unit) / 10;
        found.nanos += part % NANOS;
        found.seconds += part / NANOS + found.nanos / NANOS;
        found.nanos %= NANOS;
        return number.valid && found.seconds <= MOST_SECONDS;
    }

    // 1h30m, 1.5 days: numbers, each with a unit behind it.
    __device__ inline bool by_units()
    {
        while (at < stop) {
            const Figures number = figures(false);
            at = skip_blanks(at, stop);
            Word name = 0;
            for (int bytes = 0; at < stop && (is_letter(*at) || *at >= 128); ++at, ++bytes) {
                if (bytes == 8) return false;
                name = name << 8 | static_cast<Word>(lower_at(at, stop));
            }
            const long long unit = nanos_of_unit(name);
            if (unit == 0 || !add(number, unit)) return false;
            at = skip_blanks(at, stop);
        }
        return true;
    }

    // PT1H30M. Months and years have no fixed length.
    __device__ inline bool by_iso()
    {
        ++at;
        bool in_time = false, any = false;
        int last = 0;
        while (at < stop) {
            if (lower_at(at, stop) == 't' && !in_time) {
                in_time = true;
                any = false;
                ++at;
                continue;
            }
            const Figures number = figures(true);
            const int letter = lower_at(at, stop);
            const int rank = !in_time ? (letter == 'w' ? 1 : letter == 'd' ? 2 : 0)
                                      : (letter == 'h' ? 3 : letter == 'm' ? 4 : letter == 's' ? 5 : 0);
            if (rank <= last || !add(number, nanos_of_unit(static_cast<Word>(letter)))) return false;
            last = rank;
            any = true;
            ++at;
        }
        return any;
    }

    // 01:02:03.5 and 02:03.5: hours, minutes and seconds, or the last two of these.
    __device__ inline bool by_clock(int colons)
    {
        long long unit = colons == 2 ? 3600 * NANOS : 60 * NANOS;
        for (int part = 0; part <= colons; ++part, unit /= 60) {
            const Place begin = at;
            const Figures number = figures(false);
            const bool last = part == colons;
            const bool whole = number.fraction.start == number.fraction.stop && at > begin && at[-1] != '.';
            if (part > 0 && (number.whole >= 60 || (last ? at - begin < 2 || !digit_at(begin + 1, stop) : at - begin != 2))) return false;
            if (part > 0 && digit_at(begin + 2, stop)) return false;
            if ((!last && !whole) || !add(number, unit)) return false;
            if (last) return at == stop;
            if (at >= stop || *at != ':') return false;
            ++at;
        }
        return false;
    }
};

__device__ inline Duration duration_of(Text text, bool& negative)
{
    text = trimmed(text);
    negative = text.start < text.stop && *text.start == '-';
    DurationReader reader{text.start + (negative || (text.start < text.stop && *text.start == '+')), text.stop, {}};
    if (reader.at == text.stop) return {};
    int colons = 0;
    for (Place at = reader.at; at < text.stop; ++at) colons += *at == ':';
    if (colons > 0) reader.found.valid = colons <= 2 && reader.by_clock(colons);
    else if (lower_at(reader.at, text.stop) == 'p') reader.found.valid = reader.by_iso();
    else reader.found.valid = reader.by_units();
    return reader.found;
}

struct kind_duration : ExactKind<kind_duration> {
    static constexpr int BITS = 96;

    __device__ static inline KeyImage image(const KeyIn& one)
    {
        bool negative;
        Duration found = duration_of(one.text, negative);
        if (!found.valid) return no_image();
        if (negative) {
            found.seconds = -found.seconds - (found.nanos > 0);
            found.nanos = found.nanos > 0 ? NANOS - found.nanos : 0;
        }
        return {static_cast<Word>(found.seconds) ^ 1ull << 63, true, static_cast<Word>(found.nanos) << 32};
    }
};
