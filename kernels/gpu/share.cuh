// A thread's share of a merge, held in registers. Two things save time for narrow integers: they are packed into words, and
// stretches of equal ones are filled in, not moved item by item. Sorted narrow integers mostly are such stretches.
//
// Macros: BLOCK_SIZE threads a block, ITEMS_PER_THREAD items a share.
#pragma once

#include "cuts.cuh"
#include "tile.cuh"
#include "transfer.cuh"

#define NARROW (!ROWS && KEY_BITS <= 16)

constexpr int SIZE = static_cast<int>(sizeof(Item));

__device__ __forceinline__ Item item_at(int byte) { return *reinterpret_cast<const Item*>(shared_bytes + byte); }

#if NARROW

// The number of items in a word of shared memory, if a share is a whole number of words.
constexpr int PER_WORD = ITEMS_PER_THREAD * SIZE % 4 == 0 ? 4 / SIZE : 1;

struct Merged {
    unsigned words[ITEMS_PER_THREAD / PER_WORD];

    __device__ __forceinline__ void put(int turn, Item item)
    {
        const unsigned bits = static_cast<unsigned>(item) << (turn % PER_WORD * 8 * SIZE);
        words[turn / PER_WORD] = turn % PER_WORD == 0 ? bits : words[turn / PER_WORD] | bits;
#ifdef __CUDA_ARCH__
        // Without this the compiler packs all words at the end, and runs out of registers before.
        asm volatile("" : "+r"(words[turn / PER_WORD]));
#endif
    }

    __device__ __forceinline__ Item get(int turn) const
    {
        return static_cast<Item>(words[turn / PER_WORD] >> (turn % PER_WORD * 8 * SIZE));
    }
};

#else

struct Merged {
    Item items[ITEMS_PER_THREAD];

    __device__ __forceinline__ void put(int turn, Item item) { items[turn] = item; }
    __device__ __forceinline__ Item get(int turn) const { return items[turn]; }
};

#endif

// Writes the first `count` items of a share to `to`.
__device__ __forceinline__ void write_share(const Merged& share, Item* to, int count)
{
#if NARROW
    if (PER_WORD > 1 && count == ITEMS_PER_THREAD && reinterpret_cast<unsigned long long>(to) % 4 == 0) {
#pragma unroll
        for (int word = 0; word < ITEMS_PER_THREAD / PER_WORD; ++word)
            reinterpret_cast<unsigned*>(to)[word] = share.words[word];
        return;
    }
#endif
    if (count == ITEMS_PER_THREAD) {
#pragma unroll
        for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) to[turn] = share.get(turn);
        return;
    }
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn)
        if (turn < count) to[turn] = share.get(turn);
}

#if NARROW && KEY_KIND != 2

// Fills a share if enough equal items lie in a row on one side: then all its items are equal, whatever lies on the other
// side. a, b: the bytes of the next items. has: there is a next item. lasts: there are enough items for the share.
__device__ __forceinline__ bool fill_share(
    Merged* share, int a, bool a_has, bool a_lasts, int b, bool b_has, bool b_lasts)
{
    const Item x = item_at(a), y = item_at(b);
    const Item least = b_has && (!a_has || image(y) < image(x)) ? y : x;
    const int last = (ITEMS_PER_THREAD - 1) * SIZE;
    if (!(a_lasts && item_at(a + last) == least) && !(b_lasts && item_at(b + last) == least)) return false;
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) share->put(turn, least);
    return true;
}

// Fills a tile if all its items are equal, and says whether they are. It reads only the ends of the slices. Every thread of
// the block must call this. low, high: the cuts of the tile. to: its place in the output.
__device__ __forceinline__ bool fill_tile(const Runs& runs, const long long* low, const long long* high, Item* to)
{
    __shared__ unsigned least, most;
    const int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) {
        least = ~0u;
        most = 0;
    }
    __syncthreads();  // the bounds are set before they are widened
    for (int run = thread; run < RUNS; run += BLOCK_SIZE) {
        if (low[run] >= high[run]) continue;
        const Item* const items = runs.items_of(run);
        atomicMin(&least, static_cast<unsigned>(image(items[low[run]])));
        atomicMax(&most, static_cast<unsigned>(image(items[high[run] - 1])));
    }
    __syncthreads();  // every run has widened them
    if (least != most) return false;

    Item item{};
    long long all = 0;
    for (int run = 0; run < RUNS; ++run) {
        if (low[run] < high[run]) item = runs.items_of(run)[low[run]];
        all += high[run] - low[run];
    }
    const int count = static_cast<int>(all);
    unsigned word = 0;
    for (int at = 0; at < 4; at += SIZE) word |= static_cast<unsigned>(item) << (8 * at);
    const int head = smaller((VECTOR - vector_offset(to)) % VECTOR / SIZE, count);
    const int vectors = (count - head) * SIZE / VECTOR;
    const int tail = head + vectors * (VECTOR / SIZE);
    for (int at = thread; at < vectors; at += BLOCK_SIZE) reinterpret_cast<uint4*>(to + head)[at] = {word, word, word, word};
    for (int at = thread; at < head; at += BLOCK_SIZE) to[at] = item;
    for (int at = tail + thread; at < count; at += BLOCK_SIZE) to[at] = item;
    return true;
}

#else

// Other items are not filled in: equal floats may differ (zeros, NaNs), equal rows differ, and wide keys rarely repeat.
__device__ __forceinline__ bool fill_share(Merged*, int, bool, bool, int, bool, bool) { return false; }
__device__ __forceinline__ bool fill_tile(const Runs&, const long long*, const long long*, Item*) { return false; }

#endif

// How the items of a tile are compared: what is compared of an item, and whether y goes before x.
struct ByImage {
    typedef Image Compared;
    static __device__ __forceinline__ Compared of(const Item& item) { return image(item); }
    static __device__ __forceinline__ bool goes_before(const Item& y, Image y_image, const Item& x, Image x_image, Lines lines)
    {
        return before(y, y_image, x, x_image, lines);
    }
};

#if !ROWS && !RECORD_SIZE && KEY_KIND == 2 && KEY_BITS >= 32
#define WIDE_FLOATS 1

// Floats themselves, without images: zeros are equal either way, and the compiler's default does not flush subnormals. Only
// NaNs compare otherwise than their images, so there must be none.
struct ByNumber {
#if KEY_BITS == 32
    typedef float Compared;
#else
    typedef double Compared;
#endif
    static __device__ __forceinline__ Compared of(Item item) { return __builtin_bit_cast(Compared, item); }
    static __device__ __forceinline__ bool goes_before(Item, Compared y, Item, Compared x, Lines)
    {
        return DESCENDING ? x < y : y < x;
    }
};

// Whether a sorted slice has no NaN. They lie at its end, or at its beginning if the order descends. In a slice that is not
// in order they may lie anywhere, but then any order of its items will do.
__device__ __forceinline__ bool all_numbers(const Item* slice, int count)
{
    if (count == 0) return true;
    const ByNumber::Compared last = ByNumber::of(slice[DESCENDING ? 0 : count - 1]);
    return last == last;
}

#else
#define WIDE_FLOATS 0
#endif

// The next items of the merge of A from byte a on and B from byte b on. CHECKED: A may end at a_end, or B at b_end, before
// the share is full.
template <typename By, bool CHECKED>
__device__ __forceinline__ void merge_items(Merged* merged, int a, int a_end, int b, int b_end, Lines lines)
{
    Item x = item_at(a), y = item_at(b);
    typename By::Compared x_image = By::of(x), y_image = By::of(y);
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) {
        bool take_b;
        if (CHECKED) take_b = b < b_end && (a >= a_end || By::goes_before(y, y_image, x, x_image, lines));
        else take_b = By::goes_before(y, y_image, x, x_image, lines);
        merged->put(turn, take_b ? y : x);
        const int taken = take_b ? b : a;
        const Item next = item_at(taken + SIZE);
        const typename By::Compared next_image = By::of(next);
        if (take_b) {
            b = taken + SIZE;
            y = next;
            y_image = next_image;
        } else {
            a = taken + SIZE;
            x = next;
            x_image = next_image;
        }
    }
}

// co_rank in a tile. It first probes on both sides of the place where evenly spread keys would put the cut. Mostly few items
// are left between these probes.
template <typename By>
__device__ __forceinline__ int co_rank_near(int k, const Item* a, int m, const Item* b, int n, Lines lines)
{
    constexpr int REACH = 16;
    int low = k > n ? k - n : 0;
    int high = smaller(k, m);
    const auto narrow = [&](int middle) {
        const Item x = a[middle], y = b[k - 1 - middle];
        if (By::goes_before(y, By::of(y), x, By::of(x), lines)) high = middle;
        else low = middle + 1;
    };
    const float share = static_cast<float>(m) / static_cast<float>(m + n + 1);
    const int guess = static_cast<int>(static_cast<float>(k) * share);
    if (guess - REACH > low && guess - REACH < high) narrow(guess - REACH);
    if (guess + REACH > low && guess + REACH < high) narrow(guess + REACH);
    while (low < high) narrow((low + high) >> 1);
    return low;
}

// The share that begins at output position `diagonal` of the merge of two staged slices: a_count items from byte a_begin on,
// and b_count items from byte b_begin on. FAST: most shares have enough items on both sides, so they get code of their own.
template <typename By, bool FAST>
__device__ __forceinline__ Merged merge_share_by(
    int diagonal, int a_begin, int a_count, int b_begin, int b_count, Lines lines)
{
    const Item* const a_items = reinterpret_cast<const Item*>(shared_bytes + a_begin);
    const Item* const b_items = reinterpret_cast<const Item*>(shared_bytes + b_begin);
    const int i = co_rank_near<By>(diagonal, a_items, a_count, b_items, b_count, lines);
    const int j = diagonal - i;
    const int a = a_begin + i * SIZE, b = b_begin + j * SIZE;
    const bool a_lasts = i + ITEMS_PER_THREAD <= a_count, b_lasts = j + ITEMS_PER_THREAD <= b_count;
    Merged merged;
    if (!fill_share(&merged, a, i < a_count, a_lasts, b, j < b_count, b_lasts)) {
        // In merges of more runs most warps meet the end of a slice, and would take both ways.
        if (FAST && RUNS == 2 && a_lasts && b_lasts) merge_items<By, false>(&merged, a, 0, b, 0, lines);
        else merge_items<By, true>(&merged, a, a_begin + a_count * SIZE, b, b_begin + b_count * SIZE, lines);
    }
    return merged;
}

__device__ __forceinline__ Merged merge_share(
    int diagonal, int a_begin, int a_count, int b_begin, int b_count, Lines lines)
{
#if WIDE_FLOATS
    if (!all_numbers(reinterpret_cast<const Item*>(shared_bytes + a_begin), a_count)
        || !all_numbers(reinterpret_cast<const Item*>(shared_bytes + b_begin), b_count))
        return merge_share_by<ByImage, false>(diagonal, a_begin, a_count, b_begin, b_count, lines);
    return merge_share_by<ByNumber, true>(diagonal, a_begin, a_count, b_begin, b_count, lines);
#else
    return merge_share_by<ByImage, true>(diagonal, a_begin, a_count, b_begin, b_count, lines);
#endif
}
