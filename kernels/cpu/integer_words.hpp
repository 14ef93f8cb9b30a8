// The words of lines whose numbers are all integers of at most 15 digits. Such integers take fewer bits than the images of any
// numbers, and are read faster. A chunk is tried with these words. Only if all of its lines fit do the words have the order of the
// lines. Included by line_images.hpp.
//
// A kind of tried words has these members. `bits` are those that an integer takes.
//     make(line, first, second)   makes the two words of a line
//     fits()                      whether all lines so far fit; if not, some words are wrong
//     magnitudes                  all bits of the integers so far, or of their complements if they are negative
//     bits_for(sampled)           the bits that integers are given, if those of a sample have `sampled` bits
//     NUMBERS                     whether the first word is an integer, and nothing else
//     DECIDED                     whether lines with the same first word are equal; then there is no second word
#pragma once

// Whether a key is a number without separators and without a class.
inline bool is_number(const Key& key) { return key.kind == KIND_numeric && !(key.flags & (CLASSED | SEPARATED)); }

// Whether a key is compared by all its bytes.
inline bool is_text(const Key& key) { return key.kind == KIND_bytes && !(key.flags & (DICTIONARY | PRINTABLE | CLASSED)); }

constexpr int SPARE_BITS = 3;  // a sign, and integers a few times those of a sample

struct TriedWords {
    const LineOrder order;  // a copy, which no store of a word can change
    const int bits;
    bool all_fit = true;
    Word magnitudes = 0;

    TriedWords(const LineOrder& given, int bits) : order(given), bits(bits) {}

    static int bits_for(int sampled) { return sampled + SPARE_BITS; }

    bool fits() const { return all_fit && magnitudes >> (bits - 1) == 0; }

    // An integer's image, at the end of a word.
    Word image_of(long long value)
    {
        magnitudes |= static_cast<Word>(value ^ value >> 63);
        return static_cast<Word>(value) + (1ull << (bits - 1));
    }
};

#if defined(__SSE4_1__)

// For lines each of which is an integer in its usual form, so that lines with the same number are equal.
struct DecimalLines : TriedWords {
    static constexpr bool NUMBERS = true, DECIDED = true;

    DecimalLines(const Lines& lines, int bits)
        : TriedWords(*lines.order, bits), begin_(lines.text), turned_(order.key(0).flags & KEY_REVERSE ? ~0ull : 0)
    {}

    __attribute__((always_inline)) void make(Text line, Word& first, Word&)
    {
        const long long length = line.stop - line.start;
        const long long negative = *line.start == '-', count = length - negative;
        all_fit &= (static_cast<Word>(count) - 1 < 15) & ((line.start[negative] != '0') | (length == 1));
        if (line.stop - begin_ < 16) [[unlikely]] {  // the vector would begin ahead of the text
            const ShortInteger found = short_integer(line);
            all_fit &= found.canonical;
            first = image_of(found.value) ^ turned_;
            return;
        }
        const __m128i held = bytes_at(ENDS + (count & 15));
        const __m128i digits = _mm_and_si128(_mm_sub_epi8(bytes_at(line.stop - 16), _mm_set1_epi8('0')), held);
        greatest_ = _mm_max_epu8(greatest_, digits);
        const Word magnitude = integer_of(digits), sign = 0 - static_cast<Word>(negative);
        first = image_of(static_cast<long long>((magnitude ^ sign) - sign)) ^ turned_;
    }

    bool fits() const
    {
        const __m128i digits = _mm_cmpeq_epi8(_mm_max_epu8(greatest_, _mm_set1_epi8(9)), _mm_set1_epi8(9));
        return TriedWords::fits() && _mm_movemask_epi8(digits) == 0xffff;
    }

private:
    // From place `count` on: all bits of the last `count` bytes of a vector.
    static constexpr unsigned char ENDS[32] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255};
    const Place begin_;
    const Word turned_;
    __m128i greatest_ = _mm_setzero_si128();
};

#endif

// For lines whose only key is a number. IN_FIELDS: the number lies in a field; else it begins the line.
template <bool IN_FIELDS>
struct IntegerWords : TriedWords {
    static constexpr bool NUMBERS = true, DECIDED = false;

    IntegerWords(const Lines& lines, int bits) : TriedWords(*lines.order, bits), key_(lines.order->key(0)) {}

    __attribute__((always_inline)) void make(Text line, Word& first, Word& second)
    {
        const Text text = IN_FIELDS ? FieldMarks(order, line).part(key_) : line;
        const ShortInteger integer = short_integer({skip_blanks(text.start, text.stop), text.stop});
        const Word image = image_of(integer.value);
        first = key_.flags & KEY_REVERSE ? ~image : image;
        second = order.flags & STABLE ? 0 : order.flags & REVERSE ? ~first_word(line) : first_word(line);
        all_fit &= integer.fits;
    }

private:
    const Key key_;
};

// For lines with several keys, which are numbers or compared by their bytes.
struct MixedWords : TriedWords {
    static constexpr bool NUMBERS = false, DECIDED = false;
    int key_bits = 0;
    bool exact = true;

    // Whether an order has such keys, and a number among them.
    static bool suit(const LineOrder& order)
    {
        bool texts = true, all = true;
        for (long long number = 0; number < order.keys; ++number) {
            texts &= is_text(order.key(number));
            all &= is_text(order.key(number)) || is_number(order.key(number));
        }
        return all && !texts;
    }

    MixedWords(const Lines& lines, int bits) : TriedWords(*lines.order, bits), keys_(&lines.order->key(0)) {}

    // Whole bytes, so that those of texts behind an integer stay together.
    static int bits_for(int sampled) { return (sampled + SPARE_BITS + 7) / 8 * 8; }

    __attribute__((always_inline)) void make(Text line, Word& first, Word& second)
    {
        WideWord image = 0;
        int position = 0;
        const FieldMarks marks(order, line);
        for (const Key* key = keys_; key < keys_ + order.keys; ++key) {
            if (position >= 128) {
                exact = false;
                break;
            }
            const Text text = marks.part(*key);
            if (key->kind == KIND_numeric) {
                const ShortInteger integer = short_integer({skip_blanks(text.start, text.stop), text.stop});
                const Word turned = key->flags & KEY_REVERSE ? ~0ull : 0;
                image |= static_cast<WideWord>((image_of(integer.value) ^ turned) << (64 - bits)) << 64 >> position;
                position += bits;
                all_fit &= integer.fits;
            } else {
                const WideText found(text, key->flags & FOLD);
                image |= found.image(key->flags & KEY_REVERSE) >> position;
                position += 8 * found.length + 8;
                all_fit &= !found.has_0_or_1;
            }
            exact &= position <= 128;
        }
        key_bits = key_bits > position ? key_bits : position;
        if (!(order.flags & STABLE) && position < 128) {
            const WideWord turned = order.flags & REVERSE ? ~static_cast<WideWord>(0) : 0;
            image |= (WideText(line, false).bytes ^ turned) >> position;
        }
        first = static_cast<Word>(image >> 64);
        second = static_cast<Word>(image);
    }

private:
    const Key* const keys_;
};
