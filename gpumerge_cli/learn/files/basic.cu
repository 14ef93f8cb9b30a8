// Basic: each thread of the grid merges an equal piece of C, which it finds by two calls of co_rank.
//
// Given: int co_rank(k, A, m, B, n), and void merge_sequential(A, m, B, n, C). m + n need not be a multiple of the number
// of threads, and there may be more threads than items. Some threads then have less to do, or nothing.
#include "given.cuh"

extern "C" __global__ void basic(const int* A, int m, const int* B, int n, int* C)
{
    // GAP: the piece of this thread, and its merge
    const int threads = gridDim.x * blockDim.x;
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int items = (m + n + threads - 1) / threads;
    const int k_curr = min(thread * items, m + n);
    const int k_next = min(k_curr + items, m + n);
    const int i_curr = co_rank(k_curr, A, m, B, n);
    const int i_next = co_rank(k_next, A, m, B, n);
    const int j_curr = k_curr - i_curr;
    const int j_next = k_next - i_next;
    merge_sequential(A + i_curr, i_next - i_curr, B + j_curr, j_next - j_curr, C + k_curr);
    // END
}
