// Writes words that come as arguments to device memory. So the host need not keep them until a copy is done, and a graph that
// captures the launch holds them. A launch takes up to WRITTEN_WORDS words.
//
// Macros: none.
#include "beside.cuh"
#include "sizes.cuh"

struct Words {
    long long at[WRITTEN_WORDS];
};

// to[0 .. count) becomes the first `count` words. One block of WRITTEN_WORDS threads. It waits for the launch ahead of it at
// its end only, so launches that write to other places may run beside each other.
extern "C" __global__ void __launch_bounds__(WRITTEN_WORDS) write_words(
    const __grid_constant__ Words words, long long count, long long* to)
{
    let_next_begin();
    if (static_cast<long long>(threadIdx.x) < count) to[threadIdx.x] = words.at[threadIdx.x];
    await_previous();
}
