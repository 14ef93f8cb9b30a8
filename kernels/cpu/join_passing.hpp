// The items of a diff that both inputs hold with the same bytes: they are passed at once. Included by join.cpp.
#pragma once

// Items that were passed. last: the last one. end: behind it.
struct Passed {
    int64_t count = 0;
    const unsigned char *last = nullptr, *end = nullptr;
};

// An order of an item and the one ahead of it: its key is invalid.
constexpr int FAULTY_KEY = -2;

// The images of lines without keys, of 16 bytes: neighbours often have the first 8 in common. See plain_words.hpp.
struct WidePlainWords {
    Word words[2];
    static constexpr bool exact = false, fault = false;

    __attribute__((always_inline)) WidePlainWords(const LineOrder& order, Text line)
    {
        const Word turned = order.flags & REVERSE ? ~0ull : 0;
        const WideWord bytes = WideText(line, false).bytes;
        words[0] = in_register(static_cast<Word>(bytes >> 64) ^ turned);
        words[1] = in_register(static_cast<Word>(bytes) ^ turned);
    }
};

#if defined(__SSE4_1__)
// The images of lines whose only key is the bytes of their first field.
struct FirstFieldWords {
    Word words[2];
    bool exact, fault = false;

    // Whether an order is by such a key alone, and lines with equal keys are equal.
    static bool suit(const LineOrder& order)
    {
        const bool one_byte = order.separator >= 0 && (order.separator & ~(255ll | QUOTED | RECORD_END)) == 0;
        if (order.keys != 1 || !one_byte || !(order.flags & STABLE) || order.flags & IN_LOCALE) return false;
        const Key& key = order.key(0);
        const bool is_first = key.start_field == 0 && key.start_char == 0 && key.end_field == 0 && key.end_char == 0;
        return is_first && key.kind == KIND_bytes && key.flags == 0;
    }

    __attribute__((always_inline)) FirstFieldWords(const LineOrder& order, Text line)
    {
        const char separator = static_cast<char>(order.separator);
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(line.start));
        const __m128i below_2 = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(1)), bytes);
        const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(separator)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
        const unsigned marks = static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(ends, below_2)));
        const int size = line.stop - line.start < 16 ? static_cast<int>(line.stop - line.start) : 16;
        const int length = __builtin_ctz(marks | 1u << size);
        if (length < size && static_cast<char>(line.start[length]) != separator) [[unlikely]] {
            const KeyWords other(order, line);
            words[0] = other.words[0];
            words[1] = other.words[1];
            exact = other.exact;
            return;
        }
        const __m128i places = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __m128i key = _mm_and_si128(bytes, _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(length)), places));
        words[0] = __builtin_bswap64(static_cast<Word>(_mm_cvtsi128_si64(key)));
        words[1] = __builtin_bswap64(static_cast<Word>(_mm_extract_epi64(key, 1)));
        exact = length < 16;
    }
};
#endif

// Passes the lines that end in [begin, stop). ahead: the line ahead of them. Words: see Images. compare(x, y): of lines whose
// images are equal. text_of(line): without what ends it. Calls visit(order, line) for lines that do not go behind the one ahead
// of them: FAULTY_KEY, negative, or zero for equal keys.
template <typename Words, typename Compare, typename TextOf, typename Visit>
Passed pass_lines(const LineOrder& order, Text ahead, Place begin, Place stop, unsigned char terminator, Compare compare,
    TextOf text_of, Visit visit)
{
    Passed found;
    const Words first(order, ahead);
    Word high = first.words[0], low = first.words[1];
    bool exact = first.exact;
    each_line(begin, stop - begin, terminator, [&](int64_t from, int64_t to) {
        const Text line = text_of(Text{begin + from, begin + to - 1});
        const Words words(order, line);
        if (words.fault) [[unlikely]] visit(FAULTY_KEY, begin + from);
        const bool behind = words.words[0] > high || (words.words[0] == high && words.words[1] > low);
        if (!behind) [[unlikely]] {
            const bool equal = words.words[0] == high && words.words[1] == low;
            visit(!equal ? -1 : exact && words.exact ? 0 : compare(line, ahead), begin + from);
        }
        high = words.words[0];
        low = words.words[1];
        exact = words.exact;
        ahead = line;
        ++found.count;
        found.last = begin + from;
        found.end = begin + to;
    });
    return found;
}
