// The first-level weights of single characters, and the pairs of characters that do not compose: their weights are not those of
// each, one behind the other. Included by collation.cpp in its anonymous namespace.
#pragma once

constexpr int MOST_WEIGHT = 6, MOST_CODE = 20;
constexpr int BLOCK = 64, BLOCKS = CHARACTERS / BLOCK;
constexpr int MOST_TRIED = 2 * BLOCK;
constexpr unsigned char SLOW = 255;
constexpr char LETTERS[] = "abcdefghijklmnopqrstuvwxyz'";

// Whether a character is of a script whose contractions have two characters at most, but for those of try_triples.
bool is_listed(unsigned character)
{
    static constexpr unsigned ranges[][2] = {{0x80, 0x300}, {0x370, 0x480}, {0x48A, 0x590}, {0x10A0, 0x1100}, {0x1E00, 0x2000},
        {0x2010, 0x2060}, {0x2070, 0x20D0}, {0x2100, 0x2300}, {0x3000, 0x302A}, {0x3030, 0x3099}, {0x309B, 0x3100}};
    for (const auto& range : ranges)
        if (character >= range[0] && character < range[1]) return true;
    return false;
}

// The codes of 64 characters.
struct Block {
    unsigned char length[BLOCK], codes[BLOCK][MOST_CODE];  // length: SLOW if the code is too long
};

// For each first character of a block, a bit for each second one with which it does not compose.
struct Pairs {
    uint64_t apart[BLOCK];
};

class CharacterWeights {
public:
    explicit CharacterWeights(locale_t locale) : locale_(locale) {}

    // Finds the weights of ASCII characters. Returns false if they cannot be coded in this locale.
    bool find_common()
    {
        for (int character = 1; character < 128; ++character) {
            const char text[] = {static_cast<char>(character), 0};
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
        }
        return commons_ > 0;
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

    // Whether two characters, one behind the other, do not compose.
    bool is_apart(unsigned first, unsigned second) const
    {
        std::atomic<const Pairs*>& place = pairs_[first / BLOCK][second / BLOCK];
        const Pairs* found = place.load(std::memory_order_acquire);
        if (found == nullptr) found = try_pairs(first / BLOCK, second / BLOCK);
        return found->apart[first % BLOCK] >> second % BLOCK & 1;
    }

    // Finds contractions of three letters, as "c'h" in Breton. Their first two letters then count as a pair that does not compose,
    // in upper and in lower case.
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

private:
    // A weight as a number with the order of weights.
    static uint64_t number_of(Place weight, int bytes)
    {
        uint64_t number = 0;
        for (int byte = 0; byte < MOST_WEIGHT; ++byte) number = number << 8 | (byte < bytes ? weight[byte] : 0);
        return number;
    }

    // Whether the weights of a text are those of its characters, one after the other. The text has MOST_TRIED characters at most.
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

    const locale_t locale_;
    uint64_t common_[256] = {};  // the weights of ASCII characters, ascending
    int commons_ = 0;
    mutable std::atomic<const Block*> blocks_[BLOCKS] = {};
    mutable std::atomic<const Pairs*> pairs_[BLOCKS][BLOCKS] = {};
};
