// Merges groups of neighbouring runs of a level, by rank. The rank of an item is the number of items of its group that go before
// it, and so its place in the merged group. A thread takes one item, and searches all runs of the group for it. No step waits
// for another thread's, so a few small runs take less time than by merge_path.cu, though each item takes more work.
//
// The items of a block come from one run. Where the first and the last one of them belong in each other run, bounds where the
// ones between belong.
//
// Macros: BLOCK_SIZE threads a block; those of columns.cuh. Images must decide the order: there are no rows.

#include "beside.cuh"
#include "block.cuh"
#include "columns.cuh"

static_assert(!ROWS, "images decide the order");

constexpr int MOST_RUNS = BLOCK_SIZE / 2;  // of a group
constexpr int AT_ONCE = 4;                 // runs that a thread searches at once

// The greatest power of two that is not above x > 0.
__device__ __forceinline__ int power_below(int x) { return 1 << (31 - __clz(x)); }

// The place of x among run[low .. high): behind all items that go before it, and behind equal ones with `ties`.
__device__ __forceinline__ int place_in(const Item* run, int low, int high, Image x, bool ties)
{
    while (low < high) {
        const int middle = (low + high) / 2;
        const Image y = image(run[middle]);
        if (y < x || (ties && y == x)) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Merges every `fan_in` neighbouring runs of `length` items, one behind the other, of which the last one may be shorter; `total`
// items in all. The kernel ahead may still write them. With TO_COLUMNS `out` is not used. out must not overlap the items.
// Grid: ceil(total / BLOCK_SIZE) blocks. length: a multiple of BLOCK_SIZE. fan_in: at most MOST_RUNS.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) merge_by_rank(
    const Item* items, long long length, long long total, Item* out, long long fan_in
#if TO_COLUMNS
    ,
    const __grid_constant__ Columns columns
#endif
)
{
    __shared__ int bounds[MOST_RUNS][2];
    let_next_begin();
    await_previous();
    const int thread = static_cast<int>(threadIdx.x), size = static_cast<int>(length);
    const int whole = size * static_cast<int>(fan_in);
    const int start = static_cast<int>(blockIdx.x) * BLOCK_SIZE / whole * whole;  // of the group
    const int count = smaller(whole, static_cast<int>(total) - start);
    const Item* const group = items + start;
    const int first = static_cast<int>(blockIdx.x) * BLOCK_SIZE - start, last = smaller(first + BLOCK_SIZE, count) - 1;
    const int own = first / size, runs = (count + size - 1) / size;
    const int place = smaller(first + thread, last);
    const Item item = group[place];
    const Image x = image(item);
    if (thread < 2 * runs) {
        const int run = thread / 2, upper = thread % 2;
        bounds[run][upper] = run == own ? 0
                                        : place_in(group + run * size, 0, smaller(size, count - run * size),
                                              image(group[upper ? last : first]), run < own);
    }
    __syncthreads();  // the bounds are there before they are read

    int rank = place - own * size;
#pragma unroll 1
    for (int next = 0; next < runs; next += AT_ONCE) {
        const Item* run[AT_ONCE];
        int found[AT_ONCE], most[AT_ONCE], widest = 0;
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            const int at = smaller(next + turn, runs - 1);
            run[turn] = group + at * size;
            found[turn] = next + turn < runs ? bounds[at][0] : 0;
            most[turn] = next + turn < runs ? bounds[at][1] : 0;
            widest = most[turn] - found[turn] > widest ? most[turn] - found[turn] : widest;
        }
#pragma unroll 1
        for (int step = widest > 0 ? power_below(widest) : 0; step > 0; step /= 2) {
#pragma unroll
            for (int turn = 0; turn < AT_ONCE; ++turn) {
                const int to = found[turn] + step;
                if (to > most[turn]) continue;
                const Image y = image(run[turn][to - 1]);
                if (y < x || (next + turn < own && y == x)) found[turn] = to;
            }
        }
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) rank += found[turn];
    }
#if TO_COLUMNS
    __shared__ Item records[BLOCK_SIZE];
    __shared__ int ranks[BLOCK_SIZE];
    records[thread] = item;
    ranks[thread] = start + rank;
    __syncthreads();  // the records are there before they are written
    write_columns(columns, records, last + 1 - first, BLOCK_SIZE, [&](int at) { return ranks[at]; });
#else
    if (first + thread <= last) out[start + rank] = item;
#endif
}
