"""The merge path of two runs, its cuts, and the search for a cut, as plain data for a picture."""

from __future__ import annotations

from gpumerge_cli.corank import bound, co_rank
from gpumerge_cli.errors import UsageError
from gpumerge_cli.explain.items import TracedRun, b_first
from gpumerge_cli.explain.shape import Shape, count_cuts, cut_ranks
from gpumerge_cli.results.path import CutLevel, CutSearch, InputAxis, PathCut, SearchStep

MOST_STEPS = 1000
"""The most steps of an axis: finer ones could not be seen."""
MOST_CUTS = 4096


def axis_of(run: TracedRun, *, most: int = MOST_STEPS) -> InputAxis:
    """The run as an axis of at most `most` steps."""
    step = max(1, -(-run.size // most))
    return InputAxis(run.name, run.size, step, tuple(run.label(number) for number in range(0, run.size, step)))


def path_points(a: TracedRun, b: TracedRun, a_step: int = 1, b_step: int = 1) -> tuple[tuple[int, int], ...]:
    """The points of the path in order: both ends, and those at every a_step-th i and every b_step-th j."""
    points = {(0, 0), (a.size, b.size)}
    i = j = 0
    for i_at in range(a_step, a.size + 1, a_step):
        j = bound(b, a.key_at(i_at - 1), j, b.size, after_equals=False)
        points.add((i_at, j))
    for j_at in range(b_step, b.size + 1, b_step):
        i = bound(a, b.key_at(j_at - 1), i, a.size, after_equals=True)
        points.add((i, j_at))
    return tuple(sorted(points))


def cut_at(a: TracedRun, b: TracedRun, rank: int) -> PathCut:
    """The cut of A and B at a rank."""
    i, _ = co_rank(rank, a.size, b.size, lambda j, i: b_first(b, j, a, i))
    return PathCut(i, rank - i)


def cut_levels(a: TracedRun, b: TracedRun, shape: Shape, *, most: int = MOST_CUTS) -> tuple[CutLevel, ...]:
    """The cuts of every level of the shape. From the first level with more than `most` on, the cuts are left out."""
    total = a.size + b.size
    levels = []
    so_far = 0
    for number, (what, _) in enumerate(shape.splits, start=1):
        splits = [split for _, split in shape.splits[:number]]
        count, outputs = count_cuts(splits, total)
        so_far += count
        ranks = cut_ranks(splits, total) if count and so_far <= most else ()
        levels.append(CutLevel(what, outputs, count, tuple(cut_at(a, b, rank) for rank in ranks)))
    return tuple(levels)


def search_for(a: TracedRun, b: TracedRun, rank: int) -> CutSearch:
    """The steps that find the cut at `rank`. Raises UsageError for a rank that the merge does not have."""
    if not 0 <= rank <= a.size + b.size:
        raise UsageError(f"--rank {rank}: the merge has ranks 0 to {a.size + b.size}", way_out="use one of them")
    found, probes = co_rank(rank, a.size, b.size, lambda j, i: b_first(b, j, a, i))
    steps = (
        SearchStep(p.low, p.high, p.i, rank - p.i, a.label(p.i), b.label(rank - 1 - p.i), p.b_first) for p in probes
    )
    return CutSearch(rank, PathCut(found, rank - found), tuple(steps))
