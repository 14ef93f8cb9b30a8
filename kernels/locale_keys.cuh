// Text in the order of the locale that an order of lines names. The CPU alone has it: cpu/collation.hpp.
#pragma once

#if HAS_COLLATION

inline const Collation& locale_of(const LineOrder& order)
{
    return order.opened != 0 ? *reinterpret_cast<const Collation*>(order.opened) : collation_of(order.locale_name());
}

inline Weights weights_in(const LineOrder& order, Text text) { return weights_in_locale(locale_of(order), text.start, text.stop); }

// The bytes of a key that count, folded if its flags say so.
class CountedText {
public:
    CountedText(Text text, long long flags) : counted(text)
    {
        if (!(flags & (FOLD | DICTIONARY | PRINTABLE))) return;
        unsigned char* out = small_;
        if (text.stop - text.start > static_cast<long long>(sizeof(small_)))
            out = made_ = new unsigned char[static_cast<unsigned long>(text.stop - text.start)];
        counted.start = out;
        for (Place at = next_counting(text.start, text.stop, flags); at < text.stop; at = next_counting(at + 1, text.stop, flags))
            *out++ = static_cast<unsigned char>(folded(*at, flags));
        counted.stop = out;
    }
    ~CountedText() { delete[] made_; }
    CountedText(const CountedText&) = delete;
    CountedText& operator=(const CountedText&) = delete;

    Text counted;

private:
    unsigned char small_[512], *made_ = nullptr;
};

struct kind_locale {
    static constexpr int BITS = 128;
    static inline KeyImage image(const KeyIn& one)
    {
        const CountedText text(one.text, one.flags());
        const Weights found = weights_in(one.order, text.counted);
        return {found.first, false, found.second};
    }
    static inline int compare(const KeyIn& a, const KeyIn& b)
    {
        const CountedText x(a.text, a.flags()), y(b.text, b.flags());
        return compare_in_locale(locale_of(a.order), x.counted.start, x.counted.stop, y.counted.start, y.counted.stop);
    }
};

// The part of a line that the last resort compares in a locale. With RECORD_AHEAD it is the record, which ends in a byte 1.
inline Text last_text(const LineOrder& order, Text line)
{
    return order.flags & RECORD_AHEAD ? Text{line.start, find_byte(line.start, line.stop, 1)} : line;
}

// Compares lines whose keys are all equal.
__attribute__((noinline)) inline int compare_lines_in_locale(const LineOrder& order, Text a, Text b)
{
    const Text x = last_text(order, a), y = last_text(order, b);
    return compare_in_locale(locale_of(order), x.start, x.stop, y.start, y.stop);
}

#else

struct kind_locale : ExactKind<kind_locale> {
    static constexpr int BITS = 8;
    __device__ static inline KeyImage image(const KeyIn&) { return {0, true}; }
};

#endif
