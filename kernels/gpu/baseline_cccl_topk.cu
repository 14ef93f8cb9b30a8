// CCCL's search for the first items, for comparison: cub::DeviceTopK, which gives them in any order, and which of equal ones it
// gives is not certain. Room and bytes: see baseline_cccl_merge.cu.
#include "baseline_cccl.cuh"

#include <cub/device/device_topk.cuh>
#include <cuda/__execution/determinism.h>
#include <cuda/__execution/output_ordering.h>
#include <cuda/__execution/require.h>
#include <cuda/std/execution>
#include <cuda/stream_ref>

extern "C" int cccl_topk(
    void* room, size_t* bytes, cudaStream_t stream, const Key* keys, long long count, long long n, Key* out)
{
    const auto needs = cuda::execution::require(
        cuda::execution::determinism::not_guaranteed, cuda::execution::output_ordering::unsorted);
    const auto here = cuda::std::execution::env{cuda::stream_ref{stream}, needs};
#if ANCHOR_DESCENDING
    return cub::DeviceTopK::MaxKeys(room, *bytes, keys, out, count, n, here);
#else
    return cub::DeviceTopK::MinKeys(room, *bytes, keys, out, count, n, here);
#endif
}
