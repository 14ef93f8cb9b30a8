// A thread's share of the merge of two staged slices, for integers of 32 and 64 bits in merges of more than two runs. Equal
// integers look alike, so ties may go to either slice, and a slice that has ended counts as if only the last of all keys
// followed. That takes fewer instructions than looking for the ends: the smaller of two keys is a minimum.
//
// Macros: as in share.cuh.
#pragma once

#include "share.cuh"

#define MERGES_WIDE (RUNS > 2 && !ROWS && !RECORD_SIZE && KEY_KIND != 2 && KEY_BITS >= 32)

#if MERGES_WIDE

constexpr Image LAST_KEY = static_cast<Image>(SIGNED_IMAGES ? ~(1ull << (KEY_BITS - 1)) : ~0ull);

__device__ __forceinline__ Item item_of(Image image)
{
    return static_cast<Item>(DESCENDING ? ~image : image) + NAT_IS_LAST;
}

// A place in a slice: the address of an item in shared memory, and the number of items that follow it in the slice.
constexpr int ADDRESS_BITS = 18;  // no device has more shared memory
constexpr unsigned FOLLOWER = 1u << ADDRESS_BITS;
constexpr int MOST_FOLLOWERS = (1 << (32 - ADDRESS_BITS)) - 1;

// Where the compiler knows that an address lies in shared memory, it finds out anew for each item where that memory begins.
// So here the address is a number, and the load is written out.
#ifdef __CUDA_ARCH__
__device__ __forceinline__ unsigned place_of(const Item* items)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(items));
}
__device__ __forceinline__ Image key_at(unsigned place)
{
    Item item;
#if KEY_BITS == 32
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(item) : "r"(place % FOLLOWER) : "memory");
#else
    asm volatile("ld.shared.u64 %0, [%1];" : "=l"(item) : "r"(place % FOLLOWER) : "memory");
#endif
    return image(item);
}
#else
inline unsigned place_of(const Item* items)
{
    return static_cast<unsigned>(reinterpret_cast<const unsigned char*>(items) - shared_bytes);
}
inline Image key_at(unsigned place) { return image(item_at(static_cast<int>(place % FOLLOWER))); }
#endif

// The next key of a slice in a merge, and its place.
struct Next {
    Image key;
    unsigned place;
};

__device__ __forceinline__ Next next_of(const Item* items, int left)
{
    const unsigned place = place_of(items);
    if (left == 0) return {LAST_KEY, place};
    return {key_at(place), place + static_cast<unsigned>(left - 1) * FOLLOWER};
}

// As merge_share. Neither slice may have more than MOST_FOLLOWERS items.
__device__ __forceinline__ Merged merge_wide(
    int diagonal, int a_begin, int a_count, int b_begin, int b_count, Lines lines)
{
    const Item* const a_items = reinterpret_cast<const Item*>(shared_bytes + a_begin);
    const Item* const b_items = reinterpret_cast<const Item*>(shared_bytes + b_begin);
    const int i = co_rank_near<ByImage>(diagonal, a_items, a_count, b_items, b_count, lines);
    const int j = diagonal - i;
    const Next a = next_of(a_items + i, a_count - i), b = next_of(b_items + j, b_count - j);
    const bool b_first = b.key < a.key;
    Next first = b_first ? b : a, second = b_first ? a : b;  // first: its key is not the larger one
    Merged merged;
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) {
        merged.put(turn, item_of(first.key));
        Next next = {LAST_KEY, first.place};
        if (next.place >= FOLLOWER) {
            next.place += SIZE - FOLLOWER;
            next.key = key_at(next.place);
        }
        const bool swap = second.key < next.key;
        first = {swap ? second.key : next.key, swap ? second.place : next.place};
        second = {swap ? next.key : second.key, swap ? next.place : second.place};
    }
    return merged;
}

#endif
