// Merges two runs of keys that have narrow values in arrays of their own. A block merges one tile, as in merge_path.cu. Bulk
// copies bring its slices of the keys and of the values into shared memory, one behind the other. A thread merges its share of
// the keys in registers, and fetches the value of each key that it takes. Then keys and values go out, each in one piece.
//
// Macros: BLOCK_SIZE threads a block, ITEMS_PER_THREAD outputs a thread; VALUE_SIZE 1, 2, 4 or 8 bytes of a value; BULK 1. Keys
// have 4 or 8 bytes, and the items of this kernel are the keys.

#include "block.cuh"
#include "cuts.cuh"
#include "share.cuh"
#include "stage.cuh"
#include "tile.cuh"
#include "transfer.cuh"

#ifndef VALUE_SIZE
#define VALUE_SIZE 4
#endif

typedef WordOf<VALUE_SIZE>::Type Value;
static_assert(RUNS == 2 && BULK && SIZE >= 4, "this kernel merges two runs of wide keys, and has one way to move them");

constexpr int TILE = BLOCK_SIZE * ITEMS_PER_THREAD;

constexpr int VALUES = slice_bytes(TILE, SIZE, RUNS);  // the byte at which the values begin
[[maybe_unused]] constexpr int STAGED_BYTES =
    VALUES + staged_bytes(TILE, ITEMS_PER_THREAD, VALUE_SIZE, RUNS) + (SIZE > VALUE_SIZE ? (ITEMS_PER_THREAD + 1) * (SIZE - VALUE_SIZE) : 0);

// values, counts: of the runs. keys, moved: where keys and values go. units: not used here.
struct Columns {
    const Value* values[RUNS];
    long long counts[RUNS];
    Item* keys;
    Value* moved;
    long long units;
};

// A thread's share of the merge.
struct Taken {
    Item keys[ITEMS_PER_THREAD];
    Value values[ITEMS_PER_THREAD];
};

// A slice in shared memory: the bytes at which its keys begin and end, and what to add to the place of a key to find its value.
struct Slice {
    int begin, end, values;

    __device__ __forceinline__ int count() const { return (end - begin) / SIZE; }
    __device__ __forceinline__ const Item* keys() const { return reinterpret_cast<const Item*>(shared_bytes + begin); }
};

// The bytes of the values of so many bytes of keys.
__device__ __forceinline__ int value_bytes(int key_bytes)
{
    return static_cast<int>(static_cast<unsigned>(key_bytes) / SIZE * VALUE_SIZE);
}

// Starts the copies of the values, and notes where each slice begins. One thread must call this, behind lay_out. low: the cuts
// at which the tile begins.
__device__ __forceinline__ void lay_out_values(
    const Columns& columns, const long long* low, const Staged* staged, int* begin, Arrival* arrival)
{
    const uint4* sources[RUNS];
    int windows[RUNS + 1];
    windows[0] = 0;
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
        const Value* const slice = columns.values[run] + low[run];
        const int offset = vector_offset(slice);
        const int bytes = (staged->base[run + 1] - staged->base[run]) * VALUE_SIZE;
        sources[run] = reinterpret_cast<const uint4*>(reinterpret_cast<const unsigned char*>(slice) - offset);
        begin[run] = VALUES + windows[run] * VECTOR + offset;
        windows[run + 1] = windows[run] + (bytes == 0 ? 0 : (offset + bytes + VECTOR - 1) / VECTOR);
    }
    announce(arrival, windows[RUNS] * VECTOR);
    uint4* const to = reinterpret_cast<uint4*>(shared_bytes + VALUES);
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
        const int size = windows[run + 1] - windows[run];
        if (size > 0) bulk_load(to + windows[run], sources[run], size * VECTOR, arrival);
    }
}

// The next items of the merge of A from byte a on and B from byte b on, and their values. CHECKED: see share.cuh.
template <typename By, bool CHECKED>
__device__ __forceinline__ void take_items(Taken* taken, int a, const Slice& of_a, int b, const Slice& of_b, Lines lines)
{
    Item x = item_at(a), y = item_at(b);
    typename By::Compared x_image = By::of(x), y_image = By::of(y);
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) {
        bool take_b;
        if (CHECKED) take_b = b < of_b.end && (a >= of_a.end || By::goes_before(y, y_image, x, x_image, lines));
        else take_b = By::goes_before(y, y_image, x, x_image, lines);
        const int from = take_b ? b : a;
        taken->keys[turn] = take_b ? y : x;
        taken->values[turn] =
            *reinterpret_cast<const Value*>(shared_bytes + (value_bytes(from) + (take_b ? of_b.values : of_a.values)));
        const Item next = item_at(from + SIZE);
        const typename By::Compared next_image = By::of(next);
        if (take_b) {
            b = from + SIZE;
            y = next;
            y_image = next_image;
        } else {
            a = from + SIZE;
            x = next;
            x_image = next_image;
        }
    }
}

// The share that begins at output position `diagonal`.
template <typename By, bool FAST>
__device__ __forceinline__ void take_share_by(Taken* taken, int diagonal, const Slice& of_a, const Slice& of_b, Lines lines)
{
    const int i = co_rank_near<By>(diagonal, of_a.keys(), of_a.count(), of_b.keys(), of_b.count(), lines);
    const int j = diagonal - i;
    const int a = of_a.begin + i * SIZE, b = of_b.begin + j * SIZE;
    if (FAST && i + ITEMS_PER_THREAD <= of_a.count() && j + ITEMS_PER_THREAD <= of_b.count())
        take_items<By, false>(taken, a, of_a, b, of_b, lines);
    else take_items<By, true>(taken, a, of_a, b, of_b, lines);
}

__device__ __forceinline__ void take_share(Taken* taken, int diagonal, const Slice& of_a, const Slice& of_b, Lines lines)
{
#if WIDE_FLOATS
    if (!all_numbers(of_a.keys(), of_a.count()) || !all_numbers(of_b.keys(), of_b.count()))
        return take_share_by<ByImage, false>(taken, diagonal, of_a, of_b, lines);
    return take_share_by<ByNumber, true>(taken, diagonal, of_a, of_b, lines);
#else
    return take_share_by<ByImage, true>(taken, diagonal, of_a, of_b, lines);
#endif
}

template <typename Word>
__device__ __forceinline__ void write_words(const Word* words, Word* to, int count)
{
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn)
        if (turn < count) to[turn] = words[turn];
}

// Grid: one block a tile. cuts, own: see merge_path.cu. Shared memory: STAGED_BYTES.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_MULTIPROCESSOR) merge_columns(
    const __grid_constant__ Runs runs, Item*, const long long* cuts, long long own, const unsigned char* text,
    const long long* starts, const __grid_constant__ Columns columns)
{
    __shared__ Ends ends;
    __shared__ Staged staged;
    __shared__ Arrival of_keys, of_values;
    __shared__ int values[RUNS];
    static_assert(sizeof(Ends) + sizeof(Staged) + 2 * sizeof(Arrival) + sizeof(values) <= STATIC_SHARED);
    const Lines lines{text, starts};
    const long long first = static_cast<long long>(blockIdx.x) * TILE;
    const long long* low = cuts + static_cast<long long>(blockIdx.x) * RUNS;
    const long long* high = low + RUNS;
    if (blockIdx.x < own) {
        cut_ends(runs, first, smaller(first + TILE, runs.total()), BLOCK_SIZE, &ends, lines);
        low = ends.cuts[0].at;
        high = ends.cuts[1].at;
    } else {
        await_previous();
    }
    if (threadIdx.x == 0) {
        prepare(&of_keys);
        prepare(&of_values);
        lay_out(runs, low, high, ends.cuts[1].at, &staged, &of_keys);
        lay_out_values(columns, low, &staged, values, &of_values);
    }
    __syncthreads();  // the layout is written before any thread reads it
    const int count = staged.base[RUNS];
    Slice slices[RUNS];
#pragma unroll
    for (int run = 0; run < RUNS; ++run) {
        const int begin = staged.begin[run];
        const int items = staged.base[run + 1] - staged.base[run];
        slices[run] = {begin, begin + items * SIZE, values[run] - value_bytes(begin)};
    }
    await(&of_keys);
    await(&of_values);

    const int diagonal = smaller(static_cast<int>(threadIdx.x) * ITEMS_PER_THREAD, count);
    Taken taken;
    take_share(&taken, diagonal, slices[0], slices[1], lines);
    __syncthreads();  // every thread has read its items before any writes over them
    // Keys and values lie as far behind the start of a vector as their places in the output.
    unsigned char* const keys_to = reinterpret_cast<unsigned char*>(columns.keys + first);
    unsigned char* const values_to = reinterpret_cast<unsigned char*>(columns.moved + first);
    unsigned char* const keys = shared_bytes + vector_offset(keys_to);
    unsigned char* const moved = shared_bytes + VALUES + vector_offset(values_to);
    const int share = smaller(ITEMS_PER_THREAD, count - diagonal);
    write_words(taken.keys, reinterpret_cast<Item*>(keys) + diagonal, share);
    write_words(taken.values, reinterpret_cast<Value*>(moved) + diagonal, share);
    publish();
    __syncthreads();  // both are whole before they are read
    store(keys_to, keys, count * SIZE, BLOCK_SIZE);
    store<UnitOf<VALUE_SIZE < 4 ? VALUE_SIZE : 4>::Type>(values_to, moved, count * VALUE_SIZE, BLOCK_SIZE, BLOCK_SIZE - 1);
}
