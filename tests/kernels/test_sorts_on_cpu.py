"""The sorts' kernels, run on the CPU under sanitizers and compared with a stable sort by key image."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from kernel_pairs import line_pairs
from kernel_shim import MERGES, Case, Program, Variant, barriers, function_around, without_barrier
from sort_inputs import key_inputs, record_inputs, stable, stable_records

from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.order.kinds import KeyOrder, Order, TextOrder
from tests.linekeys import item_key

pytestmark = pytest.mark.thorough
KEYS = [
    Variant(KeyOrder("int", 4), 4, 3, sorts=True),
    Variant(KeyOrder("uint", 1), 4, 4, bulk=1, sorts=True),
    Variant(KeyOrder("int", 2, True), 2, 8, sorts=True),
    Variant(KeyOrder("float", 8), 5, 2, sorts=True),
    Variant(KeyOrder("float", 2, True), 3, 5, bulk=1, sorts=True),
    Variant(KeyOrder("uint", 8, True), 8, 7, 4, 1, (8, 4, 2), sorts=True),
    Variant(KeyOrder("uint", 4), 8, 5, 8, 0, (8, 3, 3), sorts=True),
    Variant(KeyOrder("float", 4), 1, 9, sorts=True),
]
ROWS = [
    Variant(Order.lines(), 4, 3, sorts=True),
    Variant(Order.lines(numeric=True, descending=True), 5, 2, 4, 1, (8, 4, 2), sorts=True),
    Variant(Order.records(33, 2, 20, descending=True), 3, 3, sorts=True),
    Variant(Order.records(12, 1, np.dtype("i8")), 4, 3, bulk=1, sorts=True),
    Variant(Order.records(4, 1, 3), 2, 5, sorts=True),
]
SHAPES = [(2, 2, 4, 2), (3, 2, 16, 3), (1, 5, 3, 1)]
"""Threads, items a thread, tile and blocks."""
SKEWS = [(0, 0, 0), (1, 3, 2), (3, 0, 1)]
ALL = (*MERGES, "serial")


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(KEYS + ROWS, "address", tmp_path_factory.mktemp("address"))


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program([*KEYS[:2], KEYS[5], ROWS[0], ROWS[2]], "thread", tmp_path_factory.mktemp("thread"))


def sizes(variant: Variant) -> tuple[int, ...]:
    """Counts around the edges of a tile, and for levels whose last run is short or alone."""
    tile = variant.path_block * variant.path_items
    return (1, 2, tile - 1, tile, tile + 1, 2 * tile, 5 * tile + 3)


def key_cases(program: Program, merge: str, *, most: int = 10**6) -> Iterator[Case]:
    """merge: the kernel of the levels. Tiles are sorted first, now and then shorter ones than a block could sort, but
    for the kernels that start from single items."""
    turn = 0
    for number, variant in enumerate(program.variants):
        order = variant.order
        if order.is_rows or (variant.runs > 2 and merge != "path"):
            continue
        room = variant.path_block * variant.path_items
        for count in [size for size in sizes(variant) if size <= most]:
            for _, keys in key_inputs(order, count, seed=number):
                block, items, tile, blocks = SHAPES[turn % len(SHAPES)]
                first = 0 if merge in ("basic", "serial") else (room, max(2, room - 2))[turn % 2]
                yield Case(
                    number, "sort", keys.tobytes(), b"", stable(order, keys).tobytes(), count, first, merge,
                    block, items, tile, blocks, SKEWS[turn % len(SKEWS)],
                )  # fmt: skip
                turn += 1


def row_cases(program: Program, merge: str) -> Iterator[Case]:
    for number, variant in enumerate(program.variants):
        order = variant.order
        if not order.is_rows or (variant.runs > 2 and merge != "path"):
            continue
        inputs: list[tuple[bytes, bytes, int]] = []
        if isinstance(order, TextOrder):
            for _, a, b in line_pairs(order, seed=number):
                expected = sorted(b + a, key=lambda line: item_key(order, line[:-1]))
                inputs.append((b"".join(b + a), b"".join(expected), len(a + b)))
        else:
            for count in (1, 11, 40):
                for _, records in record_inputs(order, count, seed=number):
                    inputs.append((records.tobytes(), stable_records(order, records).tobytes(), count))
        for turn, (given, expected, count) in enumerate(inputs):
            block, items, tile, blocks = SHAPES[turn % len(SHAPES)]
            first = 0 if merge in ("basic", "serial") else variant.path_block * variant.path_items - turn % 2
            yield Case(
                number, "rows_sort" if moves_rows(order) else "sort", given, b"", expected, count, first, merge,
                block, items, tile, blocks, SKEWS[turn % len(SKEWS)], order.text,
            )  # fmt: skip


def passes(program: Program, cases: list[Case]) -> None:
    assert cases
    status, output = program.run(cases)
    assert status == 0, output


@pytest.mark.parametrize("merge", ALL)
def test_sorts_keys_within_bounds(checked: Program, merge: str) -> None:
    passes(checked, list(key_cases(checked, merge)))


@pytest.mark.parametrize("merge", ALL)
def test_sorts_lines_and_records_within_bounds(checked: Program, merge: str) -> None:
    passes(checked, list(row_cases(checked, merge)))


@pytest.mark.parametrize("merge", ALL)
def test_sorts_without_a_race(raced: Program, merge: str) -> None:
    cases = list(key_cases(raced, merge))
    passes(raced, cases[::5] + list(row_cases(raced, merge))[::4])


def test_every_missing_barrier_is_noticed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The barriers of the tile sort's own functions. Other barriers have another test."""
    own = ("load", "sort_shares", "merge_stretches", "sort_tile")
    mutants = [which for which in range(barriers("sorts")) if function_around("sorts", which) in own]
    order = KeyOrder("int", 4)
    program = Program(
        [
            Variant(order, 4, 3, bulk=bulk, sorts=True, change=without_barrier("sorts", which))
            for which in mutants
            for bulk in (0, 1)
        ],
        "thread",
        tmp_path_factory.mktemp("mutants"),
    )
    keys = np.random.default_rng(2).permutation(120).astype(np.int32)
    unnoticed = []
    for at, which in enumerate(mutants):
        cases = [
            Case(number, "sort", keys.tobytes(), b"", stable(order, keys).tobytes(), len(keys), 12, "path", skews=skews)
            for number in (2 * at, 2 * at + 1)
            for skews in ((0, 0, 0), (1, 0, 0))  # a tile that is staged off its place is moved within the block
        ]
        runs = (program.has_race(case) for case in cases)
        if not any(runs):
            unnoticed.append((which, function_around("sorts", which)))
    assert not unnoticed
