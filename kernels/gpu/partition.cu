// Finds the cuts at all tile edges, so that a block of merge_path knows its slices before it starts.
//
// A block cuts a stretch of tiles in three levels: the two ends, then every STRIDEth edge between them, then all other edges.
// Each level searches the windows that the level before left. For two runs a stretch is no longer than STRIDE, so the second
// level has nothing to do. Macros: PARTITION_SIZE threads a block, STRIDE; WALK 1 if cuts are states of
// the walk through two runs (see sets.cuh), 0 if they are those of a merge.
#include "../sets.cuh"
#include "cuts.cuh"
#include "sizes.cuh"

#ifndef PARTITION_SIZE
#define PARTITION_SIZE (RUNS == 2 ? PARTITION_THREADS_OF_TWO : PARTITION_THREADS)
#endif
#ifndef STRIDE
#define STRIDE (RUNS == 2 ? STRIDE_OF_TWO : STRIDE_OF_MORE)
#endif
#ifndef WALK
#define WALK 0
#endif

static_assert(PARTITION_SIZE >= WINDOWS, "a cut needs a thread for each of its windows");

// cuts[RUNS * t + r] becomes the cut of run r at output position min(t * tile, total), for t in [0, edges). The cuts of the next
// group follow. Grid: ceil(edges / stretch) blocks for each group. stretch: at most MOST_EDGES. edges: those of the largest
// group; with GROUPED those of a group follow from its items.
extern "C" __global__ void __launch_bounds__(PARTITION_SIZE) partition(const __grid_constant__ Source source, long long* cuts,
    long long edges, long long stretch, long long tile, const unsigned char* text, const long long* starts)
{
    __shared__ Ends ends;
    __shared__ Cut marks[(MOST_EDGES + STRIDE - 1) / STRIDE + 1];
    let_next_begin();
    const Lines lines{text, starts};
    const Part part = source.here(static_cast<unsigned>((edges + stretch - 1) / stretch));
    const Runs& runs = source.group(part.group);
    const long long total = runs.total();
    const long long begin = part.block * stretch;
    cuts += source.cuts_ahead(part.group, edges) * RUNS;
    edges = source.edges_of(runs, edges, tile);
    const long long end = smaller(begin + stretch, edges - 1);
    const auto rank_of = [&](long long edge) { return smaller(smaller(edge, end) * tile, total); };
    cut_ends(runs, rank_of(begin), rank_of(end), PARTITION_SIZE, &ends, lines);

    // The first and the last mark are the ends.
    const int last = static_cast<int>((stretch + STRIDE - 1) / STRIDE);
    const Team coarse(PARTITION_SIZE, last > 1 ? last - 1 : 1);
    for (int done = 1; done < last; done += coarse.at_once) {
        const bool active = coarse.cut < coarse.at_once && done + coarse.cut < last;
        const int mark = active ? done + coarse.cut : 0;
        const long long rank = rank_of(begin + mark * STRIDE);
        cut_between(runs, coarse, active, rank, &ends.cuts[0], &ends.cuts[1], marks[mark].at, lines);
        if (active && coarse.leads()) marks[mark].rank = rank;
    }
    if (threadIdx.x == 0) {
        marks[0] = ends.cuts[0];
        marks[last] = ends.cuts[1];
    }
    __syncthreads();  // all marks are written before any thread reads them

    const int count = static_cast<int>(smaller(stretch, edges - begin));
    const Team each(PARTITION_SIZE, count);
    for (int done = 0; done < count; done += each.at_once) {
        const bool active = each.cut < each.at_once && done + each.cut < count;
        const int edge = active ? done + each.cut : 0;
        const Cut* const below = &marks[edge / STRIDE];
        long long* const at = cuts + RUNS * (begin + edge);
        cut_between(runs, each, active, rank_of(begin + edge), below, below + 1, at, lines);
#if WALK
        if (active && each.leads()) {
            const Passed<long long> passed = walk_from_cut<long long>(
                at[0], at[1], runs.items_of(0), runs.count_of(0), runs.items_of(1), runs.count_of(1), lines);
            at[0] = passed.a;
            at[1] = passed.b;
        }
#endif
    }
}
