// The kinds of words that the survey of keyed lines puts into rows: the first two words of a line's images, by the fastest way
// that its order allows. Included by line_images.hpp.
#pragma once

// Keeps compilers from loading two words as one vector directly after their stores. Processors would wait for the stores.
inline Word in_register(Word word)
{
    __asm__("" : "+r"(word));
    return word;
}

// Makes the first two words of a line's images. The images of its keys take key_bits of them.
struct KeyWords {
    Word words[2];
    int key_bits;
    bool exact, fault = false;  // fault: see Prefix

    KeyWords() = default;
    __attribute__((always_inline)) KeyWords(const LineOrder& order, Text line)
    {
        take(key_prefix(order, line));
    }

    __attribute__((always_inline)) void take(const Prefix& prefix)
    {
        words[0] = in_register(static_cast<Word>(prefix.bits >> 64));
        words[1] = in_register(static_cast<Word>(prefix.bits));
        key_bits = 128 - prefix.rest;
        exact = prefix.exact;
        fault = prefix.fault;
    }

    static void add(Differences& differences, Word word) { differences.add(word); }
};

#if defined(__SSE4_1__)
// As KeyWords, for lines whose keys are compared by their bytes. All bytes must count.
struct TextWords : KeyWords {
    __attribute__((always_inline)) TextWords(const LineOrder& order, Text line)
    {
        // The bytes behind a key are overwritten by the next key.
        unsigned char bytes[48];
        int position = 0;
        bool plain = true;
        exact = true;
        const FieldMarks marks(order, line);
        for (long long number = 0; number < order.keys; ++number) {
            if (position >= 16) {
                exact = false;
                break;
            }
            const Key& key = order.key(number);
            const KeyBytes found(marks.part(key), key.flags & FOLD);
            put(bytes + position, found.bytes, key.flags & KEY_REVERSE);
            plain &= !found.has_0_or_1;
            position += found.length + 1;
            exact &= position <= 16;
        }
        if (!plain) [[unlikely]] {
            KeyWords::operator=(KeyWords(order, line));
            return;
        }
        key_bits = 8 * position;
        const bool stable = order.flags & STABLE;
        put(bytes + position, stable ? _mm_setzero_si128() : KeyBytes(line, false).bytes,
            !stable && order.flags & REVERSE);
        for (int word = 0; word < 2; ++word) words[word] = in_register(__builtin_bswap64(word_at(bytes + 8 * word)));
    }

    static void put(unsigned char* at, __m128i bytes, bool turned)
    {
        const __m128i all = _mm_set1_epi8(static_cast<char>(-static_cast<int>(turned)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm_xor_si128(bytes, all));
    }
};
#endif

#if HAS_COLLATION
// As KeyWords, for lines that compare as a whole in a locale.
struct LocaleWords : KeyWords {
    __attribute__((always_inline)) LocaleWords(const LineOrder& order, Text line)
    {
        const Weights found = weights_in(order, line);
        const Word turned = order.key(0).flags & KEY_REVERSE ? ~0ull : 0;
        words[0] = found.first ^ turned;
        words[1] = found.second ^ turned;
        key_bits = 128;
        exact = false;
    }
};
#endif

// As KeyWords, for lines whose only key is a number. IN_FIELDS: the number lies in a field; else it begins the line.
template <bool IN_FIELDS>
struct NumberWords {
    Word words[2];
    static constexpr int key_bits = 64;
    static constexpr bool fault = false;
    bool exact;

    __attribute__((always_inline)) NumberWords(const LineOrder& order, Text line)
    {
        const Text text = IN_FIELDS ? FieldMarks(order, line).part(order.key(0)) : line;
        const ShortNumber number = short_number(skip_blanks(text.start, text.stop), text.stop);
        Word image;
        if (number.digits > 0) [[likely]] {
            image = signed_image(number.negative, magnitude_image(number.exponent, number.digits, false));
            exact = true;
        } else {
            image = number_image(text);
            exact = is_exact(image);
        }
        words[0] = order.key(0).flags & KEY_REVERSE ? ~image : image;
        words[1] = 0;
        if (exact && !(order.flags & STABLE)) words[1] = order.flags & REVERSE ? ~first_word(line) : first_word(line);
    }

    static void add(Differences& differences, Word word) { IN_FIELDS ? differences.add(word) : differences.add_number(word); }
};

#if HAS_VECTORS
// As KeyWords, for lines whose only key is a value of a typed kind. IN_FIELDS: it lies in a field; else it is the line.
template <typename Kind, bool IN_FIELDS>
struct ValueWords : KeyWords {
    __attribute__((always_inline)) ValueWords(const LineOrder& order, Text line)
    {
        const Key& key = order.key(0);
        KeyImage image;
        if (!Kind::exact_image(IN_FIELDS ? FieldMarks(order, line).part(key) : line, image)) [[unlikely]] {
            KeyWords::operator=(KeyWords(order, line));
            return;
        }
        Prefix prefix;
        prefix.put_class(place_of_class(key, VALUE_KEY));
        prefix.put_key<Kind::BITS>(image, key.flags & KEY_REVERSE);
        prefix.put_line(order, line);
        take(prefix);
    }

    static void add(Differences& differences, Word word) { differences.add_number(word); }
};
#endif

// Whether the only key is a number without separators and without a class, and bytes decide ties.
inline bool is_one_number(const LineOrder& order)
{
    if (order.flags & IN_LOCALE) return false;
    return order.keys == 1 && order.key(0).kind == KIND_numeric && !(order.key(0).flags & (CLASSED | SEPARATED));
}

// Whether the only key is of this typed kind, and no text of it is a null by its name.
inline bool is_one_value(const LineOrder& order, KeyKind kind)
{
    return order.keys == 1 && order.key(0).kind == kind && (order.key(0).flags & (CLASSED | NAMED_NULLS)) == CLASSED;
}

// Whether a key reaches from the beginning of a line to its end, but for blanks that its flags leave out.
inline bool is_whole_line(const LineOrder& order, const Key& key)
{
    return key.start_field == 0 && key.start_char == 0 && key.end_field < 0 && is_plain(order.separator);
}

// Whether lines compare as a whole in a locale.
inline bool is_one_text_in_locale(const LineOrder& order)
{
    if (order.keys != 1 || order.key(0).kind != KIND_locale) return false;
    return is_whole_line(order, order.key(0)) && (order.key(0).flags & ~KEY_REVERSE) == 0;
}

#if HAS_VECTORS
template <typename Kind, typename Call>
auto by_place(const LineOrder& order, Call call)
{
    const Key& key = order.key(0);
    const bool whole = is_whole_line(order, key) && !(key.flags & SKIP_START);
    if (whole) return call(static_cast<ValueWords<Kind, false>*>(nullptr));
    return call(static_cast<ValueWords<Kind, true>*>(nullptr));
}
#endif

// Calls call(words) with a null pointer to the kind of words that are made fastest for the order.
template <typename Call>
auto by_kind(const LineOrder& order, Call call)
{
#if HAS_COLLATION
    if (is_one_text_in_locale(order)) return call(static_cast<LocaleWords*>(nullptr));
#endif
    if (order.flags & IN_LOCALE) return call(static_cast<KeyWords*>(nullptr));
    if (order.flags & NUMERIC) return call(static_cast<NumberWords<false>*>(nullptr));
    if (is_one_number(order)) return call(static_cast<NumberWords<true>*>(nullptr));
#if HAS_VECTORS
    if (is_one_value(order, KIND_hex)) return by_place<kind_hex>(order, call);
    if (is_one_value(order, KIND_size)) return by_place<kind_size>(order, call);
    if (is_one_value(order, KIND_address)) return by_place<kind_address>(order, call);
#endif
#if defined(__SSE4_1__)
    bool texts = true;
    for (long long number = 0; number < order.keys; ++number)
        texts &= order.key(number).kind == KIND_bytes && !(order.key(number).flags & (DICTIONARY | PRINTABLE | CLASSED));
    if (texts) return call(static_cast<TextWords*>(nullptr));
#endif
    return call(static_cast<KeyWords*>(nullptr));
}
