// Packs prefixes. A packed prefix has the first 64 bits of a line's first words that are not the same in all lines, and that
// do not follow from other bits. Packed prefixes have the order of the words. They hold twice as many digits or letters.
// Source of compress: Warren, Hacker's Delight (2nd edition), 7-4, "Compress, or Generalized Extract".
#pragma once

#if defined(__BMI2__)
#include <cpuid.h>
#include <immintrin.h>
#endif

typedef unsigned long long Bits64;

// Moves the bits of a word that a mask selects together, at the right.
class Compressor {
public:
    explicit Compressor(Bits64 mask = 0) : mask_(mask)
    {
        Bits64 gaps = ~mask << 1;
        for (int step = 0; step < STEPS; ++step) {
            Bits64 odd = gaps;  // becomes those bits that have an odd number of gaps on their right
            for (int shift = 0; shift < STEPS; ++shift) odd ^= odd << (1 << shift);
            const Bits64 move = odd & mask;
            moves_[step] = move;
            mask = (mask ^ move) | move >> (1 << step);
            gaps &= ~odd;
        }
    }

    Bits64 by_moves(Bits64 word) const
    {
        word &= mask_;
        for (int step = 0; step < STEPS; ++step) {
            const Bits64 move = word & moves_[step];
            word = (word ^ move) | move >> (1 << step);
        }
        return word;
    }

#if defined(__BMI2__)
    Bits64 by_pext(Bits64 word) const { return _pext_u64(word, mask_); }
#else
    Bits64 by_pext(Bits64 word) const { return by_moves(word); }
#endif

    int bits() const { return __builtin_popcountll(mask_); }

private:
    static constexpr int STEPS = 6;
    Bits64 mask_, moves_[STEPS];
};

// Whether pext takes only a cycle or two. AMD's processors of families 15h and 17h take up to hundreds of cycles.
inline bool has_fast_pext()
{
#if defined(__BMI2__)
    unsigned a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d)) return false;
    const bool amd = c == 0x444d4163;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
    const unsigned family = (a >> 8 & 15) + (a >> 20 & 255);
    return !amd || family > 0x18;
#else
    return false;
#endif
}

// Finds the bits in which words of text differ. If all bytes are 0 or lie in one stretch of 31, as small letters or digits
// do, their low 5 bits alone decide their order. The high bits follow from the low ones.
class Differences {
public:
    // Learns the usual high bits of bytes from a few words. Other high bits do no harm later.
    void expect(Bits64 word) { high_ |= word & EACH * 0xe0; }

    __attribute__((always_inline)) void add(Bits64 word)
    {
        any_ |= word;
        all_ &= word;
        const Bits64 low = word & EACH * 0x1f;
        const Bits64 filled = (low + EACH * 0x7f) >> 7 & EACH;  // 1 in each byte that is not 0
        odd_ |= word ^ (low | (((filled << 8) - filled) & high_));
    }

    // Adds a word that is no text. No bit of it follows from others.
    __attribute__((always_inline)) void add_number(Bits64 word)
    {
        any_ |= word;
        all_ &= word;
        odd_ = ~0ull;
    }

    // The usual high bits that expect() has learnt.
    Bits64 expected() const { return high_; }

    // Adds what others found of words: all bits that are set, those that are set in each word, and what add() finds to be odd.
    void add_found(Bits64 any, Bits64 all, Bits64 odd)
    {
        any_ |= any;
        all_ &= all;
        odd_ |= odd;
    }

    void add(const Differences& other)
    {
        any_ |= other.any_;
        all_ &= other.all_;
        odd_ |= other.odd_;
    }

    // The bits that differ and do not follow from others.
    Bits64 bits() const
    {
        if (any_ == 0) return 0;
        const Bits64 odd = (((odd_ & EACH * 0x7f) + EACH * 0x7f) | odd_) >> 7 & EACH;
        return (any_ ^ all_) & ~(~((odd << 8) - odd) & EACH * 0xe0);
    }

private:
    static constexpr Bits64 EACH = 0x0101010101010101;
    Bits64 any_ = 0, all_ = ~0ull, odd_ = 0, high_ = 0;
};

// Takes from WORDS words the first 64 bits among those that `differing` selects.
template <int WORDS>
class Packing {
public:
    explicit Packing(const Bits64 (&differing)[WORDS]) : fast_(has_fast_pext())
    {
        int room = 64;
        for (int word = 0; word < WORDS; ++word) {
            Bits64 mask = differing[word];
            while (__builtin_popcountll(mask) > room) mask &= mask - 1;
            parts_[word] = Compressor(mask);
            room -= parts_[word].bits();
            shifts_[word] = room & 63;  // it is 64 only for parts without bits
        }
        words_ = WORDS;
        while (words_ > 0 && parts_[words_ - 1].bits() == 0) --words_;
    }

    // The number of words that are looked at.
    int words() const { return words_; }

    // word(k) gives word k.
    template <typename Word>
    Bits64 pack(Word word) const
    {
        Bits64 image = 0;
        for (int part = 0; part < WORDS && part < words_; ++part)
            image |= (fast_ ? parts_[part].by_pext(word(part)) : parts_[part].by_moves(word(part))) << shifts_[part];
        return image;
    }

private:
    bool fast_;
    int words_;
    Compressor parts_[WORDS];
    int shifts_[WORDS];
};

template <int WORDS>
int bits_of(const Bits64 (&words)[WORDS])
{
    int bits = 0;
    for (const Bits64 word : words) bits += __builtin_popcountll(word);
    return bits;
}
