// Tiled: each block merges an equal section of C, in rounds of `tile` outputs. In a round all threads load the next `tile`
// items of A and of B into shared memory, neighbours beside each other. Then each thread merges its piece from there.
//
// Given: int co_rank(k, A, m, B, n), and void merge_sequential(A, m, B, n, C). Shared memory holds 2 * tile items. A block
// may find nothing to do, a section need not be a multiple of the tile, nor a tile one of the number of threads.
#include "given.cuh"

using Item = int;

extern "C" __global__ void tiled(const Item* A, int m, const Item* B, int n, Item* C, int tile)
{
    extern __shared__ Item shared_AB[];
    Item* const A_s = shared_AB;
    Item* const B_s = shared_AB + tile;
    const int thread = threadIdx.x, threads = blockDim.x;
    const int block = blockIdx.x, blocks = gridDim.x;

    // GAP: the section of this block, and its rounds
    const int section = (m + n + blocks - 1) / blocks;
    const int C_curr = min(block * section, m + n);
    const int C_next = min(C_curr + section, m + n);
    __shared__ int cuts[2];
    if (thread == 0) {
        cuts[0] = co_rank(C_curr, A, m, B, n);
        cuts[1] = co_rank(C_next, A, m, B, n);
    }
    __syncthreads();
    const int A_curr = cuts[0], A_next = cuts[1];
    const int B_curr = C_curr - A_curr, B_next = C_next - A_next;
    const int A_length = A_next - A_curr, B_length = B_next - B_curr, C_length = C_next - C_curr;
    const int rounds = (C_length + tile - 1) / tile;
    const int items = (tile + threads - 1) / threads;
    int A_consumed = 0, B_consumed = 0, C_completed = 0;
    for (int round = 0; round < rounds; ++round) {
        const int A_held = min(tile, A_length - A_consumed);
        const int B_held = min(tile, B_length - B_consumed);
        for (int at = thread; at < A_held; at += threads) A_s[at] = A[A_curr + A_consumed + at];
        for (int at = thread; at < B_held; at += threads) B_s[at] = B[B_curr + B_consumed + at];
        __syncthreads();
        const int count = min(tile, C_length - C_completed);
        const int c_curr = min(thread * items, count);
        const int c_next = min(c_curr + items, count);
        const int a_curr = co_rank(c_curr, A_s, A_held, B_s, B_held);
        const int a_next = co_rank(c_next, A_s, A_held, B_s, B_held);
        const int b_curr = c_curr - a_curr, b_next = c_next - a_next;
        merge_sequential(A_s + a_curr, a_next - a_curr, B_s + b_curr, b_next - b_curr, C + C_curr + C_completed + c_curr);
        C_completed += count;
        A_consumed += co_rank(count, A_s, A_held, B_s, B_held);
        B_consumed = C_completed - A_consumed;
        __syncthreads();
    }
    // END
}
