// Cuts k sorted runs at an output position. A cut is one position in each run, and the items ahead of these positions are
// the first items of the merge. Two runs are cut by co-rank. More runs are cut by pivots: an item near the cut is chosen,
// and its rank in all runs is counted; then each window in which a cut can lie shrinks to one side of the pivot. Ties go to
// the lower run, then to the lower position, so the cut is unique. Sources: Varman et al., Merging Multiple Lists on
// Hierarchical-Memory Multiprocessors, 1991; Siebert and Traeff, Efficient MPI Implementation of a Parallel, Stable Merge
// Algorithm, 2012.
//
// The cost lies in the probes of device memory, in time and in traffic. So a search starts where evenly spread keys would
// put the cut, and goes on where the probed keys say it is. If there are threads to spare, many of them probe at once.
//
// Macros: see runs.cuh; runs may be empty.
#pragma once

#include "beside.cuh"
#include "runs.cuh"
#include "warp.cuh"

// A position in every run, and their sum, which is an output position.
struct Cut {
    long long at[RUNS];
    long long rank;
};

constexpr int WINDOWS = RUNS == 2 ? 1 : RUNS;  // searched for one cut

// The threads of a block share the search for several cuts. The threads of one cut are neighbours in one warp: one thread
// for each window, or `lanes` threads, a power of two, for the one window of two runs. A block needs WINDOWS threads or more.
struct Team {
    int at_once;       // cuts that the block searches for at the same time
    int cut;           // the one that this thread helps to find; at_once or more: none
    int window, lane;  // this thread's part of that search
    int bits;          // lanes = 2^bits
    unsigned warp;     // the threads of this thread's warp

    __device__ __forceinline__ Team(int threads, int cuts)
    {
        bits = 0;
        while (WINDOWS == 1 && (2 << bits) <= smaller(WARP, threads / cuts)) ++bits;
        at_once = smaller(threads / (WINDOWS << bits), cuts);
        const int thread = static_cast<int>(threadIdx.x);
        cut = thread / (WINDOWS << bits);
        window = (thread >> bits) % WINDOWS;
        lane = thread & ((1 << bits) - 1);
        const int missing = thread / WARP * WARP + WARP - threads;
        warp = missing > 0 ? ~0u >> missing : ~0u;
    }

    // Whether this thread writes the result for all threads of its cut.
    __device__ __forceinline__ bool leads() const { return window == 0 && lane == 0; }

    __device__ __forceinline__ bool any(bool holds) const { return __any_sync(warp, holds); }

    // The first lane of this thread's window whose `holds` is true; 2^bits if there is none.
    __device__ __forceinline__ int first(bool holds) const
    {
        const unsigned all = __ballot_sync(warp, holds) >> ((threadIdx.x % WARP) & ~((1u << bits) - 1));
        const unsigned mine = bits == 5 ? all : all & ((1u << (1 << bits)) - 1);
        return mine == 0 ? 1 << bits : __ffs(mine) - 1;
    }

    // The value that the thread of another window of the same cut passes.
    __device__ __forceinline__ long long of_window(long long value, int other) const
    {
        return __shfl_sync(warp, value, other, WINDOWS);
    }

    __device__ __forceinline__ long long sum(long long value) const
    {
#pragma unroll
        for (int step = 1; step < WINDOWS; step *= 2) value += __shfl_xor_sync(warp, value, step);
        return value;
    }

    __device__ __forceinline__ long long largest(long long value) const
    {
#pragma unroll
        for (int step = 1; step < WINDOWS; step *= 2) {
            const long long other = __shfl_xor_sync(warp, value, step);
            value = value > other ? value : other;
        }
        return value;
    }
};

// The finding of a probe: whether its position lies behind the cut, and how far the keys are apart there. Only `behind`
// decides; `gap` is a hint where to probe next.
struct Probe {
    bool behind;
    float gap;
};

__device__ __forceinline__ float gap_between(Image from, Image to)
{
    const Bits up = static_cast<Bits>(to) - static_cast<Bits>(from), down = static_cast<Bits>(from) - static_cast<Bits>(to);
    return to < from ? -static_cast<float>(down) : static_cast<float>(up);
}

// The first position of the window [low, high] whose probe lies behind the cut; high if there is none. All probes after it
// must lie behind the cut too. The search begins at `guess`, which is off by about `reach`. Every thread of the warp must
// call this, and the lanes of a window must pass the same values.
template <typename Look>
__device__ __forceinline__ long long search(
    const Team& team, long long low, long long high, long long guess, long long reach, Look look)
{
    if (team.bits > 0) {
        for (int round = 0; team.any(low < high); ++round) {
            // The probes of the lanes ascend by equal steps, and stop at the ends of the window.
            const bool guessing = round == 0 && team.bits > 1;
            const long long step = ((guessing ? 2 * reach : high - low) >> team.bits) + 1;
            const long long start = guessing ? guess - (step << team.bits >> 1) : low - 1;
            const auto position = [&](int lane) {
                const long long at = start + step * (lane + 1);
                return at < low ? low : at < high ? at : high - 1;
            };
            const int lane = team.first(low < high && look(position(team.lane)).behind);
            if (low < high) {
                const long long above = lane >> team.bits == 0 ? position(lane) : high;
                if (lane > 0) low = position(lane - 1) + 1;
                high = above;
            }
        }
        return low;
    }
    if (low >= high) return low;
    const auto within = [&](long long at) { return at < low ? low : at < high ? at : high - 1; };
    const auto narrow = [&](long long at, bool behind) {
        if (behind) high = smaller(high, at);
        else low = at < low ? low : at + 1;
    };

    // Two probes at once. The third is where the line through the first two has no gap.
    const long long near = within(guess), far = within(guess < high - reach ? guess + reach : guess - reach);
    const Probe at_near = look(near), at_far = look(far);
    narrow(near, at_near.behind);
    narrow(far, at_far.behind);
    if (low >= high) return low;
    const float rise = (at_far.gap - at_near.gap) / static_cast<float>(far - near);
    const float run = rise > 0 ? -at_near.gap / rise : 0;
    const bool close = run > -1e15f && run < 1e15f;  // else, and for a NaN, the keys give no hint
    const long long at = within(near + (close ? static_cast<long long>(run) : 0));

    // From there the steps grow, towards the side where the position must lie. Then the rest is halved.
    const bool back = look(at).behind;
    narrow(at, back);
    long long step = static_cast<long long>(sqrtf(fabsf(close ? run : 0))) + 1;
    for (; low < high; step *= 8) {
        const long long next = back ? high - step : low + step;
        if (next <= low || next >= high) break;
        const bool behind = look(next).behind;
        narrow(next, behind);
        if (behind != back) break;
    }
    while (low < high) {
        const long long middle = (low + high) >> 1;
        narrow(middle, look(middle).behind);
    }
    return low;
}

// The typical distance between the cut of random keys and the cut of evenly spread keys, which is `guess`.
__device__ __forceinline__ long long likely_reach(long long low, long long guess, long long high)
{
    return static_cast<long long>(sqrtf(static_cast<float>(smaller(guess - low, high - guess)))) + 1;
}

__device__ __forceinline__ long long part_of(long long whole, long long part, long long of)
{
    return static_cast<long long>(static_cast<double>(whole) * static_cast<double>(part) / static_cast<double>(of));
}

#if RUNS == 2

// Finds the cut at output position `rank`, between two known cuts: at[run] becomes its position in each run. Every thread
// of the warp must call this; `active` says whether its team.cut is a cut to find. Whatever the items are, the positions lie
// in their runs and add up to `rank`. If the runs are not in order, `above` may lie behind `below`, and cuts may cross.
__device__ __forceinline__ void cut_between(const Runs& runs, const Team& team, bool active, long long rank,
    const Cut* below, const Cut* above, long long* at, Lines lines)
{
    const auto a = runs.items_of(0);
    const auto b = runs.items_of(1);
    long long low = 0, high = 0, guess = 0, reach = 1;
    if (active) {
        const long long lowest = rank - above->at[1], highest = rank - below->at[1];
        low = lowest > below->at[0] ? lowest : below->at[0];
        high = smaller(highest, above->at[0]);
        if (low < high) {
            const long long between = above->rank - below->rank;
            guess = below->at[0] + part_of(above->at[0] - below->at[0], rank - below->rank, between);
            reach = likely_reach(below->rank, rank, above->rank);
        }
    }
    const long long i = search(team, low, high, guess, reach, [&](long long middle) -> Probe {
        const Item x = a[middle], y = b[rank - 1 - middle];
        return {before(y, x, lines), gap_between(image(y), image(x))};
    });
    if (active && team.lane == 0) {
        at[0] = i;
        at[1] = rank - i;
    }
}

#else

// The same for more than two runs. The window of a thread is the one of run team.window.
__device__ __forceinline__ void cut_between(const Runs& runs, const Team& team, bool active, long long rank,
    const Cut* below, const Cut* above, long long* at, Lines lines)
{
    constexpr int RUN_BITS = RUNS == 4 ? 2 : RUNS == 8 ? 3 : 4;
    const int run = team.window;
    const auto items = runs.items_of(run);
    long long low = active ? below->at[run] : 0;
    long long high = active && above->at[run] > low ? above->at[run] : low;
    for (int turn = 0; team.any(low < high); ++turn) {
        const long long size = team.sum(high - low);
        const long long passed = team.sum(low);
        const long long rest = active ? rank - passed : 0;  // items in the windows that go ahead of the cuts
        const long long widest = team.largest((high - low) << RUN_BITS | run);
        const int chosen = static_cast<int>(widest & (RUNS - 1));
        const long long width = widest >> RUN_BITS;
        const long long from = team.of_window(low, chosen);
        const bool open = rest > 0 && rest < size;
        if (rest <= 0) high = low;
        else if (!open) low = high;

        // The pivot. Every eighth one is the middle of its window, so that no keys can make the search slow.
        const long long offset = !open ? 0 : turn % 8 == 7 ? width / 2 : smaller(part_of(width, rest, size), width - 1);
        const long long pivot = from + offset;
        Item item{};
        if (open) item = runs.items_of(chosen)[pivot];
        const bool mine = open && run == chosen;
        const long long guess = open && !mine ? low + part_of(high - low, offset, width) : low;
        const long long count = search(team, mine ? pivot : low, mine || !open ? (mine ? pivot : low) : high, guess,
            likely_reach(low, guess, high), [&](long long middle) -> Probe {
                const Item found = items[middle];
                const bool behind = run < chosen ? before(item, found, lines) : !before(found, item, lines);
                return {behind, gap_between(image(item), image(found))};
            });
        const bool ahead = team.sum(count - low) < rest;  // the pivot is one of the items ahead of the cuts
        if (open) {
            if (ahead) low = mine ? pivot + 1 : count;
            else high = count;
        }
    }
    if (active) at[run] = low;
}

#endif

// The cuts at the two ends of a stretch of output, and the bounds between which they lie: the ends of the runs.
struct Ends {
    Cut bounds[2], cuts[2];
};

// Finds the cuts at output positions first and last. `ends` must lie in shared memory. Every thread of the block must call
// this. It ends with a barrier.
__device__ __forceinline__ void cut_ends(
    const Runs& runs, long long first, long long last, int threads, Ends* ends, Lines lines)
{
    if (threadIdx.x == 0) {
        for (int run = 0; run < RUNS; ++run) {
            ends->bounds[0].at[run] = 0;
            ends->bounds[1].at[run] = runs.count_of(run);
        }
        ends->bounds[0].rank = 0;
        ends->bounds[1].rank = runs.total();
    }
    __syncthreads();  // the bounds are written before any thread reads them
    const Team team(threads, 2);
    for (int done = 0; done < 2; done += team.at_once) {
        const bool active = team.cut < team.at_once && done + team.cut < 2;
        const int which = active ? done + team.cut : 0;
        const long long rank = which == 0 ? first : last;
        cut_between(runs, team, active, rank, &ends->bounds[0], &ends->bounds[1], ends->cuts[which].at, lines);
        if (active && team.leads()) ends->cuts[which].rank = rank;
    }
    __syncthreads();  // both cuts are written before any thread reads them
}
