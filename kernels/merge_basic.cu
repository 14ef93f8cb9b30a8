// Rung 1: every thread co-ranks where its own few outputs begin and merges them, all in global memory.
//
// Nothing is shared, so nothing can race; neighbouring threads read and write far-apart addresses, so most of each
// memory transaction is wasted. One item a thread is the form without coarsening: a whole search for each output.
#include "corank.cuh"

// Grid: ceil((m + n) / (threads a block * items)) blocks. No shared memory.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) merge_basic(
    const Item* a, long long m, const Item* b, long long n, Item* out, long long items,
    const unsigned char* text, const long long* starts)
{
    const Lines lines{text, starts};
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long first = smaller(thread * items, m + n);
    const long long last = smaller(first + items, m + n);
    if (first == last) return;
    const long long i = co_rank<long long>(first, a, m, b, n, lines);
    merge_sequential<long long>(a, i, m, b, first - i, n, last - first, out + first, lines);
}
