// The cuts at every tile edge, so that a block of merge_path knows its slices before it starts.
//
// A block cuts a stretch of EDGES tiles: first its two ends, then every STRIDEth edge between them, then the rest, each
// from the windows that the level before leaves. Macros: PARTITION_SIZE threads a block, EDGES, STRIDE.
#include "cuts.cuh"

#ifndef PARTITION_SIZE
#define PARTITION_SIZE (RUNS == 2 ? 128 : 256)
#endif
#ifndef EDGES
#define EDGES (RUNS == 2 ? 128 : RUNS == 16 ? 32 : 64)
#endif
#ifndef STRIDE
#define STRIDE 8
#endif

constexpr int MARKS = (EDGES + STRIDE - 1) / STRIDE;  // stretches between marks; mark 0 and mark MARKS are the ends
static_assert(PARTITION_SIZE >= WINDOWS, "a cut needs a thread for each of its windows");

// cuts[RUNS * t + r] becomes the cut of run r at output position min(t * tile, total), for t in [0, edges).
// Grid: ceil(edges / EDGES) blocks.
extern "C" __global__ void __launch_bounds__(PARTITION_SIZE) partition(const __grid_constant__ Runs runs, long long* cuts,
    long long edges, long long tile, const unsigned char* text, const long long* starts)
{
    __shared__ Ends ends;
    __shared__ Cut marks[MARKS + 1];
    __shared__ Cut fine[EDGES];
    const Lines lines{text, starts};
    const long long total = runs.total();
    const long long begin = static_cast<long long>(blockIdx.x) * EDGES;
    const long long end = smaller(begin + EDGES, edges - 1);
    const auto rank_of = [&](long long edge) { return smaller(smaller(edge, end) * tile, total); };
    cut_ends(runs, rank_of(begin), rank_of(end), PARTITION_SIZE, &ends, lines);

    const Team coarse(PARTITION_SIZE, MARKS > 1 ? MARKS - 1 : 1);
    for (int done = 1; done < MARKS; done += coarse.at_once) {
        const bool active = coarse.cut < coarse.at_once && done + coarse.cut < MARKS;
        const int mark = active ? done + coarse.cut : 0;
        cut_between(
            runs, coarse, active, rank_of(begin + mark * STRIDE), &ends.cuts[0], &ends.cuts[1], &marks[mark], lines);
    }
    if (threadIdx.x == 0) {
        marks[0] = ends.cuts[0];
        marks[MARKS] = ends.cuts[1];
    }
    __syncthreads();  // all marks are there

    const int count = static_cast<int>(smaller(static_cast<long long>(EDGES), edges - begin));
    const Team each(PARTITION_SIZE, EDGES);
    for (int done = 0; done < count; done += each.at_once) {
        const bool active = each.cut < each.at_once && done + each.cut < count;
        const int edge = active ? done + each.cut : 0;
        const int mark = edge / STRIDE;
        cut_between(runs, each, active, rank_of(begin + edge), &marks[mark], &marks[mark + 1], &fine[edge], lines);
    }
    __syncthreads();  // all cuts are there
    for (int at = static_cast<int>(threadIdx.x); at < count * RUNS; at += PARTITION_SIZE)
        cuts[RUNS * begin + at] = fine[at / RUNS].at[at % RUNS];
}
