"""The model of the page: keys as numbers, warps and sectors, and what bugs of printed kernels break."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.engine.job import Resources
from gpumerge_cli.errors import UsageError
from gpumerge_cli.explain.accesses import Access, block_accesses
from gpumerge_cli.explain.items import input_pair, runs_of_words
from gpumerge_cli.explain.page import MOST_ITEMS, TEXTBOOK, key_codes, path_page, textbook_runs
from gpumerge_cli.explain.path_accesses import path_block_accesses
from gpumerge_cli.explain.rounds import bugs_of, rounds_of
from gpumerge_cli.explain.shape import launch_shape
from gpumerge_cli.explain.warps import touched_sectors, traffic_of, warp_traces
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.results.page import PathPage
from tests.explain.test_path import INT32, SORTED, items, plain_path
from tests.kernels.kernel_pairs import BOOK_PAIRS

ON_CPU = ("path on the CPU", "vector on the CPU")
STAGED = [("tiled", "full"), ("tiled", "exact"), ("circular", None)]


def page_of(a: list[int], b: list[int], launch: LaunchRequest | None = None, rank: int | None = None) -> PathPage:
    return path_page((items(a), items(b, "B")), INT32, Resources(), launch or LaunchRequest(), 2, rank)


def test_the_textbook_example_is_the_books() -> None:
    assert tuple(map(list, TEXTBOOK)) == BOOK_PAIRS["book_eight_and_seven"]
    loaded = textbook_runs()
    assert [run.view(np.int32).tolist() for run in loaded.runs] == list(map(list, TEXTBOOK))


@given(a=SORTED, b=SORTED)
def test_codes_compare_as_the_keys_do(a: list[int], b: list[int]) -> None:
    codes = key_codes(items(a), items(b))
    both, numbers = a + b, [*codes[0], *codes[1]]
    assert [(x < y, x == y) for x in both for y in both] == [(x < y, x == y) for x in numbers for y in numbers]


def test_codes_compare_as_keys_of_any_order_do() -> None:
    for lists, reverse in ((["c b a", "b a"], True), (["-1.5 0", "-0.0 2 nan"], False)):
        a, b = input_pair(runs_of_words(lists, None, reverse=reverse))
        codes = key_codes(a, b)
        for i, j in product(range(a.size), range(b.size)):
            assert (a.key_at(i) < b.key_at(j)) == (codes[0][i] < codes[1][j])
            assert (b.key_at(j) < a.key_at(i)) == (codes[1][j] < codes[0][i])


@given(a=SORTED, b=SORTED, tile=st.integers(1, 6), block=st.integers(1, 3), each=st.integers(1, 3))
@pytest.mark.parametrize(("kernel", "load"), STAGED)
def test_rounds_write_the_merge(
    kernel: str, load: str, a: list[int], b: list[int], tile: int, block: int, each: int
) -> None:
    runs = items(a), items(b)
    shape = launch_shape(Resources(), LaunchRequest(kernel, block, each, tile, load), INT32, len(a) + len(b), 1)  # type: ignore[arg-type]
    path = plain_path(a, b)
    expected = [i if after[0] > i else -1 - j for (i, j), after in pairwise(path)]
    assert [origin for one in rounds_of(*runs, shape) for origin in one.origins] == expected
    for bug in bugs_of(shape.policy):
        written = [origin for one in rounds_of(*runs, shape, bug) for origin in one.origins]
        assert len(written) == len(expected)
        assert all(origin is None or -len(b) <= origin < max(1, len(a)) for origin in written)


@pytest.mark.parametrize(
    ("bug", "kernel", "lost"),
    [("refill", "circular", True), ("count", "circular", True), ("ties", "circular", True), ("count", "tiled", True)],
)
def test_a_bug_breaks_the_textbook_example(bug: str, kernel: str, lost: bool) -> None:
    launch = LaunchRequest(kernel, 4, 1, 3, "full" if kernel == "tiled" else None, blocks=2)  # type: ignore[arg-type]
    one = page_of(*map(list, TEXTBOOK), launch).launches[0]
    right = [origin for each in one.rounds for origin in each.origins]
    wrong = next(other for other in one.bugs if other.name == bug)
    written = [origin for each in wrong.rounds for origin in each.origins]
    assert written != right
    assert bool(Counter(right) - Counter(written)) == lost


@given(
    a=SORTED, b=SORTED, block=st.integers(1, 40), each=st.integers(1, 3), size=st.sampled_from([1, 4, 12, 16]),
    kernel=st.sampled_from(["basic", *STAGED]),
)  # fmt: skip
def test_warps_hold_each_access_once(
    a: list[int], b: list[int], block: int, each: int, size: int, kernel: str | tuple[str, str]
) -> None:
    policy = LaunchPolicy("basic", block, each)
    if kernel != "basic":
        name, load = kernel
        policy = LaunchPolicy(name, block, each, 4, load, 2)  # type: ignore[arg-type]
    blocks = list(block_accesses(a, b, policy))
    warps = list(warp_traces(blocks, size))
    accesses = [access for threads in blocks for thread in threads for access in thread]

    def kinds(one: Access) -> tuple[object, ...]:
        return one.phase, one.memory, one.store, one.at

    held = Counter(
        (step.phase, step.memory, step.store, at)
        for warp in warps
        for step in warp.steps
        for at in step.lanes
        if at >= 0
    )
    assert held == Counter(map(kinds, accesses))
    for warp in warps:
        for step in warp.steps:
            touched = {(at * size + byte) // 32 for at in step.lanes if at >= 0 for byte in range(size)}
            assert step.sectors == (0 if step.memory == "shared" else len(touched))
    in_global = [one for one in accesses if one.memory != "shared"]
    traffic = traffic_of(warps)
    assert sum(one.lanes for one in traffic) == len(in_global)
    assert sum(one.asked for one in traffic) == size * len(in_global)
    # Every output is stored once, and every item is loaded at least once.
    assert sorted(one.at for one in in_global if one.store) == list(range(len(a) + len(b)))
    for memory, run in (("A", a), ("B", b)):
        assert {one.at for one in in_global if one.memory == memory} == set(range(len(run)))


def test_neighbours_touch_few_sectors() -> None:
    assert touched_sectors(range(32), 4) == 4
    assert touched_sectors(range(1, 33), 4) == 5
    assert touched_sectors([8 * lane for lane in range(32)], 4) == 32
    assert touched_sectors([-1, 5, 5, -1], 4) == 1
    assert touched_sectors([2], 12) == 2


@given(a=st.lists(st.integers(0, 99), max_size=60).map(sorted), b=st.lists(st.integers(0, 99), max_size=60).map(sorted))
@pytest.mark.parametrize("size", [4, 8, 16])
def test_the_path_kernel_moves_each_item_once(size: int, a: list[int], b: list[int]) -> None:
    """But for those in vectors at the edges of tiles, which two blocks load."""
    policy = LaunchPolicy("path", 4, 3, 12, transfer="vector")
    threads = [thread for block in path_block_accesses(a, b, policy, size) for thread in block]
    stored = [
        byte for thread in threads for one in thread if one.memory == "out"
        for byte in range(one.at * (one.unit or size), (one.at + 1) * (one.unit or size))
    ]  # fmt: skip
    assert sorted(stored) == list(range(size * (len(a) + len(b))))


def test_long_inputs_are_sampled() -> None:
    a, b = list(range(0, 1000, 2)), list(range(1, 100))
    page = page_of(a, b)
    assert (page.sample, page.counts) == (4, (500, 99))
    assert page.path.a.labels == tuple(map(str, a[::4]))
    assert page.path.b.count == 25
    assert page_of(a, b, rank=400).path.search.rank == 100  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="--rank 600: the merge has ranks 0 to 599"):
        page_of(a, b, rank=600)
    assert max(len(codes) for codes in page.codes) <= MOST_ITEMS


def test_the_requested_launch_comes_first() -> None:
    page = page_of([1, 3], [2], LaunchRequest("tiled", 2, 1, 2, "exact"))
    assert page.launches[0].launch.startswith("tiled 2x1, tile 2 exact, 1 block")
    assert page_of([1], [2], LaunchRequest("circular")).launches[0].kernel == "circular"
    assert page.kernels == ("basic", "tiled full", "tiled exact", "circular", "path", *ON_CPU)
    assert {launch.kernel for launch in page.launches} == set(page.kernels)
    with pytest.raises(UsageError, match="thread"):
        page_of([1], [2], LaunchRequest("path", 2, 4, 2))
    with pytest.raises(UsageError, match="--rank 3: the merge has ranks 0 to 2"):
        page_of([1], [2], rank=3)


@pytest.mark.parametrize("kept", [([], []), ([1], []), ([], [1, 2])])
def test_empty_inputs_have_pages(kept: tuple[list[int], list[int]]) -> None:
    assert page_of(*kept).launches
