// The fast rung: each block merges one tile of output. Its slices of all runs come into shared memory, back to back. They are
// merged there in pairs, and the tile goes out in one piece. So every item crosses the device's memory once each way, however
// many runs there are. To merge two slices, every thread finds its diagonal and merges a fixed number of items in registers.
// Source: Green, McColl and Bader, GPU Merge Path, 2012.
//
// Macros: RUNS 2, 4, 8 or 16; BLOCK_SIZE threads a block, ITEMS_PER_THREAD outputs a thread; BULK, see transfer.cuh; those of
// columns.cuh.
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 15
#endif
#ifndef BLOCKS_PER_MULTIPROCESSOR
#define BLOCKS_PER_MULTIPROCESSOR 1
#endif

#include "cuts.cuh"
#include "share.cuh"
#include "tile.cuh"
#include "transfer.cuh"
#include "wide.cuh"

// Each thread of a pair merges ITEMS_PER_THREAD items, and its last thread the rest. So each pair may need one more thread.
constexpr int SPARE_THREADS = RUNS == 2 ? 0 : RUNS / 2;
constexpr int TILE = (BLOCK_SIZE - SPARE_THREADS) * ITEMS_PER_THREAD;
static_assert(TILE > 0 && BLOCK_SIZE >= WINDOWS, "a block needs more threads for so many runs");
// A slice may start and end inside a vector. A merge reads past the ends of slices, and ignores what it reads there.
constexpr int SLICE_VECTORS = (TILE * SIZE + VECTOR - 1) / VECTOR + 2 * RUNS;
[[maybe_unused]] constexpr int STAGED_BYTES = SLICE_VECTORS * VECTOR + (ITEMS_PER_THREAD + 1) * SIZE + VECTOR;

// The places of the slices in shared memory, and their sources.
struct Staged {
    int begin[RUNS];             // the byte at which a slice begins
    int base[RUNS + 1];          // the number of items in all slices ahead
    int window[RUNS + 1];        // the number of vectors in all windows ahead; a window: the whole vectors that hold a slice
    const uint4* sources[RUNS];  // where the windows come from
#if FROM_COLUMNS
    long long from[RUNS];  // the place of a slice in its run
#endif
};

// If runs are not in order, the cuts of some runs may go back, and then the tile's slices of the other runs are too long.
// This moves the end of the tile: it gets nothing of the runs that go back, and less of the last ones. settled: the new end;
// it may be `high` itself.
__device__ __forceinline__ void settle(const long long* low, const long long* high, long long* settled)
{
    long long left = 0;
#pragma unroll 1
    for (int run = 0; run < RUNS; ++run) left += high[run] - low[run];
#pragma unroll 1
    for (int run = 0; run < RUNS; ++run) {
        const long long count = high[run] < low[run] ? 0 : smaller(high[run] - low[run], left);
        settled[run] = low[run] + count;
        left -= count;
    }
}

// Lays the windows out back to back and, with BULK, starts the copies. One thread must call this; it has all of the layout in
// registers before it starts the first copy. Reads past a slice stay inside a vector that holds some of its items, and so
// inside the page. The merge skips what they bring. low, high: the cuts of the tile. settled: room for a cut.
__device__ __forceinline__ void lay_out(
    const Runs& runs, const long long* low, const long long* high, long long* settled, Staged* staged, Arrival* arrival)
{
    long long from[RUNS];
    int counts[RUNS];
    for (bool back = true; back; high = settled) {
        long long signs = 0;
#pragma unroll
        for (int run = 0; run < RUNS; ++run) {
            from[run] = low[run];
            const long long count = high[run] - from[run];
            counts[run] = static_cast<int>(count);
            signs |= count;
        }
        back = signs < 0;
        if (back) settle(low, high, settled);
    }
#if FROM_COLUMNS
    int items = 0;
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
        staged->begin[run] = items * SIZE;
        staged->base[run] = items;
        staged->from[run] = from[run];
        items += counts[run];
    }
    staged->base[RUNS] = items;
#else
    const uint4* sources[RUNS];
    int windows[RUNS + 1];
    int vectors = 0, items = 0;
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
        const Item* const slice = runs.items_of(run) + from[run];
        const int offset = vector_offset(slice);
        sources[run] = reinterpret_cast<const uint4*>(reinterpret_cast<const unsigned char*>(slice) - offset);
        staged->begin[run] = vectors * VECTOR + offset;
        staged->base[run] = items;
        windows[run] = vectors;
        items += counts[run];
        vectors += counts[run] == 0 ? 0 : (offset + counts[run] * SIZE + VECTOR - 1) / VECTOR;
    }
    windows[RUNS] = vectors;
    staged->base[RUNS] = items;
#if BULK
    announce(arrival, vectors * VECTOR);
    uint4* const to = reinterpret_cast<uint4*>(shared_bytes);
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
        const int size = windows[run + 1] - windows[run];
        if (size > 0) bulk_load(to + windows[run], sources[run], size * VECTOR, arrival);
    }
#else
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
        staged->window[run] = windows[run];
        staged->sources[run] = sources[run];
    }
    staged->window[RUNS] = vectors;
#endif
#endif
}

#if FROM_COLUMNS

// Makes the records of the tile from its slices of the columns.
__device__ __forceinline__ void stage(const Runs& runs, const Columns& columns, const Staged* staged)
{
    int run = 0;
    long long ahead = 0;  // the items of all runs ahead
    read_columns<BLOCK_SIZE, ITEMS_PER_THREAD>(shared_items(), staged->base[RUNS], [&](int at) {
        while (at >= staged->base[run + 1]) ahead += runs.count_of(run++);
        const long long place = staged->from[run] + (at - staged->base[run]);
        return item_of(runs.keys[run][place], payload_at(columns, run, place, ahead + place));
    });
}

#elif !BULK
constexpr int VECTORS_PER_THREAD = (SLICE_VECTORS + BLOCK_SIZE - 1) / BLOCK_SIZE;

// All loads are issued before a thread waits for the first one.
__device__ __forceinline__ void stage(const Staged* staged)
{
    uint4* const to = reinterpret_cast<uint4*>(shared_bytes);
    const int vectors = staged->window[RUNS];
    uint4 loaded[VECTORS_PER_THREAD];
    int run = 0;
#pragma unroll
    for (int turn = 0; turn < VECTORS_PER_THREAD; ++turn) {
        const int at = turn * BLOCK_SIZE + static_cast<int>(threadIdx.x);
        if (at >= vectors) continue;
        while (at >= staged->window[run + 1]) ++run;
        loaded[turn] = staged->sources[run][at - staged->window[run]];
    }
#pragma unroll
    for (int turn = 0; turn < VECTORS_PER_THREAD; ++turn) {
        const int at = turn * BLOCK_SIZE + static_cast<int>(threadIdx.x);
        if (at < vectors) to[at] = loaded[turn];
    }
}
#endif

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

// Grid: one block a tile. With BATCHED each group but the last has as many blocks as the largest group has tiles.
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
    const Lines lines{text, starts};
    const unsigned tiles = static_cast<unsigned>((source.largest() + TILE - 1) / TILE);
    const long long group = source.group_here(tiles);
    const long long tile = source.block_here(tiles);
    const Runs& runs = source.group(group);
    const long long first = tile * TILE;
    out += source.start_of(group);
    const long long* low = cuts + (group * (tiles + 1) + tile) * RUNS;
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
    stage(runs, columns, &staged);
#elif BULK
    await(&arrival);
#else
    stage(&staged);
    __syncthreads();  // the slices have arrived before any thread searches them
#endif

    // The last merge leaves the tile as far behind the start of a vector as its place in the output.
    const int shift = TO_COLUMNS ? 0 : vector_offset(out + first);
#pragma unroll 1
    for (int level = 0; (1 << level) < RUNS; ++level) merge_pairs(&staged, level, (2 << level) < RUNS ? 0 : shift, lines);
#if TO_COLUMNS
    write_columns(columns, shared_items(), source.start_of(group) + first, staged.base[RUNS], BLOCK_SIZE);
#else
    store(reinterpret_cast<unsigned char*>(out + first), shared_bytes + shift, staged.base[RUNS] * SIZE, BLOCK_SIZE);
#endif
}
