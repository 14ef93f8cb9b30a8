// The first-level weights of texts by strxfrm, and characters of UTF-8. Included by collation.cpp in its anonymous namespace.
#pragma once

constexpr unsigned CHARACTERS = 0x3100;  // only characters below have weights that are looked up once

int put_utf8(unsigned character, char* out)
{
    const auto at = [&](int shift) { return static_cast<char>(0x80 | (character >> shift & 63)); };
    if (character < 0x80) return out[0] = static_cast<char>(character), 1;
    if (character < 0x800) return out[0] = static_cast<char>(0xC0 | character >> 6), out[1] = at(0), 2;
    return out[0] = static_cast<char>(0xE0 | character >> 12), out[1] = at(6), out[2] = at(0), 3;
}

// Reads a character of two or three bytes below CHARACTERS. Returns its length; 0 if there is none.
int read_utf8(Place at, Place stop, unsigned& character)
{
    const auto follows = [&](int byte) { return stop - at > byte && (at[byte] & 0xC0) == 0x80; };
    if (at[0] >= 0xC2 && at[0] < 0xE0 && follows(1)) return character = (at[0] & 31u) << 6 | (at[1] & 63u), 2;
    if (at[0] < 0xE0 || at[0] > 0xE3 || !follows(1) || !follows(2)) return 0;
    character = (at[0] & 15u) << 12 | (at[1] & 63u) << 6 | (at[2] & 63u);
    return character >= 0x800 && character < CHARACTERS ? 3 : 0;
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
