// CUB's merge sort of keys, for comparison: its agents, its tuning, with this project's key image as the comparison. The
// headers are CuPy's copy of CUB.
//
// Macros: CUB_BLOCK_SIZE threads a block, CUB_ITEMS items a thread, CUB_WIDE 1 for 2^31 items or more.

// CUB's agents call these functions, and NVRTC does not know them. They do nothing for kernels that run one after the other.
__device__ inline void cudaGridDependencySynchronize() {}
__device__ inline void cudaTriggerProgrammaticLaunchCompletion() {}

#include <cub/agent/agent_merge_sort.cuh>
#include <thrust/system/cuda/detail/core/make_load_iterator.h>

#include "../corank.cuh"

struct ImageLess {
    __device__ __forceinline__ bool operator()(Item y, Item x) const { return before(y, x, Lines{}); }
};

using Policy = cub::AgentMergeSortPolicy<
    CUB_BLOCK_SIZE, CUB_ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT, cub::BLOCK_STORE_WARP_TRANSPOSE>;
#if CUB_WIDE
typedef unsigned long long Offset;
#else
typedef unsigned int Offset;
#endif
using None = cub::NullType;
using SortAgent = cub::detail::merge_sort::AgentBlockSort<Policy, Item*, None*, Item*, None*, Offset, ImageLess, Item, None>;
using CutAgent = cub::detail::merge_sort::AgentPartition<Item*, Offset, ImageLess, Item>;
using MergeAgent = cub::detail::merge_sort::AgentMerge<Policy, Item*, None*, Offset, ImageLess, Item, None>;

template <typename T>
__device__ auto loaded(T* items)
{
    return thrust::cuda_cub::core::detail::make_load_iterator(Policy(), items);
}

extern "C" __global__ void __launch_bounds__(CUB_BLOCK_SIZE) cub_sort_tiles(Item* items, Item* out, long long count)
{
    __shared__ typename SortAgent::TempStorage storage;
    None* const none = nullptr;
    SortAgent(true, storage, loaded(items), loaded(none), static_cast<Offset>(count), out, none, out, none, ImageLess()).Process();
}

// merged: tiles that a merge of this pass makes of two runs.
extern "C" __global__ void cub_sort_partition(Item* items, long long count, Offset* cuts, long long edges, long long merged)
{
    const long long edge = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (edge >= edges) return;
    CutAgent{true, items, items, static_cast<Offset>(count), static_cast<Offset>(edge), cuts, ImageLess(),
        static_cast<Offset>(merged), CUB_BLOCK_SIZE * CUB_ITEMS, static_cast<Offset>(edges)}
        .Process();
}

extern "C" __global__ void __launch_bounds__(CUB_BLOCK_SIZE) cub_sort_merge(
    Item* items, Item* out, long long count, Offset* cuts, long long merged)
{
    __shared__ typename MergeAgent::TempStorage storage;
    None* const none = nullptr;
    MergeAgent(true, storage, loaded(items), loaded(none), loaded(items), loaded(none), static_cast<Offset>(count),
        out, none, items, none, ImageLess(), cuts, static_cast<Offset>(merged))
        .Process();
}
