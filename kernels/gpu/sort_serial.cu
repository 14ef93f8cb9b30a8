// The first rungs of a sort: one thread merges two runs. A level of many short pairs keeps the device busy. In the last
// levels a few threads do all the work, in the end one thread, and the others wait.
//
// Macros: BATCHED 1, RUNS 2. Grid: a thread for each pair.
#include "runs.cuh"
#include "sizes.cuh"

extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) merge_alone(
    const __grid_constant__ Source source, Item* out, const unsigned char* text, const long long* starts)
{
    const long long pair = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    const long long start = source.start_of(pair);
    if (start >= source.total()) return;
    const Runs runs = source.group(pair);
    merge_sequential<long long>(runs.items_of(0), 0, runs.count_of(0), runs.items_of(1), 0, runs.count_of(1), runs.total(),
        out + start, Lines{text, starts});
}
