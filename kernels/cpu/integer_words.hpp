// The words of lines whose numbers are all integers of at most 15 digits. Such integers take fewer bits than the images of any
// numbers, and are read faster. A chunk is tried with these words. Only if all of its lines fit do the words have the order of the
// lines. Included by line_images.hpp.
//
// Words are made for a block of lines at a time, by one short loop for each step. So a processor works on many lines at once, and
// what is the same for all lines is looked at once.
//
// A kind of tried words has these members. `bits` are those that an integer takes.
//     make(texts, count, slots)   makes the words of at most BLOCK lines, each in a slot of SLOT words
//     word(slot, number)          the first or second word, 0 or 1
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
    const long long flags, separator;  // of the order: copies, which no store of a word can change
    const int bits;
    bool all_fit = true;
    Word magnitudes = 0;

    TriedWords(const LineOrder& order, int bits) : flags(order.flags), separator(order.separator), bits(bits) {}

    static constexpr int BLOCK = 128, SLOT = 2;
    static Word word(const Word* slot, int number) { return slot[number]; }
    static int bits_for(int sampled) { return sampled + SPARE_BITS; }

    bool fits() const { return all_fit && magnitudes >> (bits - 1) == 0; }

    // An integer's image, at the end of a word.
    Word image_of(long long value)
    {
        magnitudes |= static_cast<Word>(value ^ value >> 63);
        return static_cast<Word>(value) + (1ull << (bits - 1));
    }
};

// The fields of a block of lines.
class FieldsOfLines {
public:
    FieldsOfLines(long long separator, const Text* texts, int count) : texts_(texts), count_(count), separator_(separator)
    {
        bool plain = is_plain(separator);
        for (int at = 0; at < count; ++at) plain &= texts[at].stop - texts[at].start <= 64;
        plain_ = plain;
        if (!plain) {
            for (int at = 0; at < count; ++at) marks_[at] = FieldMarks(by_separator(), texts[at]);
        } else if (separator >= 0) {
            for (int at = 0; at < count; ++at)
                ends_[at] = matches_at(texts[at].start, static_cast<unsigned char>(separator)) & held(texts[at]);
        } else {
            for (int at = 0; at < count; ++at) {
                const Word found = blanks_at(texts[at].start);
                ends_[at] = found & ~(found << 1 | 1) & held(texts[at]);  // blanks ahead of a field belong to it
            }
        }
    }

    // Gives the same as FieldMarks::part for each line.
    void take(const Key& key, Text* parts) const
    {
        if (!plain_ || key.end_char > 0 || key.start_char > 0 || key.flags & SKIP_START) {
            for (int at = 0; at < count_; ++at) parts[at] = (plain_ ? FieldMarks(by_separator(), texts_[at]) : marks_[at]).part(key);
        } else if (key.start_field == 0) take_plain<false>(key, parts);
        else take_plain<true>(key, parts);
    }

private:
    // An order without keys, of which only the separator is read.
    LineOrder by_separator() const { return {0, 0, separator_, 0, 0, 0, 0, 0}; }

    static Word held(Text text)
    {
        const long long length = text.stop - text.start;
        return length < 64 ? (1ull << length) - 1 : ~0ull;
    }

    template <bool BEHIND>
    void take_plain(const Key& key, Text* parts) const
    {
        // 64 bytes hold no more fields, and the loops have no other end.
        const long long skipped = std::min(key.start_field, 65ll), taken = std::min(key.end_field - key.start_field, 65ll);
        const long long width = separator_ >= 0;
        const bool to_end = key.end_field < 0;
        for (int at = 0; at < count_; ++at) {
            const Text line = texts_[at];
            Word ends = ends_[at];
            Text part = line;
            if (BEHIND) {
                for (long long field = 1; field < skipped; ++field) ends &= ends - 1;
                part.start = ends == 0 ? line.stop : line.start + __builtin_ctzll(ends) + width;
                ends &= ends - 1;
            }
            if (!to_end) {
                for (long long field = 0; field < taken; ++field) ends &= ends - 1;
                part.stop = ends == 0 ? line.stop : line.start + __builtin_ctzll(ends);
                if (part.stop < part.start || taken < 0) part.stop = part.start;
            }
            parts[at] = part;
        }
    }

    const Text* const texts_;
    const int count_;
    const long long separator_;
    bool plain_;
    Word ends_[TriedWords::BLOCK];
    FieldMarks marks_[TriedWords::BLOCK];
};

#if defined(__SSE4_1__)

// For lines each of which is an integer in its usual form, so that lines with the same number are equal.
struct DecimalLines : TriedWords {
    static constexpr bool NUMBERS = true, DECIDED = true;

    DecimalLines(const Lines& lines, int bits)
        : TriedWords(*lines.order, bits), begin_(lines.text), turned_(lines.order->key(0).flags & KEY_REVERSE ? ~0ull : 0)
    {}

    void make(const Text* texts, int count, Word* slots)
    {
        DecimalLines own = *this;  // no store of a word can change it
        for (int at = 0; at < count; ++at) slots[at * SLOT] = own.word_of(texts[at]);
        all_fit = own.all_fit;
        magnitudes = own.magnitudes;
        greatest_ = own.greatest_;
    }

    bool fits() const
    {
        const __m128i digits = _mm_cmpeq_epi8(_mm_max_epu8(greatest_, _mm_set1_epi8(9)), _mm_set1_epi8(9));
        return TriedWords::fits() && _mm_movemask_epi8(digits) == 0xffff;
    }

private:
    __attribute__((always_inline)) Word word_of(Text line)
    {
        const long long length = line.stop - line.start;
        const long long negative = *line.start == '-', count = length - negative;
        all_fit &= (static_cast<Word>(count) - 1 < 15) & ((line.start[negative] != '0') | (length == 1));
        if (line.stop - begin_ < 16) [[unlikely]] {  // the vector would begin ahead of the text
            const ShortInteger found = short_integer(line);
            all_fit &= found.canonical;
            return image_of(found.value) ^ turned_;
        }
        const __m128i held = bytes_at(ENDS + (count & 15));
        const __m128i digits = _mm_and_si128(_mm_sub_epi8(bytes_at(line.stop - 16), _mm_set1_epi8('0')), held);
        greatest_ = _mm_max_epu8(greatest_, digits);
        const Word magnitude = integer_of(digits), sign = 0 - static_cast<Word>(negative);
        return image_of(static_cast<long long>((magnitude ^ sign) - sign)) ^ turned_;
    }

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

    void make(const Text* texts, int count, Word* slots)
    {
        Text parts[BLOCK];
        const Text* numbers = texts;
        if (IN_FIELDS) {
            FieldsOfLines(separator, texts, count).take(key_, parts);
            numbers = parts;
        }
        const Word turned = key_.flags & KEY_REVERSE ? ~0ull : 0, turned_line = flags & REVERSE ? ~0ull : 0;
        const bool stable = flags & STABLE;
        IntegerWords own = *this;
        for (int at = 0; at < count; ++at) {
            const ShortInteger integer = short_integer({skip_blanks(numbers[at].start, numbers[at].stop), numbers[at].stop});
            slots[at * SLOT] = own.image_of(integer.value) ^ turned;
            own.all_fit &= integer.fits;
        }
        for (int at = 0; at < count; ++at) slots[at * SLOT + 1] = stable ? 0 : turned_line ^ first_word(texts[at]);
        all_fit = own.all_fit;
        magnitudes = own.magnitudes;
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

    MixedWords(const Lines& lines, int bits) : TriedWords(*lines.order, bits), keys_(&lines.order->key(0)), key_count_(lines.order->keys) {}

    // Whole bytes, so that those of texts behind an integer stay together.
    static int bits_for(int sampled) { return (sampled + SPARE_BITS + 7) / 8 * 8; }

    // The bytes of the words, and of the key behind them.
    static constexpr int SLOT = 4, MOST_BYTES = 16;
    static Word word(const Word* slot, int number) { return __builtin_bswap64(slot[number]); }

    void make(const Text* texts, int count, Word* slots)
    {
        const FieldsOfLines fields(separator, texts, count);
        Text parts[BLOCK];
        int positions[BLOCK] = {};
        const auto place = [&](int at) { return reinterpret_cast<unsigned char*>(slots + at * SLOT) + positions[at]; };
        for (const Key* key = keys_; key < keys_ + key_count_; ++key) {
            fields.take(*key, parts);
            const long long key_flags = key->flags;
            // A key that begins behind the words is put there, too.
            MixedWords own = *this;
            if (key->kind == KIND_numeric) {
                const Word turned = key_flags & KEY_REVERSE ? ~0ull : 0;
                for (int at = 0; at < count; ++at) {
                    const ShortInteger integer = short_integer({skip_blanks(parts[at].start, parts[at].stop), parts[at].stop});
                    const Word word = __builtin_bswap64((own.image_of(integer.value) ^ turned) << (64 - bits));
                    own.all_fit &= integer.fits;
                    __builtin_memcpy(place(at), &word, sizeof(word));
                    positions[at] += bits / 8;
                }
            } else {
                for (int at = 0; at < count; ++at)
                    positions[at] += put(place(at), parts[at], key_flags & FOLD, key_flags & KEY_REVERSE, own.all_fit) + 1;
            }
            all_fit = own.all_fit;
            magnitudes = own.magnitudes;
            for (int at = 0; at < count; ++at) {
                key_bits = key_bits > 8 * positions[at] ? key_bits : 8 * positions[at];
                positions[at] = positions[at] < MOST_BYTES ? positions[at] : MOST_BYTES;
            }
            exact = key_bits <= 128;
        }
        bool any = true;
        const bool stable = flags & STABLE, turned = flags & REVERSE;
        for (int at = 0; at < count; ++at) {
            if (stable) __builtin_memset(place(at), 0, 16);
            else put(place(at), texts[at], false, turned, any);
        }
    }

private:
    // Puts the first 16 bytes of a text, or their complement, and zeros or ones behind a shorter one. Returns how many the text has.
    __attribute__((always_inline)) static int put(unsigned char* at, Text text, bool folded, bool turned, bool& plain)
    {
#if defined(__SSE4_1__)
        const KeyBytes found(text, folded);
        const __m128i all = _mm_set1_epi8(static_cast<char>(-static_cast<int>(turned)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm_xor_si128(found.bytes, all));
#else
        const WideText found(text, folded);
        const WideWord bits = turned ? ~found.bytes : found.bytes;
        const Word words[2] = {
            __builtin_bswap64(static_cast<Word>(bits >> 64)), __builtin_bswap64(static_cast<Word>(bits))};
        __builtin_memcpy(at, words, sizeof(words));
#endif
        plain &= !found.has_0_or_1;
        return found.length;
    }

    const Key* const keys_;
    const long long key_count_;
};
