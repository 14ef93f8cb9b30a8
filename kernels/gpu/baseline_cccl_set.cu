// CCCL's sets of two sorted runs, for comparison: Thrust's, with its own tuning and its own `<`. They wait for the number of
// items that go out.
//
// Room and bytes: see baseline_cccl_merge.cu. Thrust does not say how much room it needs, so this is a bound.
#include "baseline_cccl.cuh"

#include <thrust/execution_policy.h>
#include <thrust/set_operations.h>
#include <thrust/system/cuda/execution_policy.h>

#include <exception>

// which: 0 union, 1 intersection, 2 difference, 3 symmetric difference. *count, in host memory, becomes the number of items.
extern "C" int cccl_set(
    void* room, size_t* bytes, cudaStream_t stream, const Key* a, long long m, const Key* b, long long n, Key* out,
    long long which, long long* count)
{
    if (!room) {
        *bytes = static_cast<size_t>((m + n) / 4 + (16 << 20));
        return 0;
    }
    try {
        Room all{static_cast<char*>(room), static_cast<char*>(room) + *bytes};
        const auto policy = thrust::cuda::par(all).on(stream);
        Key* const end = which == 0   ? thrust::set_union(policy, a, a + m, b, b + n, out, First())
                         : which == 1 ? thrust::set_intersection(policy, a, a + m, b, b + n, out, First())
                         : which == 2 ? thrust::set_difference(policy, a, a + m, b, b + n, out, First())
                                      : thrust::set_symmetric_difference(policy, a, a + m, b, b + n, out, First());
        *count = end - out;
        return static_cast<int>(cudaGetLastError());
    } catch (const std::exception&) {
        return static_cast<int>(cudaErrorUnknown);
    }
}
