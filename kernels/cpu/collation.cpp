// strcoll compares the first-level weights of two texts first, from left to right. So their first 128 bits make an image of a
// text, and strcoll is called only for texts with equal images. strxfrm puts these weights first, up to a byte 1, but it is slow.
// So the weights of single characters are looked up once, and those of a text are put together from them. This is correct unless
// characters form a contraction, as "ch" in Czech. So pairs of characters are tried in blocks of 64, the first time that both
// blocks meet. A text with a pair that does not compose, or with characters of scripts that are not listed here, goes through
// strxfrm.
//
// A weight is a sequence of bytes: its first byte tells its length, as in UTF-8. The weight of an ASCII character is coded as one
// even byte. A weight that no ASCII character has is coded as the odd byte between its neighbours, and then its own bytes.
#include "collation.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <langinfo.h>
#include <locale.h>
#include <memory>
#include <new>
#include <wchar.h>

#include "memory.hpp"

namespace {

typedef const unsigned char* Place;

constexpr int IMAGE_BYTES = 16;
constexpr unsigned SPECIAL = 256;
constexpr int64_t CUT = 1024;  // the bytes of a long text that are tried first
constexpr int CUT_WEIGHTS = 8;  // the weights ahead of a cut that the text behind it may change

#include "first_level.hpp"
#include "character_weights.hpp"

}  // namespace

class Collation {
public:
    Collation(const char* name, locale_t locale) : locale_(locale), name_(strdup(name)), characters_(locale)
    {
        if (name_ == nullptr) throw std::bad_alloc();
        weighs_ = characters_.find_common() && is_in_order();
        if (!weighs_) return;
        make_ascii();
        characters_.try_triples();
        for (unsigned first = 1; first < 128; ++first)
            for (unsigned second = 1; second < 128; ++second)
                if (characters_.is_apart(first, second)) ascii_[second] |= SPECIAL;
        ascii_[0] = SPECIAL;
        for (int byte = 128; byte < 256; ++byte) ascii_[byte] = SPECIAL;
    }

    const char* name() const { return name_; }
    Collation* next = nullptr;

    Weights weights(Place start, Place stop) const
    {
        uint64_t found[2] = {0, 0};
        Place at = start;
        if (!weighs_) return {0, 0};
        for (uint64_t& word : found) {
            uint64_t bits = 0;
            int made = 0;
            for (; at < stop && made < 8; ++at) {
                const unsigned code = ascii_[*at];
                if (code >= SPECIAL) [[unlikely]] return mixed_weights(start, stop);
                const int some = code != 0;
                bits = bits << 8 * some | code;
                made += some;
            }
            word = made == 0 ? 0 : bits << (64 - 8 * made);
            if (made < 8) return {found[0], found[1]};
        }
        if (at < stop && ascii_[*at] >= SPECIAL) return mixed_weights(start, stop);
        return {found[0], found[1]};
    }

    __attribute__((noinline)) Weights mixed_weights(Place start, Place stop) const
    {
        unsigned char out[IMAGE_BYTES + 2 * MOST_CODE];
        int made = 0, last = 0;  // last: the bytes of the last code, which the next character may still change
        unsigned before = 0;     // the character ahead, if it is not of ASCII
        for (Place at = start; at < stop && made - last < IMAGE_BYTES;) {
            if (before == 0) {
                for (; at < stop && made <= IMAGE_BYTES && ascii_[*at] < SPECIAL; ++at) {
                    out[made] = static_cast<unsigned char>(ascii_[*at]);
                    made += ascii_[*at] != 0;
                }
                last = 1;
                if (at == stop || made > IMAGE_BYTES) break;
            }
            if (*at == 0) break;
            unsigned character = *at;
            const int bytes = character < 0x80 ? 1 : read_utf8(at, stop, character);
            if (bytes == 0 || (character >= 0x80 && !is_listed(character))) return slow_weights(start, stop);
            if (at > start && characters_.is_apart(before == 0 ? at[-1] : before, character)) return slow_weights(start, stop);
            const Block& block = characters_.block_of(character / BLOCK);
            const unsigned char length = block.length[character % BLOCK];
            if (length == SLOW) return slow_weights(start, stop);
            std::memcpy(out + made, block.codes[character % BLOCK], length);
            made += length;
            last = length > 0 ? length : last;
            at += bytes;
            before = character < 0x80 ? 0 : character;
        }
        return image_of(out, made);
    }

    int compare(Place a, Place a_stop, Place b, Place b_stop) const
    {
        int64_t a_size = a_stop - a, b_size = b_stop - b;
        if (a_size == 0 || b_size == 0) return (a_size > 0) - (b_size > 0);
        if (a_size == b_size && std::memcmp(a, b, static_cast<size_t>(a_size)) == 0) return 0;
        const Copy first(a, a_stop), second(b, b_stop);
        const char *x = first.text(), *y = second.text();
        const char *const x_stop = x + a_size, *const y_stop = y + b_size;
        for (;;) {
            const int result = strcoll_l(x, y, locale_);
            if (result != 0) return result;
            x += std::strlen(x) + 1;
            y += std::strlen(y) + 1;
            if (x > x_stop) return -(y <= y_stop);
            if (y > y_stop) return 1;
        }
    }

private:
    static Weights image_of(unsigned char* bytes, int made)
    {
        if (made < IMAGE_BYTES) std::memset(bytes + made, 0, static_cast<size_t>(IMAGE_BYTES - made));
        Weights found;
        std::memcpy(&found, bytes, sizeof(found));
        return {__builtin_bswap64(found.first), __builtin_bswap64(found.second)};
    }

    // Whether strcoll goes by these weights first.
    bool is_in_order() const
    {
        for (char first = 33; first < 127; ++first) {
            const char x[] = {first, 0};
            const FirstLevel of_x(x, 1, locale_);
            for (char second = 33; second < first; ++second) {
                const char y[] = {second, 0};
                const FirstLevel of_y(y, 1, locale_);
                const int by_weights = std::lexicographical_compare(of_y.begin(), of_y.end(), of_x.begin(), of_x.end())
                    - std::lexicographical_compare(of_x.begin(), of_x.end(), of_y.begin(), of_y.end());
                const int result = strcoll_l(x, y, locale_);
                if (by_weights != 0 && (result > 0) - (result < 0) != by_weights) return false;
            }
        }
        return true;
    }

    void make_ascii()
    {
        for (unsigned character = 1; character < 128; ++character) {
            const Block& block = characters_.block_of(character / BLOCK);
            const unsigned char length = block.length[character % BLOCK];
            ascii_[character] = length == 0 ? 0 : length == 1 ? block.codes[character % BLOCK][0] : SPECIAL;
        }
    }

    __attribute__((noinline)) Weights slow_weights(Place start, Place stop) const
    {
        const void* const nul = std::memchr(start, 0, static_cast<size_t>(stop - start));
        if (nul != nullptr) stop = static_cast<Place>(nul);
        unsigned char out[IMAGE_BYTES + MOST_CODE];
        for (const int64_t most : {CUT, INT64_MAX}) {
            const bool cut = stop - start > most;
            const Copy copy(start, cut ? start + most : stop);
            const FirstLevel weights(copy.text(), std::strlen(copy.text()), locale_);
            Place end = weights.end();
            for (int left = cut ? CUT_WEIGHTS : 0; left > 0 && end > weights.begin(); --left)
                while (--end > weights.begin() && (*end & 0xC0) == 0x80) {}
            int made = 0;
            for (Place at = weights.begin(); at < end && made < IMAGE_BYTES;) {
                const int bytes = weight_bytes(at, weights.end());
                if (bytes == 0) break;
                made += characters_.put_code(at, bytes, out + made);
                at += bytes;
            }
            if (made >= IMAGE_BYTES || !cut) return image_of(out, made);
        }
        return {0, 0};
    }

    const locale_t locale_;
    const char* const name_;
    CharacterWeights characters_;
    bool weighs_ = false;  // whether texts have images
    unsigned short ascii_[256] = {};  // the codes of characters; SPECIAL for one whose code does not just follow another code
};

namespace {

std::atomic<Collation*> opened{nullptr};

Collation* find_opened(const char* name)
{
    for (Collation* at = opened.load(std::memory_order_acquire); at != nullptr; at = at->next)
        if (std::strcmp(at->name(), name) == 0) return at;
    return nullptr;
}

struct Closed {
    locale_t locale;
    ~Closed()
    {
        if (locale != static_cast<locale_t>(nullptr)) freelocale(locale);
    }
};

}  // namespace

const Collation& collation_of(const char* name)
{
    const Collation* found = find_opened(name);
    if (found == nullptr) std::abort();
    return *found;
}

LocaleFound open_locale(const char* name)
{
    if (find_opened(name) != nullptr) return LOCALE_OPEN;
    Closed made{newlocale(LC_COLLATE_MASK | LC_CTYPE_MASK, name, static_cast<locale_t>(nullptr))};
    if (made.locale == static_cast<locale_t>(nullptr)) return NO_LOCALE;
    if (std::strcmp(nl_langinfo_l(CODESET, made.locale), "UTF-8") != 0) return OTHER_CHARSET;
    Collation* const one = new Collation(name, made.locale);
    made.locale = static_cast<locale_t>(nullptr);
    one->next = opened.load(std::memory_order_acquire);
    while (!opened.compare_exchange_weak(one->next, one)) {}
    return LOCALE_OPEN;
}

Weights weights_in_locale(const Collation& locale, Place start, Place stop) { return locale.weights(start, stop); }

int compare_in_locale(const Collation& locale, Place a, Place a_stop, Place b, Place b_stop)
{
    return locale.compare(a, a_stop, b, b_stop);
}

int64_t word_of_locale(const char* name, int64_t word, unsigned char* out, int64_t room)
{
    static constexpr nl_item months[] = {
        ABMON_1, ABMON_2, ABMON_3, ABMON_4, ABMON_5, ABMON_6, ABMON_7, ABMON_8, ABMON_9, ABMON_10, ABMON_11, ABMON_12};
    const Closed made{newlocale(LC_NUMERIC_MASK | LC_TIME_MASK, name, static_cast<locale_t>(nullptr))};
    if (made.locale == static_cast<locale_t>(nullptr)) return -1;
    const nl_item item = word == POINT_WORD ? RADIXCHAR : word == THOUSANDS_WORD ? THOUSEP : months[word - MONTH_WORD];
    const char* const found = nl_langinfo_l(item, made.locale);
    const size_t size = std::min(std::strlen(found), static_cast<size_t>(room));
    std::memcpy(out, found, size);
    return static_cast<int64_t>(size);
}
