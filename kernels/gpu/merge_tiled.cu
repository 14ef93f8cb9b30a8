// Rung 2: a block owns one section of the output, and merges it in rounds of `tile` outputs. For each round it stages the
// inputs in shared memory with coalesced loads. Then its threads search and merge there.
//
// Full loading stages up to `tile` items of A and of B, because either of them may fill the round alone. Half of the items
// are left over and loaded again. Exact loading first finds the co-rank of the round's end in global memory. Then it stages
// only the two slices that the round consumes, in half of the shared memory.
#include "sizes.cuh"
#include "tile.cuh"

__device__ inline void stage(Item* to, const Item* from, int count)
{
    for (int at = threadIdx.x; at < count; at += blockDim.x) to[at] = from[at];
}

// Full loading. Shared memory: 2 * tile items.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) merge_tiled_full(const __grid_constant__ Source source,
    Item* out, long long items, long long tile, const unsigned char* text, const long long* starts)
{
    __shared__ int a_used;  // items of A in the round
    const Lines lines{text, starts};
    Item* const tile_a = shared_items();
    Item* const tile_b = tile_a + tile;
    for_sections(source, out, lines, [&](const Item* a, const Item* b, Range left, Item* to) {
        while (left.total() > 0) {
            const int a_count = static_cast<int>(smaller(tile, left.a_count()));
            const int b_count = static_cast<int>(smaller(tile, left.b_count()));
            const int round = static_cast<int>(smaller(tile, left.total()));
            stage(tile_a, a + left.a, a_count);
            stage(tile_b, b + left.b, b_count);
            __syncthreads();  // the round is staged before any thread searches it
            merge_round(
                tile_a, a_count, tile_b, b_count, round, static_cast<int>(items), to + left.out(), &a_used, lines);
            __syncthreads();  // every thread is done with the round before the next overwrites it, and a_used is there
            left.a += a_used;
            left.b += round - a_used;
        }
    });
}

// Exact loading. Shared memory: tile items.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) merge_tiled_exact(const __grid_constant__ Source source,
    Item* out, long long items, long long tile, const unsigned char* text, const long long* starts)
{
    __shared__ int a_used;  // items of A in the round
    const Lines lines{text, starts};
    for_sections(source, out, lines, [&](const Item* a, const Item* b, Range left, Item* to) {
        while (left.total() > 0) {
            const long long round = smaller(tile, left.total());
            if (threadIdx.x == 0)
                a_used = static_cast<int>(co_rank<long long>(
                    round, a + left.a, left.a_count(), b + left.b, left.b_count(), lines));
            __syncthreads();  // the cut is written, and all threads are done with the last round, before any thread stages
            const int a_count = a_used;
            const int b_count = static_cast<int>(round) - a_count;
            Item* const tile_a = shared_items();
            Item* const tile_b = tile_a + a_count;
            stage(tile_a, a + left.a, a_count);
            stage(tile_b, b + left.b, b_count);
            __syncthreads();  // the round is staged before any thread searches it
            int same;  // equals a_count: the merge ends at the cut that the loads use
            merge_round(tile_a, a_count, tile_b, b_count, a_count + b_count, static_cast<int>(items), to + left.out(),
                &same, lines);
            left.a += a_count;
            left.b += b_count;
        }
    });
}
