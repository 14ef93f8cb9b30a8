// The fast rung: each block merges one tile of output. Its slices of all runs come into shared memory, back to back. They are
// merged there in pairs, and the tile goes out in one piece. So every item crosses the device's memory once each way, however
// many runs there are. To merge two slices, every thread finds its diagonal and merges a fixed number of items in registers.
// Source: Green, McColl and Bader, GPU Merge Path, 2012.
//
// Macros: RUNS 2, 4, 8 or 16; BLOCK_SIZE threads a block, ITEMS_PER_THREAD outputs a thread; BULK, see transfer.cuh; those of
// columns.cuh.

#include "block.cuh"
#include "cuts.cuh"
#include "share.cuh"
#include "stage.cuh"
#include "tile.cuh"
#include "transfer.cuh"
#include "wide.cuh"

// Each thread of a pair merges ITEMS_PER_THREAD items, and its last thread the rest. So each pair may need one more thread.
constexpr int SPARE_THREADS = RUNS == 2 ? 0 : RUNS / 2;
constexpr int TILE = (BLOCK_SIZE - SPARE_THREADS) * ITEMS_PER_THREAD;
static_assert(TILE > 0 && BLOCK_SIZE >= WINDOWS, "a block needs more threads for so many runs");
[[maybe_unused]] constexpr int STAGED_BYTES = staged_bytes(TILE, ITEMS_PER_THREAD, SIZE, RUNS);

// The share of a thread in the merge of two staged slices; see merge_share.
__device__ __forceinline__ Merged merge_slices(
    int diagonal, int a_begin, int a_count, int b_begin, int b_count, Lines lines)
{
#if MERGES_WIDE
    if (TILE <= MOST_FOLLOWERS) return merge_wide(diagonal, a_begin, a_count, b_begin, b_count, lines);
#endif
    return merge_share(diagonal, a_begin, a_count, b_begin, b_count, lines);
}

// Merges neighbouring staged slices in pairs. A slice of `level` holds 2^level runs. The results lie back to back, `shift`
// bytes behind the start of shared memory. Every thread of the block must call this.
__device__ __forceinline__ void merge_pairs(const Staged* staged, int level, int shift, Lines lines)
{
    int pair = 0, thread = static_cast<int>(threadIdx.x);
    if (RUNS > 2) {
        // The number of threads ahead of a pair: one for each whole share of items ahead, and one more for each pair ahead,
        // which may have a rest.
        const auto threads_ahead = [&](int of) { return staged->base[of << (level + 1)] / ITEMS_PER_THREAD + of; };
        for (int step = RUNS >> (level + 2); step > 0; step /= 2)
            if (thread >= threads_ahead(pair + step)) pair += step;
        thread -= threads_ahead(pair);
    }
    const int first = staged->base[pair << (level + 1)];
    const int middle = staged->base[(2 * pair + 1) << level];
    const int a_count = middle - first;
    const int b_count = staged->base[(pair + 1) << (level + 1)] - middle;
    const int a_begin = level == 0 ? staged->begin[2 * pair] : first * SIZE;
    const int b_begin = level == 0 ? staged->begin[2 * pair + 1] : middle * SIZE;

    const int total = a_count + b_count;
    const int diagonal = smaller(thread * ITEMS_PER_THREAD, total);
    const int count = smaller(ITEMS_PER_THREAD, total - diagonal);
    const Merged merged = merge_slices(diagonal, a_begin, a_count, b_begin, b_count, lines);
    __syncthreads();  // every thread has read its items before any writes over them
    write_share(merged, reinterpret_cast<Item*>(shared_bytes + shift) + first + diagonal, count);
#if BULK
    publish();
#endif
    __syncthreads();  // the merged slices are whole before they are read
}

// Grid: one block a tile. With BATCHED each group but the last has as many tiles as the largest group.
// cuts: the cuts of the tile edges that `partition` writes. The first `own` blocks do not wait for them, but find their own.
// With TO_COLUMNS `out` is not used. Shared memory: STAGED_BYTES.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_MULTIPROCESSOR) merge_path(
    const __grid_constant__ Source source, Item* out, const long long* cuts, long long own, const unsigned char* text,
    const long long* starts
#if FROM_COLUMNS || TO_COLUMNS
    ,
    const __grid_constant__ Columns columns
#endif
)
{
    __shared__ Ends ends;
    __shared__ Staged staged;
    __shared__ Arrival arrival;
    static_assert(sizeof(Ends) + sizeof(Staged) + sizeof(Arrival) <= STATIC_SHARED);
    const Lines lines{text, starts};
    const Part part = source.here(static_cast<unsigned>((source.largest() + TILE - 1) / TILE));
    const Runs& runs = source.group(part.group);
    const long long first = static_cast<long long>(part.block) * TILE;
    out += source.start_of(part.group);
    const long long* low = cuts + (blockIdx.x + part.group) * RUNS;  // a group has one edge more than it has tiles
    const long long* high = low + RUNS;
    if (blockIdx.x < own) {
        cut_ends(runs, first, smaller(first + TILE, runs.total()), BLOCK_SIZE, &ends, lines);
        low = ends.cuts[0].at;
        high = ends.cuts[1].at;
    } else {
        await_previous();
    }
    if (fill_tile(runs, low, high, out + first)) return;
    if (threadIdx.x == 0) {
        prepare(&arrival);
        lay_out(runs, low, high, ends.cuts[1].at, &staged, &arrival);
    }
    __syncthreads();  // the layout is written before any thread reads it
#if FROM_COLUMNS
    stage<ITEMS_PER_THREAD>(runs, columns, &staged);
#elif BULK
    await(&arrival);
#else
    stage<slice_bytes(TILE, SIZE, RUNS) / VECTOR>(&staged);
    __syncthreads();  // the slices have arrived before any thread searches them
#endif

    // The last merge leaves the tile as far behind the start of a vector as its place in the output.
    const int shift = TO_COLUMNS ? 0 : vector_offset(out + first);
#pragma unroll 1
    for (int level = 0; (1 << level) < RUNS; ++level) merge_pairs(&staged, level, (2 << level) < RUNS ? 0 : shift, lines);
#if TO_COLUMNS
    write_columns(columns, shared_items(), source.start_of(part.group) + first, staged.base[RUNS], BLOCK_SIZE);
#else
    store(reinterpret_cast<unsigned char*>(out + first), shared_bytes + shift, staged.base[RUNS] * SIZE, BLOCK_SIZE);
#endif
}
