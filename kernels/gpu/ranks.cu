// The ranks of items in a sorted run, by binary searches.
//
// Macros: those of ../keys.cuh, for keys.
#include "../corank.cuh"
#include "sizes.cuh"

// Whether x lies ahead of the rank of an item: it goes before it or, with `through`, equals it.
__device__ __forceinline__ bool is_ahead(Item x, Item item, bool through)
{
    const Lines lines{};
    return through ? !before(item, x, lines) : before(x, item, lines);
}

// Adds to ranks[i] the number of items of the run that go before items[i]; with `through`, also of those that equal it. The
// first run of a call writes, with `first`, instead. Of a run in any order a rank is some number in [0, length].
// Any grid: threads stride over the items.
extern "C" __global__ void __launch_bounds__(RANKING_THREADS) rank_few(
    const Item* run, long long length, const Item* items, long long count, long long through, long long first, long long* ranks)
{
    const long long stride = static_cast<long long>(gridDim.x) * RANKING_THREADS;
    for (long long i = static_cast<long long>(blockIdx.x) * RANKING_THREADS + threadIdx.x; i < count; i += stride) {
        const Item item = items[i];
        long long low = 0, high = length;
        while (low < high) {
            const long long middle = (low + high) >> 1;
            if (is_ahead(run[middle], item, through != 0)) low = middle + 1;
            else high = middle;
        }
        ranks[i] = (first ? 0 : ranks[i]) + low;
    }
}

// The same for many items: a block keeps RANKING_PIVOTS items of the run in shared memory, so the first steps of its searches
// do not leave the multiprocessor. length: at least RANKING_PIVOTS.
extern "C" __global__ void __launch_bounds__(RANKING_THREADS) rank_many(
    const Item* run, long long length, const Item* items, long long count, long long through, long long first, long long* ranks)
{
    __shared__ Item pivots[RANKING_PIVOTS];
    // Pivot p is the last item of stretch p; the stretches are equally long, and what is left lies behind the last of them.
    const long long stretch = length / RANKING_PIVOTS;
    for (int p = static_cast<int>(threadIdx.x); p < RANKING_PIVOTS; p += RANKING_THREADS) pivots[p] = run[(p + 1) * stretch - 1];
    __syncthreads();
    const long long stride = static_cast<long long>(gridDim.x) * RANKING_THREADS;
    for (long long i = static_cast<long long>(blockIdx.x) * RANKING_THREADS + threadIdx.x; i < count; i += stride) {
        const Item item = items[i];
        int passed = 0;
        for (int step = RANKING_PIVOTS / 2; step > 0; step /= 2)
            if (is_ahead(pivots[passed + step - 1], item, through != 0)) passed += step;
        passed += is_ahead(pivots[passed], item, through != 0);
        long long low = passed * stretch, high = passed < RANKING_PIVOTS ? low + stretch - 1 : length;
        while (low < high) {
            const long long middle = (low + high) >> 1;
            if (is_ahead(run[middle], item, through != 0)) low = middle + 1;
            else high = middle;
        }
        ranks[i] = (first ? 0 : ranks[i]) + low;
    }
}
