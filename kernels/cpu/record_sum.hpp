// The sum of numbers in records: integers exactly, floats in their order as doubles.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "entries.h"

class RecordSum {
public:
    void clear()
    {
        numbers = 0;
        whole_ = 0;
        real_ = -0.0;  // which changes no number that is added
        special_ = 0;
    }

    void add(const unsigned char* record, const SumColumn& column)
    {
        unsigned char bytes[8];
        load(record, column, bytes);
        ++numbers;
        if (column.kind == FLOAT_KEYS) {
            const double real = real_of(bytes, column.width);
            (std::isfinite(real) ? real_ : special_) += real;
            return;
        }
        uint64_t word = 0;
        std::memcpy(&word, bytes, static_cast<size_t>(column.width));
        const int left = static_cast<int>(64 - 8 * column.width);
        whole_ += column.kind == SIGNED_KEYS ? static_cast<__int128>(static_cast<int64_t>(word << left) >> left)
                                             : static_cast<__int128>(word);
    }

    // Writes the sum to the column of a record. Returns whether it fits: a sum of finite floats is finite.
    bool put(unsigned char* record, const SumColumn& column) const
    {
        unsigned char bytes[8];
        if (column.kind == FLOAT_KEYS) {
            const double sum = special_ == 0 ? real_ : special_;
            const float rounded = static_cast<float>(sum);
            if (special_ == 0 && !(column.width == 4 ? std::isfinite(rounded) : std::isfinite(sum))) return false;
            if (column.width == 4) std::memcpy(bytes, &rounded, 4);
            else std::memcpy(bytes, &sum, 8);
        } else {
            const int bits = static_cast<int>(8 * column.width);
            const bool is_signed = column.kind == SIGNED_KEYS;
            const __int128 high = (static_cast<__int128>(1) << (bits - is_signed)) - 1, low = is_signed ? -high - 1 : 0;
            if (whole_ < low || whole_ > high) return false;
            const uint64_t word = static_cast<uint64_t>(whole_);
            std::memcpy(bytes, &word, 8);
        }
        for (int64_t at = 0; at < column.width; ++at)
            record[column.place + at] = bytes[column.big_endian ? column.width - 1 - at : at];
        return true;
    }

    int64_t numbers = 0;

private:
    static void load(const unsigned char* record, const SumColumn& column, unsigned char (&bytes)[8])
    {
        for (int64_t at = 0; at < column.width; ++at)
            bytes[at] = record[column.place + (column.big_endian ? column.width - 1 - at : at)];
    }

    static double real_of(const unsigned char (&bytes)[8], int64_t width)
    {
        if (width == 4) {
            float found;
            std::memcpy(&found, bytes, 4);
            return found;
        }
        double found;
        std::memcpy(&found, bytes, 8);
        return found;
    }

    __int128 whole_ = 0;
    double real_ = -0.0;  // of finite numbers
    double special_ = 0;  // of infinities and NaNs; 0 if there are none
};
