// Narrow integers, value by value. Where there are many more items than values, equal items lie in long rows. So a block does
// not load its part of the runs. It finds where each value ends in each run, and writes the values in rows.
//
// Macros: BLOCK_SIZE threads a block; MOST_VALUES that a block finds at a time; those of keys.cuh and runs.cuh, for integers
// of 8 or 16 bits.
#ifndef BLOCK_SIZE
#define BLOCK_SIZE VALUES_THREADS
#endif
#ifndef MOST_VALUES
#define MOST_VALUES 64
#endif

#include "cuts.cuh"
#include "transfer.cuh"

static_assert(BLOCK_SIZE >= WINDOWS, "a cut needs a thread for each of its windows");
constexpr int SIZE = static_cast<int>(sizeof(Item));
constexpr int EACH = VECTOR / SIZE;
constexpr int NO_VALUE = 1 << 16;

// The rows of values that follow each other. A value may have no items.
struct Rows {
    int found[MOST_VALUES][RUNS];  // the items of a slice that are not above a value
    int ends[MOST_VALUES];         // where its row ends in the output of the block
    Item items[MOST_VALUES];
    int next;                      // the least value behind them that occurs
};

// Finds the rows of `values` values from `value` on. All values of the slices lie from `least` to `most`. Every thread of the
// block must call this. It ends with a barrier.
__device__ __forceinline__ void find_rows(
    const Runs& runs, const long long* low, const long long* high, int value, int values, int least, int most, Rows* rows)
{
    const Team team(BLOCK_SIZE, WINDOWS == 1 ? RUNS * values : values);
    for (int done = 0; done * WINDOWS < RUNS * values; done += team.at_once) {
        const int at = (done + team.cut) * WINDOWS + team.window;
        const bool active = team.cut < team.at_once && at < RUNS * values;
        const int run = active ? at % RUNS : 0, which = active ? at / RUNS : 0;
        const Item* const slice = runs.items_of(run) + low[run];
        const long long count = active && low[run] < high[run] ? high[run] - low[run] : 0;
        const int wanted = value + which;
        const long long likely = count / (most - least + 1);
        const long long end = search(team, wanted >= most ? count : 0, count, likely * (wanted - least + 1), likely + 1,
            [&](long long middle) -> Probe {
                const int seen = static_cast<int>(image(slice[middle]));
                return {seen > wanted, static_cast<float>(seen - wanted) - 0.5f};
            });
        if (active && team.lane == 0) rows->found[which][run] = static_cast<int>(end);
    }
    __syncthreads();  // all slices are searched before their ends are added
    for (int which = static_cast<int>(threadIdx.x); which < values; which += BLOCK_SIZE) {
        int end = 0, next = NO_VALUE;
        bool here = false;
        Item item{};
        for (int run = 0; run < RUNS; ++run) {
            if (low[run] >= high[run]) continue;
            const int below = rows->found[which][run];
            const Item last = runs.items_of(run)[low[run] + (below > 0 ? below - 1 : 0)];
            // The greatest item that is not above the value is the value, if it occurs. If the runs are not in order, any
            // item will do.
            if (!here || (below > 0 && image(last) > image(item))) item = last;
            here |= below > 0;
            end += below;
            if (below < high[run] - low[run]) next = smaller(next, static_cast<int>(image(runs.items_of(run)[low[run] + below])));
        }
        rows->ends[which] = end;
        rows->items[which] = item;
        if (which == values - 1) rows->next = next;
    }
    __syncthreads();  // the rows are known before any thread reads them
}

// Writes out[begin .. end) from the rows of `values` values.
__device__ __forceinline__ void write_rows(const Rows& rows, int values, Item* out, int begin, int end)
{
    const int thread = static_cast<int>(threadIdx.x);
    const int head = smaller((VECTOR - vector_offset(out + begin)) % VECTOR / SIZE, end - begin) + begin;
    const int tail = head + (end - head) / EACH * EACH;
    int row = 0;
    const auto reach = [&](int position) {
        while (row < values - 1 && rows.ends[row] <= position) ++row;
    };
    for (int at = begin + thread; at < head; at += BLOCK_SIZE) {
        reach(at);
        out[at] = rows.items[row];
    }
    for (int at = head + thread * EACH; at < tail; at += BLOCK_SIZE * EACH) {
        unsigned words[4];
        reach(at);
        if (row == values - 1 || rows.ends[row] >= at + EACH) {
            unsigned word = 0;
            for (int byte = 0; byte < 4; byte += SIZE) word |= static_cast<unsigned>(rows.items[row]) << (8 * byte);
            for (int turn = 0; turn < 4; ++turn) words[turn] = word;
        } else {
#pragma unroll
            for (int turn = 0; turn < EACH; ++turn) {
                reach(at + turn);
                const unsigned bits = static_cast<unsigned>(rows.items[row]) << (turn * SIZE % 4 * 8);
                words[turn * SIZE / 4] = turn * SIZE % 4 == 0 ? bits : words[turn * SIZE / 4] | bits;
            }
        }
        *reinterpret_cast<uint4*>(out + at) = {words[0], words[1], words[2], words[3]};
    }
    for (int at = tail + thread; at < end; at += BLOCK_SIZE) {
        reach(at);
        out[at] = rows.items[row];
    }
}

// Grid: one block for every `stretch` items of output. With BATCHED each group but the last has as many blocks as the largest
// group needs.
extern "C" __global__ void __launch_bounds__(BLOCK_SIZE) merge_values(const __grid_constant__ Source source, Item* out,
    long long stretch, const unsigned char* text, const long long* starts)
{
    __shared__ Ends ends;
    __shared__ Rows rows;
    __shared__ unsigned bounds[2];
    const Lines lines{text, starts};
    const Part part = source.here(static_cast<unsigned>((source.largest() + stretch - 1) / stretch));
    const Runs& runs = source.group(part.group);
    const long long first = part.block * stretch;
    const int count = static_cast<int>(smaller(stretch, runs.total() - first));
    out += source.start_of(part.group) + first;
    if (threadIdx.x == 0) {
        bounds[0] = ~0u;
        bounds[1] = 0;
    }
    cut_ends(runs, first, first + count, BLOCK_SIZE, &ends, lines);
    const long long* const low = ends.cuts[0].at;
    const long long* const high = ends.cuts[1].at;
    for (int run = static_cast<int>(threadIdx.x); run < RUNS; run += BLOCK_SIZE) {
        if (low[run] >= high[run]) continue;
        const Item* const items = runs.items_of(run);
        atomicMin(&bounds[0], static_cast<unsigned>(image(items[low[run]])));
        atomicMax(&bounds[1], static_cast<unsigned>(image(items[high[run] - 1])));
    }
    __syncthreads();  // every run has widened the bounds
    const int least = static_cast<int>(bounds[0]);
    const int most = static_cast<int>(bounds[1] < bounds[0] ? bounds[0] : bounds[1]);
    for (int value = least, done = 0; value <= most;) {
        const int values = smaller(MOST_VALUES, most - value + 1);
        find_rows(runs, low, high, value, values, least, most, &rows);
        // If the runs are not in order, rows may end anywhere, and the next value may be any. Still values ascend, and all of
        // the output is written.
        value = rows.next < value + values ? value + values : rows.next;
        const int end = value > most ? count : smaller(rows.ends[values - 1], count);
        write_rows(rows, values, out, done, end < done ? done : end);
        done = end < done ? done : end;
    }
}
