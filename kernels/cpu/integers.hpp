// Integers of at most 15 digits at the start of texts, read by vectors or words. TEXT_PADDING bytes behind each text must be
// readable. Included by line_images.hpp.
#pragma once

// The number at the start of a text as GNU sort -n reads it, without blanks ahead of it. A text without digits has the value 0.
struct ShortInteger {
    long long value = 0;
    bool fits;       // whether the value is that of the number: it has at most 15 digits, and no fraction follows
    bool canonical;  // whether the text is the usual form of the value, so that no other such text has this value
};

#if defined(__SSE4_1__)

// The value of 16 digits, or of fewer with zeros ahead of them.
inline Word integer_of(__m128i digits)
{
    const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(1 << 8 | 10));
    const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
    const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
    const Word both = static_cast<Word>(_mm_cvtsi128_si64(eights));
    return (both & 0xffffffff) * 100000000 + (both >> 32);
}

// Moves the first `count` bytes of a vector to its end, and zeros ahead of them. count: at most 16.
inline __m128i moved_to_end(__m128i bytes, long long count)
{
    static constexpr unsigned char MOVES[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0, 1,
        2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    return _mm_shuffle_epi8(bytes, bytes_at(MOVES + count));
}

#else

// The value of a word whose bytes are digits or 0, the first one the most significant.
inline Word integer_of(Word digits)
{
    digits &= 0x0f0f0f0f0f0f0f0f;
    digits = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff;
    digits = (digits * 100 + (digits >> 16)) & 0x0000ffff0000ffff;
    return (digits * 10000 + (digits >> 32)) & 0xffffffff;
}

#endif

__attribute__((always_inline)) inline ShortInteger short_integer(Text text)
{
    Place at = text.start;
    const bool negative = at < text.stop && *at == '-';
    at += negative;
    const long long room = text.stop - at;
#if defined(__SSE4_1__)
    const __m128i digits = _mm_sub_epi8(bytes_at(at), _mm_set1_epi8('0'));
    const long long run = leading_digits(digits), count = run < room ? run : room;
    const Word magnitude = integer_of(moved_to_end(digits, count));
#else
    const Word first = word_at(at), second = word_at(at + 8);
    const int ahead = leading_digits(first);
    const long long run = ahead < 8 ? ahead : 8 + leading_digits(second), count = run < room ? run : room;
    static constexpr Word POWERS[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    Word magnitude = 0;
    if (count > 8) magnitude = integer_of(first) * POWERS[count - 8] + integer_of(second << (128 - 8 * count));
    else if (count > 0) magnitude = integer_of(first << (64 - 8 * count));
#endif
    const Word sign = 0 - static_cast<Word>(negative);
    ShortInteger found;
    found.value = static_cast<long long>((magnitude ^ sign) - sign);
    found.fits = (count < 16) & !((run < room) & (at[run] == '.'));
    found.canonical = (count == room) & (count > 0) & ((*at != '0') | ((count == 1) & !negative));
    return found;
}
