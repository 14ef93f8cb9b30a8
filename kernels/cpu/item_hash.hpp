// Hashes of items: items that compare equal have equal hashes. Included behind keys.cuh, with ROWS and TEXT_PADDING.
#pragma once

// Multiplies two words, and folds the product: wyhash's mix.
inline Word mixed(Word a, Word b)
{
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<Word>(product) ^ static_cast<Word>(product >> 64);
}

constexpr Word SEED = 0xa0761d6478bd642f, SECOND = 0xe7037ed1a0b428db;

inline Word hash_of_word(Word hash, Word word) { return mixed(hash ^ SEED, word ^ SECOND); }

inline Word hash_of_bytes(Word hash, Text text)
{
    const long long size = text.stop - text.start;
    Place at = text.start;
    for (; text.stop - at >= 16; at += 16) hash = mixed(word_at(at) ^ SEED, word_at(at + 8) ^ hash ^ SECOND);
    Word words[2] = {0, 0};
    const long long left = text.stop - at;
    if (left > 8) words[1] = word_at(at + 8) & ~0ull >> (128 - 8 * left);
    if (left > 0) words[0] = left >= 8 ? word_at(at) : word_at(at) & ~0ull >> (64 - 8 * left);
    hash = mixed(words[0] ^ SEED, words[1] ^ hash ^ SECOND);
    return mixed(hash ^ SEED, static_cast<Word>(size) ^ SECOND);
}

// The bytes of a text that count, as they count.
inline Word hash_of_translated(Word hash, Text text, long long flags)
{
    if (!(flags & (FOLD | DICTIONARY | PRINTABLE))) return hash_of_bytes(hash, text);
    Word word = 1;
    for (Place at = next_counting(text.start, text.stop, flags); at < text.stop;
         at = next_counting(at + 1, text.stop, flags)) {
        word = word << 8 | static_cast<Word>(folded(*at, flags));
        if (word >> 56 != 0) {
            hash = hash_of_word(hash, word);
            word = 1;
        }
    }
    return hash_of_word(hash, word);
}

// Adds the key of a line. Returns whether it has the flag CHECKED and is invalid.
inline bool hash_key(const LineOrder& order, const Key& key, Text line, Word& hash)
{
    const KeyIn one{order, key, key_text(key, order.separator, line)};
    KeyClass found = VALUE_KEY;
    if (key.flags & CLASSED) {
        found = class_of(one);
        hash = hash_of_word(hash, static_cast<Word>(found));
        if (found == NULL_KEY) return false;
    }
    if (found == INVALID_KEY) {
        hash = hash_of_bytes(hash, one.text);
        return (key.flags & CHECKED) != 0;
    }
    if (key.is(KIND_bytes)) {
        hash = hash_of_translated(hash, one.text, key.flags);
        return false;
    }
    KeyImage image{0, false};
#define IMAGE(name) \
    if (key.is(KIND_##name)) image = kind_##name::image(one);
    IMAGED_KINDS(IMAGE)
#undef IMAGE
    hash = hash_of_word(hash_of_word(hash, image.first), image.second);
    return false;
}

// invalid: becomes true if a key is invalid and has the flag CHECKED.
inline Word hash_of_line(const LineOrder& order, Text line, bool& invalid)
{
    if (order.plain()) return hash_of_bytes(0, line);
    Word hash = 0;
    for (long long number = 0; number < order.keys; ++number)
        invalid |= hash_key(order, order.key(number), line, hash);
    return hash;
}

inline Word hash_of_fields(const OrderSpec& order, Place item)
{
    Word hash = 0;
    for (int64_t number = 0; number < (order.kind == RECORDS ? fields_of(order) : 1); ++number) {
        const KeyField field = key_field(order.kind == RECORDS ? field_of(order, number) : whole_key(order));
        const Place at = item + field.offset;
        if (field.is_bytes()) hash = hash_of_bytes(hash, {at, at + field.width});
        else hash = hash_of_word(hash, field_image(field, at, static_cast<int>(field.width)));
    }
    return hash;
}
