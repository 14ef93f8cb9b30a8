"""The kernels on runs that are not in order, run on the CPU under the address sanitizer.

The merge of such runs is not defined. Even so, kernels may access nothing outside of the arrays, and each output item
must be an input item.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from kernel_pairs import key_pairs, key_runs, line_pairs, record_pairs
from kernel_shim import MERGES, Case, Program, Variant, a_sixth_of

from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.order.kinds import KeyOrder, Order, TextOrder
from tests.line_orders import LINE_ORDERS

# Those of test_kernels_on_cpu.py, so that they are compiled once.
VARIANTS = [
    Variant(KeyOrder("int", 4), 4, 3, sorts=True),
    Variant(KeyOrder("uint", 1), 2, 2),
    Variant(KeyOrder("float", 8), 2, 2),
    Variant(KeyOrder("int", 4, True), 1, 2, bulk=1, partition=(1, 3, 1), on_path=True),
    Variant(KeyOrder("int", 4), 4, 3, 4, 0, (8, 6, 2), on_path=True),
    Variant(KeyOrder("uint", 1), 4, 4, bulk=1, on_path=True),
    Variant(KeyOrder("float", 8), 9, 2, 8, 1, (8, 3, 3), sorts=True),
    Variant(Order.lines(), 4, 3),
    Variant(Order.records(33, 2, 20, descending=True), 3, 3),
    Variant(Order.records(12, 1, np.dtype("i8")), 4, 3, bulk=1),
]
SHAPES = [(2, 2, 4, 2), (2, 1, 4, 3), (4, 3, 8, 1), (3, 2, 16, 2), (1, 5, 3, 4)]
"""Threads, items a thread, tile and blocks."""
SKEWS = [(0, 0, 0), (1, 0, 3), (3, 2, 1)]
EACH = 40

Run = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(VARIANTS, "address", tmp_path_factory.mktemp("unsorted"))


def passes(program: Program, cases: list[Case]) -> None:
    assert cases
    status, output = program.run(cases)
    assert status == 0, output


def disorders(random: np.random.Generator, runs: list[Run]) -> Iterator[list[Run]]:
    """The runs reversed, shuffled, and each with its halves exchanged."""
    yield [run[::-1] for run in runs]
    yield [random.permutation(run) for run in runs]
    yield [np.concatenate([run[len(run) // 2 :], run[: len(run) // 2]]) for run in runs]


def shape(turn: int) -> dict[str, Any]:
    block, items, tile, blocks = SHAPES[turn % len(SHAPES)]
    skews = SKEWS[turn % len(SKEWS)]
    return {"block": block, "items": items, "tile": tile, "blocks": blocks, "skews": skews, "loose": True}


def keyed(program: Program) -> Iterator[tuple[int, Variant]]:
    return ((number, variant) for number, variant in enumerate(program.variants) if not variant.order.is_rows)


@pytest.mark.parametrize("work", MERGES)
def test_merges_of_keys(program: Program, rng: np.random.Generator, work: str) -> None:
    cases = []
    for number, variant in keyed(program):
        if variant.on_path and work != "path":
            continue
        pairs = [pair for _, *sides in key_pairs(variant.order, seed=number) for pair in disorders(rng, sides)]
        for turn, (a, b) in enumerate(pairs[:EACH] if variant.runs > 2 else pairs):
            runs = (a.tobytes(), b.tobytes(), b"", len(a), len(b))
            cases.append(Case(number, work, *runs, **shape(turn)))
    passes(program, a_sixth_of(cases, rng))


@pytest.mark.parametrize("merge", MERGES)
def test_merges_of_lines_and_records(program: Program, rng: np.random.Generator, merge: str) -> None:
    cases = []
    for number, variant in enumerate(program.variants):
        order = variant.order
        if isinstance(order, TextOrder):
            for text in LINE_ORDERS[:: 4 if merge == "path" else 9]:
                for turn, (_, *sides) in enumerate(islice(line_pairs(Order.lines(text), seed=number), 3)):
                    a, b = (b"".join(rng.permutation(np.array(side, object))) for side in sides)
                    cases.append(Case(number, "rows_merge", a, b, b"", merge=merge, text=text, **shape(turn)))
        elif order.record:
            for turn, (_, *sides) in enumerate(record_pairs(order, seed=number)):
                for a, b in disorders(rng, sides):
                    work = "rows_merge" if moves_rows(order) else merge
                    runs = (a.tobytes(), b.tobytes(), b"", len(a), len(b))
                    cases.append(Case(number, work, *runs, merge=merge, **shape(turn)))
    passes(program, a_sixth_of(cases, rng))


def runs_of(program: Program, rng: np.random.Generator) -> Iterator[tuple[int, Variant, list[Run]]]:
    for number, variant in keyed(program):
        for _, sides in islice(key_runs(variant.order, variant.runs, seed=number), 9 if variant.runs <= 4 else 4):
            for runs in disorders(rng, sides):
                yield number, variant, runs


def test_one_pass_over_many_runs_with_cuts_ahead_and_by_blocks(program: Program, rng: np.random.Generator) -> None:
    cases = []
    for turn, (number, _, runs) in enumerate(runs_of(program, rng)):
        counts = np.array([len(run) for run in runs], np.int64).tobytes()
        for blocks in (1, 2):
            how = shape(turn) | {"blocks": blocks}
            cases.append(Case(number, "runs_merged", np.concatenate(runs).tobytes(), counts, b"", **how))
    passes(program, a_sixth_of(cases, rng))


def test_cuts_lie_in_their_runs_and_add_up(program: Program, rng: np.random.Generator) -> None:
    cases = []
    for number, variant, runs in runs_of(program, rng):
        counts = np.array([len(run) for run in runs], np.int64).tobytes()
        for tile in (1, 4, 7) if variant.runs == 2 else (4,):
            cases.append(Case(number, "partition", np.concatenate(runs).tobytes(), counts, b"", tile=tile, loose=True))
    passes(program, a_sixth_of(cases, rng))


@pytest.mark.parametrize("merge", [*MERGES, "serial"])
def test_levels_of_runs(program: Program, rng: np.random.Generator, merge: str) -> None:
    cases = []
    for number, variant in keyed(program):
        if not variant.sorts or (variant.runs > 2 and merge != "path"):
            continue
        for turn, length in enumerate((1, 3, 8, 20, 100)):
            items = rng.integers(0, 256, 90 * variant.order.width, np.uint8).view(variant.order.dtype)
            bits = (items.tobytes(), b"", b"", len(items), length)
            cases.append(Case(number, "level", *bits, merge=merge, **shape(turn)))
    passes(program, a_sixth_of(cases, rng))
