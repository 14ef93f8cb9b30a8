// Rung 3: as rung 2 with full loading, but the items that a round leaves over stay in shared memory. Each input has a ring
// of `tile` items. A round refills only the places of the items that the round before consumed.
#include "sizes.cuh"
#include "tile.cuh"

// A view of a ring that begins at its oldest unread item.
struct Ring {
    Item* items;
    int size, head;

    // at must be below 2 * size - head.
    __device__ __forceinline__ Item& operator[](int at) const
    {
        const int place = head + at;
        return items[place < size ? place : place - size];
    }
};

// A block's state of one input. The ring holds the unread items [next - held, next) of the block's section. `next` is the
// first item that was never loaded.
struct Feed {
    const Item* source;
    long long next, end;
    Ring ring;
    int held;

    // Every thread of the block must call this, and a barrier must follow before the new items are read.
    __device__ __forceinline__ void refill()
    {
        const int count = static_cast<int>(smaller(static_cast<long long>(ring.size - held), end - next));
        for (int at = threadIdx.x; at < count; at += blockDim.x) ring[held + at] = source[next + at];
        next += count;
        held += count;
    }

    __device__ __forceinline__ void consume(int count)
    {
        ring.head = ring.head + count < ring.size ? ring.head + count : ring.head + count - ring.size;
        held -= count;
    }
};

// Shared memory: 2 * tile items.
extern "C" __global__ void __launch_bounds__(MAX_BLOCK_SIZE) merge_circular(const __grid_constant__ Source source, Item* out,
    long long items, long long tile, const unsigned char* text, const long long* starts)
{
    __shared__ int a_used;  // items of A in the round
    const Lines lines{text, starts};
    const int size = static_cast<int>(tile);
    for_sections(source, out, lines, [&](const Item* a, const Item* b, Range section, Item* to) {
        Feed feed_a{a, section.a, section.a_end, {shared_items(), size, 0}, 0};
        Feed feed_b{b, section.b, section.b_end, {shared_items() + size, size, 0}, 0};
        long long left = section.total();
        to += section.out();
        while (left > 0) {
            feed_a.refill();
            feed_b.refill();
            __syncthreads();  // the rings are full before any thread searches them
            const int round = static_cast<int>(smaller(tile, left));
            merge_round(
                feed_a.ring, feed_a.held, feed_b.ring, feed_b.held, round, static_cast<int>(items), to, &a_used, lines);
            __syncthreads();  // every thread is done with the round before it is refilled, and a_used is there
            feed_a.consume(a_used);
            feed_b.consume(round - a_used);
            to += round;
            left -= round;
        }
    });
}
