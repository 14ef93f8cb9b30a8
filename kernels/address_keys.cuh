// Addresses of IPv4 and IPv6, with a port or the length of a prefix behind them if there is one: 10.0.0.1, 10.0.0.1:80,
// 10.0.0.0/8, ::1, [::1]:80, fe80::/10. IPv4 goes ahead of IPv6. Equal addresses go by what is behind them: nothing, then
// lengths, then ports.
#pragma once

#include "numbers.cuh"

// high, low: the bits of the address; those of IPv4 are the last 32 bits of `low`.
struct Address {
    bool six = false, valid = false;
    Word high = 0, low = 0, behind = 0;
};

constexpr Word BEHIND_LENGTHS = 129;  // `behind` is 0 for nothing, 1 + a length, or this + 1 + a port
constexpr int BEHIND_BITS = 17;

struct AddressReader {
    Place at, stop;
    Address found;

    // A number of up to `digits` digits that is at most `most`. Returns -1 if there is none.
    __device__ inline long long number(int digits, long long most)
    {
        long long value = 0;
        const Place begin = at;
        for (; digit_at(at, stop); ++at) {
            if (at - begin == digits) return -1;
            value = value * 10 + (*at - '0');
        }
        return at == begin || value > most ? -1 : value;
    }

    // Four numbers with points between them, none of which begins with a 0 that could be left out.
    __device__ inline bool read_four(Word& bits)
    {
        bits = 0;
        for (int part = 0; part < 4; ++part) {
            if (part > 0 && (at >= stop || *at++ != '.')) return false;
            const Place begin = at;
            const long long value = number(3, 255);
            if (value < 0 || (*begin == '0' && at - begin > 1)) return false;
            bits = bits << 8 | static_cast<Word>(value);
        }
        return true;
    }

    __device__ inline void push(Word& high, Word& low, Word group, int bits)
    {
        high = high << bits | low >> (64 - bits);
        low = low << bits | group;
    }

    // Groups of up to four digits, with colons between them. "::" stands for one group of zeros at least.
    __device__ inline bool read_six()
    {
        Word high = 0, low = 0, ahead_high = 0, ahead_low = 0;
        int groups = 0, ahead = -1;  // ahead: the groups ahead of "::"
        if (at + 1 < stop && at[0] == ':' && at[1] == ':') {
            ahead = 0;
            at += 2;
        }
        while (at < stop && groups < 8) {
            const Place begin = at;
            Word group = 0;
            for (int digit; at < stop && (digit = hex_value(lower_at(at, stop))) >= 0 && at - begin < 4; ++at)
                group = group << 4 | static_cast<Word>(digit);
            if (at == begin) break;
            if (at < stop && *at == '.') {
                at = begin;
                Word four;
                if (groups > 6 || !read_four(four)) return false;
                push(high, low, four, 32);
                groups += 2;
                break;
            }
            push(high, low, group, 16);
            ++groups;
            if (at + 1 < stop && at[0] == ':' && at[1] == ':') {
                if (ahead >= 0) return false;
                ahead = groups;
                ahead_high = high;
                ahead_low = low;
                high = low = 0;
                at += 2;
            } else if (at + 1 < stop && *at == ':' && groups < 8) {
                ++at;
                if (hex_value(lower_at(at, stop)) < 0) return false;
            } else
                break;
        }
        if (ahead < 0 ? groups != 8 : groups > 7) return false;
        for (int group = ahead < 0 ? 0 : ahead; ahead > 0 && group < 8; ++group) push(ahead_high, ahead_low, 0, 16);
        found.high = ahead_high | high;
        found.low = ahead_low | low;
        return true;
    }

    __device__ inline bool read_port()
    {
        ++at;
        const long long port = number(5, 65535);
        found.behind = BEHIND_LENGTHS + 1 + static_cast<Word>(port);
        return port >= 0;
    }

    __device__ inline bool read_length(long long most)
    {
        ++at;
        const long long length = number(3, most);
        found.behind = 1 + static_cast<Word>(length);
        return length >= 0;
    }

    __device__ inline bool read()
    {
        const Place begin = at;
        if (at < stop && *at == '[') {
            ++at;
            found.six = true;
            if (!read_six() || at >= stop || *at++ != ']') return false;
            return at == stop || (*at == ':' && read_port() && at == stop);
        }
        if (read_four(found.low))
            return at == stop || ((*at == ':' ? read_port() : *at == '/' && read_length(32)) && at == stop);
        at = begin;
        found.low = 0;
        found.six = true;
        return read_six() && (at == stop || (*at == '/' && read_length(128) && at == stop));
    }
};

// The text must be trimmed.
__device__ __noinline__ Address address_of(Text text)
{
    AddressReader reader{text.start, text.stop, {}};
    reader.found.valid = reader.read();
    return reader.found;
}

struct kind_address {
    static constexpr int BITS = 128, OF_FOUR = 1 + 32 + BEHIND_BITS;

#if HAS_VECTORS
    __device__ static __forceinline__ bool exact_image(Text text, KeyImage& image)
    {
        text = trimmed(text);
        Word four;
        const int length = four_numbers(text.start, text.stop, four);
        if (length == 0 || length != text.stop - text.start) return false;
        image = {four << 31, true, 0, false, OF_FOUR};
        return true;
    }
#endif

    __device__ static inline KeyImage image(const KeyIn& one)
    {
#if HAS_VECTORS
        KeyImage image;
        if (exact_image(one.text, image)) return image;
#endif
        const Address found = address_of(trimmed(one.text));
        if (!found.valid) return no_image();
        if (!found.six) return {found.low << 31 | found.behind << (64 - OF_FOUR), true, 0, false, OF_FOUR};
        return {1ull << 63 | found.high >> 1, false, found.high << 63 | found.low >> 1};
    }

    __device__ static inline int compare(const KeyIn& a, const KeyIn& b)
    {
        const Address x = address_of(trimmed(a.text)), y = address_of(trimmed(b.text));
        if (x.six != y.six) return x.six ? 1 : -1;
        if (x.high != y.high) return x.high < y.high ? -1 : 1;
        if (x.low != y.low) return x.low < y.low ? -1 : 1;
        return (x.behind > y.behind) - (x.behind < y.behind);
    }
};
