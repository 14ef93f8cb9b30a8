// Sorts small tiles by rank. The rank of an item is the number of items of its tile that go before it, and so its place in the
// sorted tile. A block finds the ranks of a slice of WARP items: each of its warps compares all of them with its part of the
// tile. These are tile^2 comparisons, but none of them waits for another one, and a small tile keeps many blocks busy.
// Source: Knuth, The Art of Computer Programming 3, 5.2, algorithm C (comparison counting).
//
// Macros: BLOCK_SIZE threads a block; those of columns.cuh. Images must decide the order: there are no rows.

#include "beside.cuh"
#include "block.cuh"
#include "columns.cuh"
#include "warp.cuh"

static_assert(!ROWS && BLOCK_SIZE % WARP == 0, "images decide the order, and warps are whole");

constexpr int WARPS = BLOCK_SIZE / WARP;
constexpr int PACKED = 16 / sizeof(Image);  // images that a thread loads at once
constexpr int STAGED = 256;                 // images that a warp stages at a time
constexpr Image LAST = static_cast<Image>(static_cast<Bits>(~0ull) >> (SIGNED_IMAGES ? 1 : 0));

struct __align__(16) Pack {
    Image images[PACKED];
};

__device__ __forceinline__ int kept_in(int at, int size) { return at < 0 ? 0 : smaller(at, size); }

// The number of images in [begin, end) of a stage for which `ahead` says that they go before the item. begin: of a pack.
template <typename Ahead>
__device__ __forceinline__ int counted(const Image* staged, int begin, int end, Ahead ahead)
{
    int found = 0;
#pragma unroll 8
    for (int at = begin; at < end; at += PACKED) {
        const Pack pack = *reinterpret_cast<const Pack*>(staged + at);
#pragma unroll
        for (int turn = 0; turn < PACKED; ++turn) found += ahead(pack.images[turn], at + turn);
    }
    return found;
}

// out[first .. first + tile) becomes items[first .. first + tile) sorted, for every multiple of `tile`; `total` items in all.
// With TO_COLUMNS `out` is not used. What is written must not overlap what is read. Grid: ceil(tile / WARP) blocks for each tile.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) sort_by_rank(
#if FROM_COLUMNS
    const Key* items,
#else
    const Item* items,
#endif
    long long total, long long tile, Item* out, const unsigned char*, const long long*
#if FROM_COLUMNS || TO_COLUMNS
    ,
    const __grid_constant__ Columns columns
#endif
)
{
    __shared__ __align__(16) Image stages[WARPS][STAGED];
    __shared__ int found[WARPS][WARP];
    let_next_begin();
    const int slices = static_cast<int>((tile + WARP - 1) / WARP);
    const long long first = blockIdx.x / slices * tile;
    const int count = static_cast<int>(smaller(tile, total - first));
    const int slice = static_cast<int>(blockIdx.x % slices) * WARP;
    if (slice >= count) return;
    const auto here = items + first;
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    const int place = smaller(slice + lane, count - 1);
#if FROM_COLUMNS
    const auto image_at = [=](int at) { return image(item_of(here[at], Payload())); };
    const Item item = item_of(here[place], payload_at(columns, 0, first + place, first + place));
#else
    const auto image_at = [=](int at) { return image(here[at]); };
    const Item item = here[place];
#endif
    const Image own = image(item);

    const int part = (count + BLOCK_SIZE - 1) / BLOCK_SIZE * WARP;
    const int end = smaller((warp + 1) * part, count);
    Image* const staged = stages[warp];
    int rank = 0;
    for (int begin = warp * part; begin < end; begin += STAGED) {
        // All edges are multiples of WARP, but the end of the tile. No item comes behind LAST.
        const int size = smaller(STAGED, end - begin);
#pragma unroll
        for (int turn = 0; turn < STAGED / WARP; ++turn) {
            const int at = turn * WARP + lane;
            if (at < size) staged[at] = image_at(begin + at);
            else staged[at] = LAST;
        }
        __syncwarp();  // the images are staged before any lane counts them
        const int low = kept_in(slice - begin, size), high = kept_in(slice + WARP - begin, size);
        rank += counted(staged, 0, low, [=](Image y, int) { return y <= own; });
        rank += counted(staged, low, high, [=](Image y, int at) { return y < own || (y == own && begin + at < place); });
        rank += counted(staged, high, size, [=](Image y, int) { return y < own; });
        __syncwarp();  // every lane has counted them before others are staged
    }
    found[warp][lane] = rank;
    __syncthreads();  // the parts of the ranks are there before they are added
#if TO_COLUMNS
    __shared__ Item records[WARP];
    __shared__ int ranks[WARP];
#endif
    if (warp == 0) {
        rank = 0;
#pragma unroll
        for (int turn = 0; turn < WARPS; ++turn) rank += found[turn][lane];
        rank = smaller(rank, count - 1);  // an item that changes meanwhile may go before itself
#if TO_COLUMNS
        records[lane] = item;
        ranks[lane] = rank;
#else
        if (slice + lane < count) out[first + rank] = item;
#endif
    }
#if TO_COLUMNS
    __syncthreads();  // the records are there before they are written
    write_columns(columns, records, smaller(WARP, count - slice), BLOCK_SIZE, [&](int at) { return first + ranks[at]; });
#endif
}
