// The fast rung: one tile of output a block, cut beforehand by `partition`. Both slices come in by 16-byte loads, every
// thread finds its diagonal in shared memory and merges a fixed number of items in registers, and the tile goes out by
// 16-byte stores. Source: Green, McColl and Bader, GPU Merge Path, 2012.
//
// Macros: BLOCK_SIZE threads a block, ITEMS_PER_THREAD outputs a thread.
#include "tile.cuh"

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 15
#endif

constexpr int TILE = BLOCK_SIZE * ITEMS_PER_THREAD;
constexpr int VECTOR = 16;  // bytes of the widest load and store
constexpr int ITEMS_PER_VECTOR = VECTOR / static_cast<int>(sizeof(Item));
// Either slice may start and end inside a vector: three vectors more than the tile itself fills.
constexpr int STAGED_VECTORS = (TILE * static_cast<int>(sizeof(Item)) + VECTOR - 1) / VECTOR + 3;
constexpr int VECTORS_PER_THREAD = (STAGED_VECTORS + BLOCK_SIZE - 1) / BLOCK_SIZE;

// The whole vectors that hold a slice. Reads past the slice stay inside a vector that holds some of its items, hence
// inside the page; what they bring is indexed over.
struct Window {
    const uint4* source;
    int vectors, skipped;  // skipped: items of the first vector ahead of the slice

    __device__ __forceinline__ Window(const Item* slice, int count)
    {
        const unsigned long long address = reinterpret_cast<unsigned long long>(slice);
        skipped = static_cast<int>(address % VECTOR / sizeof(Item));
        source = reinterpret_cast<const uint4*>(slice - skipped);
        vectors = count == 0 ? 0 : (skipped + count + ITEMS_PER_VECTOR - 1) / ITEMS_PER_VECTOR;
    }
};

// B's window goes right behind A's. All loads are issued before the first is waited for.
__device__ __forceinline__ void stage(uint4* to, Window a, Window b)
{
    const int vectors = a.vectors + b.vectors;
    uint4 loaded[VECTORS_PER_THREAD];
#pragma unroll
    for (int turn = 0; turn < VECTORS_PER_THREAD; ++turn) {
        const int at = turn * BLOCK_SIZE + static_cast<int>(threadIdx.x);
        if (at < vectors) loaded[turn] = at < a.vectors ? a.source[at] : b.source[at - a.vectors];
    }
#pragma unroll
    for (int turn = 0; turn < VECTORS_PER_THREAD; ++turn) {
        const int at = turn * BLOCK_SIZE + static_cast<int>(threadIdx.x);
        if (at < vectors) to[at] = loaded[turn];
    }
}

__device__ __forceinline__ void store(Item* to, const Item* from, int count)
{
    const bool aligned = reinterpret_cast<unsigned long long>(to) % VECTOR == 0;
    const int vectors = aligned ? count / ITEMS_PER_VECTOR : 0;
    for (int at = threadIdx.x; at < vectors; at += BLOCK_SIZE)
        reinterpret_cast<uint4*>(to)[at] = reinterpret_cast<const uint4*>(from)[at];
    for (int at = vectors * ITEMS_PER_VECTOR + static_cast<int>(threadIdx.x); at < count; at += BLOCK_SIZE)
        to[at] = from[at];
}

// Merges the staged tile and leaves it, in order, at the front of shared memory. FULL: the tile holds TILE items, so that
// no thread runs out of them.
template <bool FULL>
__device__ __forceinline__ void merge_tile(
    Item* tile, int a_begin, int a_count, int b_begin, int b_count, Lines lines)
{
    const int a_end = a_begin + a_count;
    const int b_end = b_begin + b_count;
    const int count = FULL ? TILE : a_count + b_count;
    const int mine = static_cast<int>(threadIdx.x) * ITEMS_PER_THREAD;
    const int diagonal = FULL || mine < count ? mine : count;
    const int cut = co_rank<int>(diagonal, tile + a_begin, a_count, tile + b_begin, b_count, lines);

    int i = a_begin + cut;
    int j = b_begin + diagonal - cut;
    Item x = tile[i];
    Item y = tile[j];
    Image x_image = image(x);
    Image y_image = image(y);
    Item merged[ITEMS_PER_THREAD];
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) {
        if (!FULL && diagonal + turn >= count) break;
        const bool take_b = j < b_end && (i >= a_end || before(y, y_image, x, x_image, lines));
        merged[turn] = take_b ? y : x;
        const Item next = tile[take_b ? ++j : ++i];
        if (take_b) {
            y = next;
            y_image = image(next);
        } else {
            x = next;
            x_image = image(next);
        }
    }
    __syncthreads();  // every thread has read its items before any writes over them

#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn)
        if (FULL || diagonal + turn < count) tile[diagonal + turn] = merged[turn];
    __syncthreads();  // the merged tile is whole before it is stored
}

// Grid: one block a tile. cuts: co-ranks of the tile edges. Shared memory: STAGED_VECTORS vectors and one more, because
// the merge looks one item past a slice's end (and ignores what it sees).
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) merge_path(
    const Item* a, long long m, const Item* b, long long n, Item* out, const long long* cuts,
    const unsigned char* text, const long long* starts)
{
    const Lines lines{text, starts};
    const long long first = static_cast<long long>(blockIdx.x) * TILE;
    const long long last = smaller(first + TILE, m + n);
    const Range range = range_between(first, cuts[blockIdx.x], last, cuts[blockIdx.x + 1]);
    const int a_count = static_cast<int>(range.a_count());
    const int b_count = static_cast<int>(range.b_count());

    const Window window_a(a + range.a, a_count);
    const Window window_b(b + range.b, b_count);
    stage(reinterpret_cast<uint4*>(shared_bytes), window_a, window_b);
    __syncthreads();  // the tile is staged before any thread searches it

    Item* const tile = shared_items();
    const int a_begin = window_a.skipped;
    const int b_begin = window_a.vectors * ITEMS_PER_VECTOR + window_b.skipped;
    if (a_count + b_count == TILE) merge_tile<true>(tile, a_begin, a_count, b_begin, b_count, lines);
    else merge_tile<false>(tile, a_begin, a_count, b_begin, b_count, lines);
    store(out + first, tile, a_count + b_count);
}
