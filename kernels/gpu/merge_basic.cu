// Rung 1: every thread finds the co-rank of its first output and merges its few outputs, all in global memory.
//
// Threads share nothing, so nothing can race. Neighbouring threads read and write addresses that are far apart, so most of
// each memory transaction is wasted. One item a thread is the kernel without coarsening: one search for each output.
#include "runs.cuh"
#include "sizes.cuh"

// Grid: ceil(items in all / (threads a block * items)) blocks. No shared memory.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) merge_basic(const __grid_constant__ Source source, Item* out,
    long long items, const unsigned char* text, const long long* starts)
{
    const Lines lines{text, starts};
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for_groups(source, out, thread * items, thread * items + items,
        [&](const Runs& pair, Item* to, long long first, long long last) {
            const Item *const a = pair.items_of(0), *const b = pair.items_of(1);
            const long long m = pair.count_of(0), n = pair.count_of(1);
            const long long i = co_rank<long long>(first, a, m, b, n, lines);
            merge_sequential<long long>(a, i, m, b, first - i, n, last - first, to + first, lines);
        });
}
