// Texts one behind the other, as Arrow has strings: the words that order them, the bytes that neighbours share, and their bytes
// in another order. Text i lies in bytes[starts[i] .. starts[i + 1]). Starts do not descend.
//
// Texts are sorted by a word of 8 bytes at a time. Those that are equal so far are a group. Each text of a group is compared with
// one of them, the pivot: how many bytes both share says the order of all but those that share as many, whose next word is taken
// behind these bytes. So long equal beginnings cost one walk, and a group breaks into pieces of about half its size or less.
// Source: Bentley and Sedgewick, Fast Algorithms for Sorting and Searching Strings, 1997, by words; Ng and Kakehi, Merging String
// Sequences by Longest Common Prefixes, 2008, for the order that shared bytes say.
#include "sizes.cuh"
#include "warp.cuh"

typedef unsigned long long Word;
constexpr int WORD_BYTES = 8;
constexpr int WALK_TURNS = 4;  // bytes that a lane compares at a time, whose loads do not wait for each other

__device__ __forceinline__ long long lesser(long long x, long long y) { return x < y ? x : y; }

// The bytes of a text from `at` on.
struct Rest {
    const unsigned char* bytes;
    long long count;
};

__device__ __forceinline__ Rest rest_of(const unsigned char* bytes, const long long* starts, long long text, long long at)
{
    const long long begin = starts[text] + at, end = starts[text + 1];
    return {bytes + begin, begin < end ? end - begin : 0};
}

// words[i] becomes the first 8 bytes of text texts[i] from at[i] on, the first one the highest, and zeros behind its end. left[i]
// becomes the number of these bytes, or 9 if the text goes on behind them. Any grid: threads stride over the texts.
extern "C" __global__ void __launch_bounds__(STRINGS_THREADS) text_words(
    const unsigned char* bytes, const long long* starts, const long long* texts, const long long* at, long long count,
    Word* words, unsigned char* left)
{
    const long long threads = static_cast<long long>(gridDim.x) * STRINGS_THREADS;
    for (long long i = static_cast<long long>(blockIdx.x) * STRINGS_THREADS + threadIdx.x; i < count; i += threads) {
        const Rest rest = rest_of(bytes, starts, texts[i], at[i]);
        Word word = 0;
        for (int byte = 0; byte < WORD_BYTES; ++byte)
            word = word << 8 | (byte < rest.count ? rest.bytes[byte] : 0);
        words[i] = word;
        left[i] = static_cast<unsigned char>(lesser(rest.count, WORD_BYTES + 1));
    }
}

// The number of bytes with which both texts begin. A warp calls this together.
__device__ __forceinline__ long long bytes_shared(Rest x, Rest y, int lane)
{
    const long long most = lesser(x.count, y.count);
    for (long long begin = 0; begin < most; begin += WARP * WALK_TURNS) {
        bool differs[WALK_TURNS];
#pragma unroll
        for (int turn = 0; turn < WALK_TURNS; ++turn) {
            const long long at = begin + turn * WARP + lane;
            differs[turn] = at < most && x.bytes[at] != y.bytes[at];
        }
#pragma unroll
        for (int turn = 0; turn < WALK_TURNS; ++turn) {
            const unsigned lanes = __ballot_sync(ALL, differs[turn]);
            if (lanes != 0) return begin + turn * WARP + __ffs(lanes) - 1;
        }
    }
    return most;
}

// codes[i] becomes an integer that orders texts[i] as far as its comparison with the text pivots[i] says: the number of bytes from
// at[i] on that both share if it goes before, `most` if they are equal, else 2 * most less that number. Both share all bytes ahead
// of at[i], and `most` is larger than all texts. Any grid: warps stride over the texts.
extern "C" __global__ void __launch_bounds__(STRINGS_THREADS) compare_with_pivots(
    const unsigned char* bytes, const long long* starts, const long long* texts, const long long* pivots, const long long* at,
    long long count, long long most, long long* codes)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    const long long first = (static_cast<long long>(blockIdx.x) * STRINGS_THREADS + threadIdx.x) / WARP;
    const long long warps = static_cast<long long>(gridDim.x) * (STRINGS_THREADS / WARP);
    for (long long i = first; i < count; i += warps) {
        const Rest text = rest_of(bytes, starts, texts[i], at[i]), pivot = rest_of(bytes, starts, pivots[i], at[i]);
        const long long shared = texts[i] == pivots[i] ? text.count : bytes_shared(text, pivot, lane);
        const bool has_next = shared < text.count && shared < pivot.count;
        const bool is_less = has_next ? text.bytes[shared] < pivot.bytes[shared] : text.count < pivot.count;
        const bool is_equal = !has_next && text.count == pivot.count;
        if (lane == 0) codes[i] = is_equal ? most : is_less ? shared : 2 * most - shared;
    }
}
