// The ranks of items in a sorted run, by binary searches.
//
// Macros: those of ../keys.cuh, for keys.
#include "../corank.cuh"
#include "sizes.cuh"

// Adds to ranks[i] the number of items of the run that go before items[i]; with `through`, also of those that equal it. With
// `first`, it writes this number to ranks[i]. The run may be unsorted: then the number is any one in [0, length].
// Any grid: threads stride over the items. A thread searches for RANKED_AT_ONCE of them, whose loads do not wait for each other.
extern "C" __global__ void __launch_bounds__(RANKING_THREADS) rank_items(
    const Item* run, long long length, const Item* items, long long count, long long through, long long first, long long* ranks)
{
    const Lines lines{};
    const auto is_ahead = [&](Item x, Item item) { return through ? !before(item, x, lines) : before(x, item, lines); };
    const long long threads = static_cast<long long>(gridDim.x) * RANKING_THREADS;
    for (long long i = static_cast<long long>(blockIdx.x) * RANKING_THREADS + threadIdx.x; i < count; i += threads * RANKED_AT_ONCE) {
        Item wanted[RANKED_AT_ONCE];
        long long rank[RANKED_AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
            wanted[turn] = items[smaller(i + turn * threads, count - 1)];
            rank[turn] = 0;
        }
        // A rank lies in [rank, rank + left].
        for (long long left = length; left > 0;) {
            const long long half = (left + 1) / 2;
#pragma unroll
            for (int turn = 0; turn < RANKED_AT_ONCE; ++turn)
                if (is_ahead(run[rank[turn] + half - 1], wanted[turn])) rank[turn] += half;
            left -= half;
        }
#pragma unroll
        for (int turn = 0; turn < RANKED_AT_ONCE; ++turn) {
            const long long at = i + turn * threads;
            if (at < count) ranks[at] = (first ? 0 : ranks[at]) + rank[turn];
        }
    }
}
