// The groups of equal neighbours in a sorted run: where each one begins, and its first key.
//
// A block takes a tile of the run at a time, in their order. It counts the groups that begin there, publishes their number, and
// looks back for the number of those ahead (see lookback.cuh). The lanes of a warp look at neighbours, so a vote says which of
// them begin a group.
//
// Macros: those of ../keys.cuh, for keys.
#define BLOCK_SIZE GROUPING_THREADS
#define WIDE 1

#include "lookback.cuh"

extern __shared__ __align__(16) unsigned char shared_bytes[];

constexpr int TURNS = GROUPING_TURNS;
constexpr long long TILE = static_cast<long long>(BLOCK_SIZE) * TURNS;

// The shared memory of a block. tile: the one that it works on. place: the number of groups ahead of it.
struct Grouping {
    long long tile, place;
    unsigned sums[WARPS];
};

static_assert(sizeof(Grouping) <= GROUPING_BYTES, "see sizes.cuh");

// firsts[k] becomes the index of the first item of group k, and keys[k] that item, for the first `room` groups. *groups becomes
// their number. taken: a word of 0. descriptors: the words of lookback.cuh, 0 at first. There is at least one item. Any number of
// blocks. Shared memory: GROUPING_BYTES.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) find_groups(
    const Item* items, long long count, long long* firsts, Item* keys, long long room, Descriptor* taken,
    Descriptor* descriptors, long long* groups)
{
    Grouping* const shared = reinterpret_cast<Grouping*>(shared_bytes);
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    const long long tiles = (count + TILE - 1) / TILE;
    for (;;) {
        if (threadIdx.x == 0) shared->tile = static_cast<long long>(atomicAdd(taken, Descriptor(1)));
        __syncthreads();  // the number of the tile is there before any thread reads it
        const long long tile = shared->tile;
        if (tile >= tiles) return;
        const long long first = tile * TILE + static_cast<long long>(warp) * WARP * TURNS + lane;
        unsigned begun[TURNS], own = 0;  // a bit for each lane whose item begins a group
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            const long long at = first + turn * WARP;
            const bool begins = at < count && (at == 0 || image(items[at - 1]) != image(items[at]));
            begun[turn] = __ballot_sync(ALL, begins);
            own += static_cast<unsigned>(__popc(begun[turn]));
        }
        if (lane == 0) shared->sums[warp] = own;
        __syncthreads();  // the sums of all warps are there before any thread reads one
        unsigned ahead = 0, all = 0;
#pragma unroll
        for (int other = 0; other < WARPS; ++other) {
            if (other < warp) ahead += shared->sums[other];
            all += shared->sums[other];
        }
        if (threadIdx.x == 0) publish_count(descriptors, tile, tiles, all);
        if (warp == 0) {
            const Descriptor sum = look_back_together(descriptors, tile, tiles, all);
            if (lane == 0) {
                shared->place = static_cast<long long>(sum);
                if (tile == tiles - 1) *groups = smaller(static_cast<long long>(sum) + all, room);
            }
        }
        __syncthreads();  // the tile's place is there before any thread reads it, and the sums may be written over
        long long place = shared->place + ahead;
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            const long long at = first + turn * WARP, to = place + __popc(begun[turn] & ((1u << lane) - 1));
            if ((begun[turn] >> lane & 1) && to < room) {
                firsts[to] = at;
                keys[to] = items[at];
            }
            place += __popc(begun[turn]);
        }
    }
}
