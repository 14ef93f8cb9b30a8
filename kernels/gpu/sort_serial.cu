// The first tries at a sort: a thread merges two runs alone. Of a level of many short pairs that keeps the device busy; of
// the last levels a few threads, in the end one, do all the work while the others wait.
//
// Macros: BATCHED 1, RUNS 2. Grid: a thread for each pair.
#include "runs.cuh"

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
