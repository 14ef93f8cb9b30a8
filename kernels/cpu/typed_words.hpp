// Values of typed keys, read by vectors: hexadecimal numbers, IPv4, and sizes of few digits. A function that finds no such value
// says so, and then the bytes are read one by one. TEXT_PADDING bytes behind each text must be readable.
// Included by typed_keys.cuh.
#pragma once

inline unsigned marks(__m128i found) { return static_cast<unsigned>(_mm_movemask_epi8(found)); }

// The hexadecimal digits at a place, the first one at the top of the word, and zeros behind them. count: 1 to 16. False if they
// are not all digits.
inline bool hex_digits(Place at, int count, Word& digits)
{
    const __m128i bytes = bytes_at(at), held = first_bytes(count);
    const __m128i number = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
    const __m128i letter = _mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(32)), _mm_set1_epi8('a'));
    const __m128i is_number = _mm_cmpeq_epi8(_mm_min_epu8(number, _mm_set1_epi8(9)), number);
    const __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
    const __m128i values = _mm_blendv_epi8(_mm_add_epi8(letter, _mm_set1_epi8(10)), number, is_number);
    const __m128i pairs = _mm_maddubs_epi16(_mm_and_si128(values, held), _mm_set1_epi16(1 << 8 | 16));
    digits = __builtin_bswap64(static_cast<Word>(_mm_cvtsi128_si64(_mm_packus_epi16(pairs, pairs))));
    return _mm_testc_si128(_mm_or_si128(is_number, is_letter), held) != 0;
}

// The bytes of four numbers with points between them, as in 10.0.0.1; 0 if `at` is not the start of them. They end at `stop`, or
// ahead of a byte that is no digit and no point.
__attribute__((always_inline)) inline int four_numbers(Place at, Place stop, Word& bits)
{
    const __m128i bytes = _mm_sub_epi8(bytes_at(at), _mm_set1_epi8('0'));
    unsigned digits = marks(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(9)), bytes));
    unsigned points = marks(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('.' - '0')));
    const unsigned zeros = marks(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
    const int run = first_of(~(digits | points)), length = stop - at < run ? static_cast<int>(stop - at) : run;
    digits &= (1u << length) - 1;
    points &= (1u << length) - 1;
    const unsigned starts = points << 1 | 1;
    const unsigned wrong = (starts & ~digits) | (starts & zeros & digits >> 1) | (digits & digits >> 1 & digits >> 2 & digits >> 3);
    const unsigned but_first = points & (points - 1), last = but_first & (but_first - 1);
    if (wrong != 0 || last == 0 || (last & (last - 1)) != 0) return 0;
    // A byte for each number: the place behind it, and its own.
    const unsigned ahead = static_cast<unsigned>(first_of(points) | first_of(but_first) << 8 | first_of(last) << 16);
    const unsigned ends = ahead | static_cast<unsigned>(length) << 24, begins = (ahead << 8) + 0x01010100;
    const auto fours = [](unsigned places) {
        return _mm_shuffle_epi8(_mm_cvtsi32_si128(static_cast<int>(places)), _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
    };
    const __m128i from = _mm_add_epi8(fours(ends), _mm_set1_epi32(static_cast<int>(0xfffefdfc)));  // the last four places
    const __m128i others = _mm_cmpgt_epi8(fours(begins), from);
    const __m128i pairs = _mm_maddubs_epi16(_mm_shuffle_epi8(bytes, _mm_or_si128(from, others)), _mm_set1_epi32(0x010a6400));
    const __m128i numbers = _mm_madd_epi16(pairs, _mm_set1_epi16(1));
    if (!_mm_testz_si128(numbers, _mm_set1_epi32(~255))) return 0;
    const __m128i joined = _mm_shuffle_epi8(numbers, _mm_setr_epi8(12, 8, 4, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
    bits = static_cast<unsigned>(_mm_cvtsi128_si32(joined));
    return length;
}

// The units of sizes in lower case, some with a blank ahead, each in a slot of its own.
struct Units {
    static constexpr int SLOT_BITS = 8, MOST_BYTES = 4, MOST_BINARY = 5;
    bool distinct = true;
    Word of[1 << SLOT_BITS] = {};  // the bytes, their number, the power of 1000 or 1024, and the power of 1024

    static constexpr Word key(Word bytes, long long count) { return bytes | static_cast<Word>(count) << 32; }
    static constexpr Word slot(Word key) { return key * 10447298860570238541u >> (64 - SLOT_BITS); }

    constexpr Units()
    {
        constexpr char letters[] = "kmgtpezyrq";
        for (int power = 0; power <= 10; ++power)
            for (int form = 0; form < 8; ++form) {
                const bool has_blank = form & 1, has_b = form & 2, binary = form & 4;
                if (binary && (power == 0 || power > MOST_BINARY)) continue;
                Word bytes = 0;
                int count = 0;
                if (has_blank) bytes |= static_cast<Word>(' ') << 8 * count++;
                if (power > 0) bytes |= static_cast<Word>(letters[power - 1]) << 8 * count++;
                if (binary) bytes |= static_cast<Word>('i') << 8 * count++;
                if (has_b) bytes |= static_cast<Word>('b') << 8 * count++;
                Word& place = of[slot(key(bytes, count))];
                distinct = distinct && place == 0;
                place = key(bytes, count) | static_cast<Word>(power) << 40 | static_cast<Word>(binary ? power : 0) << 48;
            }
    }
};

// 16 digits times a power of 1.024, if it has no more digits than that: a division by a power of ten that leaves nothing over,
// then a shift. Source: Warren, Hacker's Delight (2nd edition), 10-17, "Test for Zero Remainder after Division by a Constant".
struct BinaryPowers {
    struct Power {
        Word longer;  // from this number on, the product has a digit more, and is divided by ten
        // For a division by 1000 to this power, and for one by ten times that: the inverse of the power of five, and the largest
        // quotient.
        Word inverses[2], most[2];
    };
    Power of[Units::MOST_BINARY + 1] = {};

    constexpr BinaryPowers()
    {
        constexpr Word FIFTH = 14757395258967641293u;  // 5 times this is 1
        WideWord thousands = 1, kibis = 1;
        Word inverse = 1;
        for (Power& power : of) {
            const Word ten = static_cast<Word>(thousands);
            power = {static_cast<Word>((10000000000000000 * thousands + kibis - 1) / kibis), {inverse, inverse * FIFTH},
                {~0ull / ten, ~0ull / (10 * ten)}};
            thousands *= 1000;
            kibis *= 1024;
            inverse *= FIFTH * FIFTH * FIFTH;
        }
    }

    // Multiplies. longer: the number of digits that the product has more. False if the product has others behind its first 16.
    __attribute__((always_inline)) bool multiply(Word& digits, unsigned power, int& longer) const
    {
        const Power& by = of[power];
        longer = digits >= by.longer;
        const Word products[2] = {digits * by.inverses[0], digits * by.inverses[1]};
        const Word product = products[0] ^ ((products[0] ^ products[1]) & -static_cast<Word>(longer));
        const unsigned tens = 3 * power + static_cast<unsigned>(longer);
        const Word quotient = product >> tens | product << (-tens & 63);
        digits = quotient << 10 * power;
        return quotient <= by.most[longer];
    }
};

// A size whose number and whose value have few digits, with a blank ahead of its unit at most: 0.DIGITS times ten to the exponent.
// digits: 16 digits, behind which there are no others; 0 if the text is no such size. No branch depends on the unit or on a point,
// because processors cannot predict them. The text must be trimmed.
struct ShortSize {
    bool negative;
    int exponent;
    Word digits;
};

__attribute__((always_inline)) inline ShortSize short_size(Text text)
{
    static constexpr Units units;
    static constexpr BinaryPowers powers;
    static_assert(units.distinct);
    const bool negative = *text.start == '-';
    const Place at = text.start + negative;
    const __m128i zeros = _mm_set1_epi8('0'), figures = _mm_sub_epi8(bytes_at(at), zeros);
    const unsigned of_digits = marks(_mm_cmpeq_epi8(_mm_min_epu8(figures, _mm_set1_epi8(9)), figures));
    const unsigned point = matches(at, '.') & ~of_digits & (of_digits + 1);  // directly behind the first digits
    const int whole = first_of(~of_digits), length = first_of(~(of_digits | point));
    const long long left = text.stop - at - length;
    if (whole == 0 || *at == '0' || length == 16 || left < 0 || left > Units::MOST_BYTES) return {};
    const Word bytes = word_at(at + length) & ((1ull << 8 * left) - 1);
    const Word key = Units::key(bytes | (bytes & EACH_BYTE * 0x40) >> 1, left), unit = units.of[Units::slot(key)];
    if ((unit & ((1ull << 40) - 1)) != key) return {};
    // The digits behind the point move up to those ahead of it.
    const __m128i joined = _mm_blendv_epi8(_mm_sub_epi8(bytes_at(at + 1), zeros), figures, first_bytes(whole));
    Word digits = sixteen_digits(joined, length - (point != 0));
    int longer;
    if (!powers.multiply(digits, static_cast<unsigned>(unit >> 48), longer)) return {};
    return {negative, whole + 3 * static_cast<int>(unit >> 40 & 255) + longer, digits};
}
