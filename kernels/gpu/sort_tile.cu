// The first step of a sort: every block sorts one tile. The tile comes into shared memory in one piece. Every thread sorts a
// few items in registers. Then sorted stretches are merged in pairs, as merge_path merges slices, until one stretch is left.
// It goes out in one piece. Every item crosses the device's memory once each way.
//
// Macros: BLOCK_SIZE threads a block, ITEMS_PER_THREAD items a thread; BULK, see transfer.cuh; those of columns.cuh.

#include "block.cuh"
#include "columns.cuh"
#include "network.cuh"
#include "share.cuh"
#include "tile.cuh"
#include "transfer.cuh"

constexpr int TILE = BLOCK_SIZE * ITEMS_PER_THREAD;
[[maybe_unused]] constexpr int STAGED_BYTES = staged_bytes(TILE, ITEMS_PER_THREAD, SIZE, 1);

// Sorts each thread's items of the staged tile, and writes them back. The tile begins at byte `from`, and the result at byte
// `to`. Every thread of the block must call this.
__device__ __forceinline__ void sort_shares(int from, int count, int to, Lines lines)
{
    const int first = smaller(static_cast<int>(threadIdx.x) * ITEMS_PER_THREAD, count);
    const int own = smaller(ITEMS_PER_THREAD, count - first);
    Held items[ITEMS_PER_THREAD];
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) items[turn] = held(item_at(from + (first + turn) * SIZE));
    if (own == ITEMS_PER_THREAD) sort_all(items, lines);
    else sort_some(items, own, lines);
    Merged share;
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) share.put(turn, items[turn].item);
    __syncthreads();  // every thread has read its items before any writes over them
    write_share(share, reinterpret_cast<Item*>(shared_bytes + to) + first, own);
}

// Merges neighbouring stretches of the staged tile in pairs. A stretch has the items of `threads` threads. The tile begins at
// byte `from`, and the result at byte `to`. Every thread of the block must call this.
__device__ __forceinline__ void merge_stretches(int threads, int from, int count, int to, Lines lines)
{
    const int thread = static_cast<int>(threadIdx.x) & (2 * threads - 1);
    const int first = smaller((static_cast<int>(threadIdx.x) - thread) * ITEMS_PER_THREAD, count);
    const int middle = smaller(first + threads * ITEMS_PER_THREAD, count);
    const int end = smaller(middle + threads * ITEMS_PER_THREAD, count);
    const int diagonal = smaller(thread * ITEMS_PER_THREAD, end - first);
    const Merged share =
        merge_share(diagonal, from + first * SIZE, middle - first, from + middle * SIZE, end - middle, lines);
    __syncthreads();  // every thread has read its items before any writes over them
    write_share(share, reinterpret_cast<Item*>(shared_bytes + to) + first + diagonal,
        smaller(ITEMS_PER_THREAD, end - first - diagonal));
}

// out[first .. first + tile) becomes items[first .. first + tile) sorted, for every multiple of `tile`; `total` items in all.
// out may be `items`; with TO_COLUMNS it is not used. Grid: ceil(total / tile) blocks; tile: at most TILE. Shared memory:
// STAGED_BYTES.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_MULTIPROCESSOR) sort_tile(
#if FROM_COLUMNS
    const Key* items,
#else
    const Item* items,
#endif
    long long total, long long tile, Item* out, const unsigned char* text, const long long* starts
#if FROM_COLUMNS || TO_COLUMNS
    ,
    const __grid_constant__ Columns columns
#endif
)
{
    let_next_begin();
    const Lines lines{text, starts};
    const long long first = static_cast<long long>(blockIdx.x) * tile;
    const int count = static_cast<int>(smaller(tile, total - first));
    // The result lies as far behind the start of a vector as its place in the output.
    const int shift = TO_COLUMNS ? 0 : vector_offset(out + first);
#if FROM_COLUMNS
    const int staged = 0;
    read_columns<BLOCK_SIZE, ITEMS_PER_THREAD>(shared_items(), count, [&](int at) {
        return item_of(items[first + at], payload_at(columns, 0, first + at, first + at));
    });
#else
    __shared__ Arrival arrival;
    const int staged = vector_offset(items + first);
    load(shared_bytes, reinterpret_cast<const unsigned char*>(items + first), count * SIZE, BLOCK_SIZE, &arrival);
#endif

    sort_shares(staged, count, BLOCK_SIZE == 1 ? shift : 0, lines);
#pragma unroll 1
    for (int threads = 1; threads < BLOCK_SIZE; threads *= 2) {
        __syncthreads();  // the stretches are whole before they are read
        merge_stretches(threads, 0, count, 2 * threads < BLOCK_SIZE ? 0 : shift, lines);
    }
#if BULK
    publish();
#endif
    __syncthreads();  // the tile is whole before it goes out
#if TO_COLUMNS
    write_columns(columns, shared_items(), first, count, BLOCK_SIZE);
#else
    store(reinterpret_cast<unsigned char*>(out + first), shared_bytes + shift, count * SIZE, BLOCK_SIZE);
#endif
}
