// CCCL's sorts, for comparison: cub::DeviceRadixSort, and the stable cub::DeviceMergeSort with its own `<`, both with their
// own tuning. The keys stay as they are. Room and bytes: see baseline_cccl_merge.cu.
#include "baseline_cccl.cuh"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

extern "C" int cccl_radix_sort(
    void* room, size_t* bytes, cudaStream_t stream, const Key* keys, long long count, Key* out, const Payload* payloads,
    Payload* out_payloads)
{
    constexpr int all = 8 * sizeof(Key);
    using Sort = cub::DeviceRadixSort;
#if ANCHOR_PAYLOAD && ANCHOR_DESCENDING
    return Sort::SortPairsDescending(room, *bytes, keys, out, payloads, out_payloads, count, 0, all, stream);
#elif ANCHOR_PAYLOAD
    return Sort::SortPairs(room, *bytes, keys, out, payloads, out_payloads, count, 0, all, stream);
#elif ANCHOR_DESCENDING
    return Sort::SortKeysDescending(room, *bytes, keys, out, count, 0, all, stream);
#else
    return Sort::SortKeys(room, *bytes, keys, out, count, 0, all, stream);
#endif
}

extern "C" int cccl_merge_sort(
    void* room, size_t* bytes, cudaStream_t stream, const Key* keys, long long count, Key* out, const Payload* payloads,
    Payload* out_payloads)
{
    using Sort = cub::DeviceMergeSort;
#if ANCHOR_PAYLOAD
    return Sort::SortPairsCopy(room, *bytes, keys, payloads, out, out_payloads, count, First(), stream);
#else
    return Sort::StableSortKeysCopy(room, *bytes, keys, out, count, First(), stream);
#endif
}
