// Prefixes of lines. A prefix is the first 64 bits of a line's images that are not the same in all lines. Needs lines.cuh.
#pragma once

#include "integers.hpp"

#include "integer_words.hpp"
#include "plain_survey.hpp"

// Makes the prefixes of rows. The places of the rows must be known.
struct Images {
    const Lines& lines;
    Item* rows;
    int64_t count;
    const Team& team;

    static constexpr int64_t LEAST = 1 << 12;
    static constexpr int PLAIN_WORDS = 3;
    static constexpr int64_t BLOCK = 128;   // the lines whose texts are looked at in one short loop
    static constexpr int64_t SAMPLES = 64;  // the number of lines that are looked at first

    // Calls work(first, last, found) for each thread's share of the rows. Each call has a `Found` of its own, and all of
    // these are returned.
    template <typename Found, typename Work>
    std::vector<Found> each_share(Work work) const
    {
        std::vector<Found> found(static_cast<size_t>(team.size()));
        team.share(count, LEAST, [&](int64_t first, int64_t last, int part) {
            work(first, last, found[static_cast<size_t>(part)]);
        });
        return found;
    }

    // Finds the bytes that all lines without keys have in common at their starts, and the bits in which they differ behind
    // them.
    struct Survey {
        long long common = INT64_MAX;
        Differences words[PLAIN_WORDS];
        bool has_zeros = false;
        long long longest = 0;
    };

    void make_plain(Lines& known)
    {
        const Text first = text_of(lines, rows[0].line);
        long long common = first.stop - first.start;
        const int64_t step = count / SAMPLES + 1;
        for (int64_t at = 0; at < count; at += step) common = alike(first, text_of(lines, rows[at].line), common);
        Survey found = survey(first, common);
        if (found.common < common) found = survey(first, common = found.common);
        known.common = common;
        Word differing[PLAIN_WORDS];
        for (int word = 0; word < PLAIN_WORDS; ++word) differing[word] = found.words[word].bits();
        known.have_ties = found.has_zeros || found.longest > 8 * PLAIN_WORDS || bits_of(differing) > 64;
        const Word turned = lines.order->flags & REVERSE ? ~0ull : 0;
        const Packing<PLAIN_WORDS> packing(differing);
        team.share(count, LEAST, [&](int64_t low, int64_t high, int) {
            Word words[BLOCK][TextDifferences::BYTES / 8];
            for (int64_t first_of_block = low; first_of_block < high; first_of_block += BLOCK) {
                Item* const block = rows + first_of_block;
                const int64_t held = std::min(BLOCK, high - first_of_block);
                for (int64_t at = 0; at < held; ++at) {
                    const Text line = behind(text_of(lines, block[at].line), common);
                    TextDifferences::take(line.start, line.stop - line.start, words[at]);
                }
                for (int64_t at = 0; at < held; ++at)
                    block[at].prefix = turned ^ packing.pack([&](int word) { return __builtin_bswap64(words[at][word]); });
            }
        });
    }

    Survey survey(Text reference, long long common) const
    {
        Survey start;
        start.common = common;
        for (int64_t at = 0; at < count; at += count / SAMPLES + 1)
            for (int word = 0; word < PLAIN_WORDS; ++word)
                if (text_of(lines, rows[at].line).stop - text_of(lines, rows[at].line).start >= common)
                    start.words[word].expect(word_of(behind(text_of(lines, rows[at].line), common), word));
        const std::vector<Survey> found = each_share<Survey>([&](int64_t first, int64_t last, Survey& mine) {
            Survey here = start;
            TextDifferences found(start.words);
            Text texts[BLOCK];
            for (int64_t low = first; low < last; low += BLOCK) {
                const int64_t held = std::min(BLOCK, last - low);
                for (int64_t at = 0; at < held; ++at) {
                    texts[at] = text_of(lines, rows[low + at].line);
                    here.common = alike(reference, texts[at], here.common);
                }
                if (here.common < common) [[unlikely]] continue;
                for (int64_t at = 0; at < held; ++at) {
                    const long long length = texts[at].stop - texts[at].start - common;
                    found.add(texts[at].start + common, length);
                    here.longest = length > here.longest ? length : here.longest;
                }
            }
            here.has_zeros = found.has_zeros();
            found.add_to(here.words);
            mine = here;
        });
        Survey all;
        for (const Survey& some : found) {
            all.common = smaller(all.common, some.common);
            for (int word = 0; word < PLAIN_WORDS; ++word) all.words[word].add(some.words[word]);
            all.has_zeros |= some.has_zeros;
            all.longest = all.longest > some.longest ? all.longest : some.longest;
        }
        return all;
    }

    // Finds the bits in which the images of keys differ. key_bits: the most bits of two words that belong to keys.
    struct KeyedSurvey {
        bool exact = true;
        bool fits = true, decided = false;  // see integer_words.hpp
        int key_bits = 0;
        int64_t fault = INT64_MAX;  // the first row with an invalid key
        Differences words[2];
    };

    // Returns the first row with an invalid key that has the flag CHECKED; `count` if there is none.
    int64_t make_keyed(Lines& known, Room<Word>& following_room)
    {
        Word* const following = following_room.reserve(static_cast<size_t>(count));
        const LineOrder& order = *lines.order;
        KeyedSurvey all = survey_integers(order, following);
        if (all.fits && all.decided) {  // the first words are the prefixes
            known.keys_exact = true;
            known.have_ties = false;
            return count;
        }
        if (!all.fits) all = survey_by_kind(order, following);
        const int key_bits = all.key_bits;
        const Word differing[2] = {all.words[0].bits(), all.words[1].bits()};
        const Word of_keys[2] = {key_bits >= 64 ? differing[0] : differing[0] & ~(~0ull >> key_bits),
            key_bits <= 64 ? 0 : key_bits >= 128 ? differing[1] : differing[1] & ~(~0ull >> (key_bits - 64))};
        known.keys_exact = all.exact && bits_of(of_keys) <= 64;
        known.have_ties = !(known.keys_exact && order.flags & STABLE);
        const Packing<2> packing(differing);
        team.share(count, LEAST, [&](int64_t first, int64_t last, int) {
            for (int64_t at = first; at < last; ++at)
                rows[at].prefix = packing.pack([&](int word) { return word == 0 ? rows[at].prefix : following[at]; });
        });
        return all.fault < count ? all.fault : count;
    }

    // Whether the only key is a number without separators and without a class, and bytes decide ties.
    static bool is_one_number(const LineOrder& order)
    {
        if (order.flags & IN_LOCALE) return false;
        return order.keys == 1 && order.key(0).kind == KIND_numeric && !(order.key(0).flags & (CLASSED | SEPARATED));
    }

    // Whether the only key is of this typed kind, and no text of it is a null by its name.
    static bool is_one_value(const LineOrder& order, KeyKind kind)
    {
        return order.keys == 1 && order.key(0).kind == kind && (order.key(0).flags & (CLASSED | NAMED_NULLS)) == CLASSED;
    }

    // Whether lines compare as a whole in a locale.
    static bool is_one_text_in_locale(const LineOrder& order)
    {
        if (order.keys != 1 || order.key(0).kind != KIND_locale) return false;
        return is_whole_line(order, order.key(0)) && (order.key(0).flags & ~KEY_REVERSE) == 0;
    }

    // Whether a key reaches from the beginning of a line to its end, but for blanks that its flags leave out.
    static bool is_whole_line(const LineOrder& order, const Key& key)
    {
        return key.start_field == 0 && key.start_char == 0 && key.end_field < 0 && is_plain(order.separator);
    }

    // Calls call(words) with a null pointer to the kind of words that are made fastest for the order.
    template <typename Call>
    static auto by_kind(const LineOrder& order, Call call)
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

#if HAS_VECTORS
    template <typename Kind, typename Call>
    static auto by_place(const LineOrder& order, Call call)
    {
        const Key& key = order.key(0);
        const bool whole = is_whole_line(order, key) && !(key.flags & SKIP_START);
        if (whole) return call(static_cast<ValueWords<Kind, false>*>(nullptr));
        return call(static_cast<ValueWords<Kind, true>*>(nullptr));
    }
#endif

    KeyedSurvey survey_by_kind(const LineOrder& order, Word* following) const
    {
        return by_kind(order, [&](auto* words) { return survey_keys<std::remove_pointer_t<decltype(words)>>(following); });
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

    // Tries to take all numbers of keys for integers. The result does not fit if some are not, or if no key is a number.
    KeyedSurvey survey_integers(const LineOrder& order, Word* following) const
    {
        KeyedSurvey none;
        none.fits = false;
        if (order.flags & IN_LOCALE) return none;
        if (order.flags & NUMERIC) {
#if defined(__SSE4_1__)
            const KeyedSurvey found = try_words<DecimalLines>(following);
            if (found.fits) return found;
#endif
            return try_words<IntegerWords<false>>(following);
        }
        if (is_one_number(order)) return try_words<IntegerWords<true>>(following);
        return MixedWords::suit(order) ? try_words<MixedWords>(following) : none;
    }

    // Puts tried words into the rows' prefixes and into `following`. See integer_words.hpp.
    template <typename Words>
    KeyedSurvey try_words(Word* following) const
    {
        static_assert(Words::BLOCK == BLOCK);
        const auto sample = [&](Words& words, KeyedSurvey* expecting) {
            for (int64_t at = 0; at < count; at += count / SAMPLES + 1) {
                const Text text = text_of(lines, rows[at].line);
                Word slot[Words::SLOT] = {};
                words.make(&text, 1, slot);
                for (int word = 0; word < 2 && expecting; ++word) expecting->words[word].expect(Words::word(slot, word));
            }
            return words.fits();
        };
        KeyedSurvey start;
        Words any(lines, 64);
        start.fits = sample(any, nullptr);
        if (!start.fits) return start;
        Words first_words(lines, Words::bits_for(64 - __builtin_clzll(any.magnitudes | 1)));
        sample(first_words, &start);
        const std::vector<KeyedSurvey> found = each_share<KeyedSurvey>([&](int64_t first, int64_t last, KeyedSurvey& mine) {
            KeyedSurvey here = start;
            Words words = first_words;
            Text texts[BLOCK];
            Word slots[BLOCK * Words::SLOT], made[2][BLOCK];
            for (int64_t low = first; low < last && words.fits(); low += BLOCK) {
                const int64_t held = std::min(BLOCK, last - low);
                for (int64_t at = 0; at < held; ++at) texts[at] = text_of(lines, rows[low + at].line);
                words.make(texts, static_cast<int>(held), slots);
                for (int64_t at = 0; at < held; ++at)
                    rows[low + at].prefix = made[0][at] = Words::word(slots + at * Words::SLOT, 0);
                if (Words::DECIDED) continue;
                for (int64_t at = 0; at < held; ++at)
                    following[low + at] = made[1][at] = Words::word(slots + at * Words::SLOT, 1);
                add_all<Words::NUMBERS>(made[0], held, here.words[0]);
                add_all<false>(made[1], held, here.words[1]);
            }
            here.fits = words.fits();
            if constexpr (Words::NUMBERS) {
                here.key_bits = 64;
            } else {
                here.key_bits = words.key_bits;
                here.exact = words.exact;
            }
            mine = here;
        });
        KeyedSurvey all = together(found);
        all.decided = Words::DECIDED || (Words::NUMBERS && lines.order->flags & STABLE);
        return all;
    }

    template <bool NUMBERS>
    static void add_all(const Word* words, int64_t count, Differences& differences)
    {
        Differences here = differences;
        for (int64_t at = 0; at < count; ++at) NUMBERS ? here.add_number(words[at]) : here.add(words[at]);
        differences = here;
    }

    // Puts the words into the rows' prefixes and into `following`.
    template <typename Words>
    KeyedSurvey survey_keys(Word* following) const
    {
        const LineOrder& order = *lines.order;
        KeyedSurvey start;
        for (int64_t at = 0; at < count; at += count / SAMPLES + 1) {
            const Words found(order, text_of(lines, rows[at].line));
            for (int word = 0; word < 2; ++word) start.words[word].expect(found.words[word]);
        }
        return together(each_share<KeyedSurvey>([&](int64_t first, int64_t last, KeyedSurvey& mine) {
            KeyedSurvey here = start;
            for (int64_t at = first; at < last; ++at) {
                const Words words(order, text_of(lines, rows[at].line));
                rows[at].prefix = words.words[0];
                following[at] = words.words[1];
                here.exact &= words.exact;
                if (words.fault && at < here.fault) [[unlikely]] here.fault = at;
                here.key_bits = here.key_bits > words.key_bits ? here.key_bits : words.key_bits;
                Words::add(here.words[0], words.words[0]);
                Words::add(here.words[1], words.words[1]);
            }
            mine = here;
        }));
    }

    static KeyedSurvey together(const std::vector<KeyedSurvey>& found)
    {
        KeyedSurvey all;
        for (const KeyedSurvey& some : found) {
            all.exact &= some.exact;
            all.fits &= some.fits;
            all.fault = some.fault < all.fault ? some.fault : all.fault;
            all.key_bits = all.key_bits > some.key_bits ? all.key_bits : some.key_bits;
            for (int word = 0; word < 2; ++word) all.words[word].add(some.words[word]);
        }
        return all;
    }

    // Keeps compilers from loading two words as one vector directly after their stores. Processors would wait for the stores.
    static Word in_register(Word word)
    {
        __asm__("" : "+r"(word));
        return word;
    }

    static Text behind(Text line, long long bytes) { return {line.start + bytes, line.stop}; }

    // Word number `word` of a text. Bytes behind its end are 0.
    static Word word_of(Text text, int word)
    {
        return text.stop - text.start > 8 * word ? first_word({text.start + 8 * word, text.stop}) : 0;
    }

    // The number of bytes, at most `most`, that two texts have in common at their starts. The first text must have `most`
    // bytes.
    static long long alike(Text x, Text y, long long most)
    {
        most = smaller(most, y.stop - y.start);
        for (long long done = 0; done < most; done += 8) {
            const Word differs = word_at(x.start + done) ^ word_at(y.start + done);
            if (differs != 0) return smaller(most, done + first_mark(differs));
        }
        return most;
    }
};

// Whether a locale compares whole lines, so that equal rows may differ.
inline bool compare_whole_in_locale(const Lines& lines)
{
    const LineOrder& order = *lines.order;
    if (!(order.flags & IN_LOCALE) || flags_of(order.separator) & FIRST_LINE) return false;
    return order.keys == 1 && order.key(0).start_field == 0 && order.key(0).end_field < 0;
}
