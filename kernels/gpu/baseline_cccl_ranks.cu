// Thrust's search for items in a sorted run, for comparison. Room and bytes: see baseline_cccl_set.cu.
#include "baseline_cccl.cuh"

#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/system/cuda/execution_policy.h>

#include <exception>

extern "C" int cccl_ranks(
    void* room, size_t* bytes, cudaStream_t stream, const Key* run, long long length, const Key* items, long long count,
    long long* ranks)
{
    if (!room) {
        *bytes = 16 << 20;
        return 0;
    }
    try {
        Room all{static_cast<char*>(room), static_cast<char*>(room) + *bytes};
        const auto policy = thrust::cuda::par(all).on(stream);
        thrust::lower_bound(policy, run, run + length, items, items + count, ranks, First());
        return static_cast<int>(cudaGetLastError());
    } catch (const std::exception&) {
        return static_cast<int>(cudaErrorUnknown);
    }
}
