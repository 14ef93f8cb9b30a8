"""The merge path, its cuts and co-rank's steps, held against a plain merge of two lists."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.backends import select
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.backends.splits import Splits
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.errors import UsageError
from gpumerge_cli.explain.items import TracedRun
from gpumerge_cli.explain.path import axis_of, cut_at, cut_levels, path_points, search_for
from gpumerge_cli.explain.shape import launch_shape
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.kinds import Order
from tests.reference import ReferenceBackend

SORTED = st.lists(st.integers(0, 9), max_size=14).map(sorted)
INT32 = Order.of("int32")


def items(keys: Sequence[int], name: str = "A") -> TracedRun:
    return TracedRun(np.array(keys, np.int32).view(np.uint8), INT32, name)


def plain_path(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Every point of the path: A goes first unless B's next item is less."""
    path = [(0, 0)]
    for _ in range(len(a) + len(b)):
        i, j = path[-1]
        take_a = j == len(b) or (i < len(a) and a[i] <= b[j])
        path.append((i + 1, j) if take_a else (i, j + 1))
    return path


@given(a=SORTED, b=SORTED)
def test_the_path_is_that_of_a_plain_merge(a: list[int], b: list[int]) -> None:
    path = plain_path(a, b)
    assert list(path_points(items(a), items(b))) == path
    assert [(cut.i, cut.j) for cut in (cut_at(items(a), items(b), rank) for rank in range(len(path)))] == path


@given(a=SORTED, b=SORTED, steps=st.tuples(st.integers(1, 6), st.integers(1, 6)))
def test_a_coarse_path_is_the_fine_one_seen_on_a_coarse_grid(
    a: list[int], b: list[int], steps: tuple[int, int]
) -> None:
    path = plain_path(a, b)
    points = path_points(items(a), items(b), *steps)
    assert set(points) <= set(path)
    seen = [list(dict.fromkeys((i // steps[0], j // steps[1]) for i, j in through)) for through in (path, points)]
    assert seen[0] == seen[1]


@given(a=SORTED, b=SORTED, data=st.data())
def test_a_search_ends_at_the_plain_co_rank(a: list[int], b: list[int], data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, len(a) + len(b)))
    i, j = plain_path(a, b)[rank]
    search = search_for(items(a), items(b), rank)
    assert (search.found.i, search.found.j, search.rank) == (i, j, rank)
    low, high = max(0, rank - len(b)), min(rank, len(a))
    for step in search.steps:
        assert (step.low, step.high) == (low, high)
        assert (step.i, step.i + step.j) == ((low + high) // 2, rank)
        assert (step.a, step.b) == (str(a[step.i]), str(b[step.j - 1]))
        assert step.b_first == (b[step.j - 1] < a[step.i])
        low, high = (low, step.i) if step.b_first else (step.i + 1, high)
    assert low == high == i


def test_a_rank_beyond_the_end_is_refused() -> None:
    with pytest.raises(UsageError, match="ranks 0 to 3"):
        search_for(items([1, 2]), items([3]), 4)


def nested(total: int, *sizes: int) -> list[list[int]]:
    """The ranks of all cuts, if each size cuts the pieces of the sizes before it."""
    edges, found = [0, total], []
    for size in sizes:
        cuts = [at for start, stop in pairwise(edges) for at in range(start + size, stop, size)]
        found.append(cuts)
        edges = sorted({*edges, *cuts})
    return found


@pytest.mark.parametrize("total", [0, 1, 5, 6, 7, 12, 25, 48])
@pytest.mark.parametrize(
    ("launch", "whats", "sizes"),
    [
        (LaunchRequest("path", 3, 2), ("block", "thread"), (6, 2)),
        (LaunchRequest("auto", 2, 1), ("block", "thread"), (2, 1)),
        (LaunchRequest("basic", 4, 3), ("block", "thread"), (12, 3)),
        (LaunchRequest("circular", 2, tile_size=5), ("block", "round", "thread"), (99, 5, 3)),
        (LaunchRequest("tiled", 2, 2, tile_size=4), ("block", "round", "thread"), (99, 4, 2)),
    ],
)
def test_cuts_of_a_shape_lie_where_its_sizes_say(
    total: int, launch: LaunchRequest, whats: tuple[str, ...], sizes: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(total)
    a, b = (sorted(rng.integers(0, 9, count)) for count in (total // 3, total - total // 3))
    path = plain_path(a, b)
    levels = cut_levels(items(a), items(b), launch_shape(Resources(), launch, INT32, total, 1))
    assert tuple(level.what for level in levels) == whats
    expected = nested(total, *sizes)
    assert [[cut.rank for cut in level.cuts] for level in levels] == expected
    assert [level.count for level in levels] == [len(ranks) for ranks in expected]
    assert all((cut.i, cut.j) == path[cut.rank] for level in levels for cut in level.cuts)
    assert [level.outputs for level in levels] == [min(total, size) for size in sizes]


def test_several_blocks_of_a_staged_kernel_own_equal_sections() -> None:
    a, b = items(range(10)), items(range(10))
    launch = LaunchRequest("circular", 2, tile_size=4, blocks=3)
    block, round_, thread = cut_levels(a, b, launch_shape(Resources(), launch, INT32, 20, 1))
    assert [cut.rank for cut in block.cuts] == [7, 14]
    assert [cut.rank for cut in round_.cuts] == [4, 11, 18]
    assert [cut.rank for cut in thread.cuts] == [2, 6, 9, 13, 16]


def test_the_cpus_own_cuts_are_its_chains() -> None:
    a, b = items(range(9)), items(range(9))
    hosts, block, chain = cut_levels(a, b, launch_shape(Resources("cpu"), LaunchRequest(), INT32, 18, 8))
    assert (hosts.count, block.count, block.outputs) == (0, 0, 18)
    assert [cut.rank for cut in chain.cuts] == [4, 8, 12]
    shape = launch_shape(Resources("cpu"), LaunchRequest("circular", 2, tile_size=4), INT32, 18, 8)
    assert [level.what for level in cut_levels(a, b, shape)] == ["host thread", "round", "thread"]
    (large, *_) = cut_levels(a, b, launch_shape(Resources("cpu"), LaunchRequest(), INT32, 18, 8), most=0)
    assert large.cuts == ()


@pytest.mark.parametrize("choice", ["auto", "gpu"])
def test_a_gpu_cuts_by_its_own_policy(choice: Literal["auto", "gpu"], monkeypatch: pytest.MonkeyPatch) -> None:
    class Gpu(ReferenceBackend):
        name = "gpu"

        def resolve(self, request: LaunchRequest, order: Order, runs: int = 2) -> LaunchPolicy:
            return resolve(request, order, DeviceLimits(1024, 100_000, 8))

        def splits(self, policy: LaunchPolicy, total: int, threads: int) -> Splits:
            return variant_named(policy.kernel).gpu.splits(policy, total)

    monkeypatch.setattr(select, "select", lambda *arguments, **options: select.Selected(Gpu(), "it is there"))
    shape = launch_shape(Resources(choice), LaunchRequest(), INT32, 10**5, 1)
    assert (shape.rules, shape.why, shape.policy.kernel) == ("GPU", "it is there", "path")
    a, b = items(range(50_000)), items(range(50_000))
    block, thread = cut_levels(a, b, shape)
    assert [cut.rank for cut in block.cuts] == list(range(shape.policy.tile_size, 10**5, shape.policy.tile_size))
    assert (block.outputs, thread.outputs) == (shape.policy.tile_size, shape.policy.items_per_thread)


def test_sizes_asked_for_are_held_against_the_device_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    launch = LaunchRequest(block_size=64)
    assert launch_shape(Resources(), launch, INT32, 1000, 1).policy.block_size == 64
    monkeypatch.setattr(gpu, "limits_of", lambda device: DeviceLimits(8 << device, 100_000, 4))
    assert launch_shape(Resources(devices=(3,)), launch, INT32, 1000, 1).policy.block_size == 64
    with pytest.raises(UsageError, match="--block-size 64 is more than the 8 threads"):
        launch_shape(Resources(), launch, INT32, 1000, 1)


def test_more_cuts_than_a_picture_shows_are_counted_only() -> None:
    a, b = items(range(500)), items(range(500))
    shape = launch_shape(Resources(), LaunchRequest("path", 10, 1), INT32, 1000, 1)
    block, thread = cut_levels(a, b, shape, most=100)
    assert (block.count, len(block.cuts)) == (99, 99)
    assert (thread.count, len(thread.cuts)) == (900, 0)


def test_labels_are_keys_short_enough_for_a_picture() -> None:
    lines = TracedRun(np.frombuffer(b"a\tb\nlonger than twelve\n\xff\n", np.uint8), Order.lines(), "t")
    assert axis_of(lines).labels == ("a\\tb", "longer than…", "\\xff")
    floats = TracedRun(np.array([-0.5, 1e20, np.nan]).view(np.uint8), Order.of("float64"), "f")
    assert axis_of(floats).labels == ("-0.5", "1e+20", "nan")
    assert axis_of(items(range(10)), most=4).labels == ("0", "3", "6", "9")
    records = TracedRun(np.frombuffer(b"..ab..cd", np.uint8), Order.records(4, 2, 2), "r")
    assert axis_of(records).labels == ("ab", "cd")
