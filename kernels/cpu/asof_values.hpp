// The values of keys that have distances: see AsofSpec. Included by join.cpp, behind exact_sum.hpp.
#pragma once

// A value, in one of three forms. wide: has the order of the values, and differences that are distances. infinite: -1 or 1 for
// an infinite number.
struct AsofValue {
    WideWord wide = 0;
    double real = 0;
    ExactNumber exact;
    int infinite = 0;
};

// A float by its image; see AsofMeasure for its two forms. bytes: 2, 4 or 8.
inline double float_of_image(uint64_t image, int64_t bytes, bool of_rows)
{
    const uint64_t sign = 1ull << (8 * bytes - 1);
    const bool negative = image < sign;
    const uint64_t magnitude = negative ? sign - image - of_rows : image - sign;
    double found;
    if (bytes == 8) {
        std::memcpy(&found, &magnitude, sizeof found);
    } else if (bytes == 4) {
        const uint32_t bits = static_cast<uint32_t>(magnitude);
        float narrow;
        std::memcpy(&narrow, &bits, sizeof narrow);
        found = static_cast<double>(narrow);
    } else {
        const int exponent = static_cast<int>(magnitude >> 10), part = static_cast<int>(magnitude & 1023);
        found = exponent == 31 ? HUGE_VAL : exponent == 0 ? std::ldexp(part, -24) : std::ldexp(part + 1024, exponent - 25);
    }
    return negative ? -found : found;
}

inline uint64_t last_image(int64_t bytes) { return ~0ull >> (64 - 8 * bytes); }

inline bool is_float(const AsofSpec& spec) { return spec.measure == ASOF_FLOAT || spec.measure == ASOF_ROW_FLOAT; }

// Whether an image stands for NaN or NaT, of which each is the last one.
inline bool is_no_value(const AsofSpec& spec, uint64_t image)
{
    return (is_float(spec) || spec.measure == ASOF_DATE) && image == last_image(spec.width);
}

inline void read_image(const AsofSpec& spec, WideWord image, AsofValue& value)
{
    value.wide = image;
    if (is_float(spec)) value.real = float_of_image(static_cast<uint64_t>(image), spec.width, spec.measure == ASOF_ROW_FLOAT);
}

// Compares distances of values.
class AsofDistances {
public:
    AsofDistances(const AsofSpec& spec, bool exact)
        : limited_(spec.limited != 0), exact_(exact), real_(is_float(spec)),
          limit_(static_cast<WideWord>(static_cast<uint64_t>(spec.limit_high)) << 64 | static_cast<uint64_t>(spec.limit_low))
    {
        std::memcpy(&real_limit_, &spec.limit_low, sizeof real_limit_);
        if (spec.text == nullptr) return;
        const Text text{spec.text, spec.text + spec.text_bytes};
        const Place point = std::find(text.start, text.stop, static_cast<unsigned char>('.'));
        exact_limit_.begin(false, point - text.start);
        exact_limit_.push_digits(text);
    }

    // Whether values are needed: of a join without a tolerance, for the nearest one alone.
    bool limited() const { return limited_; }

    // Whether the distance of two values is not above the tolerance. low must not be above high.
    bool within(const AsofValue& low, const AsofValue& high)
    {
        if (!limited_) return true;
        if (real_) return low.real == high.real || high.real - low.real <= real_limit_;
        if (!exact_) return high.wide - low.wide <= limit_;
        if (low.infinite != 0 || high.infinite != 0) return low.infinite == high.infinite;
        const ExactTerm terms[] = {{&high.exact, false}, {&low.exact, true}, {&exact_limit_, true}};
        return sum_.sign(terms, 3) <= 0;
    }

    // Whether `low` is as near to a value as `high` is, or nearer. They must ascend.
    bool is_nearer(const AsofValue& low, const AsofValue& value, const AsofValue& high)
    {
        if (real_) return low.real == value.real || value.real - low.real <= high.real - value.real;
        if (!exact_) return value.wide - low.wide <= high.wide - value.wide;
        if (low.infinite == value.infinite && low.infinite != 0) return true;
        if (low.infinite != 0 || high.infinite != 0) return high.infinite != value.infinite && (low.infinite == 0 || high.infinite != 0);
        const ExactTerm terms[] = {{&value.exact, false}, {&value.exact, false}, {&low.exact, true}, {&high.exact, true}};
        return sum_.sign(terms, 4) <= 0;
    }

private:
    const bool limited_, exact_, real_;
    const WideWord limit_;
    double real_limit_;
    ExactNumber exact_limit_;
    ExactSum sum_;
};
