// A stable sort by digits, the least significant one first. One kernel counts all digits of all items. Then one launch a
// digit moves every item to its place among the items with the same lower digits. A tile learns how many items of the tiles
// ahead of it have each digit by looking back: every tile publishes its own counts, and later the sums of all up to it.
// Source: Adinets and Merrill, Onesweep: A Faster Least Significant Digit Radix Sort for GPUs, 2022.
//
// Macros: BLOCK_SIZE threads a block, a multiple of 32; ITEMS_PER_THREAD items a thread; DIGIT_BITS; PASSES: digits a key.
// WIDE: 0 for fewer than 2^30 items. PAIRS: 1 if keys and their values lie in arrays of their own, before and after the sort.
// An item is then a record of both (RECORD_SIZE), whose key comes first and whose value takes the last words.
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 256
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 15
#endif
#ifndef BLOCKS_PER_MULTIPROCESSOR
#define BLOCKS_PER_MULTIPROCESSOR 1
#endif
#ifndef DIGIT_BITS
#define DIGIT_BITS 8
#endif
#ifndef PASSES
#define PASSES ((KEY_BITS + DIGIT_BITS - 1) / DIGIT_BITS)
#endif
#ifndef WIDE
#define WIDE 0
#endif
#ifndef PAIRS
#define PAIRS 0
#endif
#ifndef RANKING
#define RANKING 0
#endif
#ifndef UPDATE
#define UPDATE 1
#endif
#ifndef SYNCS
#define SYNCS 1
#endif
#ifndef AHEAD
#define AHEAD 4
#endif
#ifndef STREAM
#define STREAM 0
#endif
#ifndef PREFETCH
#define PREFETCH 1
#endif
#ifndef KEEP
#define KEEP 1
#endif
#ifndef STORES
#define STORES 5
#endif
#ifndef PERMUTE
#define PERMUTE 1
#endif
#ifndef MIX
#define MIX 4
#endif

#include "../corank.cuh"

extern __shared__ __align__(16) unsigned char shared_bytes[];

constexpr int WARP = 32;
constexpr int WARPS = BLOCK_SIZE / WARP;
constexpr int DIGITS = 1 << DIGIT_BITS;
constexpr int TILE = BLOCK_SIZE * ITEMS_PER_THREAD;
constexpr int BINS = (DIGITS + BLOCK_SIZE - 1) / BLOCK_SIZE;  // a thread's share of the digits
constexpr unsigned ALL = 0xffffffffu;


// A number of items, and in its upper two bits whether it counts a tile alone or all tiles up to it. 0: nothing said yet.
#if WIDE
typedef unsigned long long Said;
#else
typedef unsigned Said;
#endif
constexpr Said OWN = static_cast<Said>(1) << (8 * sizeof(Said) - 2);
constexpr Said SUM = OWN << 1;

// What the launches of one sort share. All bytes are 0 ahead of the first launch.
struct Plan {
    unsigned long long starts[PASSES][DIGITS];  // of the items with a digit, first their number, then their first place
    unsigned routes[PASSES];                    // see route
    unsigned tickets[PASSES];                   // the tiles that were taken
    unsigned finished;                          // the blocks that have counted
};

// A pass reads the items from `from` and writes them to `to`: 0 the input, 1 the output, 2 the scratch; of PAIRS, 0 their
// arrays, 1 and 2 two buffers of records. turn: the passes ahead of it. A pass without a route (0) is not needed, as all
// items have the same digit.
__device__ __forceinline__ unsigned route(int from, int to, int turn) { return 1u | from << 1 | to << 3 | turn << 5; }

__device__ __forceinline__ unsigned digit_of(const Item& item, int shift)
{
#if SIGNED_IMAGES
    const Bits bits = static_cast<Bits>(image(item)) ^ static_cast<Bits>(1) << (KEY_BITS - 1);
#else
    const Bits bits = image(item);
#endif
#if PERMUTE && defined(__CUDA_ARCH__) && KEY_BITS <= 32 && DIGIT_BITS == 8
    return __byte_perm(bits, 0, 0x4440 + shift / 8);
#else
    return static_cast<unsigned>(bits >> shift) & (DIGITS - 1);
#endif
}

// What lies in the input of the sort.
#if PAIRS
template <int BYTES>
struct KeyOf;
template <>
struct KeyOf<1> {
    typedef unsigned char Type;
};
template <>
struct KeyOf<2> {
    typedef unsigned short Type;
};
template <>
struct KeyOf<4> {
    typedef unsigned Type;
};
template <>
struct KeyOf<8> {
    typedef unsigned long long Type;
};
typedef KeyOf<KEY_SIZE>::Type Given;
constexpr int KEY_WORDS = KEY_SIZE == 8 ? 2 : 1, VALUE_WORDS = RECORD_SIZE / 4 - KEY_WORDS;

__device__ __forceinline__ Item as_item(Given key)
{
    Item item{};
    item.words[0] = static_cast<unsigned>(key);
    if (KEY_WORDS == 2) item.words[KEY_WORDS - 1] = static_cast<unsigned>(static_cast<unsigned long long>(key) >> 32);
    return item;
}

// The arrays of values, as words, and the sorted keys. No values: they are the places of the keys in the input, and come out
// as integers of 64 bits. No sorted keys: only the values come out.
struct Ends {
    const unsigned* values;
    Given* keys_out;
    unsigned* values_out;

    __device__ __forceinline__ Item taken(const Given* keys, long long at) const
    {
        Item item = as_item(keys[at]);
#pragma unroll
        for (int word = 0; word < VALUE_WORDS; ++word)
            item.words[KEY_WORDS + word] = values ? values[at * VALUE_WORDS + word]
                : static_cast<unsigned>(static_cast<unsigned long long>(at) >> 32 * word);
        return item;
    }

    __device__ __forceinline__ void put(long long at, const Item& item) const
    {
        unsigned long long key = item.words[0];
        if (KEY_WORDS == 2) key |= static_cast<unsigned long long>(item.words[KEY_WORDS - 1]) << 32;
        if (keys_out) keys_out[at] = static_cast<Given>(key);
        if (values) {
#pragma unroll
            for (int word = 0; word < VALUE_WORDS; ++word) values_out[at * VALUE_WORDS + word] = item.words[KEY_WORDS + word];
        } else {
            unsigned long long place = item.words[KEY_WORDS];
            if (VALUE_WORDS == 2) place |= static_cast<unsigned long long>(item.words[KEY_WORDS + VALUE_WORDS - 1]) << 32;
            reinterpret_cast<unsigned long long*>(values_out)[at] = place;
        }
    }
};
#else
typedef Item Given;
__device__ __forceinline__ Item as_item(const Given& item) { return item; }
#endif

#if defined(__CUDA_ARCH__)
__device__ __forceinline__ void say(Said* at, Said word)
{
#if WIDE
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
#else
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(word) : "memory");
#endif
}

__device__ __forceinline__ Said heard(const Said* at)
{
    Said word;
#if WIDE
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
#else
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
#endif
    return word;
}
#else
inline void say(Said* at, Said word) { __atomic_store_n(at, word, __ATOMIC_RELAXED); }
inline Said heard(const Said* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
#endif

// The lanes of the warp with the same digit. All lanes must call this.
__device__ __forceinline__ unsigned peers(unsigned digit)
{
#if RANKING == 2
    return __match_any_sync(ALL, digit);
#elif defined(__CUDA_ARCH__)
    unsigned same = ALL;
#pragma unroll
    for (int bit = 0; bit < DIGIT_BITS; bit += 2) {
        unsigned votes[2] = {ALL, ALL};
#pragma unroll
        for (int of = 0; of < 2; ++of)
            if (bit + of < DIGIT_BITS)
                asm volatile("{\n\t.reg .pred p;\n\tand.b32 %0, %1, %2;\n\tsetp.ne.u32 p, %0, 0;\n\t"
                             "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t@!p not.b32 %0, %0;\n\t}"
                             : "=r"(votes[of])
                             : "r"(digit), "r"(1u << (bit + of)));
        asm("lop3.b32 %0, %0, %1, %2, 0x80;" : "+r"(same) : "r"(votes[0]), "r"(votes[1]));
    }
    return same;
#else
    unsigned same = ALL;
    for (int bit = 0; bit < DIGIT_BITS; ++bit) {
        const bool set = digit >> bit & 1;
        const unsigned votes = __ballot_sync(ALL, set);
        same &= set ? votes : ~votes;
    }
    return same;
#endif
}

// Sums ahead of a thread: of `own` over all threads with a lower number. sums: WARPS words of shared memory. Every thread
// of the block must call this.
__device__ __forceinline__ unsigned sum_ahead(unsigned own, unsigned* sums)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    unsigned with_own = own;
#pragma unroll
    for (int step = 1; step < WARP; step *= 2) {
        const unsigned other = __shfl_up_sync(ALL, with_own, step, WARP);
        if (lane >= step) with_own += other;
    }
    if (lane == WARP - 1) sums[warp] = with_own;
    __syncthreads();  // the sums of all warps are there before any thread reads one
    unsigned ahead = with_own - own;
    const int most = (DIGITS / BINS + WARP - 1) / WARP;
#pragma unroll
    for (int other = 0; other < (most < WARPS ? most : WARPS); ++other)
        if (other < warp) ahead += sums[other];
    return ahead;
}

// ---- counting

constexpr int VECTOR_BYTES = 16;
constexpr int PACKED = VECTOR_BYTES % sizeof(Given) == 0 ? static_cast<int>(VECTOR_BYTES / sizeof(Given)) : 1;
struct __align__(PACKED > 1 ? VECTOR_BYTES : alignof(Given)) Vector {
    Given items[PACKED];
};

__device__ __forceinline__ void count_item(const Given& given, unsigned* bins)
{
    const Item item = as_item(given);
#pragma unroll
    for (int pass = 0; pass < PASSES; ++pass)
        atomicAdd(&bins[pass * DIGITS + digit_of(item, pass * DIGIT_BITS)], 1u);
}

// Counts in the block's own bins. Whole vectors are read, and what does not belong to the items is ignored.
__device__ __forceinline__ void count_items(const Given* items, long long total, unsigned* bins)
{
    const int skipped = PACKED == 1 ? 0
        : static_cast<int>(reinterpret_cast<unsigned long long>(items) % VECTOR_BYTES / sizeof(Given));
    const Vector* const vectors = reinterpret_cast<const Vector*>(items - skipped);
    const long long count = (skipped + total + PACKED - 1) / PACKED;
    constexpr int TURNS = 4;
    const long long stride = static_cast<long long>(gridDim.x) * BLOCK_SIZE * TURNS;
    for (long long first = static_cast<long long>(blockIdx.x) * BLOCK_SIZE * TURNS; first < count; first += stride) {
        Vector loaded[TURNS];
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            const long long at = first + turn * BLOCK_SIZE + threadIdx.x;
            if (at < count) loaded[turn] = vectors[at];
        }
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            const long long place = (first + turn * BLOCK_SIZE + threadIdx.x) * PACKED - skipped;
            if (place >= 0 && place + PACKED <= total) {
#pragma unroll
                for (int item = 0; item < PACKED; ++item) count_item(loaded[turn].items[item], bins);
            } else {
#pragma unroll
                for (int item = 0; item < PACKED; ++item)
                    if (place + item >= 0 && place + item < total) count_item(loaded[turn].items[item], bins);
            }
        }
    }
}

// Turns the numbers of items into places, and decides which passes are needed. The last one writes to the output. where: of
// the items, 1 if they lie in the output, so the passes must be even in number; 2 if they lie in the scratch, so they must be
// odd; 0 elsewhere. Every thread of one block must call this.
__device__ __forceinline__ void make_plan(Plan* plan, long long total, int where, unsigned* sums, unsigned* same)
{
    for (int pass = 0; pass < PASSES; ++pass) {
        if (threadIdx.x == 0) same[pass] = 0;
        unsigned long long before = 0;
        __syncthreads();
        for (int first = 0; first < DIGITS; first += BLOCK_SIZE) {
            const int bin = first + static_cast<int>(threadIdx.x);
            unsigned long long* const at = &plan->starts[pass][bin];
            const unsigned long long own = bin < DIGITS ? *const_cast<const volatile unsigned long long*>(at) : 0;
            if (own == static_cast<unsigned long long>(total)) same[pass] = 1;
            // sums of 64 bits, in two halves of which none overflows
            unsigned long long* const wide = reinterpret_cast<unsigned long long*>(sums);
            const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
            unsigned long long with_own = own;
#pragma unroll
            for (int step = 1; step < WARP; step *= 2) {
                const unsigned long long other = __shfl_up_sync(ALL, with_own, step, WARP);
                if (lane >= step) with_own += other;
            }
            __syncthreads();
            if (lane == WARP - 1) wide[warp] = with_own;
            __syncthreads();
            unsigned long long ahead = before + with_own - own;
            for (int other = 0; other < WARPS; ++other) {
                if (other < warp) ahead += wide[other];
                before += wide[other];
            }
            if (bin < DIGITS) *at = ahead;
        }
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    int needed = 0;
    for (int pass = 0; pass < PASSES; ++pass) needed += !same[pass];
    // A pass that leaves the items in their order copies them.
    bool copies = where == 1 ? needed % 2 == 1 : where == 2 ? needed % 2 == 0 : needed == 0;
    needed += copies;
    int from = 0, turn = 0;
    for (int pass = 0; pass < PASSES; ++pass) {
        const bool runs = !same[pass] || copies;
        if (same[pass] && runs) copies = false;
        if (!runs) continue;
        const int to = PAIRS && turn + 1 == needed ? 0 : (needed - turn) % 2 == 1 ? 1 : 2;
        plan->routes[pass] = route(from, to, turn);
        from = to;
        ++turn;
    }
}

// Counts the digits of all items, and plans the passes. lookback: `words` words that become 0. Shared memory: PASSES *
// DIGITS words and 2 * WARPS + PASSES more.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) sort_histogram(
    const Given* items, long long total, long long where, Plan* plan, Said* lookback, long long words)
{
    unsigned* const bins = reinterpret_cast<unsigned*>(shared_bytes);
    unsigned* const sums = bins + PASSES * DIGITS;
    unsigned* const same = sums + 2 * WARPS;
    for (int bin = threadIdx.x; bin < PASSES * DIGITS; bin += BLOCK_SIZE) bins[bin] = 0;
    __syncthreads();  // the bins are empty before any thread counts
    for (long long at = static_cast<long long>(blockIdx.x) * BLOCK_SIZE + threadIdx.x; at < words;
         at += static_cast<long long>(gridDim.x) * BLOCK_SIZE)
        lookback[at] = 0;
    count_items(items, total, bins);
    __syncthreads();  // all is counted before the bins are read
    for (int bin = threadIdx.x; bin < PASSES * DIGITS; bin += BLOCK_SIZE)
        if (bins[bin] > 0) atomicAdd(&plan->starts[0][0] + bin, static_cast<unsigned long long>(bins[bin]));
    __threadfence();
    __syncthreads();  // the block's numbers are out before it says so
    if (threadIdx.x == 0) same[0] = atomicAdd(&plan->finished, 1u) == gridDim.x - 1;
    __syncthreads();  // all threads know whether this block is the last one
    const bool last = same[0];
    __syncthreads();
    if (!last) return;
    __threadfence();
    make_plan(plan, total, static_cast<int>(where), sums, same);
}

// ---- passes

// The shared memory of a pass: a tile in the order of its digits, what each warp counts, and where the items of each digit go.
struct Staged {
    Item items[TILE];
    unsigned counts[WARPS][DIGITS];
#if RANKING == 1 || RANKING == 4
    unsigned masks[WARPS][DIGITS];
#endif
    Said places[DIGITS];
    unsigned sums[WARPS];
    unsigned next;
};

[[maybe_unused]] constexpr int PASS_BYTES = sizeof(Staged);
[[maybe_unused]] constexpr int COUNT_BYTES = 4 * (PASSES * DIGITS + 2 * WARPS + PASSES);

__device__ __forceinline__ Item loaded_item(const Item* at)
{
#if STREAM && defined(__CUDA_ARCH__) && !ROWS && !RECORD_SIZE
    return __ldcs(at);
#else
    return *at;
#endif
}

// Calls load(i) for the places of this thread's items in a tile.
template <typename Load>
__device__ __forceinline__ void load_tile(Item (&items)[ITEMS_PER_THREAD], int count, Load load)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    const int first = warp * WARP * ITEMS_PER_THREAD + lane;
    if (count == TILE) {
#pragma unroll
        for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) items[turn] = load(first + turn * WARP);
    } else {
#pragma unroll
        for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn)
            if (first + turn * WARP < count) items[turn] = load(first + turn * WARP);
    }
}

// Sorts a tile into `staged`, stably, and tells the other tiles how many items have each digit. places: of each digit, where
// its first item goes in the output. Missing items, of a last tile, are counted as behind all others.
template <bool WHOLE>
__device__ __forceinline__ void stage_tile(Item (&items)[ITEMS_PER_THREAD], int count, int shift, Staged* staged,
    unsigned (&bins)[BINS], unsigned (&ahead)[BINS], Said* own, unsigned* ticket)
{
    const int lane = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    const int first = warp * WARP * ITEMS_PER_THREAD + lane;
    unsigned* const counts = staged->counts[warp];
    const auto digit_at = [&](int turn) {
        return WHOLE || first + turn * WARP < count ? digit_of(items[turn], shift) : DIGITS - 1u;
    };
#pragma unroll
    for (int bin = lane; bin < DIGITS; bin += WARP) counts[bin] = 0;
#if RANKING == 1 || RANKING == 4
#pragma unroll
    for (int bin = lane; bin < DIGITS; bin += WARP) staged->masks[warp][bin] = 0;
#endif
    __syncwarp();
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) atomicAdd(&counts[digit_at(turn)], 1u);
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
            say(own + bin, OWN | bins[share]);
        }
        sum += bins[share];
    }
    unsigned before = sum_ahead(sum, staged->sums);
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
    __syncthreads();  // the counts of all warps have become places
    const unsigned lower = (1u << lane) - 1;
#if !KEEP && defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(shift));
#endif
#pragma unroll
    for (int turn = 0; turn < ITEMS_PER_THREAD; ++turn) {
        const unsigned digit = digit_at(turn);
        constexpr bool BY_MASKS = RANKING == 1;
        const bool by_masks = BY_MASKS || (RANKING == 4 && turn % MIX == 0);
        unsigned same;
#if RANKING == 1 || RANKING == 4
        if (by_masks) {
            atomicOr(&staged->masks[warp][digit], 1u << lane);
            __syncwarp();
            same = staged->masks[warp][digit];
        } else
#endif
        same = peers(digit);
        const int below = __popc(same & lower);
        const bool leads = (same >> lane) == 1;
        const unsigned place = counts[digit];
#if SYNCS
        __syncwarp();
#endif
        if (leads) {
            counts[digit] = place + below + 1;
#if RANKING == 1 || RANKING == 4
            if (by_masks) staged->masks[warp][digit] = 0;
#endif
        }
        if (SYNCS || by_masks) __syncwarp();
        staged->items[place + below] = items[turn];
    }
}

// The number of items with digit `bin` in the tiles ahead of `tile`.
__device__ __forceinline__ Said look_back(const Said* lookback, long long tile, int bin)
{
    Said sum = 0;
    for (long long before = tile - 1;;) {
        Said words[AHEAD];
#pragma unroll
        for (int step = 0; step < AHEAD; ++step)
            words[step] = before - step >= 0 ? heard(lookback + (before - step) * DIGITS + bin) : SUM;
        bool waits = false;
#pragma unroll
        for (int step = 0; step < AHEAD; ++step) {
            waits = waits || words[step] == 0;
            if (!waits) {
                sum += words[step] & (OWN - 1);
                if (words[step] & SUM) return sum;
                --before;
            }
        }
    }
}

// Moves all items in the order of their digit `pass`, stably, along the route that is planned. lookback: two words for each
// digit of each tile. Shared memory: PASS_BYTES. Any number of blocks.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE, BLOCKS_PER_MULTIPROCESSOR) sort_pass(const Given* input, Item* out,
    Item* scratch, long long total, long long pass, Plan* plan, Said* lookback
#if PAIRS
    ,
    Ends ends
#endif
)
{
    const unsigned way = plan->routes[pass];
    if (way == 0) return;
    Staged* const staged = reinterpret_cast<Staged*>(shared_bytes);
    const int source = way >> 1 & 3, target = way >> 3 & 3;
    const Item* const from = source == 2 ? scratch : out;
    Item* const to = target == 2 ? scratch : out;
    const long long tiles = (total + TILE - 1) / TILE;
    Said* const said = lookback + (way >> 5 & 1) * tiles * DIGITS;
    Said* const cleared = lookback + (~way >> 5 & 1) * tiles * DIGITS;  // for the next pass
    const int shift = static_cast<int>(pass) * DIGIT_BITS;
    const unsigned long long* const starts = plan->starts[pass];
    const auto count_of = [&](long long tile) {
        return tile < tiles ? static_cast<int>(smaller(static_cast<long long>(TILE), total - tile * TILE)) : 0;
    };
    Item items[ITEMS_PER_THREAD];
    const auto load = [&](long long tile, int count) {
        const long long first = tile * TILE;
#if PAIRS
        if (source == 0) load_tile(items, count, [&](int at) { return ends.taken(input, first + at); });
        else load_tile(items, count, [&](int at) { return loaded_item(from + first + at); });
#else
        const Item* const begin = (source == 0 ? input : from) + first;
        load_tile(items, count, [&](int at) { return loaded_item(begin + at); });
#endif
    };

    if (threadIdx.x == 0) staged->next = atomicAdd(&plan->tickets[pass], 1u);
    __syncthreads();  // the number of the first tile is there
    long long tile = staged->next;
    int count = count_of(tile);
    load(tile, count);
    while (tile < tiles) {
        unsigned bins[BINS], ahead[BINS];
        if (count == TILE)
            stage_tile<true>(items, count, shift, staged, bins, ahead, said + tile * DIGITS, &plan->tickets[pass]);
        else
            stage_tile<false>(items, count, shift, staged, bins, ahead, said + tile * DIGITS, &plan->tickets[pass]);
        const long long next = staged->next;
        const int next_count = count_of(next);
#if PREFETCH == 1
        load(next, next_count);
#endif
#pragma unroll
        for (int share = 0; share < BINS; ++share) {
            const int bin = static_cast<int>(threadIdx.x) * BINS + share;
            if (bin < DIGITS) {
                const Said sum = look_back(said, tile, bin);
                say(said + tile * DIGITS + bin, SUM | (sum + bins[share]));
                if (PASSES > 1) cleared[tile * DIGITS + bin] = 0;
                staged->places[bin] = static_cast<Said>(starts[bin]) + sum - ahead[share];
            }
        }
        __syncthreads();  // the tile is sorted, and all places are known
#if PREFETCH == 2
        load(next, next_count);
#endif
        const auto store = [&](Said place, const Item& item) {
#if PAIRS
            if (target == 0) ends.put(place, item);
            else to[place] = item;
#else
            to[place] = item;
#endif
        };
        if (count == TILE) {
#pragma unroll
            for (int first = 0; first < ITEMS_PER_THREAD; first += STORES) {
                Item batch[STORES];
                Said places[STORES];
#pragma unroll
                for (int turn = 0; turn < STORES; ++turn)
                    if (first + turn < ITEMS_PER_THREAD)
                        batch[turn] = staged->items[(first + turn) * BLOCK_SIZE + static_cast<int>(threadIdx.x)];
#pragma unroll
                for (int turn = 0; turn < STORES; ++turn)
                    if (first + turn < ITEMS_PER_THREAD) places[turn] = staged->places[digit_of(batch[turn], shift)];
#pragma unroll
                for (int turn = 0; turn < STORES; ++turn)
                    if (first + turn < ITEMS_PER_THREAD)
                        store(places[turn] + ((first + turn) * BLOCK_SIZE + static_cast<int>(threadIdx.x)), batch[turn]);
            }
        } else {
#pragma unroll 1
            for (int at = static_cast<int>(threadIdx.x); at < count; at += BLOCK_SIZE) {
                const Item item = staged->items[at];
                store(staged->places[digit_of(item, shift)] + at, item);
            }
        }
#if PREFETCH == 0
        load(next, next_count);
#endif
        tile = next;
        count = next_count;
    }
}
