// Thrust's counts of equal keys in a sorted array, for comparison: reduce_by_key with a one for each key. It waits for their number.
//
// Room and bytes: see baseline_cccl_set.cu.
#include "baseline_cccl.cuh"

#include <thrust/execution_policy.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/reduce.h>
#include <thrust/system/cuda/execution_policy.h>

#include <exception>

// *groups, in host memory, becomes the number of different keys.
extern "C" int cccl_counts(
    void* room, size_t* bytes, cudaStream_t stream, const Key* keys, long long count, Key* out, long long* counts,
    long long* groups)
{
    if (!room) {
        *bytes = static_cast<size_t>(count / 4 + (16 << 20));
        return 0;
    }
    try {
        Room all{static_cast<char*>(room), static_cast<char*>(room) + *bytes};
        const auto policy = thrust::cuda::par(all).on(stream);
        const auto ones = thrust::make_constant_iterator(1LL);
        *groups = thrust::reduce_by_key(policy, keys, keys + count, ones, out, counts).first - out;
        return static_cast<int>(cudaGetLastError());
    } catch (const std::exception&) {
        return static_cast<int>(cudaErrorUnknown);
    }
}
