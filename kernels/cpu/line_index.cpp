// Finds the places of lines in two steps for each tile of the text: the places of its terminators, by as few branches as there
// can be, and rows of these. A loop that asks after each terminator whether there is another one in the same 64 bytes is told
// wrong by the processor at most ends of lines of varying length. So a fixed number is taken unasked (as simdjson does: Langdale
// and Lemire 2019, "Parsing gigabytes of JSON per second").
#include "line_index.hpp"

#include <algorithm>
#include <cstring>

#include "find.hpp"

namespace {

constexpr int64_t TILE = 4096;       // bytes; a tile's places stay in the fastest cache
constexpr int64_t ROW = 16;          // bytes of a row
constexpr int MOST_UNASKED = 8;      // places that are written behind the last one

// Each appends the places behind the marked ones of 64 bytes to `stops`, and returns where the next ones go. behind: the place
// behind the first byte. It writes up to MOST_UNASKED places more.

// Takes marks in rounds of so many, at least one round, whether there are as many or not.
template <int ROUND>
struct Rounds {
    static uint32_t* append(uint64_t marks, uint32_t behind, uint32_t* stops)
    {
        static_assert(ROUND <= MOST_UNASKED);
        uint32_t* const next = stops + __builtin_popcountll(marks);
        do {
            for (int each = 0; each < ROUND; ++each) {
                stops[each] = behind + static_cast<uint32_t>(marks != 0 ? __builtin_ctzll(marks) : 64);
                marks &= marks - 1;
            }
            stops += ROUND;
        } while (stops < next);
        return next;
    }
};

#if defined(__AVX512BW__) && defined(__AVX512VL__)

// Compresses the places of all bytes, 16 at a time.
struct Compressed {
    static uint32_t* append(uint64_t marks, uint32_t behind, uint32_t* stops)
    {
        const __m512i counting = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        for (int part = 0; part < 4; ++part, marks >>= 16) {
            const __mmask16 here = static_cast<__mmask16>(marks);
            const __m512i places = _mm512_add_epi32(counting, _mm512_set1_epi32(static_cast<int>(behind) + 16 * part));
            const __m512i found = _mm512_maskz_compress_epi32(here, places);
            const int count = __builtin_popcount(here);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(stops), _mm512_castsi512_si256(found));
            if (count > 8) [[unlikely]]
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(stops + 8), _mm512_extracti64x4_epi64(found, 1));
            stops += count;
        }
        return stops;
    }
};

// Puts `count` rows: row k of the line from stops[k] to stops[k + 1], which both count from `base`.
inline void put_rows(const uint32_t* stops, int64_t count, int64_t base, unsigned char* rows)
{
    const __m512i bases = _mm512_set1_epi64(base << LENGTH_BITS);
    const __m512i low = _mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), high = _mm512_setr_epi64(4, 4, 5, 5, 6, 6, 7, 7);
    for (int64_t at = 0; at < count; at += 8) {
        const __mmask8 held = static_cast<__mmask8>(count - at >= 8 ? 0xff : (1 << (count - at)) - 1);
        const __m512i from = _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(held, stops + at));
        const __m512i to = _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(held, stops + at + 1));
        const __m512i places = _mm512_add_epi64(_mm512_add_epi64(bases, _mm512_slli_epi64(from, LENGTH_BITS)), _mm512_sub_epi64(to, from));
        const __m512i first = _mm512_permutexvar_epi64(low, places), last = _mm512_permutexvar_epi64(high, places);
        unsigned char* const out = rows + at * ROW;
        if (count - at >= 8) {
            _mm512_storeu_si512(out, first);
            _mm512_storeu_si512(out + 64, last);
        } else {
            const unsigned halves = (1u << 2 * (count - at)) - 1;
            _mm512_mask_storeu_epi64(out, static_cast<__mmask8>(halves), first);
            _mm512_mask_storeu_epi64(out + 64, static_cast<__mmask8>(halves >> 8), last);
        }
    }
}

#else

typedef Rounds<4> Compressed;

inline void put_rows(const uint32_t* stops, int64_t count, int64_t base, unsigned char* rows)
{
    for (int64_t at = 0; at < count; ++at) {
        const long long row[2] = {0, ((base + stops[at]) << LENGTH_BITS) + (stops[at + 1] - stops[at])};
        std::memcpy(rows + at * ROW, row, sizeof row);
    }
}

#endif

struct Index {
    const unsigned char* text;
    int64_t first, last;
    unsigned char terminator;
    int64_t start;
    unsigned char* rows;
    std::vector<LongLine>& long_lines;

    template <typename Way>
    void make()
    {
        static_assert(TILE <= LONG_LINE);
        uint32_t stops[TILE + MOST_UNASKED];
        for (int64_t base = first; base < last; base += TILE) {
            const int64_t size = std::min(TILE, last - base);
            uint32_t* next = stops;
            int64_t at = 0;
            for (; at + 64 <= size; at += 64)
                next = Way::append(matches_at(text + base + at, terminator), static_cast<uint32_t>(at) + 1, next);
            if (at < size) {
                const uint64_t inside = (uint64_t{1} << (size - at)) - 1;
                next = Way::append(matches_at(text + base + at, terminator) & inside, static_cast<uint32_t>(at) + 1, next);
            }
            if (next == stops) continue;
            put_first(base + stops[0]);
            put_rows(stops, next - stops - 1, base, rows);
            rows += (next - stops - 1) * ROW;
            start = base + next[-1];
        }
    }

private:
    void put_first(int64_t stop)
    {
        if (stop - start >= LONG_LINE) [[unlikely]] long_lines.push_back({start, stop - start});
        const long long row[2] = {0, line_place(start, stop - start)};
        std::memcpy(rows, row, sizeof row);
        rows += ROW;
    }
};

}  // namespace

Terminators count_terminators(const unsigned char* text, int64_t first, int64_t last, unsigned char terminator)
{
    static_assert(PADDING >= 64);
    int64_t count = 0, at = first;
    for (; at + 64 <= last; at += 64) count += __builtin_popcountll(matches_at(text + at, terminator));
    if (at < last) count += __builtin_popcountll(matches_at(text + at, terminator) & ((uint64_t{1} << (last - at)) - 1));
    const void* const found = count > 0 ? memrchr(text + first, terminator, static_cast<size_t>(last - first)) : nullptr;
    return {count, found != nullptr ? static_cast<const unsigned char*>(found) - text + 1 : -1};
}

void index_lines(const unsigned char* text, int64_t first, int64_t last, unsigned char terminator, int64_t start, int64_t count,
    void* rows, std::vector<LongLine>& long_lines)
{
    Index index{text, first, last, terminator, start, static_cast<unsigned char*>(rows), long_lines};
    if (last - first < 14 * count) index.make<Compressed>();
    else if (last - first < 44 * count) index.make<Rounds<4>>();
    else if (last - first < 160 * count) index.make<Rounds<2>>();
    else index.make<Rounds<1>>();
}
