"""All that the page of a merge path shows: its items, and launches of every kernel with their accesses and rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.load import LoadedRuns
from gpumerge_cli.errors import GpumergeError, UsageError
from gpumerge_cli.explain.accesses import TRACED, block_accesses
from gpumerge_cli.explain.items import TracedRun, b_first
from gpumerge_cli.explain.path import axis_of, cut_levels, path_points, search_for
from gpumerge_cli.explain.path_accesses import path_block_accesses, traces_path
from gpumerge_cli.explain.rounds import MOST_PLACES, bugs_of, rounds_of
from gpumerge_cli.explain.shape import (
    Shape,
    kernel_item_bytes,
    kernel_shared_bytes,
    launch_shape,
    piece_ranges,
)
from gpumerge_cli.explain.warps import traffic_of, warp_traces
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.results.page import Bug, PageLaunch, PathPage, WarpTrace
from gpumerge_cli.results.path import PathReport, Round
from gpumerge_cli.results.run import InputFile

MOST_ITEMS = 128
"""The most items of an input that the page shows; of longer inputs it shows a sample."""
MOST_LANES = 1500
"""The page holds the accesses of the first warps, until they are so many."""
TEXTBOOK = ((0, 1, 4, 5, 5, 7, 8, 9), (1, 1, 3, 6, 6, 7, 9))
"""Kirk and Hwu, Programming Massively Parallel Processors, the chapter on merge: the example of the tiled kernel."""
_FEW = 64
"""The most outputs for which small tiles make few rounds."""
_THREADS, _ITEMS, _TILES = (4, 2, 8, 32), (2, 1, 4), (4, 3, 8, 16)
"""The sizes from which the reader chooses for few outputs. The first ones are shown first."""
_MORE_THREADS, _MORE_TILES = (8, 32), (16, 32)
"""The same for more outputs."""
_STAGED: tuple[tuple[str, str | None], ...] = (("tiled", "full"), ("tiled", "exact"), ("circular", None))


def textbook_runs() -> LoadedRuns:
    """The textbook's example, as int32."""
    runs = tuple(np.array(keys, np.int32).view(np.uint8) for keys in TEXTBOOK)
    files = tuple(InputFile(name, len(run) // 4, len(run)) for name, run in zip("AB", runs, strict=True))
    return LoadedRuns(runs, Order.of("int32"), files)


def path_page(
    runs: tuple[TracedRun, TracedRun],
    order: Order,
    on: Resources,
    launch: LaunchRequest,
    threads: int,
    rank: int | None,
) -> PathPage:
    """The page of two runs. threads: the CPU's. rank: of the cut that is shown first, by default one in the middle;
    in a sample, the cut nearest to that part of the merge.

    Raises UsageError for a launch that cannot be done, or a rank that the merge does not have.
    """
    if rank is not None:
        search_for(*runs, rank)
    counts = runs[0].size, runs[1].size
    step = max(1, -(-max(counts) // MOST_ITEMS))
    a, b = (run.every(step) for run in runs)
    total = a.size + b.size
    shapes = list(_shapes(on, launch, order, total, threads))
    report = PathReport(
        axis_of(a), axis_of(b), order=order.describe(), launch=shapes[0].policy.describe(), rules=shapes[0].rules,
        why=shapes[0].why, points=path_points(a, b), levels=cut_levels(a, b, shapes[0]),
        search=search_for(a, b, total // 2 if rank is None else min(total, rank // step)),
    )  # fmt: skip
    codes = key_codes(a, b)
    launches = tuple(_launch(a, b, codes, shape, order) for shape in shapes)
    return PathPage(report, codes, step, counts, kernel_item_bytes(order), launches, _ladder(launches))


def _ladder(launches: Iterable[PageLaunch]) -> tuple[str, ...]:
    def rung(name: str) -> tuple[bool, int, bool]:
        return name.endswith("CPU"), KERNELS.index(name.split()[0]), name.endswith("exact")

    return tuple(sorted({launch.kernel for launch in launches}, key=rung))


def key_codes(a: TracedRun, b: TracedRun) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Numbers that compare as the keys do: 0 for the least key, one more for each greater one."""
    codes: tuple[list[int], list[int]] = ([], [])
    number, last = 0, None
    while len(codes[0]) < a.size or len(codes[1]) < b.size:
        i, j = len(codes[0]), len(codes[1])
        take_b = j < b.size and (i == a.size or b_first(b, j, a, i))
        key = b.key_at(j) if take_b else a.key_at(i)
        number += last is not None and bool(last < key)
        codes[take_b].append(number)
        last = key
    return tuple(codes[0]), tuple(codes[1])


def _shapes(on: Resources, launch: LaunchRequest, order: Order, total: int, threads: int) -> Iterator[Shape]:
    """The requested launch, if it has sizes, and those among which the reader chooses; no two are alike."""
    seen = set()
    wanted = [(on, launch)] if launch != LaunchRequest(launch.kernel) or on.backend != "auto" else []
    choices = list(_choices(total))
    others = [pair for pair in choices if launch.kernel in ("auto", pair[1].kernel)]
    for number, (where, request) in enumerate([*wanted, *others, *choices]):
        try:
            shape = launch_shape(where, request, order, total, threads)
        except GpumergeError:
            if number < len(wanted):
                raise
            continue
        if (shape.rules, shape.policy) not in seen:
            seen.add((shape.rules, shape.policy))
            yield shape
    if not seen:
        raise UsageError("--html: no kernel merges these items", way_out="leave --html out")


def _choices(total: int) -> Iterator[tuple[Resources, LaunchRequest]]:
    gpu = Resources()
    thread_counts, tiles = (_THREADS, _TILES) if total <= _FEW else (_MORE_THREADS, _MORE_TILES)
    for threads, items in product(thread_counts, _ITEMS):
        yield gpu, LaunchRequest("basic", threads, items)
    for (kernel, load), threads, items, tile in product(_STAGED, (thread_counts[0], thread_counts[-1]), _ITEMS, tiles):
        yield gpu, LaunchRequest(kernel, threads, items, tile, load, blocks=2)  # type: ignore[arg-type]
    for threads, items in product(thread_counts, _ITEMS):
        yield gpu, LaunchRequest("path", threads, items, transfer="vector")
    for kernel, tile in product(("path", "vector"), tiles):
        yield Resources("cpu"), LaunchRequest(kernel, tile_size=tile)


def _launch(
    a: TracedRun, b: TracedRun, codes: tuple[tuple[int, ...], tuple[int, ...]], shape: Shape, order: Order
) -> PageLaunch:
    policy, total, size = shape.policy, a.size + b.size, kernel_item_bytes(order)
    splits = [split for _, split in shape.splits]
    levels = tuple(
        (what, tuple(start for start, _ in piece_ranges(splits[: number + 1], total)))
        for number, (what, _) in enumerate(shape.splits)
    )
    by_gpu = shape.rules == "GPU"
    warps: list[WarpTrace] = []
    if by_gpu and policy.rung in TRACED:
        warps = list(warp_traces(block_accesses(*codes, policy), size))
    elif by_gpu and policy.transfer == "vector" and traces_path(order):
        warps = list(warp_traces(path_block_accesses(*codes, policy, size), size))
    rounds: tuple[Round, ...] = ()
    bugs: tuple[Bug, ...] = ()
    if by_gpu and policy.staged and policy.tile_size <= MOST_PLACES:
        rounds = rounds_of(a, b, shape)
        bugs = tuple(Bug(name, rounds_of(a, b, shape, name)) for name in bugs_of(policy))
    return PageLaunch(
        policy.rung if by_gpu else f"{policy.kernel} on the CPU",
        policy.block_size,
        policy.items_per_thread,
        policy.tile_size,
        policy.blocks,
        f"{policy.describe()}, by the {shape.rules}'s rules",
        levels,
        traffic_of(warps),
        tuple(_first(warps)),
        len(warps),
        kernel_shared_bytes(policy, order) if warps else 0,
        rounds,
        bugs,
    )


def _first(warps: list[WarpTrace]) -> Iterator[WarpTrace]:
    left = MOST_LANES
    for warp in warps:
        lanes = sum(len(step.lanes) for step in warp.steps)
        if left < MOST_LANES and left < lanes:
            return
        left -= lanes
        yield warp
