// Prefixes of lines. A prefix is the first 64 bits of a line's images that are not the same in all lines. Needs lines.cuh.
#pragma once

#include "integers.hpp"

#include "integer_words.hpp"
#include "image_words.hpp"
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

    KeyedSurvey survey_by_kind(const LineOrder& order, Word* following) const
    {
        return by_kind(order, [&](auto* words) { return survey_keys<std::remove_pointer_t<decltype(words)>>(following); });
    }

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
