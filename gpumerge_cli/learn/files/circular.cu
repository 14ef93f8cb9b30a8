// Circular: as tiled, but what a round has loaded and not merged stays for the next one. A_s and B_s are rings: a round
// fills only the places that the round before it emptied, from the end of the rest on and round the end of the array.
//
// Given: int co_rank(k, A, m, B, n) and void merge_sequential(A, m, B, n, C), which also take a ring for A and for B:
// Ring{A_s, tile, start}[at] is A_s[(start + at) % tile], and Ring + 3 begins three items later.
#include "given.cuh"

extern "C" __global__ void circular(const int* A, int m, const int* B, int n, int* C, int tile)
{
    extern __shared__ int shared_AB[];
    int* const A_s = shared_AB;
    int* const B_s = shared_AB + tile;
    const int thread = threadIdx.x, threads = blockDim.x;
    const int block = blockIdx.x, blocks = gridDim.x;

    // The section of this block: A[A_curr:A_curr + A_length] and B[B_curr:B_curr + B_length] make
    // C[C_curr:C_curr + C_length].
    const int section = (m + n + blocks - 1) / blocks;
    const int C_curr = min(block * section, m + n);
    const int C_length = min(section, m + n - C_curr);
    const int A_curr = co_rank(C_curr, A, m, B, n);
    const int B_curr = C_curr - A_curr;
    const int A_length = co_rank(C_curr + C_length, A, m, B, n) - A_curr;
    const int B_length = C_length - A_length;

    // GAP: the rounds
    const int items = (tile + threads - 1) / threads;
    int A_start = 0, B_start = 0;
    int A_loaded = 0, B_loaded = 0;
    int A_consumed = 0, B_consumed = 0, C_completed = 0;
    int A_empty = tile, B_empty = tile;
    while (C_completed < C_length) {
        const int A_more = min(A_empty, A_length - A_loaded);
        const int B_more = min(B_empty, B_length - B_loaded);
        for (int at = thread; at < A_more; at += threads)
            A_s[(A_start + tile - A_empty + at) % tile] = A[A_curr + A_loaded + at];
        for (int at = thread; at < B_more; at += threads)
            B_s[(B_start + tile - B_empty + at) % tile] = B[B_curr + B_loaded + at];
        A_loaded += A_more;
        B_loaded += B_more;
        __syncthreads();
        const Ring A_ring{A_s, tile, A_start}, B_ring{B_s, tile, B_start};
        const int A_held = A_loaded - A_consumed, B_held = B_loaded - B_consumed;
        const int count = min(tile, C_length - C_completed);
        const int c_curr = min(thread * items, count);
        const int c_next = min(c_curr + items, count);
        const int a_curr = co_rank(c_curr, A_ring, A_held, B_ring, B_held);
        const int a_next = co_rank(c_next, A_ring, A_held, B_ring, B_held);
        const int b_curr = c_curr - a_curr, b_next = c_next - a_next;
        merge_sequential(
            A_ring + a_curr, a_next - a_curr, B_ring + b_curr, b_next - b_curr, C + C_curr + C_completed + c_curr);
        A_empty = co_rank(count, A_ring, A_held, B_ring, B_held);
        B_empty = count - A_empty;
        A_start = (A_start + A_empty) % tile;
        B_start = (B_start + B_empty) % tile;
        A_consumed += A_empty;
        B_consumed += B_empty;
        C_completed += count;
        __syncthreads();
    }
    // END
}
