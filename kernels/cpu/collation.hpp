// Text in the order of a locale, as strcoll of the C library has it. See collation.cpp.
#pragma once

#include <cstdint>

#define HAS_COLLATION 1

// The first 128 bits of the first-level weights of a text. Texts that are in order have ascending weights; texts with equal
// weights may differ.
struct Weights {
    unsigned long long first, second;
};

enum LocaleFound { NO_LOCALE = 0, LOCALE_OPEN = 1, OTHER_CHARSET = 2 };

// Opens the locale of this name for all threads, once for the process. OTHER_CHARSET: its texts are not UTF-8.
LocaleFound open_locale(const char* name);

class Collation;

// The locale of this name, which must be open.
const Collation& collation_of(const char* name);

// A text may hold NULs, and need not end in one.
Weights weights_in_locale(const Collation& locale, const unsigned char* start, const unsigned char* stop);
// Negative, zero or positive, as GNU sort compares the texts: an empty one goes first, and the texts behind their NULs decide ties.
int compare_in_locale(const Collation& locale, const unsigned char* a, const unsigned char* a_stop, const unsigned char* b,
    const unsigned char* b_stop);

// Writes a word of a locale to `out`, without a NUL: its decimal point, its separator of thousands, or the abbreviated name of a
// month, MONTH_WORD and 0 to 11. Returns the word's length, at most `room`; -1 if there is no such locale.
enum LocaleWord { POINT_WORD = 0, THOUSANDS_WORD = 1, MONTH_WORD = 2 };
int64_t word_of_locale(const char* name, int64_t word, unsigned char* out, int64_t room);
