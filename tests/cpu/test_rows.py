"""The library's rows against Python's keys and Python's sort."""

from __future__ import annotations

import os
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from tests.cpu.rows_library import (
    BOTTOM_UP,
    ITERATIVE,
    KERNELS,
    MERGE,
    PATH,
    RADIX,
    RECURSIVE,
    Launch,
    Rows,
    compare,
    loaded,
)
from tests.line_cases import INEXACT, cases, lines
from tests.linekeys import item_key, key_of

# Each of the ladder's rungs and of the sorts, in shapes that a few items reach the edges of.
MERGES = [Launch(kernel, 3, 2, 5, 0, 0) for kernel in KERNELS] + [Launch(PATH, 1, 0, 1 << 14, 0, 0)]
SORTS = [
    Launch(PATH, 1, 0, 5, RADIX, 1),
    Launch(PATH, 1, 0, 5, BOTTOM_UP, 1),
    *(Launch(kernel, 2, 0, 4, MERGE, tile) for kernel in KERNELS for tile in (3, 1 << 14)),
    Launch(PATH, 1, 0, 0, ITERATIVE, 1),
    Launch(PATH, 1, 0, 0, RECURSIVE, 1),
]
EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "30"))


@pytest.fixture(scope="module")
def library() -> Any:
    return loaded()


def kept(items: list[bytes], order: Order, equals: Equals) -> list[bytes]:
    """The items that stay when equal ones are dropped from sorted items."""
    found, last = [], item_key(order, items[0]) if items and equals is Equals.FIRST_CONTINUED else None
    for item in items:
        key = item_key(order, item)
        if equals is Equals.ALL or last is None or key != last:
            found.append(item)
        last = key
    return found


def agrees(library: Any, order: Order, runs: list[list[bytes]], end: bytes, threads: int) -> None:
    """Merges, sorts and checks of these items."""

    def joined(items: list[bytes]) -> bytes:
        return b"".join(item + end for item in items)

    everything = [item for run in runs for item in run]
    in_order = [sorted(run, key=key_of(order)) for run in runs]
    expected = sorted((item for run in in_order for item in run), key=key_of(order))
    merged = Rows(library, order, [joined(run) for run in in_order], threads)
    assert merged.counts() == [len(run) for run in runs]
    assert merged.disorder() is None
    unsorted = Rows(library, order, [joined(run) for run in runs], threads)
    for strict in (False, True):
        assert unsorted.disorder(strict) == first_disorder(order, runs, len(end), strict)
    for equals in (Equals.ALL, Equals.FIRST, Equals.FIRST_CONTINUED):
        for launch in MERGES:
            assert merged.run("gm_merge", equals, launch) == joined(kept(expected, order, equals))
        result = joined(kept(sorted(everything, key=key_of(order)), order, equals))
        for launch in SORTS:
            assert unsorted.run("gm_sort", equals, launch) == result
        unsorted.run("gm_sort_rows", equals)
        assert unsorted.nbytes == len(result)
        for first in range(0, len(result), max(1, len(result) // 7)):
            for size in (1, 50, len(result)):
                part = result[first : first + size]
                assert unsorted.receive(first, len(part)) == part
    for launch in MERGES:
        assert sorted(unsorted.run("gm_merge", Equals.ALL, launch)) == sorted(joined(everything))
    merged.close()
    unsorted.close()


def first_disorder(order: Order, runs: list[list[bytes]], end: int, strict: bool) -> tuple[int, int] | None:
    for number, run in enumerate(runs):
        starts = [0, *accumulate(len(item) + end for item in run)]
        keys = [item_key(order, item) for item in run]
        for at in range(1, len(run)):
            if keys[at] < keys[at - 1] or (strict and keys[at] == keys[at - 1]):
                return number, starts[at]
    return None


def split(items: list[bytes], cuts: list[int]) -> list[list[bytes]]:
    edges = [0, *sorted(cut % (len(items) + 1) for cut in cuts), len(items)]
    return [items[a:b] for a, b in pairwise(edges)]


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_lines(library: Any, data: st.DataObject) -> None:
    text = data.draw(cases()).order
    order = Order.lines(text)
    drawn = data.draw(lines(text, 40))
    if any(key.compare == "general" for key in text.keys):
        drawn = [line for line in drawn if not INEXACT.search(line)]
    keys = [item_key(order, line) for line in drawn]
    for x, x_key in zip(drawn[:8], keys, strict=False):
        for y, y_key in zip(drawn[:8], keys, strict=False):
            assert np.sign(compare(library, order, x, y)) == (x_key > y_key) - (x_key < y_key)
    runs = split(drawn, data.draw(st.lists(st.integers(0, 99), max_size=4)))
    agrees(library, order, runs, bytes([text.terminator]), data.draw(st.sampled_from([1, 3])))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_records(library: Any, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 80))
    key = data.draw(st.sampled_from(["u1", "<i2", ">i4", "<f4", ">f8", "<f2", "<u8", ">i8", "S", "S"]))
    if key == "S":
        width = data.draw(st.integers(1, size))
        order = Order.records(size, data.draw(st.integers(0, size - width)), width, descending=data.draw(st.booleans()))
    else:
        dtype = np.dtype(key)
        size = max(size, dtype.itemsize)
        offset = data.draw(st.integers(0, size - dtype.itemsize))
        order = Order.records(size, offset, dtype, descending=data.draw(st.booleans()))
    seed = data.draw(st.integers(0, 1 << 30))
    chance = np.random.default_rng(seed)
    symbols = data.draw(st.sampled_from([2, 4, 256]))
    count = data.draw(st.integers(0, 60))
    table = chance.integers(0, symbols, (count, size), np.uint8) * np.uint8(255 // (symbols - 1))
    runs = split([row.tobytes() for row in table], data.draw(st.lists(st.integers(0, 99), max_size=4)))
    agrees(library, order, runs, b"", data.draw(st.sampled_from([1, 3])))


def test_many_lines(library: Any, seed: int) -> None:
    """Large enough for every path: several threads, digits, buckets, chains."""
    chance = np.random.default_rng(seed)
    few = 5000 if EXAMPLES < 60 else 30_000
    made = [
        [b"%d" % number for number in chance.integers(0, 1 << 40, 2 * few)],
        [b"%d" % number for number in chance.integers(-99, 99, few)],
        [b"log: 2024-%02d %d" % (number % 12, number) for number in chance.integers(0, 1 << 20, few)],
        [b"same" * 20 + b"%d" % number for number in chance.integers(0, 5000, few)],
        [b"x"] * few,
        [bytes([number % 256, number // 256]).replace(b"\n", b"") for number in chance.integers(0, 1 << 16, few)],
    ]
    for order in (
        Order.lines(),
        Order.lines(descending=True),
        Order.lines(numeric=True),
        Order.lines(numeric=True, stable=True),
    ):
        for items in made:
            keys = {item: item_key(order, item) for item in set(items)}
            expected = b"".join(item + b"\n" for item in sorted(items, key=keys.__getitem__))
            whole = [b"".join(item + b"\n" for item in items)]
            edges = np.sort(chance.integers(0, len(items), 4)).tolist()
            runs = [sorted(run, key=keys.__getitem__) for run in split(items, edges)]
            parts = [b"".join(item + b"\n" for item in run) for run in runs]
            for threads in (1, 2):
                rows = Rows(library, order, whole, threads)
                assert rows.run("gm_sort") == expected
                rows.close()
                rows = Rows(library, order, parts, threads)
                assert rows.disorder() is None
                assert rows.run("gm_merge") == expected
                rows.close()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("apart", [b"", b"~", b"\0", b"a5000"])
def test_many_lines_that_few_are_far_from(library: Any, apart: bytes, seed: int) -> None:
    """Nearly all rows have the same highest digits, so the threads share one part again and again."""
    chance = np.random.default_rng(seed)
    lines = [b"a%06d" % number for number in chance.integers(0, 1 << 19, 90_000)]
    lines += [b"a000000000000%02d" % number for number in chance.integers(0, 99, 60_000)] + [apart]
    chance.shuffle(lines)
    for order, expected in (
        (Order.lines(), sorted(lines)),
        (Order.lines(descending=True), sorted(lines, reverse=True)),
        (Order.lines(numeric=True, stable=True), lines),
    ):
        rows = Rows(library, order, [b"".join(line + b"\n" for line in lines)], 3)
        assert rows.run("gm_sort") == b"".join(line + b"\n" for line in expected)
        rows.close()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("threads", [1, 2])
def test_long_lines(library: Any, threads: int) -> None:
    """Lines that are too long for the length in their rows, and differ only in their last bytes, among short lines."""
    long = b"7" * ((1 << 24) + 5)
    runs = [[b"1", long + b"a", long + b"c"], [b"", long + b"b", long + b"c", b"8"]]
    order = Order.lines()
    expected = b"".join(line + b"\n" for line in sorted(line for run in runs for line in run))
    rows = Rows(library, order, [b"".join(line + b"\n" for line in run) for run in runs], threads)
    assert rows.counts() == [3, 4]
    assert rows.disorder() is None
    assert rows.run("gm_merge") == expected
    assert rows.run("gm_sort") == expected
    rows.run("gm_sort_rows")
    middle = len(expected) // 2
    assert rows.receive(middle, 100) == expected[middle : middle + 100]
    rows.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_chunks_after_each_other(library: Any, threads: int, seed: int) -> None:
    """A chunk of lines has fewer or more rows than the one before, whose room is tried first."""
    chance = np.random.default_rng(seed)
    rows = Rows(library, Order.lines(), [b""], threads)
    for turn in range(12):
        longest = int(chance.choice([1, 10, 300]))
        items = [b"x" * int(length) for length in chance.integers(0, longest, int(chance.integers(0, 9000)))]
        if turn in (5, 6):
            items.insert(0, b"y" * (1 << 24))
        rows.upload([b"".join(item + b"\n" for item in items)])
        assert rows.counts() == [len(items)]
        assert rows.run("gm_sort") == b"".join(item + b"\n" for item in sorted(items))
    rows.close()
