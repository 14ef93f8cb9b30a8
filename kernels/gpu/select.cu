// The items of an array that go before a bound or equal it, and a sample of an array, from which the caller takes a bound.
//
// Macros: those of ../keys.cuh, for keys.
#define BLOCK_SIZE SELECTING_THREADS

#include "lookback.cuh"

constexpr int VECTORS = 4;  // vectors that a thread reads at once
constexpr int PACKED = static_cast<int>(VECTOR / sizeof(Item));
constexpr long long SELECTS_LESS = 1, SELECTS_EQUAL = 2;
static_assert(VECTORS * PACKED <= 64, "a word has a bit for each item that a thread reads at once");

struct __align__(VECTOR) Vector {
    Item items[PACKED];
};

// Writes one item of each of `samples` stretches of the array, which are equally long up to an item. They are at most as many as
// items. Any grid: threads stride over the stretches.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) sample_items(
    const Item* items, long long count, Item* out, long long samples)
{
    const long long stride = static_cast<long long>(gridDim.x) * BLOCK_SIZE, each = count / samples, rest = count % samples;
    for (long long at = static_cast<long long>(blockIdx.x) * BLOCK_SIZE + threadIdx.x; at < samples; at += stride) {
        const long long low = at * each + at * rest / samples, high = (at + 1) * each + (at + 1) * rest / samples;
        // The high bits of a product with the golden ratio: a sequence that no period of the data follows.
        const unsigned long long chance = static_cast<unsigned long long>(at + 1) * 0x9e3779b97f4a7c15ull >> 33;
        out[at] = items[low + static_cast<long long>(chance % static_cast<unsigned long long>(high - low))];
    }
}

// Adds to *found the number of items that go before *bound or equal it, as `selects` says: a sum of SELECTS_LESS and
// SELECTS_EQUAL. indices gets base + i for these items, in any order, up to `room` of them.
// Any grid: blocks stride over the items.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) select_items(
    const Item* items, long long count, long long base, const Item* bound, long long selects, long long* indices,
    long long room, unsigned long long* found)
{
    const Image edge = image(*bound);
    const bool less = (selects & SELECTS_LESS) != 0, equal = (selects & SELECTS_EQUAL) != 0;
    const auto is_selected = [&](Item item) {
        const Image here = image(item);
        return (less && here < edge) || (equal && here == edge);
    };
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    const int skipped = static_cast<int>(reinterpret_cast<unsigned long long>(items) % VECTOR / sizeof(Item));
    const Vector* const vectors = reinterpret_cast<const Vector*>(items - skipped);
    const long long all = (skipped + count + PACKED - 1) / PACKED;
    const long long stride = static_cast<long long>(gridDim.x) * BLOCK_SIZE * VECTORS;
    for (long long first = static_cast<long long>(blockIdx.x) * BLOCK_SIZE * VECTORS; first < all; first += stride) {
        Vector loaded[VECTORS];
#pragma unroll
        for (int turn = 0; turn < VECTORS; ++turn) {
            const long long at = first + turn * BLOCK_SIZE + threadIdx.x;
            if (at * PACKED >= skipped && (at + 1) * PACKED <= skipped + count) loaded[turn] = vectors[at];
        }
        unsigned long long hits = 0;  // bit turn * PACKED + item
#pragma unroll
        for (int turn = 0; turn < VECTORS; ++turn) {
            const long long place = (first + turn * BLOCK_SIZE + threadIdx.x) * PACKED - skipped;
            const bool whole = place >= 0 && place + PACKED <= count;
#pragma unroll
            for (int item = 0; item < PACKED; ++item) {
                const bool is_there = place + item >= 0 && place + item < count;
                if (whole ? is_selected(loaded[turn].items[item]) : is_there && is_selected(items[place + item]))
                    hits |= 1ull << (turn * PACKED + item);
            }
        }
        if (!__any_sync(ALL, hits != 0)) continue;
        // The warp takes as many places as it has items.
        const unsigned own = static_cast<unsigned>(__popcll(hits)), with_own = sum_up_to(own);
        unsigned long long start = 0;
        if (lane == WARP - 1) start = atomicAdd(found, static_cast<unsigned long long>(with_own));
        start = __shfl_sync(ALL, start, WARP - 1, WARP);
        long long at = static_cast<long long>(start + with_own - own);
        for (; hits != 0 && at < room; hits &= hits - 1, ++at) {
            const int bit = __ffsll(static_cast<long long>(hits)) - 1, turn = bit / PACKED;
            indices[at] = base + (first + turn * BLOCK_SIZE + threadIdx.x) * PACKED - skipped + bit % PACKED;
        }
    }
}
