// Counts all digits of all items in one launch, and plans the passes of sort_radix.cu. The block that is done last turns the
// numbers of items into places.
//
// Macros: those of digits.cuh.
#ifndef BLOCK_SIZE
#define BLOCK_SIZE COUNTING_THREADS
#endif

#include "digits.cuh"

constexpr int VECTORS = 4;  // vectors that a thread counts at once
constexpr int PACKED = VECTOR % sizeof(Given) == 0 ? static_cast<int>(VECTOR / sizeof(Given)) : 1;

struct __align__(PACKED > 1 ? VECTOR : alignof(Given)) Vector {
    Given items[PACKED];
};

// The shared memory of a block.
struct Counting {
    unsigned bins[PASSES][DIGITS];
    unsigned long long sums[WARPS];
    unsigned same[PASSES];  // whether all items have one digit
    unsigned is_last;
};

[[maybe_unused]] constexpr int COUNTING_BYTES = counting_bytes(PASSES, WARPS);
static_assert(sizeof(Counting) <= COUNTING_BYTES, "see sizes.cuh");

__device__ __forceinline__ void count_item(const Given& given, Counting* counting)
{
    const Item item = as_item(given);
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass) atomicAdd(&counting->bins[pass][digit_of(item, pass)], 1u);
}

// Counts this block's share of the items. Vectors are read where all their items belong to the input, single items elsewhere.
__device__ __forceinline__ void count_items(const Given* items, long long total, Counting* counting)
{
    const int skipped =
        PACKED == 1 ? 0 : static_cast<int>(reinterpret_cast<unsigned long long>(items) % VECTOR / sizeof(Given));
    const Vector* const vectors = reinterpret_cast<const Vector*>(items - skipped);
    const long long count = (skipped + total + PACKED - 1) / PACKED;
    const long long stride = static_cast<long long>(gridDim.x) * BLOCK_SIZE * VECTORS;
    for (long long first = static_cast<long long>(blockIdx.x) * BLOCK_SIZE * VECTORS; first < count; first += stride) {
        Vector loaded[VECTORS];
#pragma unroll
        for (int turn = 0; turn < VECTORS; ++turn) {
            const long long at = first + turn * BLOCK_SIZE + threadIdx.x;
            if (at * PACKED >= skipped && (at + 1) * PACKED <= skipped + total) loaded[turn] = vectors[at];
        }
#pragma unroll
        for (int turn = 0; turn < VECTORS; ++turn) {
            const long long place = (first + turn * BLOCK_SIZE + threadIdx.x) * PACKED - skipped;
            if (place >= 0 && place + PACKED <= total) {
#pragma unroll
                for (int item = 0; item < PACKED; ++item) count_item(loaded[turn].items[item], counting);
            } else {
#pragma unroll
                for (int item = 0; item < PACKED; ++item)
                    if (place + item >= 0 && place + item < total) count_item(items[place + item], counting);
            }
        }
    }
}

// Turns numbers of items into places, and decides which passes are needed. The last one writes to the first buffer. where: 1
// if the items lie in the first buffer, so the passes must be even in number; 2 if they lie in the second one, so they must
// be odd; 0 elsewhere. Every thread of one block must call this.
__device__ __forceinline__ void make_plan(Plan* plan, long long total, int where, Counting* counting)
{
    const int first = static_cast<int>(threadIdx.x) * BINS;
    if (threadIdx.x < PASSES) counting->same[threadIdx.x] = 0;
    for (int pass = 0; pass < PASSES; ++pass) {
        volatile unsigned long long* const starts = plan->starts[pass] + first;
        unsigned long long counts[BINS], own = 0;
        __syncthreads();  // nobody reads the sums any more, and no digit counts as the same
#pragma unroll
        for (int share = 0; share < BINS; ++share) {
            counts[share] = first < DIGITS ? starts[share] : 0;
            own += counts[share];
            if (counts[share] == static_cast<unsigned long long>(total)) counting->same[pass] = 1;
        }
        unsigned long long ahead = sum_ahead<COUNTING_WARPS>(own, counting->sums);
#pragma unroll
        for (int share = 0; share < BINS; ++share) {
            if (first < DIGITS) starts[share] = ahead;
            ahead += counts[share];
        }
    }
    if (threadIdx.x != 0) return;  // the barrier of the last sums is behind all that was counted
    int needed = 0;
    for (int pass = 0; pass < PASSES; ++pass) needed += !counting->same[pass];
    // A pass that changes no order copies the items.
    bool copies = where == 1 ? needed % 2 == 1 : where == 2 ? needed % 2 == 0 : needed == 0;
    needed += copies;
    for (int pass = 0, from = 0, turn = 0; pass < PASSES; ++pass) {
        if (counting->same[pass]) {
            if (!copies) continue;
            copies = false;
        }
        const int to = PAIRS && turn + 1 == needed ? 0 : (needed - turn) % 2 == 1 ? 1 : 2;
        plan->routes[pass] = route(from, to, turn++);
        from = to;
    }
}

// Counts the digits of all items, and plans the passes. descriptors: `words` words, which become 0. where: see make_plan. Shared
// memory: COUNTING_BYTES. Any number of blocks.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) count_digits(
    const Given* items, long long total, long long where, Plan* plan, Descriptor* descriptors, long long words)
{
    let_next_begin();
    Counting* const counting = reinterpret_cast<Counting*>(shared_bytes);
    unsigned* const bins = counting->bins[0];
    for (int bin = static_cast<int>(threadIdx.x); bin < PASSES * DIGITS; bin += BLOCK_SIZE) bins[bin] = 0;
    __syncthreads();  // the bins are empty before any thread counts
    for (long long at = static_cast<long long>(blockIdx.x) * BLOCK_SIZE + threadIdx.x; at < words;
         at += static_cast<long long>(gridDim.x) * BLOCK_SIZE)
        descriptors[at] = 0;
    count_items(items, total, counting);
    __syncthreads();  // all is counted before the bins are read
    for (int bin = static_cast<int>(threadIdx.x); bin < PASSES * DIGITS; bin += BLOCK_SIZE)
        if (bins[bin] > 0) atomicAdd(plan->starts[0] + bin, static_cast<unsigned long long>(bins[bin]));
    __threadfence();
    __syncthreads();  // the block's numbers are out before it says so
    if (threadIdx.x == 0) counting->is_last = atomicAdd(&plan->finished, 1u) == gridDim.x - 1;
    __syncthreads();  // all threads learn whether this block is the last one
    if (!counting->is_last) return;
    __threadfence();
    make_plan(plan, total, static_cast<int>(where), counting);
}
