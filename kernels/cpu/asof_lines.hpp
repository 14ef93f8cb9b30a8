// The as-of keys of lines: which are values, and how far these are from each other. Included by join.cpp, behind asof_values.hpp.
#pragma once

class LineAsof {
public:
    explicit LineAsof(const JoinSpec& spec)
        : spec_(*spec.asof), own_(*spec.keys), terminator_(static_cast<unsigned char>(spec.keys->terminator)),
          last_(own_.order().keys - 1),
          has_gaps_(last_ >= 0 && spec_.measure == ASOF_BY_KIND && (key().is(KIND_numeric) || key().is(KIND_human))),
          plain_numbers_(has_gaps_ && last_ == 0 && key().is(KIND_numeric) && !(key().flags & CLASSED) && spec_.descending == 0),
          image_tells_class_(last_ == 0 && spec_.descending == 0), distances(spec_, is_exact())
    {
    }

    // Whether the key of a line is a value: no null, no invalid text, and none without a number where numbers compare.
    bool has_value(const JoinLine& line) const
    {
        if (last_ < 0 || spec_.measure == ASOF_BYTES || has_digits(line)) return true;
        if (spec_.measure == ASOF_BY_KIND && image_tells_class_ && key().flags & CLASSED) {
            const int place = static_cast<int>(line.image >> (PREFIX_BITS - CLASS_BITS));
            if (place != place_of_class(key(), VALUE_KEY)) return false;
            if (!may_lack_number()) return true;
        }
        const Text text = part(line);
        if (spec_.measure != ASOF_BY_KIND) {
            const bool there = text.start < text.stop && !is_null(*text.start);
            return there && !(is_float(spec_) && is_no_value(spec_, static_cast<uint64_t>(unpacked(text))));
        }
        const KeyIn one{own_.order(), key(), text};
        if (key().flags & CLASSED && !image_tells_class_ && class_of(one) != VALUE_KEY) return false;
        return !may_lack_number() || has_number(one);
    }

    // Whether the key is no value and yet lies among values. Such a line is passed over.
    bool is_gap(const JoinLine& line) const
    {
        return has_gaps_ && !has_digits(line) && !has_value(line);
    }

    // Whether the keys ahead of the last one are equal.
    bool same_others(const JoinLine& x, const JoinLine& y) const
    {
        if (last_ <= 0) return true;
        const long long size = part(x).start - x.key.start;
        if (size == part(y).start - y.key.start && std::memcmp(x.key.start, y.key.start, static_cast<size_t>(size)) == 0) return true;
        for (long long number = 0; number < last_; ++number)
            if (compare_key(own_.order(), own_.order().key(number), x.key, y.key) != 0) return false;
        return true;
    }

    // The line's key must be a value that has distances.
    void read(const JoinLine& line, AsofValue& value) const
    {
        const Text text = part(line);
        if (spec_.measure == ASOF_JSON) return read_json(text, value.exact);
        if (spec_.measure != ASOF_BY_KIND) return read_image(spec_, unpacked(text), value);
        read_kind({own_.order(), key(), text}, value);
    }

    // Copies the line with its end. Returns the bytes of the copy.
    int64_t copy(const JoinLine& line, Buffer& room) const
    {
        const size_t size = static_cast<size_t>(line.text.stop - line.text.start);
        unsigned char* at = room.reserve(size + 2);
        std::memcpy(at, line.text.start, size);
        at += size;
        if (line.returns) *at++ = '\r';
        *at++ = terminator_;
        return at - room.data();
    }

private:
    // Whether the image alone shows that the key has a number.
    bool has_digits(const JoinLine& line) const { return plain_numbers_ && static_cast<Word>(line.image >> 64) != 1ull << 63; }

    const Key& key() const { return own_.order().key(last_); }
    bool is_exact() const
    {
        if (spec_.measure == ASOF_JSON) return true;
        return spec_.measure == ASOF_BY_KIND && last_ >= 0 && (key().is(KIND_numeric) || key().is(KIND_size) || key().is(KIND_general));
    }

    Text part(const JoinLine& line) const
    {
        return last_ == 0 ? line.key : FieldMarks(own_.order(), line.key).part(key());
    }

    bool is_null(unsigned char byte) const
    {
        for (int64_t nulls = spec_.nulls; nulls != 0; nulls >>= 8)
            if ((nulls & 255) == byte) return true;
        return false;
    }

    bool may_lack_number() const
    {
        return key().is(KIND_numeric) || key().is(KIND_human) || key().is(KIND_general) || key().is(KIND_month);
    }

    static bool has_number(const KeyIn& one)
    {
        if (one.key.is(KIND_month)) return kind_month::image(one).first != 0;
        if (one.key.is(KIND_general)) {
            const int found = parsed(one.text, one.flags()).kind;
            return found != NO_NUMBER && found != NOT_A_NUMBER;
        }
        const long long point = one.flags() & SEPARATED ? one.flags() >> DECIMAL_AT & 255 : '.';
        Place at = skip_blanks(one.text.start, one.text.stop);
        at += at < one.text.stop && *at == '-';
        return digit_at(at, one.text.stop) || (at < one.text.stop && *at == point && digit_at(at + 1, one.text.stop));
    }

    void read_kind(const KeyIn& one, AsofValue& value) const
    {
        if (one.key.is(KIND_numeric)) return read_number(one, value.exact);
        if (one.key.is(KIND_general)) return read_general(parsed(one.text, one.flags()), value);
        if (one.key.is(KIND_size)) return read_size(size_of(trimmed(one.text)), value.exact);
        if (one.key.is(KIND_duration)) {
            bool negative;
            const Duration found = duration_of(one.text, negative);
            return read_nanos(found.seconds, found.nanos, negative, value);
        }
        Text where{nullptr, nullptr};
        const Instant found = one.key.is(KIND_time) ? kind_time::read(one, where) : kind_log_time::read(one, where);
        read_nanos(found.seconds, found.nanos, false, value);
    }

    static void read_nanos(long long seconds, long long nanos, bool negative, AsofValue& value)
    {
        const WideWord found = static_cast<WideWord>(seconds) * static_cast<WideWord>(NANOS) + static_cast<WideWord>(nanos);
        value.wide = (negative ? -found : found) ^ static_cast<WideWord>(1) << 127;
    }

    static void read_parts(bool negative, int64_t whole, Text digits, Text fraction, ExactNumber& value)
    {
        value.begin(negative, whole);
        value.push_digits(digits);
        value.push_digits(fraction);
    }

    static void read_number(const KeyIn& one, ExactNumber& value)
    {
        if (one.flags() & SEPARATED) {
            const Separated found = separated_number(one.text, one.flags());
            return read_parts(found.number.negative, found.digits, found.number.whole, found.number.fraction, value);
        }
        const Number found = leading_number(one.text);
        read_parts(found.negative, found.whole.stop - found.whole.start, found.whole, found.fraction, value);
    }

    static void read_general(const General& found, AsofValue& value)
    {
        value.infinite = found.kind == PLUS_INFINITY ? 1 : found.kind == MINUS_INFINITY ? -1 : 0;
        value.exact.begin(found.negative, found.decimal.exponent);
        if (value.infinite != 0 || found.decimal.digits == 0) return;
        Word unit = 100000000000000000;  // of the first of 18 digits
        for (Word left = found.decimal.digits; left != 0; left %= unit, unit /= 10) value.exact.push(static_cast<int>(left / unit));
        if (found.whole.start == found.whole.stop && found.fraction.start == found.fraction.stop) return;
        for (; unit != 0; unit /= 10) value.exact.push(0);
        value.exact.push_digits(found.whole);
        value.exact.push_digits(found.fraction);
    }

    static void read_size(const Size& found, ExactNumber& value)
    {
        const Number& number = found.number;
        if (!found.binary) {
            const int64_t whole = number.whole.stop - number.whole.start + found.scale();
            return read_parts(number.negative, whole, number.whole, number.fraction, value);
        }
        std::vector<int> digits;
        SizeDigits reader(found);
        const int64_t low = reader.place;
        while (!reader.over()) digits.push_back(reader.next());
        value.begin(number.negative, low + static_cast<int64_t>(digits.size()));
        for (size_t left = digits.size(); left > 0; --left) value.push(digits[left - 1]);
    }

    // A number by its image, see json_images.hpp.
    static void read_json(Text image, ExactNumber& value)
    {
        Place at = image.start, stop = image.stop;
        const bool negative = *at < ZERO;
        const int first = negative ? 0x100 - *at : *at;
        ++at;
        stop -= negative && stop > at;
        if (first == ZERO) return value.begin(false, 0);
        int64_t exponent = first - FIRST_EXPONENT + LEAST_EXPONENT;
        if (first == SMALLER || first == LARGER) {
            uint64_t biased = 0;
            for (int byte = 0; byte < EXPONENT_BYTES && at < stop; ++byte, ++at)
                biased = biased << 7 | static_cast<uint64_t>((negative ? 2 * LOWEST + 0x7f - *at : *at) - LOWEST);
            exponent = static_cast<int64_t>(biased) - EXPONENT_BIAS;
        }
        value.begin(negative, exponent);
        for (; at < stop; ++at) {
            const int pair = (negative ? 2 * LOWEST + 99 - *at : *at) - LOWEST;
            value.push(pair / 10);
            if (at + 1 < stop || pair % 10 != 0) value.push(pair % 10);
        }
    }

    // The image in a field of a table's items: a byte, and then 7 bits in each byte.
    WideWord unpacked(Text text) const
    {
        WideWord found = 0;
        const int64_t bits = 8 * spec_.width;
        int64_t taken = 0;
        for (Place at = text.start + 1; at < text.stop && taken < bits; ++at) {
            const int64_t more = std::min<int64_t>(7, bits - taken);
            found = found << more | (*at & 0x7f) >> (7 - more);
            taken += more;
        }
        return found;
    }

    const AsofSpec& spec_;
    const OwnOrder own_;
    const unsigned char terminator_;
    const long long last_;  // the number of the key; -1 if whole texts compare by their bytes
    const bool has_gaps_;       // whether keys that are no values lie among values
    const bool plain_numbers_;  // whether the image of a line is that of its number; all lines without a number have that of 0
    const bool image_tells_class_;  // whether the image of a line has the place of its class

public:
    AsofDistances distances;
};
