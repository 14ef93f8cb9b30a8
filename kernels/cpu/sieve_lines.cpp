// The sieve of lines: compares the image of each line with that of the bound as it finds where the line ends. Lines that are
// left out get no row.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "compare.hpp"
#include "find.hpp"
#include "packing.hpp"
#include "sieve.hpp"
#include "team.hpp"

#define ROWS 1
#define KEY_BITS 64
#define TEXT_PADDING 64
#include "../host.cuh"

namespace {

#include "../corank.cuh"
#include "line_images.hpp"
#include "own_order.hpp"
#include "plain_words.hpp"

template <typename Words>
class LineSieve final : public Sieve {
public:
    LineSieve(const OrderSpec& order, bool last)
        : own_(order), terminator_(static_cast<unsigned char>(order.terminator)), last_(last)
    {
        for (long long number = 0; number < own_.order().keys; ++number)
            checks_ |= (own_.order().key(number).flags & CHECKED) != 0;
    }

    void bound(const unsigned char* item, int64_t size, bool equals) override
    {
        unsigned char* const copy = bound_.reserve(static_cast<size_t>(size));
        if (size > 0) std::memcpy(copy, item, static_cast<size_t>(size));
        line_ = {copy, copy + size};
        const Words words(own_.order(), line_);
        first_ = words.words[0];
        second_ = second_word(words, line_);
        exact_ = words.exact;
        has_bound_ = true;
        equals_ = equals;
    }

    void pass(const unsigned char* text, int64_t nbytes, unsigned char* out, int64_t room, Sieved& found) override
    {
        found = {};
        const bool all = !has_bound_ && !checks_;
        int64_t start = 0, stretch = 0;  // the lines from `stretch` to `start` stay, and are not copied yet
        const auto put = [&] {
            if (start > stretch) std::memcpy(out + found.made, text + stretch, static_cast<size_t>(start - stretch));
            found.made += start - stretch;
        };
        for (int64_t at = 0; at < nbytes && !found.full; at += 64) {
            uint64_t marks = matches_at(text + at, terminator_);
            if (nbytes - at < 64) marks &= (uint64_t{1} << (nbytes - at)) - 1;
            for (; marks != 0; marks &= marks - 1) {
                const int64_t stop = at + __builtin_ctzll(marks) + 1;
                if (all || stays({text + start, text + stop - 1}, found)) {
                    if (found.made + stop - stretch > room) {
                        found.full = 1;
                        break;
                    }
                } else {
                    put();
                    stretch = stop;
                }
                start = stop;
                ++found.items;
            }
        }
        put();
        found.taken = start;
    }

private:
    __attribute__((always_inline)) bool stays(Text line, Sieved& found) const
    {
        const Words words(own_.order(), line);
        if (words.fault) [[unlikely]] found.fault = 1;
        if (!has_bound_) return true;
        if (words.words[0] != first_) return (words.words[0] < first_) != last_;
        const Word second = second_word(words, line);
        if (second != second_) return (second < second_) != last_;
        const int compared = compared_on(words, line);
        return compared == 0 ? !equals_ : (compared < 0) != last_;
    }

    // The second word of a line's images. Many lines without keys share their first 8 bytes, and not the next ones.
    __attribute__((always_inline)) Word second_word(const Words& words, Text line) const
    {
        if (!std::is_same<Words, PlainWords>::value) return words.words[1];
        const Word word = line.stop - line.start > 8 ? first_word({line.start + 8, line.stop}) : 0;
        return own_.order().flags & REVERSE ? ~word : word;
    }

    // Negative, zero or positive, if a line with the words of the bound goes before, with or behind the bound.
    __attribute__((noinline)) int compared_on(const Words& words, Text line) const
    {
        const LineOrder& order = own_.order();
        if (words.exact && exact_) return compare_last_resort(order, line, line_);
        return order.flags & PLAIN ? compare_plain(order, line, line_) : compare_by_keys(order, line, line_);
    }

    const OwnOrder own_;
    const unsigned char terminator_;
    const bool last_;
    bool checks_ = false, has_bound_ = false, equals_ = false, exact_ = false;
    Word first_ = 0, second_ = 0;
    Buffer bound_;
    Text line_{};
};

}  // namespace

std::unique_ptr<Sieve> make_line_sieve(const OrderSpec& order, bool last)
{
    const LineOrder& keys = *reinterpret_cast<const LineOrder*>(order.table);
    if (keys.flags & PLAIN) return std::make_unique<LineSieve<PlainWords>>(order, last);
    return by_kind(keys, [&](auto* words) -> std::unique_ptr<Sieve> {
        return std::make_unique<LineSieve<std::remove_pointer_t<decltype(words)>>>(order, last);
    });
}
