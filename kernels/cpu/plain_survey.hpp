// Finds the bits in which the first words of lines without keys differ, by vectors: see Differences in packing.hpp. TEXT_PADDING
// bytes behind each line must be readable. Included by line_images.hpp.
#pragma once

class TextDifferences {
public:
    static constexpr int BYTES = 32;

    // start: words from which the usual high bits of bytes are learnt.
    template <int WORDS>
    explicit TextDifferences(const Differences (&start)[WORDS])
    {
        static_assert(8 * WORDS <= BYTES && TEXT_PADDING >= BYTES);
        Word high[BYTES / 8] = {};
        for (int word = 0; word < WORDS; ++word) high[word] = __builtin_bswap64(start[word].expected());
        __builtin_memcpy(&high_, high, BYTES);
    }

    // Adds the first bytes of a text of so many bytes. Those behind its end count as 0.
    __attribute__((always_inline)) void add(Place at, long long length)
    {
        Bytes held, bytes;
        load(at, length, bytes, held);
        zeros_ |= static_cast<Bytes>(bytes == 0) & held;
        bytes &= held;
        any_ |= bytes;
        all_ &= bytes;
        const Bytes low = bytes & 0x1f;
        odd_ |= bytes ^ (low | (static_cast<Bytes>(low != 0) & high_));
    }

    // The words of such a text, whose first bytes are the least significant.
    __attribute__((always_inline)) static void take(Place at, long long length, Word (&words)[BYTES / 8])
    {
        Bytes held, bytes;
        load(at, length, bytes, held);
        bytes &= held;
        __builtin_memcpy(words, &bytes, BYTES);
    }

    // Whether a byte of a text is 0. It may look at more bytes than the words have.
    bool has_zeros() const
    {
        Word words[BYTES / 8], all = 0;
        __builtin_memcpy(words, &zeros_, BYTES);
        for (const Word word : words) all |= word;
        return all != 0;
    }

    // Adds what was found of each word.
    template <int WORDS>
    void add_to(Differences (&differences)[WORDS]) const
    {
        const auto word_in = [](const Bytes& bytes, int word) {
            Word words[BYTES / 8];
            __builtin_memcpy(words, &bytes, BYTES);
            return static_cast<Word>(__builtin_bswap64(words[word]));
        };
        for (int word = 0; word < WORDS; ++word)
            differences[word].add_found(word_in(any_, word), word_in(all_, word), word_in(odd_, word));
    }

private:
    typedef unsigned char Bytes __attribute__((vector_size(BYTES)));
    static constexpr unsigned char HELD[2 * BYTES] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

    __attribute__((always_inline)) static void load(Place at, long long length, Bytes& bytes, Bytes& held)
    {
        __builtin_memcpy(&held, HELD + (length < BYTES ? BYTES - length : 0), BYTES);
        __builtin_memcpy(&bytes, at, BYTES);
    }

    Bytes any_ = {}, all_ = ~Bytes{}, odd_ = {}, zeros_ = {}, high_;
};
