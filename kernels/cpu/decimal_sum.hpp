// The exact sum of decimal numbers that are given as text.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

typedef std::vector<unsigned char> Text8;

// The outcome of one more number.
enum class Added { NUMBER, NO_NUMBER, TOO_LONG };

// A sum. As long as it fits, it is a number of 128 bits, in units of the last digit. Beyond that it is digits in groups of nine.
class DecimalSum {
public:
    static constexpr int64_t MOST_DIGITS = 10'000;  // ahead of the point, and behind it

    int64_t numbers = 0;  // those that were added

    void clear()
    {
        numbers = 0;
        value_ = 0;
        scale_ = 0;
        if (!is_long_) return;
        is_long_ = false;
        whole_.clear();
        fraction_.clear();
        carried_ = 0;
    }

    // Adds the number in [at, stop): digits with a sign, a point and an exponent, of which it needs the digits alone.
    Added add(const unsigned char* at, const unsigned char* stop)
    {
        Number number;
        if (!read(at, stop, number)) return Added::NO_NUMBER;
        if (!is_long_ && number.is_short) {
            if (add_short(number)) {
                ++numbers;
                return Added::NUMBER;
            }
        }
        if (!fits(number)) return Added::TOO_LONG;
        if (!is_long_) become_long();
        add_long(number);
        ++numbers;
        return Added::NUMBER;
    }

    // Appends the sum: digits with a minus sign ahead if it is negative, and as many digits behind the point as the number that has
    // most of them.
    void put(Text8& out) const
    {
        if (is_long_) return put_long(out);
        put_short(value_, scale_, out);
    }

private:
    typedef __int128 Wide;
    static constexpr int GROUP = 9;  // digits of a group
    static constexpr int64_t UNIT = 1'000'000'000;
    static constexpr int SHORT = 18;  // digits that fit 64 bits
    static constexpr int64_t MOST_ADDED = 1ll << 32;  // groups are carried before so many numbers overflow one

    struct Number {
        const unsigned char *first, *last;  // the digits, with a point among them or none
        int64_t whole, fraction, exponent;  // the digits ahead of the point and behind it
        uint64_t mantissa;                  // all digits, if they are few
        bool negative, is_short;
    };

    static bool is_figure(unsigned char byte) { return byte >= '0' && byte <= '9'; }

    static bool read(const unsigned char* at, const unsigned char* stop, Number& number)
    {
        number.negative = at < stop && *at == '-';
        at += at < stop && (*at == '-' || *at == '+');
        number.first = at;
        uint64_t mantissa = 0;
        for (; at < stop && is_figure(*at); ++at) mantissa = 10 * mantissa + (*at - '0');
        number.whole = at - number.first;
        number.fraction = 0;
        if (at < stop && *at == '.') {
            const unsigned char* const point = at++;
            for (; at < stop && is_figure(*at); ++at) mantissa = 10 * mantissa + (*at - '0');
            number.fraction = at - point - 1;
        }
        number.last = at;
        number.mantissa = mantissa;
        number.exponent = 0;
        if (number.whole + number.fraction == 0) return false;
        if (at < stop && (*at | 0x20) == 'e') {
            ++at;
            const bool down = at < stop && *at == '-';
            at += at < stop && (*at == '-' || *at == '+');
            if (at == stop) return false;
            int64_t exponent = 0;
            for (; at < stop && is_figure(*at); ++at)
                if (exponent < UNIT) exponent = 10 * exponent + (*at - '0');
            number.exponent = down ? -exponent : exponent;
        }
        number.is_short = number.whole + number.fraction <= SHORT && number.exponent == 0;
        return at == stop;
    }

    static Wide power(int64_t exponent)
    {
        Wide found = 1;
        for (; exponent > 0; --exponent) found *= 10;
        return found;
    }

    bool add_short(const Number& number)
    {
        Wide value = number.mantissa;
        if (number.negative) value = -value;
        const int64_t scale = number.fraction;
        Wide sum = value_;
        if (scale < scale_) value *= power(scale_ - scale);  // of 36 digits at most
        if (scale > scale_ && __builtin_mul_overflow(sum, power(scale - scale_), &sum)) return false;
        if (__builtin_add_overflow(sum, value, &sum)) return false;
        value_ = sum;
        if (scale > scale_) scale_ = scale;
        return true;
    }

    static void put_short(Wide value, int64_t scale, Text8& out)
    {
        const bool negative = value < 0;
        unsigned __int128 left = negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
        unsigned char room[64];
        unsigned char* at = room + sizeof room;
        for (int64_t digits = 0; left != 0 || digits <= scale; ++digits) {
            if (digits == scale && scale > 0) *--at = '.';
            if (left >> 64 == 0) {
                const uint64_t few = static_cast<uint64_t>(left);
                *--at = static_cast<unsigned char>('0' + few % 10);
                left = few / 10;
            } else {
                *--at = static_cast<unsigned char>('0' + static_cast<int>(left % 10));
                left /= 10;
            }
        }
        if (negative) *--at = '-';
        out.insert(out.end(), at, room + sizeof room);
    }

    // Whether the number, without zeros at its start, has few enough digits.
    static bool fits(const Number& number)
    {
        if (number.fraction - number.exponent > MOST_DIGITS) return false;
        int64_t place = number.whole - 1 + number.exponent;
        for (const unsigned char* at = number.first; at < number.last; ++at) {
            if (*at == '.') continue;
            if (*at != '0') return place < MOST_DIGITS;
            --place;
        }
        return true;
    }

    void become_long()
    {
        Text8 text;
        put_short(value_, scale_, text);
        is_long_ = true;
        Number number;
        read(text.data(), text.data() + text.size(), number);
        add_long(number);
    }

    // The group in which a digit stands that counts 10^place.
    int64_t& group(int64_t place)
    {
        std::vector<int64_t>& side = place >= 0 ? whole_ : fraction_;
        const size_t index = static_cast<size_t>(place >= 0 ? place / GROUP : (-1 - place) / GROUP);
        if (side.size() <= index) side.resize(index + 1, 0);
        return side[index];
    }

    void add_long(const Number& number)
    {
        static constexpr int64_t POWERS[GROUP] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
        int64_t place = number.whole - 1 + number.exponent;
        for (const unsigned char* at = number.first; at < number.last; ++at) {
            if (*at == '.') continue;
            if (*at != '0') {
                const int64_t figure = number.negative ? '0' - *at : *at - '0';
                group(place) += figure * POWERS[place >= 0 ? place % GROUP : GROUP - 1 - (-1 - place) % GROUP];
            }
            --place;
        }
        const int64_t scale = number.fraction - number.exponent;
        if (scale > scale_) scale_ = scale;
        if (++carried_ == MOST_ADDED) {
            carry(fraction_, whole_);
            carried_ = 0;
        }
    }

    // Brings each group but the highest one between 0 and UNIT - 1.
    static void carry(std::vector<int64_t>& fraction, std::vector<int64_t>& whole)
    {
        int64_t over = 0;
        const auto settle = [&](int64_t& one) {
            const int64_t sum = one + over;
            over = sum / UNIT - (sum % UNIT < 0);
            one = sum - over * UNIT;
        };
        for (size_t at = fraction.size(); at-- > 0;) settle(fraction[at]);
        for (int64_t& one : whole) settle(one);
        while (over != 0 && over != -1) {
            whole.push_back(0);
            whole.back() = over;
            over = 0;
            settle(whole.back());
        }
        if (over != 0) whole.push_back(over);
    }

    void put_long(Text8& out) const
    {
        std::vector<int64_t> whole = whole_, fraction = fraction_;
        carry(fraction, whole);
        const bool negative = !whole.empty() && whole.back() < 0;
        if (negative) {
            for (int64_t& one : whole) one = -one;
            for (int64_t& one : fraction) one = -one;
            carry(fraction, whole);
        }
        while (!whole.empty() && whole.back() == 0) whole.pop_back();
        if (negative) out.push_back('-');
        char room[24];
        const auto put_group = [&](int64_t one, int width) {
            int at = static_cast<int>(sizeof room);
            const int stop = at;
            for (; one != 0 || stop - at < width; one /= 10) room[--at] = static_cast<char>('0' + one % 10);
            out.insert(out.end(), room + at, room + stop);
        };
        if (whole.empty()) out.push_back('0');
        for (size_t at = whole.size(); at-- > 0;) put_group(whole[at], at + 1 == whole.size() ? 1 : GROUP);
        if (scale_ <= 0) return;
        out.push_back('.');
        const size_t begin = out.size();
        for (const int64_t one : fraction) put_group(one, GROUP);
        out.resize(begin + static_cast<size_t>(scale_), '0');
    }

    Wide value_ = 0;
    int64_t scale_ = 0;  // digits behind the point
    bool is_long_ = false;
    // Groups, each of which may be negative or too large until they are carried: those ahead of the point, the lowest first, and
    // those behind it, the highest first.
    std::vector<int64_t> whole_, fraction_;
    int64_t carried_ = 0;  // numbers since then
};
