// CCCL's merge of two runs, for comparison: cub::DeviceMerge with its own tuning and its own `<`.
//
// As in CUB, a call without room says in `bytes` how much room on the device it needs, and does nothing else.
#include "baseline_cccl.cuh"

#include <cub/device/device_merge.cuh>

extern "C" int cccl_merge(
    void* room, size_t* bytes, cudaStream_t stream, const Key* a, long long m, const Key* b, long long n, Key* out,
    const Payload* a_payload, const Payload* b_payload, Payload* out_payload)
{
#if ANCHOR_PAYLOAD
    return cub::DeviceMerge::MergePairs(
        room, *bytes, a, a_payload, m, b, b_payload, n, out, out_payload, First(), stream);
#else
    return cub::DeviceMerge::MergeKeys(room, *bytes, a, m, b, n, out, First(), stream);
#endif
}

// The same merge so often in a row: what a program takes for it that is not Python.
extern "C" int cccl_merges(
    void* room, size_t* bytes, cudaStream_t stream, long long calls, const Key* a, long long m, const Key* b, long long n,
    Key* out)
{
    int error = 0;
    while (calls-- > 0 && !error) error = cccl_merge(room, bytes, stream, a, m, b, n, out, nullptr, nullptr, nullptr);
    return error;
}
