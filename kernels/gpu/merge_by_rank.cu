// Merges all runs of a level into one, by rank. The rank of an item is the number of items of all runs that go before it, and so
// its place in the output. A thread takes one item, and searches all runs for it. No step waits for another one, so a few small
// runs take less time than by merge_path.cu, though each item takes more work.
//
// Macros: BLOCK_SIZE threads a block; those of columns.cuh. Images must decide the order: there are no rows.

#include "beside.cuh"
#include "block.cuh"
#include "columns.cuh"

constexpr int AT_ONCE = 4;  // runs that a thread searches at a time

// Merges sorted runs of `length` items, one behind the other, of which the last one may be shorter; `total` items in all. The
// kernel ahead may still write them. With TO_COLUMNS `out` is not used. out must not overlap the items. Grid: total items.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) merge_by_rank(
    const Item* items, long long length, long long total, Item* out, const unsigned char*, const long long*
#if TO_COLUMNS
    ,
    const __grid_constant__ Columns columns
#endif
)
{
    let_next_begin();
    await_previous();
    const int thread = static_cast<int>(threadIdx.x), size = static_cast<int>(length), count = static_cast<int>(total);
    const int first = static_cast<int>(blockIdx.x) * BLOCK_SIZE;
    const int place = smaller(first + thread, count - 1);
    const int run = place / size, runs = (count + size - 1) / size;
    const Item item = items[place];
    const Image own = image(item);
    const int top = 1 << (31 - __clz(size));
    int rank = place - run * size;
#pragma unroll 1
    for (int next = 0; next < runs; next += AT_ONCE) {
        int begin[AT_ONCE], found[AT_ONCE], most[AT_ONCE];
        bool ties[AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) {
            const int at = next + turn;
            begin[turn] = at * size;
            most[turn] = at == run || at >= runs ? 0 : smaller(count - begin[turn], size);
            ties[turn] = at < run;
            found[turn] = 0;
        }
#pragma unroll 1
        for (int step = top; step > 0; step /= 2) {
#pragma unroll
            for (int turn = 0; turn < AT_ONCE; ++turn) {
                const int to = found[turn] + step;
                if (to > most[turn]) continue;
                const Image y = image(items[begin[turn] + to - 1]);
                if (y < own || (ties[turn] && y == own)) found[turn] = to;
            }
        }
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; ++turn) rank += found[turn];
    }
#if TO_COLUMNS
    __shared__ Item records[BLOCK_SIZE];
    __shared__ int ranks[BLOCK_SIZE];
    records[thread] = item;
    ranks[thread] = rank;
    __syncthreads();  // the records are there before they are written
    write_columns(columns, records, smaller(BLOCK_SIZE, count - first), BLOCK_SIZE, [&](int at) { return ranks[at]; });
#else
    if (first + thread < count) out[rank] = item;
#endif
}
