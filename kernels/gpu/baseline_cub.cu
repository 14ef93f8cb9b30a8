// CUB's merge of two runs of keys, for comparison: its agent, its search, its tuning, with this project's key image as
// the comparison. The headers are CuPy's copy of CUB.
//
// Macros: CUB_BLOCK_SIZE threads a block, CUB_ITEMS outputs a thread, CUB_PAYLOAD bytes that go with each key: 0, 4 or 8.
#include <cub/agent/agent_merge.cuh>

#include "../corank.cuh"

struct ImageLess {
    __device__ __forceinline__ bool operator()(Item y, Item x) const { return before(y, x, Lines{}); }
};

#if CUB_PAYLOAD == 8
typedef unsigned long long Payload;
#elif CUB_PAYLOAD == 4
typedef unsigned int Payload;
#else
typedef cub::NullType Payload;
#endif

using Policy = cub::detail::merge::agent_policy_t<
    CUB_BLOCK_SIZE, CUB_ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT, cub::BLOCK_STORE_WARP_TRANSPOSE>;
using Agent = cub::detail::merge::agent_t<
    Policy, const Item*, const Payload*, const Item*, const Payload*, Item*, Payload*, long long, ImageLess>;

extern "C" __global__ void cub_partition(
    const Item* a, long long m, const Item* b, long long n, long long* cuts, long long edges)
{
    const long long edge = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (edge >= edges) return;
    const long long tile = CUB_BLOCK_SIZE * CUB_ITEMS;
    cuts[edge] = cub::MergePath(a, b, m, n, smaller(edge * tile, m + n), ImageLess{});
}

extern "C" __global__ void __launch_bounds__(CUB_BLOCK_SIZE) cub_merge(
    const Item* a, long long m, const Item* b, long long n, Item* out, long long* cuts,
    const Payload* a_payload, const Payload* b_payload, Payload* out_payload)
{
    __shared__ typename Agent::TempStorage storage;
    using thrust::cuda_cub::core::detail::make_load_iterator;
    Agent{
        storage.Alias(), make_load_iterator(Policy{}, a), make_load_iterator(Policy{}, a_payload), m,
        make_load_iterator(Policy{}, b), make_load_iterator(Policy{}, b_payload), n, out, out_payload, ImageLess{}, cuts}();
}
