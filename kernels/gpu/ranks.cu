// The ranks of items in a sorted run, by binary searches.
//
// Items that are in order narrow each other's searches: the ranks of the first and the last item of a block bound all
// between them. They lie near each other, so the searches between them read few sectors.
//
// Macros: those of ../keys.cuh, for keys.
#include "../corank.cuh"
#include "sizes.cuh"
#include "warp.cuh"

// The number of items of a run for which `ahead` holds, if these come first; else any number in [0, length]. All threads of a
// warp search together, and all get it.
template <typename Ahead>
__device__ __forceinline__ long long count_by_warp(const Item* run, long long length, Ahead ahead)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP;
    long long low = 0;
    for (long long left = length; left > 0;) {  // it lies in [low, low + left]
        const long long end = low + left, step = (left + WARP) / (WARP + 1), at = low + (lane + 1) * step - 1;
        const int found = __popc(__ballot_sync(ALL, at < end && ahead(run[at])));
        low += found * step;
        left = smaller(found == WARP ? step : step - 1, end - low);
    }
    return low;
}

// Adds to ranks[i] the number of items of the run that go before items[i]; with `through`, also of those that equal it. With
// `first`, it writes this number to ranks[i]. The run may be unsorted: then the number is any one in [0, length].
// Any grid: blocks stride over the items. A thread searches for RANKED_AT_ONCE of them, whose loads do not wait for each other.
extern "C" __global__ void __launch_bounds__(RANKING_THREADS) rank_items(
    const Item* run, long long length, const Item* items, long long count, long long through, long long first, long long* ranks)
{
    __shared__ long long edges[2 * RANKED_AT_ONCE];  // the ranks of the first and the last item of each turn
    __shared__ int mixed;                            // whether an item lies outside of those two
    const Lines lines{};
    const auto is_ahead = [&](Item x, Item item) { return through ? !before(item, x, lines) : before(x, item, lines); };
    const long long threads = static_cast<long long>(gridDim.x) * RANKING_THREADS;
    const int thread = static_cast<int>(threadIdx.x);
    for (long long start = static_cast<long long>(blockIdx.x) * RANKING_THREADS; start < count;
         start += threads * RANKED_AT_ONCE) {
        const auto item_of = [&](int turn, int number) {
            return items[smaller(start + turn * threads + number, count - 1)];
        };
        Item wanted[RANKED_AT_ONCE];
        bool outside = false;
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
            wanted[turn] = item_of(turn, thread);
            outside |= before(wanted[turn], item_of(turn, 0), lines);
            outside |= before(item_of(turn, RANKING_THREADS - 1), wanted[turn], lines);
        }
        if (thread == 0) mixed = 0;
        __syncthreads();  // the last items' edges are read, and `mixed` is 0
        if (outside) mixed = 1;
        __syncthreads();  // `mixed` is known
        const bool narrow = !mixed;
        if (narrow) {
            for (int edge = thread / WARP; edge < 2 * RANKED_AT_ONCE; edge += RANKING_THREADS / WARP) {
                const Item item = item_of(edge / 2, edge % 2 * (RANKING_THREADS - 1));
                const long long rank = count_by_warp(run, length, [&](Item x) { return is_ahead(x, item); });
                if (thread % WARP == 0) edges[edge] = rank;
            }
        }
        __syncthreads();  // the edges are known
        // A rank lies in [rank, rank + left].
        long long rank[RANKED_AT_ONCE], left[RANKED_AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
            rank[turn] = narrow ? edges[2 * turn] : 0;
            left[turn] = narrow ? edges[2 * turn + 1] - rank[turn] : length;  // below 0 in an unsorted run
        }
        for (bool searching = true; searching;) {
            searching = false;
#pragma unroll
            for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
                if (left[turn] <= 0) continue;
                const long long half = (left[turn] + 1) / 2;
                if (is_ahead(run[rank[turn] + half - 1], wanted[turn])) rank[turn] += half;
                left[turn] -= half;
                searching |= left[turn] > 0;
            }
        }
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
            const long long at = start + thread + turn * threads;
            if (at < count) ranks[at] = (first ? 0 : ranks[at]) + rank[turn];
        }
    }
}
