"""Cuts: co-ranks under (key, input, position), whatever the items, near the bytes that were asked for."""

from __future__ import annotations

import bisect
import ctypes
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.order.kinds import Order, TextOrder
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.cpu import harness
from tests.cpu.cutting import PlainCutter, SortedRun
from tests.cpu.harness import DONE, memory_source, spec_of
from tests.linekeys import item_key, key_of

LINES = {
    "bytewise": LineOrder(),
    "reversed": LineOrder(reverse=True),
    "numeric": LineOrder((LineKey("numeric"),)),
    "stable by a field": LineOrder((LineKey("bytes", start_field=1, end_field=1),), stable=True),
}


def positions_of(items: list[list[bytes]]) -> list[list[int]]:
    return [[0, *np.cumsum([len(item) for item in run]).tolist()] for run in items]


def check_cuts(
    library: ctypes.CDLL, order: Order, items: list[list[bytes]], *asked: tuple[list[int], int],
    sources: list[harness.SourceSpec] | None = None,
) -> None:  # fmt: skip
    """Compare cuts with the order of all (key, input, position).

    asked: lists of targets, each with its slack: how far from its target a cut may lie.
    """
    starts = positions_of(items)
    trim = 1 if isinstance(order, TextOrder) else 0
    merged = sorted(
        (item_key(order, item[: len(item) - trim]), run, number)
        for run, of_run in enumerate(items)
        for number, item in enumerate(of_run)
    )
    # Every co-rank there is: positions once so many items are out.
    ranks, at = [tuple(0 for _ in items)], [0] * len(items)
    for _, run, number in merged:
        at[run] = starts[run][number + 1]
        ranks.append(tuple(at))
    rank_of = set(ranks)
    sums = list(map(sum, ranks))
    keys = [key for key, _, _ in merged]
    ahead = [at for at in range(len(ranks)) if at in (0, len(keys)) or keys[at - 1] < keys[at]]
    borders = {ranks[at] for at in ahead}
    specs = sources or [memory_source(b"".join(run)) for run in items]
    for targets, slack in asked:
        status, cuts, failure = harness.cut(library, spec_of(order), specs, targets)
        assert status == DONE, (status, failure.input, failure.position)
        for target, cut in zip(targets, cuts.tolist(), strict=True):
            assert tuple(cut) in rank_of, (target, cut)
            near = bisect.bisect_left(sums, target)
            best = min(abs(target - one) for one in sums[max(0, near - 1) : near + 1])
            assert abs(sum(cut) - target) <= best + slack, (target, sum(cut), best)
        assert (np.diff(cuts, axis=0) >= 0).all()
        status, cuts, failure = harness.cut(library, spec_of(order), specs, targets, groups=True)
        assert status == DONE, (status, failure.input, failure.position)
        assert {tuple(cut) for cut in cuts.tolist()} <= borders
        assert (np.diff(cuts, axis=0) >= 0).all()


def draw_keys(rng: np.random.Generator, dtype: str, runs: int, most: int, values: int) -> list[list[bytes]]:
    found = []
    for _ in range(runs):
        keys = rng.integers(0, values, int(rng.integers(0, most + 1))).astype(dtype)
        if np.dtype(dtype).kind == "f" and len(keys) > 3:
            keys[:2] = np.nan, -np.inf
        order = Order.of(dtype)
        keys = keys[np.argsort(order.image(keys), kind="stable")]
        found.append([key.tobytes() for key in keys])
    return found


@pytest.mark.one_of_each
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("values", [1, 3, 120])
def test_cuts_of_keys(library: ctypes.CDLL, dtype: str, values: int, rng: np.random.Generator) -> None:
    for runs, most in ((1, 3000), (2, 6000), (3, 3000), (7, 300), (40, 50), (300, 9)):
        items = draw_keys(rng, dtype, runs, most, values)
        total = sum(len(item) for run in items for item in run)
        gap = max(1, total // 20)
        drawn = sorted(rng.integers(0, max(1, total), 9).tolist())
        even = list(range(0, total + 1, gap))
        check_cuts(library, Order.of(dtype), items, (even, gap // 8), ([*drawn, total], total // 8))


def test_many_targets_within_one_item(library: ctypes.CDLL, rng: np.random.Generator) -> None:
    """A cut that was moved ahead of its group is moved there again for the next target."""
    for runs in (1, 2, 5):
        lines = [[b"%d" % number * 200 for number in sorted(rng.integers(0, 3, 4))] for _ in range(runs)]
        items = [[line + b"\n" for line in run] for run in lines]
        total = sum(len(item) for run in items for item in run)
        check_cuts(library, Order.lines(), items, (list(range(0, total + 1, int(rng.integers(1, 40)))), total))


def check_same_as_plain(library: ctypes.CDLL, order: Order, items: list[list[bytes]], targets: list[int]) -> None:
    trim = 1 if isinstance(order, TextOrder) else 0
    keys = [[item_key(order, item[: len(item) - trim]) for item in run] for run in items]
    plain = PlainCutter([SortedRun(*run) for run in zip(keys, positions_of(items), strict=True)]).cut(targets)
    specs = [memory_source(b"".join(run)) for run in items]
    status, cuts, _ = harness.cut(library, spec_of(order), specs, targets, threads=3)
    assert status == DONE
    assert cuts.tolist() == plain


@pytest.mark.parametrize(
    "kind",
    [
        *("uint8", "float64", "lines"),
        *(
            pytest.param(kind, marks=pytest.mark.thorough)
            for kind in ("int32", "int64", "float16", "descending", "records")
        ),
    ],
)
def test_cuts_are_those_of_the_plain_search(library: ctypes.CDLL, kind: str, rng: np.random.Generator) -> None:
    """Whatever is remembered, expected and shared by threads, each cut is at the pivot of the plain search."""
    for runs, most in ((2, 5000), (5, 600), (40, 100), (400, 10)):
        for values in (1, 40, 1 << 40):
            if kind == "lines":
                random_ = random.Random(int(rng.integers(1 << 32)))
                order: Order = Order.lines(LINES[random_.choice(list(LINES))])
                items = draw_lines(random_, order.text or LineOrder(), runs, most // 4, 60)
            elif kind == "records":
                order = Order.records(24, 5, random.Random(values).choice([np.dtype(">i4"), 3, 11]))
                raw = rng.integers(0, min(values, 255) + 1, (runs, most // 8, 24)).astype(np.uint8)
                items = [sorted((one.tobytes() for one in run), key=key_of(order)) for run in raw]
            else:
                dtype = "int64" if kind == "descending" else kind
                order = Order.of(dtype, descending=kind == "descending")
                limit = min(values, np.iinfo(dtype).max) if np.dtype(dtype).kind in "iu" else min(values, 60_000)
                items = draw_keys(rng, dtype, runs, most, limit)
                if kind == "descending":
                    items = [run[::-1] for run in items]
            total = sum(map(len, (item for run in items for item in run)))
            number = 3 if values == 1 else 40
            check_same_as_plain(library, order, items, list(range(0, total + 1, max(1, total // number))))


def test_sources_apart_take_few_reads(library: ctypes.CDLL) -> None:
    """An input that lies whole on one side of a cut is known to by the items that were read before."""
    runs = [np.arange(1 << 14, dtype=np.int64) + (number << 14) for number in range(300)]
    reads = [0] * 2

    def source_of(run: np.ndarray[Any, Any], kind: int) -> harness.SourceSpec:
        def read(context: int, position: int, out: Any, nbytes: int) -> int:
            reads[kind] += 1
            ctypes.memmove(out, run.ctypes.data + position, nbytes)
            return nbytes

        return harness.callback_source(run.nbytes, read)

    total = sum(run.nbytes for run in runs)
    for kind, targets in enumerate(([total // 2], list(range(0, total, total // 2000)))):
        specs = [source_of(run, kind) for run in runs]
        status, _, _ = harness.cut(library, spec_of(Order.of("int64")), specs, targets, threads=2)
        assert status == DONE
    assert reads[1] < reads[0] + 8 * 2000


@pytest.mark.one_of_each
@pytest.mark.parametrize("shape", ["blocky", "disjoint", "disjoint back", "one tiny", "skewed"])
@pytest.mark.parametrize("runs", [2, 5])
def test_cuts_of_runs_that_are_not_alike(library: ctypes.CDLL, shape: str, runs: int, rng: np.random.Generator) -> None:
    each = 8000
    if shape == "blocky":
        owner = np.concatenate([np.full(700 if n % 2 else 1300, n % runs) for n in range(each * runs // 1000)])
        keys = [np.flatnonzero(owner == run) for run in range(runs)]
    elif shape.startswith("disjoint"):
        keys = [np.arange(each) + each * (runs - run if "back" in shape else run) for run in range(runs)]
    elif shape == "one tiny":
        keys = [np.arange(each) if run == 1 else np.array([each // 3]) for run in range(runs)]
    else:
        keys = [np.sort((rng.random(each) ** (3 * run + 1) * 1e9).astype(np.int64)) for run in range(runs)]
    items = [[key.tobytes() for key in run.astype(np.int32)] for run in keys]
    total = sum(map(len, items)) * 4
    check_cuts(library, Order.of("int32"), items, (list(range(0, total, total // 50)), total // 50 // 8))


def test_cuts_of_descending_keys_and_records(library: ctypes.CDLL, rng: np.random.Generator) -> None:
    orders = [
        Order.of("int32", descending=True), Order.records(24, 5, np.dtype(">i4")), Order.records(9, 2, 3),
        Order.records(100, 0, 10, descending=True), Order.records(6000, 4500, np.dtype("<f8")),
    ]  # fmt: skip
    for order in orders:
        for runs, most in ((2, 300), (5, 200), (64, 9)):
            items = []
            for _ in range(runs):
                raw = rng.integers(0, 3, (int(rng.integers(0, most + 1)), order.item_bytes)).astype(np.uint8)
                items.append(sorted((item.tobytes() for item in raw), key=key_of(order)))
            total = sum(map(len, items)) * order.item_bytes
            gap = max(1, total // 15)
            check_cuts(library, order, items, (list(range(0, total + 1, gap)), gap // 8))


def draw_lines(random_: random.Random, order: LineOrder, runs: int, most: int, longest: int) -> list[list[bytes]]:
    end = bytes([order.terminator])
    items = []
    for _ in range(runs):
        lines = []
        for _ in range(random_.randint(0, most)):
            size = int(longest ** random_.random())
            head = b"%d %s" % (random_.randint(0, 30), random_.choice([b"x", b"yy"]))
            lines.append((head + b"m" * size)[: max(0, size - 1)] + end)
        items.append(sorted(lines, key=lambda line: item_key(order, line[:-1])))
    return items


@pytest.mark.parametrize("name", LINES)
def test_cuts_of_lines(library: ctypes.CDLL, name: str, rng: np.random.Generator) -> None:
    random_ = random.Random(int(rng.integers(1 << 32)))
    order = LINES[name]
    shapes = (
        (1, 200, 100),
        (2, 3000, 1),
        (2, 3000, 60),
        (3, 400, 5000),
        (4, 12, 200_000),
        (100, 30, 100),
        (300, 3, 40),
    )
    for runs, most, longest in shapes:
        items = draw_lines(random_, order, runs, most, longest)
        total = sum(len(line) for run in items for line in run)
        gap = max(1, total // 20)
        check_cuts(library, Order.lines(order), items, (list(range(0, total + 1, gap)), gap // 8))


def test_a_line_longer_than_chunks_stands_alone(library: ctypes.CDLL) -> None:
    small = [b"%05d\n" % n for n in range(5000)]
    items = [small[::2], sorted([*small[1::2], b"02000" + b"m" * 500_000 + b"\n"])]
    total = sum(len(line) for run in items for line in run)
    targets = list(range(0, total, 10_000))
    check_cuts(library, Order.lines(), items, (targets, 10_000 // 8))
    specs = [memory_source(b"".join(run)) for run in items]
    _, cuts, _ = harness.cut(library, spec_of(Order.lines()), specs, targets)
    assert sorted(np.diff(cuts.sum(axis=1)))[-1] == 500_006


def test_a_long_line_is_read_a_few_times_however_many_cuts_fall_into_it(library: ctypes.CDLL) -> None:
    long_line = b"5" + b"m" * 10_000_000 + b"\n"
    small = [b"%05d\n" % n for n in range(5000)]
    runs = [b"".join(small[::2]), b"".join(sorted([*small[1::2], long_line])), b"".join(small)]
    read_bytes = 0

    def source_of(run: bytes) -> harness.SourceSpec:
        def read(context: int, position: int, out: Any, nbytes: int) -> int:
            nonlocal read_bytes
            read_bytes += nbytes
            ctypes.memmove(out, run[position : position + nbytes], nbytes)
            return nbytes

        return harness.callback_source(len(run), read)

    for chosen in (runs, runs[1:2]):
        read_bytes, total = 0, sum(map(len, chosen))
        specs = [source_of(run) for run in chosen]
        status, cuts, _ = harness.cut(library, spec_of(Order.lines()), specs, list(range(0, total, 100_000)))
        assert status == DONE
        assert np.diff(cuts.sum(axis=1)).max() == len(long_line)
        assert read_bytes < 5 * len(long_line)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("behind", ["sorted", "unsorted"])
def test_whether_positions_are_a_cut(library: ctypes.CDLL, name: str, behind: str, rng: np.random.Generator) -> None:
    random_ = random.Random(int(rng.integers(1 << 32)))
    order, found = LINES[name], set()
    for runs, most, longest in ((1, 6, 9), (2, 4, 9), (3, 5, 30), (5, 3, 9), (3, 3, 200_000)):
        for _ in range(40):
            items = draw_lines(random_, order, runs, most, longest)
            takes = [random_.randint(0, len(run)) for run in items]
            if behind == "unsorted":
                for run, take in zip(items, takes, strict=True):
                    run[take:] = random_.sample(run[take:], len(run) - take)
            keys = [[item_key(order, line[:-1]) for line in run] for run in items]
            halves = [(of_run[:take], of_run[take:]) for of_run, take in zip(keys, takes, strict=True)]
            ahead = [(taken[-1], run) for run, (taken, _) in enumerate(halves) if taken]
            left = [(rest[0], run) for run, (_, rest) in enumerate(halves) if rest]
            expected = not ahead or not left or max(ahead) <= min(left)
            specs = [memory_source(b"".join(run)) for run in items]
            positions = [sum(map(len, run[:take])) for run, take in zip(items, takes, strict=True)]
            status, failure = harness.is_cut(library, spec_of(Order.lines(order)), specs, positions)
            assert (status == DONE) is expected
            if not expected:
                assert (status, failure.position) == (harness.DISORDER, positions[failure.input])
            found.add(expected)
    assert found == {False, True}


def test_cuts_of_files_and_what_they_hold(library: ctypes.CDLL, tmp_path: Path, rng: np.random.Generator) -> None:
    """Headers, keys in foreign byte order, and a missing last newline."""
    runs = [np.sort(rng.integers(0, 1 << 30, 20_000)).astype(np.int32) for _ in range(3)]
    specs, opened = [], []
    for number, run in enumerate(runs):
        path = tmp_path / f"{number}"
        path.write_bytes(b"head" * number + run.astype(">i4" if number == 1 else "<i4").tobytes())
        opened.append(os.open(path, os.O_RDONLY))
        specs.append(harness.file_source(opened[-1], 4 * number, run.nbytes, swap=4 * (number == 1)))
    total = sum(run.nbytes for run in runs)
    items = [[key.tobytes() for key in run] for run in runs]
    check_cuts(library, Order.of("int32"), items, (list(range(0, total, 20_000)), 20_000 // 8), sources=specs)
    lines = [[b"a\n", b"b\n", b"zz\n"], [b"b\n", b"c\n"]]
    sources = [memory_source(b"a\nb\nzz\n", 6), memory_source(b"b\nc\n", 3)]
    check_cuts(library, Order.lines(), lines, (list(range(12)), 0), sources=sources)
    for descriptor in opened:
        os.close(descriptor)


def test_cuts_between_cuts_and_beyond(library: ctypes.CDLL, rng: np.random.Generator) -> None:
    runs = [np.sort(rng.integers(0, 5000, 9000)).astype(np.uint16) for _ in range(4)]
    specs = [memory_source(run.tobytes()) for run in runs]
    order = spec_of(Order.of("uint16"))
    status, (low, high), _ = harness.cut(library, order, specs, [20_000, 50_000])
    assert status == DONE
    status, cuts, _ = harness.cut(library, order, specs, [-5, 20_000, 35_000, 35_000, 60_000, 1 << 40], low, high)
    assert status == DONE
    assert np.array_equal(cuts[0], low)
    assert np.array_equal(cuts[2], cuts[3])
    assert np.array_equal(cuts[4:], [high, high])
    assert ((cuts >= low) & (cuts <= high)).all()


@pytest.mark.parametrize("kind", ["int32", "lines"])
def test_cuts_of_what_is_not_sorted_still_partition(library: ctypes.CDLL, kind: str, rng: np.random.Generator) -> None:
    for runs in (2, 3, 50):
        drawn = [rng.integers(0, 1 << 20, 3000).astype(np.int32) for _ in range(runs)]
        if kind == "lines":
            items = [[b"%d\n" % key for key in run] for run in drawn]
            order = Order.lines()
        else:
            items = [[key.tobytes() for key in run] for run in drawn]
            order = Order.of("int32")
        starts = [set(one) for one in positions_of(items)]
        total = sum(max(one) for one in starts)
        specs = [memory_source(b"".join(run)) for run in items]
        status, cuts, _ = harness.cut(library, spec_of(order), specs, list(range(0, total, total // 40)))
        assert status == DONE
        assert (np.diff(cuts, axis=0) >= 0).all()
        assert all(position in starts[run] for cut in cuts.tolist() for run, position in enumerate(cut))


def test_reads_of_a_cut_grow_with_the_logarithm(library: ctypes.CDLL) -> None:
    run = np.arange(1 << 20, dtype=np.int32)
    reads = 0

    def read(context: int, position: int, out: Any, nbytes: int) -> int:
        nonlocal reads
        assert context == 7
        reads += 1
        ctypes.memmove(out, run.ctypes.data + position, nbytes)
        return nbytes

    sources = [harness.callback_source(run.nbytes, read) for _ in range(2)]
    targets = list(range(0, 2 * run.nbytes, 1 << 17))
    status, _, _ = harness.cut(library, spec_of(Order.of("int32")), sources, targets)
    assert status == DONE
    assert reads <= 4 * len(targets)


def test_faults(library: ctypes.CDLL, tmp_path: Path) -> None:
    order = spec_of(Order.of("int32"))
    data = np.arange(100_000, dtype=np.int32).tobytes()
    path = tmp_path / "a"
    path.write_bytes(data[:1000])
    good = memory_source(data)
    with open(path, "rb") as file:
        shrunk = harness.file_source(file.fileno(), 0, len(data))
        status, _, failure = harness.cut(library, order, [good, shrunk], [300_000])
        assert (status, failure.input) == (harness.INPUT_SHRANK, 1)
        assert 0 <= failure.position < len(data)
    bad = harness.file_source(1 << 20, 0, len(data))
    status, _, failure = harness.cut(library, order, [bad, good], [300_000])
    assert (status, failure.input, failure.error) == (harness.READ_FAILED, 0, 9)
    failing = harness.callback_source(len(data), lambda *_: -5)
    status, _, failure = harness.cut(library, order, [good, failing], [300_000])
    assert (status, failure.input, failure.error) == (harness.CALLBACK_FAILED, 1, 5)
