// Co-rank at every tile edge, so that a block of merge_path knows its slices before it starts.
#include "corank.cuh"

// cuts[t] becomes the co-rank of output position min(t * tile, m + n), for t in [0, edges).
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) partition(
    const Item* a, long long m, const Item* b, long long n, long long* cuts, long long edges, long long tile,
    const unsigned char* text, const long long* starts)
{
    const long long edge = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (edge >= edges) return;
    cuts[edge] = co_rank<long long>(smaller(edge * tile, m + n), a, m, b, n, Lines{text, starts});
}
