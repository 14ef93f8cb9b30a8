// Sets of two sorted runs: each block walks through one tile of both at a time (see sets.cuh). Its slices come into shared
// memory as in merge_path.cu, between two states of the walk that partition.cu found. Every thread finds the state where its
// share begins, and walks through a fixed number of items. Those that go out move together in shared memory.
//
// Where a tile's items go is known when all tiles ahead are counted (see lookback.cuh). Blocks that waited for that would end up
// loading, walking and writing all at the same time. So a block first walks through its next tile, in a second buffer, and then
// writes the tile before. Blocks take the tiles in their order, so all tiles ahead are done or under way.
// Source: Baxter, moderngpu, Balanced Path, 2013.
//
// Macros: EQUALS, the bits of a rule with SET, see ../equals.h; BLOCK_SIZE threads a block, a multiple of 32; ITEMS_PER_THREAD,
// 32 at most; BULK, see transfer.cuh; those of columns.cuh.
#ifndef EQUALS
#define EQUALS 15
#endif
#define WIDE 1

#include "../sets.cuh"
#include "block.cuh"
#include "cuts.cuh"
#include "lookback.cuh"
#include "share.cuh"
#include "stage.cuh"
#include "tile.cuh"
#include "transfer.cuh"

static_assert(RUNS == 2 && ITEMS_PER_THREAD <= 32, "a walk goes through two runs, and a share has a bit for each item");
constexpr bool IS_DISTINCT = (EQUALS & DISTINCT) != 0;
constexpr int TILE = BLOCK_SIZE * ITEMS_PER_THREAD;
constexpr int BUFFER_BYTES = walk_buffer(TILE, ITEMS_PER_THREAD, SIZE);

// The thread that begins tiles. It is not in the warp that looks back, if there is another one.
constexpr int LEADER = BLOCK_SIZE > WARP ? WARP : 0;

// The shared memory of a block, behind the buffers of items. tile: the one that the block works on, and cuts: its ends. place:
// where the items of the tile go that it writes.
struct Shared {
    Staged staged;
    Arrival arrival;
    long long cuts[2 * RUNS], settled[RUNS];
    unsigned sums[WARPS];
    long long tile, place;
};

static_assert(sizeof(Shared) <= WALK_STATE, "see sizes.cuh");
[[maybe_unused]] constexpr int STAGED_BYTES = walk_bytes(TILE, ITEMS_PER_THREAD, SIZE);

// The items of a share, and a bit for each that goes out.
struct Walked {
    Item items[ITEMS_PER_THREAD];
    unsigned kept;
};

// The share of a thread: places in the staged slices, as bytes. size: all its items, as bytes.
struct Share {
    int a, a_end, b, b_end, size;
};

#if ROWS

// compare_rows. It is not inlined, because ties are rare, and a walk would repeat it for each item.
__device__ __noinline__ int compare_ties(Lines lines, long long y, long long x) { return compare_rows(lines, y, x); }

// Whether the step ahead of row x of A and row y of B passes the one of A, and that of B.
struct Step {
    bool a, b;
};

// has_a, has_b: whether x and y are rows; otherwise their text must not be read.
__device__ __forceinline__ Step step_of_rows(
    const Item& x, Image x_image, const Item& y, Image y_image, bool has_a, bool has_b, Lines lines)
{
    if (!has_a || !has_b) return {has_a, has_b};
    if (x_image != y_image || !lines.have_ties) return {x_image <= y_image, y_image <= x_image};
    const int order = compare_ties(lines, y.line, x.line);
    return {order >= 0, order <= 0};
}

#endif

// Walks through a share. CHECKED: a slice may end ahead of the share. last: with DISTINCT, an item that goes ahead of the share
// and may equal its first one, if has_last.
//
// The share ends behind `size` items, or one item earlier if the step there would pass two. So every step but the last one
// asks only whether two items are left; as a step passes two items at the most, those of the first half need not ask.
template <typename By, bool CHECKED>
__device__ __forceinline__ void walk_share(
    Walked* walked, Share share, [[maybe_unused]] Item last, [[maybe_unused]] bool has_last, Lines lines)
{
    int a = share.a, b = share.b;
    const int one_left = a + b + share.size - SIZE;
    Item x = item_at(a), y = item_at(b);
    typename By::Compared x_image = By::of(x), y_image = By::of(y);
    unsigned kept = 0;
    [[maybe_unused]] typename By::Compared last_image = By::of(last);
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) {
#if ROWS
        const bool has_a = !CHECKED || a < share.a_end, has_b = !CHECKED || b < share.b_end;
        auto [take_a, take_b] = step_of_rows(x, x_image, y, y_image, has_a, has_b, lines);
#else
        bool take_a = !By::goes_before(y, y_image, x, x_image, lines);
        bool take_b = !By::goes_before(x, x_image, y, y_image, lines);
        if (CHECKED) {
            const bool has_a = a < share.a_end, has_b = b < share.b_end;
            take_a = has_a && (!has_b || take_a);
            take_b = has_b && (!has_a || take_b);
        }
#endif
        if (turn == ITEMS_PER_THREAD - 1) {
            const bool fits = a + b < one_left || (a + b == one_left && !(take_a && take_b));
            take_a = take_a && fits;
            take_b = take_b && fits;
        } else if (CHECKED || 2 * turn >= ITEMS_PER_THREAD - 1) {
            const bool fits = a + b < one_left;
            take_a = take_a && fits;
            take_b = take_b && fits;
        }
        const Item item = take_a ? x : y;
        bool goes = take_a ? (EQUALS & (take_b ? EQUAL : ONLY_A)) != 0 : take_b && (EQUALS & ONLY_B);
        if constexpr (IS_DISTINCT) {
            const typename By::Compared item_image = take_a ? x_image : y_image;
            // The text of a row is read only if it is one.
            if ((!ROWS || goes) && has_last && !By::goes_before(last, last_image, item, item_image, lines)) goes = false;
            if (take_a || take_b) {
                last = item;
                last_image = item_image;
                has_last = true;
            }
        }
        walked->items[turn] = item;
        if (goes) kept |= 1u << turn;
        if (take_a) {
            a += SIZE;
            x = item_at(a);
            x_image = By::of(x);
        }
        if (take_b) {
            b += SIZE;
            y = item_at(b);
            y_image = By::of(y);
        }
    }
    walked->kept = kept;
}

// The state of the walk through the staged slices at place `rank`.
template <typename By>
__device__ __forceinline__ Passed<int> walk_state(int rank, const Item* a, int m, const Item* b, int n, Lines lines)
{
    const int i = co_rank_near<By>(rank, a, m, b, n, lines);
    return walk_from_cut<int>(i, rank - i, a, m, b, n, lines);
}

// The walk of this thread. shift: the items of the tile that lie ahead of its nominal start.
template <typename By>
__device__ __forceinline__ void walk_tile(
    Walked* walked, const Runs& runs, const long long* low, const Staged& staged, int shift, Lines lines)
{
    const int m = staged.base[1], n = staged.base[2] - m;
    const Item* const a = reinterpret_cast<const Item*>(shared_bytes + staged.begin[0]);
    const Item* const b = reinterpret_cast<const Item*>(shared_bytes + staged.begin[1]);
    const int thread = static_cast<int>(threadIdx.x);
    const int begin = thread == 0 ? 0 : smaller(thread * ITEMS_PER_THREAD + shift, m + n);
    const int end = smaller((thread + 1) * ITEMS_PER_THREAD + shift, m + n);
    const Passed<int> state = thread == 0 ? Passed<int>{0, 0} : walk_state<By>(begin, a, m, b, n, lines);
    const Share share{staged.begin[0] + state.a * SIZE, staged.begin[0] + m * SIZE, staged.begin[1] + state.b * SIZE,
        staged.begin[1] + n * SIZE, (end - state.both()) * SIZE};
    Item next{};
    bool follows = false;
    // Whether the next item equals one that was passed last.
    if (IS_DISTINCT && state.both() < m + n) {
        const bool from_b = state.b < n && (state.a == m || before(b[state.b], a[state.a], lines));
        next = from_b ? b[state.b] : a[state.a];
        if (state.a > 0) follows = !before(a[state.a - 1], next, lines);
        else if (low[0] > 0 && state.b == 0) follows = !before(runs.items_of(0)[low[0] - 1], next, lines);
        if (state.b > 0) follows = follows || !before(b[state.b - 1], next, lines);
        else if (low[1] > 0 && state.a == 0) follows = follows || !before(runs.items_of(1)[low[1] - 1], next, lines);
    }
    if (end - begin == ITEMS_PER_THREAD && state.a + ITEMS_PER_THREAD <= m && state.b + ITEMS_PER_THREAD <= n)
        walk_share<By, false>(walked, share, next, follows, lines);
    else walk_share<By, true>(walked, share, next, follows, lines);
}

// Grid: any number of blocks. out: room for `room` items; what does not fit, which are items of runs that are not in order, is
// left out. cuts: the states of the walk at the tile edges, from `partition`. taken: the number of tiles that blocks have taken,
// 0 at first. descriptors: see lookback.cuh. *count becomes the number of items that went out. With TO_COLUMNS `out` is not used.
// Shared memory: STAGED_BYTES.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_MULTIPROCESSOR) walk(
    const __grid_constant__ Source source, Item* out, long long room, const long long* cuts, Descriptor* taken,
    Descriptor* descriptors, long long* count, const unsigned char* text, const long long* starts
#if FROM_COLUMNS || TO_COLUMNS
    ,
    const __grid_constant__ Columns columns
#endif
)
{
    Shared* const shared = reinterpret_cast<Shared*>(shared_bytes + WALK_BUFFERS * BUFFER_BYTES);
    const Lines lines{text, starts};
    const Runs& runs = source.group(0);
    const long long tiles = (runs.total() + TILE - 1) / TILE;
    // Writes the items of a counted tile that are whole in shared memory, from byte `origin` on.
    const auto write_tile = [&](long long tile, int items, int origin) {
        if (threadIdx.x < WARP) {
            const Descriptor sum = look_back_together(descriptors, tile, tiles, static_cast<unsigned>(items));
            if (threadIdx.x == 0) {
                shared->place = static_cast<long long>(sum);
                if (tile == tiles - 1) *count = smaller(shared->place + items, room);
            }
        }
        __syncthreads();  // the tile's place is there before any thread reads it
        const long long place = smaller(shared->place, room);
        const int fit = static_cast<int>(smaller(static_cast<long long>(items), room - place));
#if TO_COLUMNS
        write_columns(columns, reinterpret_cast<const Item*>(shared_bytes + origin), place, fit, BLOCK_SIZE);
#else
        store_words(reinterpret_cast<unsigned char*>(out + place), shared_bytes + origin, fit * SIZE, BLOCK_SIZE);
#endif
    };
    // What the leader knows of the next tile. It asks for both some time before it needs them.
    const bool leads = static_cast<int>(threadIdx.x) == LEADER;
    long long next = 0, next_cuts[2 * RUNS];
    const auto take = [&] { next = static_cast<long long>(atomicAdd(taken, Descriptor(1))); };
    const auto find = [&] {
        if (next >= tiles) return;
#pragma unroll
        for (int at = 0; at < 2 * RUNS; ++at) next_cuts[at] = cuts[next * RUNS + at];
    };
    const auto begin = [&](int origin) {
        shared->tile = next;
        if (next >= tiles) return;
#pragma unroll
        for (int at = 0; at < 2 * RUNS; ++at) shared->cuts[at] = next_cuts[at];
        lay_out(runs, shared->cuts, shared->cuts + RUNS, shared->settled, &shared->staged, &shared->arrival, origin);
    };

    await_previous();
    if (leads) {
        prepare(&shared->arrival);
        take();
        find();
        begin(0);
    }
    long long done = -1;  // the tile whose items wait in the other buffer
    int items_done = 0, origin = 0;
    for (unsigned turn = 0;; ++turn) {
        __syncthreads();  // the layout is written before any thread reads it
        const long long tile = shared->tile;
        if (tile >= tiles) break;
        if (leads) take();
#if FROM_COLUMNS
        stage<ITEMS_PER_THREAD + 1>(runs, columns, &shared->staged, origin);
#elif BULK
        await(&shared->arrival, turn);
#else
        stage<slice_bytes(TILE + 1, SIZE, RUNS) / VECTOR>(&shared->staged, origin);
        __syncthreads();  // the slices have arrived before any thread searches them
#endif

        Walked walked;
        const long long* const low = shared->cuts;
        const int shift = static_cast<int>(tile * TILE - low[0] - low[1]);
#if WIDE_FLOATS
        const unsigned char* const a = shared_bytes + shared->staged.begin[0];
        const unsigned char* const b = shared_bytes + shared->staged.begin[1];
        const int m = shared->staged.base[1], n = shared->staged.base[2] - m;
        if (all_numbers(reinterpret_cast<const Item*>(a), m) && all_numbers(reinterpret_cast<const Item*>(b), n))
            walk_tile<ByNumber>(&walked, runs, low, shared->staged, shift, lines);
        else walk_tile<ByImage>(&walked, runs, low, shared->staged, shift, lines);
#else
        walk_tile<ByImage>(&walked, runs, low, shared->staged, shift, lines);
#endif

        unsigned items;
        const unsigned ahead = sums_of(static_cast<unsigned>(__popc(walked.kept)), shared->sums, &items);
        // Behind the barrier of sums_of the slices may be written over, and the layout and the cuts too.
        if (threadIdx.x == 0) publish_count(descriptors, tile, tiles, items);
        if (leads) find();
        int at = origin + static_cast<int>(ahead) * SIZE;
#pragma unroll
        for (int step = 0; step < ITEMS_PER_THREAD; ++step) {
            if (!(walked.kept >> step & 1)) continue;
            *reinterpret_cast<Item*>(shared_bytes + at) = walked.items[step];
            at += SIZE;
        }
        const int other = BUFFER_BYTES - origin;
        if (done >= 0) write_tile(done, items_done, other);
#if BULK
        publish();
        __syncthreads();  // the other buffer is free before a copy fills it
#endif
        if (leads) begin(other);
        done = tile;
        items_done = static_cast<int>(items);
        origin = other;
    }
    if (done >= 0) write_tile(done, items_done, BUFFER_BYTES - origin);
}
