// Texts one behind the other, as Arrow has strings: the words that order them, the bytes that neighbours share, and their bytes
// in another order. Text i lies in bytes[starts[i] .. starts[i + 1]). Starts do not descend.
//
// Texts are sorted by a word of 8 bytes at a time. Those that are equal so far are a group. The next word of a group is taken
// behind the bytes that all of its texts share, so that long equal beginnings cost one walk.
// Source: the multikey sort of Bentley and Sedgewick, Fast Algorithms for Sorting and Searching Strings, 1997, by words.
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

// least[g] becomes the least number of bytes that neighbours of group g share from at[i] on, if it was more. Pairs of equal texts
// do not count. groups[i]: the number of the group of text texts[i]; groups lie one behind the other, and at[i] is the same in a
// group, whose texts share all bytes ahead of it. Any grid: warps stride over the texts.
extern "C" __global__ void __launch_bounds__(STRINGS_THREADS) shared_prefixes(
    const unsigned char* bytes, const long long* starts, const long long* texts, const long long* groups, const long long* at,
    long long count, Word* least)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    const long long first = (static_cast<long long>(blockIdx.x) * STRINGS_THREADS + threadIdx.x) / WARP;
    const long long warps = static_cast<long long>(gridDim.x) * (STRINGS_THREADS / WARP);
    for (long long i = 1 + first; i < count; i += warps) {
        if (groups[i] != groups[i - 1]) continue;
        const long long x = texts[i - 1], y = texts[i];
        const long long shared = bytes_shared(rest_of(bytes, starts, x, at[i]), rest_of(bytes, starts, y, at[i]), lane);
        const long long length = starts[x + 1] - starts[x];
        const bool are_equal = length == starts[y + 1] - starts[y] && shared >= length - at[i];
        if (lane == 0 && !are_equal) atomicMin(&least[groups[i]], static_cast<Word>(shared));
    }
}
