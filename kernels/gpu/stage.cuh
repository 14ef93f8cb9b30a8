// The slices of a tile in shared memory, back to back: where they lie there, and how they come there.
//
// Macros: BLOCK_SIZE threads a block; BULK, see transfer.cuh; those of columns.cuh.
#pragma once

#include "share.cuh"

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
// inside the page. The merge skips what they bring. low, high: the cuts of the tile. settled: room for a cut. origin: the
// byte of shared memory from which they lie, at the start of a vector.
__device__ __forceinline__ void lay_out(
    const Runs& runs, const long long* low, const long long* high, long long* settled, Staged* staged, Arrival* arrival,
    int origin = 0)
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
        staged->begin[run] = origin + items * SIZE;
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
        staged->begin[run] = origin + vectors * VECTOR + offset;
        staged->base[run] = items;
        windows[run] = vectors;
        items += counts[run];
        vectors += counts[run] == 0 ? 0 : (offset + counts[run] * SIZE + VECTOR - 1) / VECTOR;
    }
    windows[RUNS] = vectors;
    staged->base[RUNS] = items;
#if BULK
    announce(arrival, vectors * VECTOR);
    uint4* const to = reinterpret_cast<uint4*>(shared_bytes + origin);
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

// Makes the records of the tile from its slices of the columns. A thread makes TURNS of them at most. origin: see lay_out.
template <int TURNS>
__device__ __forceinline__ void stage(const Runs& runs, const Columns& columns, const Staged* staged, int origin = 0)
{
    int run = 0;
    long long ahead = 0;  // the items of all runs ahead
    read_columns<BLOCK_SIZE, TURNS>(reinterpret_cast<Item*>(shared_bytes + origin), staged->base[RUNS], [&](int at) {
        while (at >= staged->base[run + 1]) ahead += runs.count_of(run++);
        const long long place = staged->from[run] + (at - staged->base[run]);
        return item_of(runs.keys[run][place], payload_at(columns, run, place, ahead + place));
    });
}

#elif !BULK

// Loads the windows, which have at most VECTORS vectors. All loads are issued before a thread waits for the first one.
// origin: see lay_out.
template <int VECTORS>
__device__ __forceinline__ void stage(const Staged* staged, int origin = 0)
{
    constexpr int VECTORS_PER_THREAD = (VECTORS + BLOCK_SIZE - 1) / BLOCK_SIZE;
    uint4* const to = reinterpret_cast<uint4*>(shared_bytes + origin);
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
