// The hot byte loops of the shared headers, written on words. TEXT_PADDING bytes behind each text must be readable.
// bytes.cuh includes this and says what the functions return. It includes <immintrin.h> first, if the processor has it.
#pragma once

constexpr Word EACH_BYTE = 0x0101010101010101, HIGH_BITS = 0x8080808080808080;

// The eight bytes at a place. The first one is the least significant.
inline Word word_at(Place at)
{
    Word word;
    __builtin_memcpy(&word, at, sizeof(word));
    return word;
}

// The first eight bytes of a text. The first one is the most significant, and zeros follow a shorter text.
inline Word first_word(Text text)
{
    const long long length = text.stop - text.start;
    const Word word = __builtin_bswap64(word_at(text.start));
    return length >= 8 ? word : length <= 0 ? 0 : word & ~0ull << (64 - 8 * length);
}

// Marks the bytes that are 0. The lowest mark is right; bytes above it may be marked and not be 0.
inline Word zeros_in(Word word) { return (word - EACH_BYTE) & ~word & HIGH_BITS; }

inline int first_mark(Word marks) { return __builtin_ctzll(marks) >> 3; }

inline int compare_bytes(Text x, Text y)
{
    const long long x_length = x.stop - x.start, y_length = y.stop - y.start;
    const long long shorter = x_length < y_length ? x_length : y_length;
    for (long long done = 0; done < shorter; done += 8) {
        if (done == 64) {
            const int rest = __builtin_memcmp(x.start + done, y.start + done, static_cast<size_t>(shorter - done));
            if (rest != 0) return rest;
            break;
        }
        const Word a = word_at(x.start + done), b = word_at(y.start + done);
        if (a == b) continue;
        if (done + first_mark(a ^ b) >= shorter) break;
        return __builtin_bswap64(a) < __builtin_bswap64(b) ? -1 : 1;
    }
    return (x_length > y_length) - (x_length < y_length);
}

#if defined(__SSE4_1__)

constexpr int STRIDE = 16;  // the bytes that a search tests at once

inline __m128i bytes_at(Place at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); }

// All bits of the first `count` bytes.
inline __m128i first_bytes(int count)
{
    return _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(count)),
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

// Marks the bytes at `at` that equal `byte`, the first one in the least significant bit.
inline unsigned matches(Place at, long long byte)
{
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes_at(at), _mm_set1_epi8(static_cast<char>(byte)))));
}

inline unsigned blanks(Place at)
{
    const __m128i bytes = bytes_at(at);
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'))));
    return static_cast<unsigned>(_mm_movemask_epi8(found));
}

inline int first_of(unsigned marks) { return __builtin_ctz(marks); }

#else

constexpr int STRIDE = 8;

inline Word matches(Place at, long long byte) { return zeros_in(word_at(at) ^ EACH_BYTE * static_cast<unsigned char>(byte)); }

inline Word blanks(Place at) { return matches(at, ' ') | matches(at, '\t') | matches(at, '\n'); }

inline int first_of(Word marks) { return first_mark(marks); }

#endif

inline Place find_byte(Place at, Place stop, long long byte)
{
    for (; at < stop; at += STRIDE)
        if (const auto marks = matches(at, byte)) {
            at += first_of(marks);
            return at < stop ? at : stop;
        }
    return stop;
}

inline Place find_blank(Place at, Place stop)
{
    for (; at < stop; at += STRIDE)
        if (const auto marks = blanks(at)) {
            at += first_of(marks);
            return at < stop ? at : stop;
        }
    return stop;
}

__extension__ typedef unsigned __int128 WideWord;

#if defined(__SSE4_1__)

// The first 16 bytes of a key, with small letters folded into capitals if asked for. Zeros follow a shorter key.
struct KeyBytes {
    int length;
    __m128i bytes;
    bool has_0_or_1;

    __attribute__((always_inline)) KeyBytes(Text text, bool folded)
        : length(text.stop - text.start < 16 ? static_cast<int>(text.stop - text.start) : 16)
    {
        const __m128i held = first_bytes(length);
        bytes = bytes_at(text.start);
        has_0_or_1 = !_mm_testz_si128(_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(1)), bytes), held);
        if (folded) {
            const __m128i from_a = _mm_sub_epi8(bytes, _mm_set1_epi8('a'));
            const __m128i small = _mm_cmpeq_epi8(_mm_min_epu8(from_a, _mm_set1_epi8(25)), from_a);
            bytes = _mm_sub_epi8(bytes, _mm_and_si128(small, _mm_set1_epi8(32)));
        }
        bytes = _mm_and_si128(bytes, held);
    }
};

#endif

// The same as a number. The first byte is the most significant.
struct WideText {
    int length;
    bool has_0_or_1;
    WideWord bytes;

#if defined(__SSE4_1__)
    WideText(Text text, bool folded)
    {
        const KeyBytes found(text, folded);
        length = found.length;
        has_0_or_1 = found.has_0_or_1;
        const Word first = static_cast<Word>(_mm_cvtsi128_si64(found.bytes)), second = static_cast<Word>(_mm_extract_epi64(found.bytes, 1));
        bytes = static_cast<WideWord>(__builtin_bswap64(first)) << 64 | __builtin_bswap64(second);
    }
#else
    WideText(Text text, bool folded) : length(text.stop - text.start < 16 ? static_cast<int>(text.stop - text.start) : 16)
    {
        const Word first = masked(word_at(text.start), length, folded), second = masked(word_at(text.start + 8), length - 8, folded);
        has_0_or_1 = ((below_2(first, length) | below_2(second, length - 8)) & HIGH_BITS) != 0;
        bytes = static_cast<WideWord>(first) << 64 | second;
    }
#endif

    // The bytes and a 0 behind them, or the complement of all of these.
    WideWord image(int turned) const
    {
        const WideWord behind = length >= 15 ? 0 : ~static_cast<WideWord>(0) >> (8 * length + 8);
        return turned ? ~(bytes | behind) : bytes;
    }

private:
    // Sets all bits of the first `count` bytes. count may be negative, or more than 8.
    static Word front(int count) { return count >= 8 ? ~0ull : count <= 0 ? 0 : ~0ull << (64 - 8 * count); }

    static Word masked(Word bytes, int count, bool folded)
    {
        const Word word = __builtin_bswap64(bytes) & front(count);
        if (!folded) return word;
        // Sets the high bit of each byte from 'a' to 'z'.
        const Word low = word & ~HIGH_BITS;
        const Word small = (low + EACH_BYTE * (128 - 'a')) & ~(low + EACH_BYTE * (127 - 'z')) & ~word & HIGH_BITS;
        return word - (small >> 2);
    }

    // Marks the bytes 0 and 1 among the first `count` bytes. The lowest mark is right; others may be wrong.
    static Word below_2(Word word, int count)
    {
        word |= ~front(count);
        return (word - 2 * EACH_BYTE) & ~word;
    }
};

// A number of at most 15 digits whose first digit is not 0: 0.DIGITS times ten to the exponent. digits: 16 digits, or 0 if
// the text does not begin with such a number. Blanks ahead of the number must be skipped already.
struct ShortNumber {
    bool negative;
    int exponent;
    Word digits;
};

#if defined(__SSE4_1__)

// The number of digits at the start of the bytes. Each byte is a character of the text minus '0'.
inline int leading_digits(__m128i bytes)
{
    const __m128i digits = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(9)), bytes);
    return __builtin_ctz(~static_cast<unsigned>(_mm_movemask_epi8(digits)));
}

// 16 digits: the first `count` of the bytes, and zeros behind them.
inline Word sixteen_digits(__m128i bytes, int count)
{
    bytes = _mm_and_si128(bytes, first_bytes(count));
    const __m128i pairs = _mm_maddubs_epi16(bytes, _mm_set1_epi16(1 << 8 | 10));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
    const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
    const Word both = static_cast<Word>(_mm_cvtsi128_si64(eights));
    return (both & 0xffffffff) * 100000000 + (both >> 32);
}

inline ShortNumber short_number(Place at, Place stop)
{
    const bool negative = *at == '-';
    at += negative;
    const __m128i zeros = _mm_set1_epi8('0');
    __m128i bytes = _mm_sub_epi8(bytes_at(at), zeros);
    const int whole = leading_digits(bytes);
    int count = whole;
    const bool point = at[whole] == '.';
    if (point) {  // the digits behind the point move up to those ahead of it
        bytes = _mm_blendv_epi8(_mm_sub_epi8(bytes_at(at + 1), zeros), bytes, first_bytes(whole));
        count = leading_digits(bytes);
    }
    if (whole == 0 || *at == '0' || count == 16 || at + count + point > stop) return {false, 0, 0};
    return {negative, whole, sixteen_digits(bytes, count)};
}

#else

// The number of digits at the start of a word. It starts at the least significant byte.
inline int leading_digits(Word word)
{
    const Word high = (word ^ 0x3030303030303030) & 0xf0f0f0f0f0f0f0f0;
    // Bytes 0x3a to 0x3f pass the test above. Here they carry into their high halves.
    const Word carried = ((word & 0x0f0f0f0f0f0f0f0f) + 0x0606060606060606) & 0xf0f0f0f0f0f0f0f0;
    const Word others = high | carried;
    return others == 0 ? 8 : first_mark(others);
}

// The value of the first `count` (0 to 8) digits, with zeros behind them. It takes three multiplications.
inline Word value_of(Word word, int count)
{
    word &= count == 8 ? ~0ull : (1ull << 8 * count) - 1;
    word &= 0x0f0f0f0f0f0f0f0f;
    word = (word * 10 + (word >> 8)) & 0x00ff00ff00ff00ff;
    word = (word * 100 + (word >> 16)) & 0x0000ffff0000ffff;
    return (word * 10000 + (word >> 32)) & 0xffffffff;
}

// The same for whole numbers only.
inline ShortNumber short_number(Place at, Place stop)
{
    const bool negative = *at == '-';
    at += negative;
    const Word first = word_at(at), second = word_at(at + 8);
    const int ahead = leading_digits(first), behind = ahead == 8 ? leading_digits(second) : 0, count = ahead + behind;
    if (count == 0 || *at == '0' || count == 16 || at + count > stop || at[count] == '.') return {false, 0, 0};
    return {negative, count, value_of(first, ahead) * 100000000 + value_of(second, behind)};
}

#endif
