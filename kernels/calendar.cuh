// Instants from the parts of a time as it is written: days of the Gregorian calendar, zones, and years that are not written.
#pragma once

#include "duration_keys.cuh"

constexpr long long DAY_SECONDS = 86400, NO_YEAR = -1;
constexpr int YEAR_DIGITS = 4;
constexpr int YEARS_BACK = 24;  // more than lie between two leap days, and than the first guess is too late

// What LineKey.parameters holds for a time, see gpumerge_cli/order/times.py. year: what it is depends on `years`. A switch is a
// second of local time from which on an offset holds; the zone repeats itself every `cycle` seconds from `last` on.
struct TimeParameters {
    enum Years { UNKNOWN_YEAR, ONE_YEAR, LATEST_BY };
    long long years, year, switches, offset, last, format_bytes, format_at;

    __device__ __forceinline__ const long long* switch_at(long long number) const
    {
        return reinterpret_cast<const long long*>(this + 1) + 2 * number;
    }

    __device__ __forceinline__ Text format() const
    {
        const Place start = reinterpret_cast<Place>(reinterpret_cast<const long long*>(this) + format_at);
        return {start, start + format_bytes};
    }

    // Seconds by which local time is ahead of UTC. A local hour that occurs twice is its first one, and one that is left out is as
    // long behind the switch as it says, as for Python's fold=0.
    __device__ inline long long offset_at(long long local) const
    {
        constexpr long long CYCLE = 146097 * DAY_SECONDS;  // 400 years
        if (switches > 0 && local >= last) local -= (local - last + CYCLE) / CYCLE * CYCLE;
        long long low = 0, high = switches;
        while (low < high) {
            const long long middle = (low + high) / 2;
            if (switch_at(middle)[0] <= local) low = middle + 1;
            else high = middle;
        }
        return low == 0 ? offset : switch_at(low - 1)[1];
    }
};

// Seconds since 1970 in UTC, and the nanoseconds behind them.
struct Instant {
    long long seconds = 0, nanos = 0;
    bool valid = false;
};

// negative: as long ahead of 1970.
__device__ __forceinline__ Instant since_epoch(long long seconds, long long nanos, bool negative)
{
    if (!negative) return {seconds, nanos, true};
    return {-seconds - (nanos > 0), nanos > 0 ? NANOS - nanos : 0, true};
}

// A time as it is written.
struct WrittenTime {
    long long year = NO_YEAR, month = 1, day = 1, hour = 0, minute = 0, second = 0, nanos = 0, offset = 0;
    bool has_offset = false;

    // Whether nothing gives its year. Then a line has no time: another date in it is not its time.
    __device__ __forceinline__ bool lacks_year(const TimeParameters& by) const
    {
        return year == NO_YEAR && by.years == TimeParameters::UNKNOWN_YEAR;
    }
};

// Days from 1970-01-01. Source: Howard Hinnant, chrono-Compatible Low-Level Date Algorithms, days_from_civil.
__device__ inline long long days_before(long long year, long long month, long long day)
{
    year -= month <= 2;
    const long long era = year / 400, of_era = year - era * 400;
    const long long of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

__device__ inline long long days_of_month(long long year, long long month)
{
    if (month == 2) return 28 + (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    return 30 + ((month + (month > 7)) & 1);
}

__device__ inline Instant instant_in(const WrittenTime& time, long long year, const TimeParameters& by)
{
    Instant found;
    if (year < 1 || time.day > days_of_month(year, time.month)) return found;
    const long long days = days_before(year, time.month, time.day);
    const long long local = days * DAY_SECONDS + time.hour * 3600 + time.minute * 60 + time.second;
    found.seconds = local - (time.has_offset ? time.offset : by.offset_at(local));
    found.nanos = time.nanos;
    found.valid = true;
    return found;
}

// The instant of a time without a year. By LATEST_BY, `year` is a second of UTC: the latest year counts in which the time is not
// behind it.
__device__ __noinline__ Instant instant_without_year(const WrittenTime& time, const TimeParameters& by)
{
    if (by.years == TimeParameters::ONE_YEAR) return instant_in(time, by.year, by);
    if (by.years == TimeParameters::LATEST_BY) {
        const long long latest = 1971 + by.year / (365 * DAY_SECONDS);
        for (long long back = 0; back < YEARS_BACK; ++back) {
            const Instant found = instant_in(time, latest - back, by);
            if (found.valid && found.seconds <= by.year) return found;
        }
    }
    return {};
}

// The seconds may be 60, for a leap second: this is the first second of the next minute.
__device__ inline Instant instant_of(const WrittenTime& time, const TimeParameters& by)
{
    const bool real = time.month >= 1 && time.month <= 12 && time.day >= 1 && time.hour < 24 && time.minute < 60 && time.second <= 60;
    if (!real) return {};
    return time.year == NO_YEAR ? instant_without_year(time, by) : instant_in(time, time.year, by);
}
