// Lines are found tile by tile: first where they stop, then their rows.
//
// The usual loop asks behind each terminator whether the same 64 bytes hold another one. Where the lengths of lines vary, the
// processor guesses most of these answers wrong. So several terminators are taken at once, whether there are as many or not,
// and the next ones are written over those that were too many (Langdale and Lemire 2019, "Parsing gigabytes of JSON per
// second"). The tile before tells how many lines to expect.
#include "line_index.hpp"

#include <algorithm>
#include <cstring>

#include "find.hpp"

namespace {

constexpr int64_t TILE = 4096;  // bytes, so that the stops of a tile stay in the nearest cache
constexpr int64_t ROW = 16;     // bytes

// A way appends the places behind the marked ones of 64 bytes to `stops`, and returns where the next ones go. It writes more
// places than there are marks, but never more than 64. behind: the place behind the first byte.

// Takes ROUND marks at once, at least one time.
template <int ROUND>
struct Rounds {
    static uint32_t* append(uint64_t marks, uint32_t behind, uint32_t* stops)
    {
        static_assert(64 % ROUND == 0);
        uint32_t* const next = stops + __builtin_popcountll(marks);
        do {
            for (int each = 0; each < ROUND; ++each, marks &= marks - 1)
                stops[each] = behind + static_cast<uint32_t>(marks != 0 ? __builtin_ctzll(marks) : 64);
            stops += ROUND;
        } while (stops < next);
        return next;
    }
};

#if defined(__AVX512BW__) && defined(__AVX512VL__)

// Picks the marked ones of 16 places at once.
struct ManyAtOnce {
    static uint32_t* append(uint64_t marks, uint32_t behind, uint32_t* stops)
    {
        __m512i places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        places = _mm512_add_epi32(places, _mm512_set1_epi32(static_cast<int>(behind)));
        for (int part = 0; part < 4; ++part) {
            const __mmask16 marked = static_cast<__mmask16>(marks >> 16 * part);
            const __m512i picked = _mm512_maskz_compress_epi32(marked, places);
            const int count = __builtin_popcount(marked);
            // Stores of all 64 bytes would take longer. The masks of all lanes keep g++ 12 from warnings of its own header.
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(stops), _mm512_maskz_extracti64x4_epi64(0xf, picked, 0));
            if (count > 8) [[unlikely]]
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(stops + 8), _mm512_maskz_extracti64x4_epi64(0xf, picked, 1));
            stops += count;
            places = _mm512_add_epi32(places, _mm512_set1_epi32(16));
        }
        return stops;
    }
};

// Puts a row for each of the `count` lines between two neighbours of `stops`, which count from `base`.
inline void put_rows(const uint32_t* stops, int64_t count, int64_t base, unsigned char* rows)
{
    const __m512i bases = _mm512_set1_epi64(base << LENGTH_BITS);
    const __m512i low = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), high = _mm512_setr_epi64(4, 4, 5, 5, 6, 6, 7, 7);
    const auto places = [&](__m256i from, __m256i to) {
        const __m512i starts = _mm512_maskz_cvtepu32_epi64(0xff, from);
        const __m512i lengths = _mm512_maskz_cvtepu32_epi64(0xff, _mm256_sub_epi32(to, from));
        return _mm512_add_epi64(_mm512_add_epi64(bases, _mm512_maskz_slli_epi64(0xff, starts, LENGTH_BITS)), lengths);
    };
    const auto half = [](__m512i lanes, __m512i found) { return _mm512_maskz_permutexvar_epi64(0xff, lanes, found); };
    for (; count >= 8; count -= 8, stops += 8, rows += 8 * ROW) {
        const __m512i found = places(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(stops)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(stops + 1)));
        _mm512_storeu_si512(rows, half(low, found));
        _mm512_storeu_si512(rows + 64, half(high, found));
    }
    const __mmask8 held = static_cast<__mmask8>((1u << count) - 1);
    const __m512i found = places(_mm256_maskz_loadu_epi32(held, stops), _mm256_maskz_loadu_epi32(held, stops + 1));
    const unsigned halves = (1u << 2 * count) - 1;
    _mm512_mask_storeu_epi64(rows, static_cast<__mmask8>(halves), half(low, found));
    _mm512_mask_storeu_epi64(rows + 64, static_cast<__mmask8>(halves >> 8), half(high, found));
}

#else

typedef Rounds<4> ManyAtOnce;

inline void put_rows(const uint32_t* stops, int64_t count, int64_t base, unsigned char* rows)
{
    for (int64_t at = 0; at < count; ++at) {
        const long long row[] = {0, line_place(base + stops[at], stops[at + 1] - stops[at])};
        std::memcpy(rows + at * ROW, row, ROW);
    }
}

#endif

class Index {
public:
    Index(const unsigned char* text, unsigned char terminator) : text_(text), terminator_(terminator) {}

    int64_t make(int64_t first, int64_t last, int64_t start, int64_t room, unsigned char* rows, std::vector<LongLine>& long_lines)
    {
        static_assert(TILE % 64 == 0 && TILE < LONG_LINE);
        int64_t made = 0, found = 0;
        for (int64_t base = first; base < last; base += TILE) {
            found = find(base, std::min(TILE, last - base), found);
            if (found == 0) continue;
            if (found > room - made) return -1;
            const long long length = base + stops_[0] - start, row[] = {0, line_place(start, length)};
            if (length >= LONG_LINE) [[unlikely]] long_lines.push_back({start, length});
            std::memcpy(rows + made * ROW, row, ROW);
            put_rows(stops_, found - 1, base, rows + (made + 1) * ROW);
            made += found;
            start = base + stops_[found - 1];
        }
        return made;
    }

private:
    // By the bytes of a line up to which each way was the fastest in trials, with lengths that vary little and much.
    int64_t find(int64_t base, int64_t size, int64_t expected)
    {
        if (expected > TILE / 18) return find_by<ManyAtOnce>(base, size);
        if (expected > TILE / 48) return find_by<Rounds<4>>(base, size);
        if (expected > TILE / 200) return find_by<Rounds<2>>(base, size);
        return find_by<Rounds<1>>(base, size);
    }

    // Finds where lines stop in a tile, behind its start. Returns their number.
    template <typename Way>
    int64_t find_by(int64_t base, int64_t size)
    {
        uint32_t* next = stops_;
        const auto take = [&](int64_t at, uint64_t inside) {
            next = Way::append(matches_at(text_ + base + at, terminator_) & inside, static_cast<uint32_t>(at) + 1, next);
        };
        int64_t at = 0;
        for (; at + 64 <= size; at += 64) take(at, ~uint64_t{0});
        if (at < size) take(at, (uint64_t{1} << (size - at)) - 1);
        return next - stops_;
    }

    const unsigned char* const text_;
    const unsigned char terminator_;
    uint32_t stops_[TILE];
};

}  // namespace

Terminators count_terminators(const unsigned char* text, int64_t first, int64_t last, unsigned char terminator)
{
    static_assert(PADDING >= 64);
    int64_t count = 0, at = first;
    for (; at + 64 <= last; at += 64) count += __builtin_popcountll(matches_at(text + at, terminator));
    if (at < last) count += __builtin_popcountll(matches_at(text + at, terminator) & ((uint64_t{1} << (last - at)) - 1));
    if (count == 0) return {0, -1};
    const void* const found = memrchr(text + first, terminator, static_cast<size_t>(last - first));
    return {count, static_cast<const unsigned char*>(found) - text + 1};
}

int64_t index_lines(const unsigned char* text, int64_t first, int64_t last, unsigned char terminator, int64_t start, int64_t room,
    void* rows, std::vector<LongLine>& long_lines)
{
    return Index(text, terminator).make(first, last, start, room, static_cast<unsigned char*>(rows), long_lines);
}
