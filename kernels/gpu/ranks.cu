// The ranks of items in a sorted run, by binary searches.
//
// Macros: those of ../keys.cuh, for keys.
#include "../corank.cuh"
#include "sizes.cuh"

// The ranks of the items of a thread within `length` items. The searches take turns, so that their loads do not wait for each other.
template <typename Place, typename Ahead>
__device__ __forceinline__ void search_all(const Item* run, Place length, const Item* wanted, int turns, Place* rank, Ahead is_ahead)
{
#pragma unroll
    for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) rank[turn] = 0;
    // A rank lies in [rank, rank + left].
    for (Place left = length; left > 0;) {
        const Place half = (left + 1) / 2;
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn)
            if (turn < turns && is_ahead(run[rank[turn] + half - 1], wanted[turn])) rank[turn] += half;
        left -= half;
    }
}

// Adds to ranks[i] the number of items of the run that go before items[i * step]; with `through`, also of those that equal it. With
// `first`, it writes this number to ranks[i]. The run may be unsorted: then the number is any one in [0, length].
// Any grid: threads stride over the items. A thread searches for RANKED_AT_ONCE of them.
extern "C" __global__ void __launch_bounds__(RANKING_THREADS) rank_items(
    const Item* run, long long length, const Item* items, long long step, long long count, long long through, long long first,
    long long* ranks)
{
    const Lines lines{};
    const auto is_ahead = [&](Item x, Item item) { return through ? !before(item, x, lines) : before(x, item, lines); };
    const long long threads = static_cast<long long>(gridDim.x) * RANKING_THREADS;
    for (long long i = static_cast<long long>(blockIdx.x) * RANKING_THREADS + threadIdx.x; i < count; i += threads * RANKED_AT_ONCE) {
        Item wanted[RANKED_AT_ONCE];
        long long rank[RANKED_AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) wanted[turn] = items[smaller(i + turn * threads, count - 1) * step];
        search_all(run, length, wanted, RANKED_AT_ONCE, rank, is_ahead);
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
            const long long at = i + turn * threads;
            if (at < count) ranks[at] = (first ? 0 : ranks[at]) + rank[turn];
        }
    }
}

// The same for items in order. A block searches for a tile of `turns` items a thread, at most RANKED_AT_ONCE, in the part of the
// run that edges[tile] and the next edge enclose: the ranks of the tiles' first items, as rank_items gives them. It reads this part
// once, if RANKING_WINDOW bytes hold it. If items are not in order, *disorder becomes 1, and the ranks are left undone; it may lie
// in the host's memory. Without `disorder`, such a tile is searched for in all of the run.
// Grid: a block for each tile.
extern "C" __global__ void __launch_bounds__(RANKING_THREADS) rank_ordered_items(
    const Item* run, long long length, const Item* items, long long count, long long through, long long first, long long* ranks,
    const long long* edges, long long turns, long long* disorder)
{
    __shared__ uint4 window[RANKING_WINDOW / VECTOR];
    __shared__ int falls;
    const Lines lines{};
    const auto is_ahead = [&](Item x, Item item) { return through ? !before(item, x, lines) : before(x, item, lines); };
    const int each = static_cast<int>(turns);
    const long long tile = turns * RANKING_THREADS, begin = blockIdx.x * tile + threadIdx.x;
    const long long low = edges[blockIdx.x], edge = (blockIdx.x + 1) * tile < count ? edges[blockIdx.x + 1] : length;
    const long long held = edge > low ? edge - low : 0;  // they may cross if the run is not in order
    if (threadIdx.x == 0) falls = 0;
    __syncthreads();  // it is 0 before any thread changes it
    Item wanted[RANKED_AT_ONCE];
#pragma unroll
    for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
        const long long at = begin + turn * RANKING_THREADS;
        wanted[turn] = items[smaller(at, count - 1)];
        if (turn < each && at + 1 < count && before(items[at + 1], wanted[turn], lines)) falls = 1;
    }
    // Whole vectors are read: they lie in the pages that hold the part's own items.
    const Item* const part = run + low;
    const int ahead = static_cast<int>(reinterpret_cast<unsigned long long>(part) % VECTOR / sizeof(Item));
    const bool fits = held > 0 && held + ahead <= static_cast<long long>(RANKING_WINDOW / sizeof(Item));
    if (fits) {
        const uint4* const vectors = reinterpret_cast<const uint4*>(part - ahead);
        const int many = whole_vectors((static_cast<int>(held) + ahead) * static_cast<int>(sizeof(Item)));
#pragma unroll 4
        for (int at = threadIdx.x; at < many; at += RANKING_THREADS) window[at] = vectors[at];
    }
    __syncthreads();  // the window is there, and all items were looked at
    long long rank[RANKED_AT_ONCE];
    if (falls) {
        if (disorder != nullptr) {
            if (threadIdx.x == 0) *disorder = 1;
            return;
        }
        search_all(run, length, wanted, each, rank, is_ahead);
    } else if (fits) {
        int place[RANKED_AT_ONCE];
        search_all(reinterpret_cast<const Item*>(window) + ahead, static_cast<int>(held), wanted, each, place, is_ahead);
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) rank[turn] = low + place[turn];
    } else {
        search_all(part, held, wanted, each, rank, is_ahead);
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) rank[turn] += low;
    }
#pragma unroll
    for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
        const long long at = begin + turn * RANKING_THREADS;
        if (turn < each && at < count) ranks[at] = (first ? 0 : ranks[at]) + rank[turn];
    }
}
