// A stable sort by digits of 8 bits, the lowest one first. count_digits.cu counts all digits of all items in one launch. Then
// one launch a digit moves every item behind the items with lower digits, and behind those with the same digit that come
// before it.
//
// A block sorts one tile after another in shared memory, and stores runs of items with the same digit. Where a run goes
// depends on the tiles ahead: every tile says how many items of each digit it has, looks back at what others published until one
// of them knows the sum of all tiles up to it, and then says its own sum. Tiles are taken in order, so those ahead are always
// under way. A pass whose digit is the same in all items is left out.
// Source: Adinets and Merrill, Onesweep: A Faster Least Significant Digit Radix Sort for GPUs, 2022.
//
// Macros: ITEMS_PER_THREAD items a thread; BLOCKS_PER_MULTIPROCESSOR; and those of digits.cuh.
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 384
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 12
#endif
#ifndef BLOCKS_PER_MULTIPROCESSOR
#define BLOCKS_PER_MULTIPROCESSOR 1
#endif

#include "digits.cuh"

constexpr int TILE = BLOCK_SIZE * ITEMS_PER_THREAD;
constexpr int MASKED = 3;  // of so many items, one is ranked by masks in shared memory, and the others by votes
constexpr int AT_ONCE = 8;  // items that a thread stores at once
constexpr int LOOKED_AT = 4;  // tiles that a thread looks back at at once

// The shared memory of a block that moves items: a tile in the order of its digits; of each warp and digit, first how many
// items there are, then where the next one goes in the tile, and which lanes have one; and of each digit, where the tile's
// items go in the output, less their place in the tile.
struct Staged {
    Item items[TILE];
    unsigned counts[WARPS][DIGITS];
    unsigned masks[WARPS][DIGITS];
    Descriptor places[DIGITS];
    unsigned sums[WARPS];
    unsigned next;
};

[[maybe_unused]] constexpr int STAGED_BYTES = moving_bytes(TILE, sizeof(Item), WARPS, sizeof(Descriptor));
static_assert(sizeof(Staged) <= STAGED_BYTES, "see sizes.cuh");

// The lanes of the warp with the same digit. All lanes must call this, and meet here as at a barrier.
__device__ __forceinline__ unsigned peers(unsigned digit)
{
    unsigned same = ALL;
#if defined(__CUDA_ARCH__)
#pragma unroll
    for (int bit = 0; bit < DIGIT_BITS; bit += 2) {
        unsigned votes[2];
#pragma unroll
        for (int of = 0; of < 2; ++of)  // a select, which the compiler makes of ?:, takes twice as many instructions
            asm volatile("{\n\t.reg .pred set;\n\t"
                         "and.b32 %0, %1, %2;\n\t"
                         "setp.ne.u32 set, %0, 0;\n\t"
                         "vote.sync.ballot.b32 %0, set, 0xffffffff;\n\t"
                         "@!set not.b32 %0, %0;\n\t}"
                         : "=r"(votes[of])
                         : "r"(digit), "r"(1u << (bit + of)));
        asm("lop3.b32 %0, %0, %1, %2, 0x80;" : "+r"(same) : "r"(votes[0]), "r"(votes[1]));  // all three
    }
#else
    for (int bit = 0; bit < DIGIT_BITS; ++bit) {
        const bool set = digit >> bit & 1;
        const unsigned votes = __ballot_sync(ALL, set);
        same &= set ? votes : ~votes;
    }
#endif
    return same;
}

// Calls load(i) for the places of this thread's items in a tile: neighbouring lanes have neighbouring items.
template <typename Load>
__device__ __forceinline__ void load_tile(Item (&items)[ITEMS_PER_THREAD], int first, int count, Load load)
{
    if (count == TILE) {
#pragma unroll
        for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) items[turn] = load(first + turn * WARP);
    } else {
#pragma unroll
        for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn)
            items[turn] = first + turn * WARP < count ? load(first + turn * WARP) : Item{};
    }
}

// Sorts a tile into `staged`, and publishes in `descriptors` how many items have each digit. bins: these numbers, of this thread's
// digits; ahead: how many items of the tile have lower digits. The next tile is taken. The items that a last tile lacks would
// lie behind all others of their warps, so they change no rank, though their lanes vote.
__device__ __forceinline__ void stage_tile(const Item (&items)[ITEMS_PER_THREAD], int first, int count, int pass,
    Staged* staged, unsigned (&bins)[BINS], unsigned (&ahead)[BINS], Descriptor* descriptors, unsigned* ticket)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    unsigned *const counts = staged->counts[warp], *const masks = staged->masks[warp];
    const int turns = (count - first + WARP - 1) / WARP;  // this thread has so many items; 0 or less if none
#pragma unroll
    for (int bin = lane; bin < DIGITS; bin += WARP) counts[bin] = masks[bin] = 0;
    __syncwarp();  // the counts are 0 before any lane counts
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn)
        if (turn < turns) atomicAdd(&counts[digit_of(items[turn], pass)], 1u);
    __syncthreads();  // every warp has counted before the counts are summed
    if (threadIdx.x == 0) staged->next = atomicAdd(ticket, 1u);
    unsigned sum = 0;
#pragma unroll
    for (int share = 0; share < BINS; ++share) {
        const int bin = static_cast<int>(threadIdx.x) * BINS + share;
        bins[share] = 0;
        if (bin < DIGITS) {
#pragma unroll 2
            for (int other = 0; other < WARPS; ++other) bins[share] += staged->counts[other][bin];
            store_descriptor(descriptors + bin, OWN | bins[share]);
        }
        sum += bins[share];
    }
    unsigned before = sum_ahead<COUNTING_WARPS>(sum, staged->sums);
#pragma unroll
    for (int share = 0; share < BINS; ++share) {
        const int bin = static_cast<int>(threadIdx.x) * BINS + share;
        ahead[share] = before;
        if (bin < DIGITS) {
            unsigned place = before;
#pragma unroll 2
            for (int other = 0; other < WARPS; ++other) {
                const unsigned counted = staged->counts[other][bin];
                staged->counts[other][bin] = place;
                place += counted;
            }
        }
        before += bins[share];
    }
    __syncthreads();  // all counts have become places
#if defined(__CUDA_ARCH__) && KEY_BITS <= 32
    asm volatile("" : "+r"(pass));  // digits are computed again, since registers are too few to keep them
#endif
    const unsigned lower = (1u << lane) - 1;
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) {
        const unsigned digit = digit_of(items[turn], pass);
        const bool masked = turn % MASKED == 0;
        unsigned same = 0;
        if (masked) atomicOr(&masks[digit], 1u << lane);
        else same = peers(digit);
        __syncwarp();  // masks are whole, and places are as the items ahead left them, before any lane reads one
        if (masked) same = masks[digit];
        const unsigned place = counts[digit] + __popc(same & lower);
        __syncwarp();  // all lanes have read before the last one of each digit writes
        if (same >> lane == 1) {
            counts[digit] = place + 1;
            if (masked) masks[digit] = 0;
        }
        if (turn < turns) staged->items[place] = items[turn];
    }
}

// Calls store(place, item) for the items of a sorted tile, each with its place in the output.
template <typename Store>
__device__ __forceinline__ void store_tile(const Staged* staged, int count, int pass, Store store)
{
    const int thread = static_cast<int>(threadIdx.x);
    if (count < TILE) {
#pragma unroll 1
        for (int at = thread; at < count; at += BLOCK_SIZE) {
            const Item item = staged->items[at];
            store(staged->places[digit_of(item, pass)] + at, item);
        }
        return;
    }
#pragma unroll
    for (int first = 0; first < ITEMS_PER_THREAD; first += AT_ONCE) {
        Item items[AT_ONCE];
        Descriptor places[AT_ONCE];
#pragma unroll
        for (int turn = 0; turn < AT_ONCE && first + turn < ITEMS_PER_THREAD; ++turn)
            items[turn] = staged->items[(first + turn) * BLOCK_SIZE + thread];
#pragma unroll
        for (int turn = 0; turn < AT_ONCE && first + turn < ITEMS_PER_THREAD; ++turn)
            places[turn] = staged->places[digit_of(items[turn], pass)];
#pragma unroll
        for (int turn = 0; turn < AT_ONCE && first + turn < ITEMS_PER_THREAD; ++turn)
            store(places[turn] + ((first + turn) * BLOCK_SIZE + thread), items[turn]);
    }
}

// Moves all items in the order of digit `pass`, stably, by the route that is planned. descriptors: a word for each digit of each
// tile, HELD_PASSES times if there are several passes. Shared memory: STAGED_BYTES. Any number of blocks. A pass that is not
// needed waits for the one ahead, too, since the next one waits for it alone. No store leaves the buffers, even if the input
// changes meanwhile.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_MULTIPROCESSOR) sort_radix(const Given* input,
    Item* first_buffer, Item* second_buffer, long long total, long long number, Plan* plan, Descriptor* descriptors
#if PAIRS
    ,
    Ends ends
#endif
)
{
    let_next_begin();
    await_previous();
    const int pass = static_cast<int>(number);
    const unsigned way = plan->routes[pass];
    if (way == 0) return;
    Staged* const staged = reinterpret_cast<Staged*>(shared_bytes);
    const int source = way >> 1 & 3, target = way >> 3 & 3, turn = way >> 5;
    const Item* const from = source == 2 ? second_buffer : first_buffer;
    Item* const to = target == 2 ? second_buffer : first_buffer;
    const long long tiles = (total + TILE - 1) / TILE;
    Descriptor* const own_descriptors = descriptors + turn % HELD_PASSES * tiles * DIGITS;
    Descriptor* const next_descriptors = descriptors + (turn + 1) % HELD_PASSES * tiles * DIGITS;
    const unsigned long long* const starts = plan->starts[pass];
    const int first = static_cast<int>(threadIdx.x) / WARP * WARP * ITEMS_PER_THREAD + static_cast<int>(threadIdx.x) % WARP;

    Item items[ITEMS_PER_THREAD];
    const auto count_of = [&](long long tile) {
        return tile < tiles ? static_cast<int>(smaller(static_cast<long long>(TILE), total - tile * TILE)) : 0;
    };
    const auto load = [&](long long tile, int count) {
        const long long begin = tile * TILE;
#if PAIRS
        if (source == 0) load_tile(items, first, count, [&](int at) { return ends.taken(input, begin + at); });
        else load_tile(items, first, count, [&](int at) { return from[begin + at]; });
#else
        const Item* const run = (source == 0 ? input : from) + begin;
        load_tile(items, first, count, [&](int at) { return run[at]; });
#endif
    };
    // If somebody else changes the input, there may be more items of a digit than were counted. These are left out.
    const Descriptor room = static_cast<Descriptor>(total);
    const auto store = [&](Descriptor place, const Item& item) {
        if (place >= room) return;
#if PAIRS
        if (target == 0) return ends.put(place, item);
#endif
        to[place] = item;
    };

    if (threadIdx.x == 0) staged->next = atomicAdd(&plan->tickets[pass], 1u);
    __syncthreads();  // the number of the first tile is there
    long long tile = staged->next;
    int count = count_of(tile);
    load(tile, count);
    while (tile < tiles) {
        unsigned bins[BINS], ahead[BINS];
        Descriptor* const of_tile = own_descriptors + tile * DIGITS;
        unsigned* const ticket = &plan->tickets[pass];
        stage_tile(items, first, count, pass, staged, bins, ahead, of_tile, ticket);
        const long long next = staged->next;
#pragma unroll
        for (int share = 0; share < BINS; ++share) {
            const int bin = static_cast<int>(threadIdx.x) * BINS + share;
            if (bin < DIGITS) {
                const Descriptor sum = look_back<DIGITS, LOOKED_AT>(own_descriptors, tile, bin);
                store_descriptor(of_tile + bin, SUM | (sum + bins[share]));
                if (PASSES > 1) next_descriptors[tile * DIGITS + bin] = 0;
                staged->places[bin] = static_cast<Descriptor>(starts[bin]) + sum - ahead[share];
            }
        }
        __syncthreads();  // the tile is sorted, and all places are known
        const int next_count = count_of(next);
        load(next, next_count);  // it is under way while this tile is stored
        store_tile(staged, count, pass, store);
        tile = next;
        count = next_count;
    }
}
