// strcoll compares the first-level weights of two texts first, from left to right. So their first 128 bits make an image of a
// text, and strcoll decides ties alone. strxfrm puts these weights first, up to a byte 1, but it is slow. So the weights of
// single characters are looked up once, and those of a text are put together from them. That holds unless characters form a
// contraction, as "ch" in Czech: pairs of characters are tried in blocks of 64, the first time that both blocks meet. A text
// with a pair that does not compose, or with characters of scripts that are not listed here, goes through strxfrm.
//
// A weight is a sequence of bytes: its first byte tells its length, as in UTF-8. An ASCII character's weight is coded as one even
// byte. A weight that no ASCII character has is coded as the odd byte between its neighbours, and then its own bytes.
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

constexpr int IMAGE_BYTES = 16, MOST_WEIGHT = 6, MOST_CODE = 20;
constexpr int MOST_TRIED = 128;
constexpr int BLOCK = 64, BLOCKS = 0x3100 / BLOCK;
constexpr unsigned char SLOW = 255;
constexpr unsigned SPECIAL = 256;
constexpr int64_t CUT = 1024;  // the bytes of a long text that are tried first
constexpr int CUT_WEIGHTS = 8;  // those at a cut that may change with what follows
constexpr char LETTERS[] = "abcdefghijklmnopqrstuvwxyz'";

// The scripts whose characters take part in contractions of two at most, but for those that Collation::try_triples finds.
bool is_listed(unsigned character)
{
    static constexpr unsigned ranges[][2] = {{0x80, 0x300}, {0x370, 0x480}, {0x48A, 0x590}, {0x10A0, 0x1100}, {0x1E00, 0x2000},
        {0x2010, 0x2060}, {0x2070, 0x20D0}, {0x2100, 0x2300}, {0x3000, 0x302A}, {0x3030, 0x3099}, {0x309B, 0x3100}};
    for (const auto& range : ranges)
        if (character >= range[0] && character < range[1]) return true;
    return false;
}

int put_utf8(unsigned character, char* out)
{
    const auto at = [&](int shift) { return static_cast<char>(0x80 | (character >> shift & 63)); };
    if (character < 0x80) return out[0] = static_cast<char>(character), 1;
    if (character < 0x800) return out[0] = static_cast<char>(0xC0 | character >> 6), out[1] = at(0), 2;
    return out[0] = static_cast<char>(0xE0 | character >> 12), out[1] = at(6), out[2] = at(0), 3;
}

// Reads a character of two or three bytes below 0x3100. Returns its length, 0 if there is none.
int read_utf8(Place at, Place stop, unsigned& character)
{
    const auto follows = [&](int byte) { return stop - at > byte && (at[byte] & 0xC0) == 0x80; };
    if (at[0] >= 0xC2 && at[0] < 0xE0 && follows(1)) return character = (at[0] & 31u) << 6 | (at[1] & 63u), 2;
    if (at[0] < 0xE0 || at[0] > 0xE3 || !follows(1) || !follows(2)) return 0;
    character = (at[0] & 15u) << 12 | (at[1] & 63u) << 6 | (at[2] & 63u);
    return character >= 0x800 && character < BLOCKS * BLOCK ? 3 : 0;
}

// A copy of a text with a NUL behind it.
class Copy {
public:
    Copy(Place start, Place stop)
    {
        const size_t size = static_cast<size_t>(stop - start);
        if (size >= sizeof(small_)) text_ = made_ = static_cast<char*>(std::malloc(size + 1));
        if (text_ == nullptr) throw std::bad_alloc();
        if (size > 0) std::memcpy(text_, start, size);
        text_[size] = 0;
    }
    ~Copy() { std::free(made_); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    const char* text() const { return text_; }

private:
    char small_[512], *made_ = nullptr, *text_ = small_;
};

// The first-level weights of a text.
class FirstLevel {
public:
    FirstLevel(const char* text, size_t size, locale_t locale)
    {
        room_ = sizeof(small_);
        if (8 * size > room_) reserve(8 * size);
        size_t made = strxfrm_l(weights_, text, room_, locale);
        if (made >= room_) {
            reserve(made + 1);
            made = strxfrm_l(weights_, text, room_, locale);
        }
        const void* const end = std::memchr(weights_, 1, made);
        size_ = end == nullptr ? made : static_cast<size_t>(static_cast<const char*>(end) - weights_);
    }
    ~FirstLevel() { std::free(made_); }
    FirstLevel(const FirstLevel&) = delete;
    FirstLevel& operator=(const FirstLevel&) = delete;
    Place begin() const { return reinterpret_cast<Place>(weights_); }
    Place end() const { return begin() + size_; }
    size_t size() const { return size_; }

private:
    void reserve(size_t size)
    {
        std::free(made_);
        weights_ = made_ = static_cast<char*>(std::malloc(room_ = size));
        if (made_ == nullptr) throw std::bad_alloc();
    }
    char small_[2048], *made_ = nullptr, *weights_ = small_;
    size_t room_, size_;
};

// The bytes of the weight at `at`; 0 if it is damaged.
int weight_bytes(Place at, Place stop)
{
    const int bytes = *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : *at < 0xF8 ? 4 : *at < 0xFC ? 5 : 6;
    if (*at < 2 || (*at >= 0x80 && *at < 0xC0) || stop - at < bytes) return 0;
    for (int byte = 1; byte < bytes; ++byte)
        if ((at[byte] & 0xC0) != 0x80) return 0;
    return bytes;
}

// The codes of 64 characters.
struct Block {
    unsigned char length[BLOCK], codes[BLOCK][MOST_CODE];  // length: SLOW if the code is too long
};

// For each first character of a block, a bit for each second one with which it does not compose.
struct Pairs {
    uint64_t apart[BLOCK];
};

}  // namespace

class Collation {
public:
    Collation(const char* name, locale_t locale) : locale_(locale), name_(strdup(name))
    {
        if (name_ == nullptr) throw std::bad_alloc();
        weighs_ = find_common() && is_in_order();
        if (!weighs_) return;
        make_ascii();
        try_triples();
        for (unsigned first = 1; first < 128; ++first)
            for (unsigned second = 1; second < 128; ++second)
                if (is_apart(first, second)) ascii_[second] |= SPECIAL;
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
        int made = 0, last = 0;  // last: the bytes of the last code, which what follows may still change
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
            if (at > start && is_apart(before == 0 ? at[-1] : before, character)) return slow_weights(start, stop);
            const Block& block = block_of(character / BLOCK);
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

    // A weight as a number with the order of weights.
    static uint64_t number_of(Place weight, int bytes)
    {
        uint64_t number = 0;
        for (int byte = 0; byte < MOST_WEIGHT; ++byte) number = number << 8 | (byte < bytes ? weight[byte] : 0);
        return number;
    }

    // Finds the weights of ASCII characters. Returns false if there are none in this locale that can be coded.
    bool find_common()
    {
        for (char character = 1; character > 0; ++character) {
            const char text[] = {character, 0};
            const FirstLevel found(text, 1, locale_);
            for (Place at = found.begin(); at < found.end();) {
                const int bytes = weight_bytes(at, found.end());
                if (bytes == 0 || commons_ == 126) return false;
                const uint64_t number = number_of(at, bytes);
                uint64_t* const place = std::lower_bound(common_, common_ + commons_, number);
                at += bytes;
                if (place < common_ + commons_ && *place == number) continue;
                std::memmove(place + 1, place, static_cast<size_t>(common_ + commons_ - place) * sizeof(number));
                *place = number;
                ++commons_;
            }
            if (character == 127) break;
        }
        return commons_ > 0;
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

    // Appends the code of a weight. Returns its bytes.
    int put_code(Place weight, int bytes, unsigned char* out) const
    {
        const uint64_t number = number_of(weight, bytes);
        const uint64_t* const found = std::lower_bound(common_, common_ + commons_, number);
        const int place = static_cast<int>(found - common_);
        if (place < commons_ && *found == number) return out[0] = static_cast<unsigned char>(2 * place + 2), 1;
        out[0] = static_cast<unsigned char>(2 * place + 1);
        std::memcpy(out + 1, weight, static_cast<size_t>(bytes));
        return bytes + 1;
    }

    void make_ascii()
    {
        for (unsigned character = 1; character < 128; ++character) {
            const Block& block = block_of(character / BLOCK);
            const unsigned char length = block.length[character % BLOCK];
            ascii_[character] = length == 0 ? 0 : length == 1 ? block.codes[character % BLOCK][0] : SPECIAL;
        }
    }

    const Block& block_of(unsigned number) const
    {
        std::atomic<const Block*>& place = blocks_[number];
        const Block* found = place.load(std::memory_order_acquire);
        if (found != nullptr) return *found;
        std::unique_ptr<Block> made(new Block{});
        for (unsigned at = number == 0; at < BLOCK; ++at) {
            char text[8] = {};
            const size_t size = static_cast<size_t>(put_utf8(number * BLOCK + at, text));
            const FirstLevel weights(text, size, locale_);
            int length = 0;
            for (Place weight = weights.begin(); weight < weights.end() && length != SLOW;) {
                const int bytes = weight_bytes(weight, weights.end());
                if (bytes == 0 || length + bytes + 1 > MOST_CODE) length = SLOW;
                else length += put_code(weight, bytes, made->codes[at] + length);
                weight += bytes;
            }
            made->length[at] = static_cast<unsigned char>(length);
        }
        if (place.compare_exchange_strong(found, made.get())) found = made.release();
        return *found;
    }

    bool is_apart(unsigned first, unsigned second) const
    {
        std::atomic<const Pairs*>& place = pairs_[first / BLOCK][second / BLOCK];
        const Pairs* found = place.load(std::memory_order_acquire);
        if (found == nullptr) found = try_pairs(first / BLOCK, second / BLOCK);
        return found->apart[first % BLOCK] >> second % BLOCK & 1;
    }

    // Whether the weights of a text are those of its characters, one after the other. It has MOST_TRIED characters at most.
    bool composes(const char* text, size_t size) const
    {
        unsigned char together[MOST_TRIED * MOST_CODE], apart[MOST_TRIED * MOST_CODE];
        const FirstLevel whole(text, size, locale_);
        size_t made = 0, expected = 0;
        for (Place at = whole.begin(); at < whole.end() && made < sizeof(together) - MOST_WEIGHT;) {
            const int bytes = weight_bytes(at, whole.end());
            if (bytes == 0) return false;
            made += static_cast<size_t>(put_code(at, bytes, together + made));
            at += bytes;
        }
        const Place stop = reinterpret_cast<Place>(text) + size;
        for (Place at = reinterpret_cast<Place>(text); at < stop;) {
            unsigned character = *at;
            at += character < 0x80 ? 1 : read_utf8(at, stop, character);
            const Block& block = block_of(character / BLOCK);
            const unsigned char length = block.length[character % BLOCK];
            if (length == SLOW) return false;
            std::memcpy(apart + expected, block.codes[character % BLOCK], length);
            expected += length;
        }
        return made == expected && std::memcmp(together, apart, made) == 0;
    }

    const Pairs* try_pairs(unsigned first, unsigned second) const
    {
        std::unique_ptr<Pairs> made(new Pairs{});
        for (unsigned x = first == 0; x < BLOCK; ++x) {
            char all[BLOCK * 6 + 8];
            size_t size = 0;
            for (unsigned y = second == 0; y < BLOCK; ++y) {
                size += static_cast<size_t>(put_utf8(first * BLOCK + x, all + size));
                size += static_cast<size_t>(put_utf8(second * BLOCK + y, all + size));
            }
            all[size] = 0;
            if (composes(all, size)) continue;
            for (unsigned y = second == 0; y < BLOCK; ++y) {
                char pair[16] = {};
                size = static_cast<size_t>(put_utf8(first * BLOCK + x, pair));
                size += static_cast<size_t>(put_utf8(second * BLOCK + y, pair + size));
                if (!composes(pair, size)) made->apart[x] |= uint64_t{1} << y;
            }
        }
        std::atomic<const Pairs*>& place = pairs_[first][second];
        const Pairs* found = nullptr;
        if (place.compare_exchange_strong(found, made.get())) found = made.release();
        return found;
    }

    // Three letters that form a contraction, as "c'h" in Breton, do not compose: nor do then their first two, in any case.
    void try_triples()
    {
        Pairs apart[2][2] = {};
        bool found = false;
        constexpr size_t letters = sizeof(LETTERS) - 1;
        for (size_t x = 0; x < letters; ++x)
            for (size_t y = 0; y < letters; ++y) {
                char all[3 * letters + 1] = {};
                for (size_t z = 0; z < letters; ++z) {
                    all[3 * z] = LETTERS[x];
                    all[3 * z + 1] = LETTERS[y];
                    all[3 * z + 2] = LETTERS[z];
                }
                if (composes(all, 3 * letters)) continue;
                found = true;
                for (const int of_x : {0, 32})
                    for (const int of_y : {0, 32}) {
                        const int a = LETTERS[x] == '\'' ? '\'' : LETTERS[x] - of_x;
                        const int b = LETTERS[y] == '\'' ? '\'' : LETTERS[y] - of_y;
                        apart[a / BLOCK][b / BLOCK].apart[a % BLOCK] |= uint64_t{1} << b % BLOCK;
                    }
            }
        for (unsigned first = 0; found && first < 2; ++first)
            for (unsigned second = 0; second < 2; ++second) {
                std::unique_ptr<Pairs> both(new Pairs(*try_pairs(first, second)));
                for (int x = 0; x < BLOCK; ++x) both->apart[x] |= apart[first][second].apart[x];
                pairs_[first][second].store(both.release(), std::memory_order_release);
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
                made += put_code(at, bytes, out + made);
                at += bytes;
            }
            if (made >= IMAGE_BYTES || !cut) return image_of(out, made);
        }
        return {0, 0};
    }

    const locale_t locale_;
    const char* const name_;
    bool weighs_ = false;  // whether texts have images
    uint64_t common_[256] = {};  // the weights of ASCII characters, ascending
    int commons_ = 0;
    unsigned short ascii_[256] = {};  // the codes of characters; SPECIAL for what is not just put behind another code
    mutable std::atomic<const Block*> blocks_[BLOCKS] = {};
    mutable std::atomic<const Pairs*> pairs_[BLOCKS][BLOCKS] = {};
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
