// Decimal numbers of any length, and the sign of a sum of them. Included by join.cpp.
#pragma once

// 0.D1D2... times 10^top, with D1 != 0; zero has no digits.
class ExactNumber {
public:
    static constexpr int64_t SHORT = 18;  // digits that the mantissa holds

    // whole: the digits that are ahead of the point, leading zeros included.
    void begin(bool negative, int64_t whole)
    {
        negative_ = negative;
        top_ = whole;
        count_ = mantissa_ = 0;
        digits_.clear();
    }

    // Puts the next digit behind the last one.
    void push(int digit)
    {
        if (count_ == 0 && digit == 0) {
            --top_;
            return;
        }
        if (count_ == SHORT) {
            digits_.resize(SHORT);
            for (int64_t at = SHORT - 1, left = mantissa_; at >= 0; --at, left /= 10)
                digits_[static_cast<size_t>(at)] = static_cast<unsigned char>(left % 10);
        }
        if (++count_ > SHORT) digits_.push_back(static_cast<unsigned char>(digit));
        else mantissa_ = mantissa_ * 10 + digit;
    }

    void push_digits(Text text)
    {
        for (Place at = text.start; at < text.stop; ++at)
            if (is_digit(*at)) push(*at - '0');  // separators may lie between them
    }

    bool zero() const { return count_ == 0; }
    bool negative() const { return negative_; }
    bool is_short() const { return count_ <= SHORT; }
    int64_t mantissa() const { return mantissa_; }  // of a short number
    int64_t top() const { return top_; }
    int64_t low() const { return top_ - count_; }  // the power of ten of its last digit

    // The digit of this power of ten, from low() to top() - 1.
    int digit(int64_t power) const
    {
        const int64_t at = top_ - 1 - power;
        if (!is_short()) return digits_[static_cast<size_t>(at)];
        int64_t left = mantissa_;
        for (int64_t behind = count_ - 1 - at; behind > 0; --behind) left /= 10;
        return static_cast<int>(left % 10);
    }

private:
    bool negative_ = false;
    int64_t top_ = 0, count_ = 0, mantissa_ = 0;
    std::vector<unsigned char> digits_;
};

struct ExactTerm {
    const ExactNumber* number;
    bool minus;

    bool negative() const { return number->negative() != minus; }
};

// The sign of the sum of `count` terms, four at most.
class ExactSum {
public:
    static constexpr int MOST = 4;

    int sign(const ExactTerm* terms, int count)
    {
        int left = 0;
        bool all_short = true;
        int64_t top = INT64_MIN, low = INT64_MAX;
        for (int at = 0; at < count; ++at) {
            if (terms[at].number->zero()) continue;
            terms_[left++] = terms[at];
            all_short = all_short && terms[at].number->is_short();
            top = std::max(top, terms[at].number->top());
            low = std::min(low, terms[at].number->low());
        }
        if (left == 0) return 0;
        if (all_short && top - low <= 2 * ExactNumber::SHORT) return short_sign(left, low);
        return long_sign(left);
    }

private:
    __extension__ typedef __int128 Wide;

    static Wide power(int64_t exponent)
    {
        Wide found = 1;
        for (; exponent > 0; --exponent) found *= 10;
        return found;
    }

    int short_sign(int count, int64_t low) const
    {
        Wide sum = 0;
        for (int at = 0; at < count; ++at) {
            const ExactNumber& one = *terms_[at].number;
            const Wide value = one.mantissa() * power(one.low() - low);
            sum += terms_[at].negative() ? -value : value;
        }
        return (sum > 0) - (sum < 0);
    }

    // Adds terms whose digits overlap, the largest ones first. All terms that are more than two places below such a sum are
    // less than its last digit, so they do not matter unless it is zero. Gaps between terms thus take no memory.
    int long_sign(int count)
    {
        std::sort(terms_, terms_ + count, [](const ExactTerm& x, const ExactTerm& y) { return x.number->top() > y.number->top(); });
        for (int first = 0; first < count;) {
            int64_t low = terms_[first].number->low();
            int behind = first + 1;
            for (; behind < count && terms_[behind].number->top() + 2 >= low; ++behind)
                low = std::min(low, terms_[behind].number->low());
            const int sign = sign_of(first, behind, low);
            if (sign != 0) return sign;
            first = behind;
        }
        return 0;
    }

    int sign_of(int first, int behind, int64_t low)
    {
        sums_.assign(static_cast<size_t>(terms_[first].number->top() - low), 0);
        for (int at = first; at < behind; ++at) {
            const ExactNumber& one = *terms_[at].number;
            for (int64_t power = one.low(); power < one.top(); ++power)
                sums_[static_cast<size_t>(power - low)] += terms_[at].negative() ? -one.digit(power) : one.digit(power);
        }
        int carry = 0;
        bool any = false;
        for (const int sum : sums_) {
            const int value = sum + carry, digit = (value % 10 + 10) % 10;
            any = any || digit != 0;
            carry = (value - digit) / 10;
        }
        return carry != 0 ? (carry < 0 ? -1 : 1) : any;
    }

    ExactTerm terms_[MOST];
    std::vector<int> sums_;
};
