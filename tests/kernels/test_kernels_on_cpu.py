"""The kernels, run on the CPU under sanitizers and compared with a stable sort by key image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle, islice, pairwise
from typing import Any

import numpy as np
import pytest
from kernel_pairs import key_pairs, key_runs, line_pairs, record_pairs, special_floats
from kernel_shim import (
    MERGES,
    Case,
    Program,
    Variant,
    a_sixth_of,
    barriers,
    function_around,
    merged,
    without_barrier,
)

from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.order.equals import SINGLE, Equals
from gpumerge_cli.order.kinds import KeyOrder, Order, TextOrder
from tests.line_orders import LINE_ORDERS
from tests.linekeys import item_key

KEYS = [
    Variant(KeyOrder("int", 4), 4, 3, sorts=True),
    Variant(KeyOrder("uint", 1), 2, 2),
    Variant(KeyOrder("float", 8), 2, 2),
]
PATHS = [
    Variant(KeyOrder("uint", 1), 4, 4, bulk=1, on_path=True),
    Variant(KeyOrder("int", 4, True), 1, 2, bulk=1, partition=(1, 3, 1), on_path=True),
    Variant(KeyOrder("float", 8), 9, 2, 8, 1, (8, 3, 3), sorts=True),
]
"""For the path kernel: bulk copies, more runs, and other ways to cut."""
LINES = [Variant(Order.lines(), 4, 3)]
RECORDS = [
    Variant(Order.records(33, 2, 20, descending=True), 3, 3),
    Variant(Order.records(12, 1, np.dtype("i8")), 4, 3, bulk=1),
]
OTHER_PATHS = [
    Variant(KeyOrder("float", 4, True), 17, 1, 16, 0, (16, 4, 2), on_path=True),
    Variant(KeyOrder("int", 4), 4, 3, 4, 0, (8, 6, 2), on_path=True),
    Variant(KeyOrder("uint", 1), 8, 4, 4, 1, (4, 1, 1), sorts=True),
    Variant(KeyOrder("uint", 4), 9, 2, 8, 1, (8, 3, 3), on_path=True),
    Variant(KeyOrder("uint", 8), 5, 7, bulk=1, on_path=True),
    Variant(KeyOrder("datetime", 8, unit="[s]"), 9, 2, 8, 1, (8, 3, 3), on_path=True, sorts=True),
    Variant(KeyOrder("timedelta", 8, True, "[D]"), 5, 7, bulk=1, on_path=True),
    Variant(KeyOrder("int", 8, True), 17, 3, 16, 1, (16, 4, 2), on_path=True),
]
OTHERS = [
    Variant(order_of(np.dtype("u1,S20,>f2"), Key(fields=("f1:r", "f2,f0"))), 2, 4),
    Variant(KeyOrder("int", 2, True), 2, 8),
    Variant(KeyOrder("float", 2), 3, 5),
    Variant(Order.records(16, 3, np.dtype(">f8")), 3, 5),
    Variant(Order.records(1, 0, np.dtype("u1")), 2, 8),
    Variant(Order.lines(), 5, 2, 4, 1, (8, 4, 2)),
    Variant(Order.records(100, 0, 10), 4, 3),
    Variant(KeyOrder("float", 4, True), 4, 3),
    Variant(KeyOrder("uint", 8, True), 5, 7),
    Variant(KeyOrder("int", 2), 3, 2, bulk=1),
    Variant(Order.lines(), 4, 3),
    Variant(Order.records(5, 1, 3, descending=True), 2, 2),
    Variant(Order.records(24, 1, np.dtype(">i2"), descending=True), 2, 2),
    Variant(Order.records(8, 4, np.dtype(">f4"), descending=True), 3, 2),
    Variant(Order.records(4, 1, 3), 2, 5),
    Variant(Order.records(3, 1, np.dtype("f2")), 4, 3),
    Variant(order_of(np.dtype("u1,>f8,S3,<i2"), Key(fields=("f3,f1:r,f0",))), 4, 3),
    Variant(order_of(np.dtype("u1,<u2,S9"), Key(fields=("f0,f1:r",))), 3, 2),
]
"""For thorough runs: other widths and directions of the same code."""
SHAPES = [(2, 2, 4, 2), (2, 1, 4, 3), (4, 3, 8, 1), (3, 2, 16, 2), (1, 5, 3, 4)]
"""Threads, items a thread, tile and blocks."""
PLACES = [rule for rule in Equals if rule.is_by_place]
SKEWS = [(0, 0, 0), (1, 0, 3), (3, 2, 1), (0, 1, 0)]


@pytest.fixture(scope="module", params=["some", pytest.param("others", marks=pytest.mark.thorough)])
def checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    variants = KEYS + PATHS + LINES + RECORDS if request.param == "some" else OTHERS + OTHER_PATHS
    return Program(variants, "address", tmp_path_factory.mktemp("address"))


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Program:
    variants = [KEYS[0], *PATHS, *LINES, RECORDS[0]]
    return Program(variants, "thread", tmp_path_factory.mktemp("thread"))


def key_cases(program: Program, work: str, *, pairs_each: int = 1000) -> Iterator[Case]:
    """Every pair of runs on every variant for keys. The launch shapes take turns."""
    turn = 0
    for number, variant in enumerate(program.variants):
        if variant.order.is_rows or (variant in PATHS + OTHER_PATHS and work != "path"):
            continue
        for _, (_, a, b) in zip(range(pairs_each), key_pairs(variant.order, seed=number), strict=False):
            block, items, tile, blocks = SHAPES[turn % len(SHAPES)]
            expected = merged(variant.order, a, b).tobytes()
            yield Case(
                number, work, a.tobytes(), b.tobytes(), expected, len(a), len(b),
                block=block, items=items, tile=tile, blocks=blocks, skews=SKEWS[turn % len(SKEWS)],
            )  # fmt: skip
            turn += 1


def line_orders(program: Program) -> Iterator[tuple[int, Order]]:
    """Every order of lines. The variants for lines take turns."""
    numbers = cycle(number for number, variant in enumerate(program.variants) if isinstance(variant.order, TextOrder))
    yield from zip(numbers, map(Order.lines, LINE_ORDERS), strict=False)


def line_cases(program: Program, merge: str) -> Iterator[Case]:
    for number, order in line_orders(program):
        for turn, (_, a, b) in enumerate(line_pairs(order, seed=number)):
            block, items, tile, blocks = SHAPES[turn % len(SHAPES)]
            expected = b"".join(sorted(a + b, key=partial(key_of_line, order)))
            yield Case(
                number, "rows_merge", b"".join(a), b"".join(b), expected, merge=merge, text=order.text,
                block=block, items=items, tile=tile, blocks=blocks, skews=SKEWS[turn % len(SKEWS)],
            )  # fmt: skip


def key_of_line(order: Order, line: bytes) -> Any:
    """The key of a line with its terminator."""
    return item_key(order, line[:-1])


def record_cases(program: Program, merge: str) -> Iterator[Case]:
    for number, variant in enumerate(program.variants):
        order = variant.order
        if not order.record:
            continue
        for turn, (_, a, b) in enumerate(record_pairs(order, seed=number)):
            both = np.concatenate([a, b])
            expected = both[np.argsort(order.image(order.keys(both.reshape(-1))), kind="stable")].tobytes()
            block, items, tile, blocks = SHAPES[turn % len(SHAPES)]
            for skews in SKEWS:
                yield Case(
                    number, "rows_merge" if moves_rows(order) else merge, a.tobytes(), b.tobytes(), expected, len(a),
                    len(b), merge=merge, block=block, items=items, tile=tile, blocks=blocks, skews=skews,
                )  # fmt: skip


def passes(program: Program, cases: list[Case]) -> None:
    assert cases
    status, output = program.run(cases)
    assert status == 0, output


@pytest.mark.parametrize("work", MERGES)
def test_merges_keys_within_bounds(checked: Program, rng: np.random.Generator, work: str) -> None:
    passes(checked, a_sixth_of(list(key_cases(checked, work)), rng))


# Rows merge as keys do, whether they are lines or records. Every merge calls the code for lines in the same way.
@pytest.mark.parametrize("merge", [m if m == "path" else pytest.param(m, marks=pytest.mark.thorough) for m in MERGES])
def test_merges_lines_within_bounds(checked: Program, rng: np.random.Generator, merge: str) -> None:
    passes(checked, a_sixth_of(list(line_cases(checked, merge)), rng))


@pytest.mark.parametrize("merge", MERGES)
def test_merges_records_within_bounds(checked: Program, merge: str) -> None:
    passes(checked, list(record_cases(checked, merge)))


@pytest.mark.thorough
@pytest.mark.parametrize("work", MERGES)
def test_merges_without_a_race(raced: Program, work: str) -> None:
    cases = list(key_cases(raced, work, pairs_each=20))
    passes(raced, cases + list(line_cases(raced, work))[:3] + list(record_cases(raced, work))[:4])


def test_checks_and_marks_records(checked: Program) -> None:
    cases = []
    for number, variant in enumerate(checked.variants):
        order = variant.order
        if not order.record or not moves_rows(order):
            continue
        for turn, (_, a, b) in enumerate(record_pairs(order, seed=9)):
            images = order.image(order.keys(np.concatenate([a, b]).reshape(-1)))
            falls = np.flatnonzero(images[1:] < images[:-1])
            first = int(falls[0]) + 1 if falls.size else 2**64 - 1
            skews = SKEWS[turn % len(SKEWS)]
            cases.append(Case(number, "rows_check", a.tobytes(), b.tobytes(), first.to_bytes(8, "little"), skews=skews))
            if len(a):
                images, rule = order.image(order.keys(a.reshape(-1))), PLACES[turn % len(PLACES)]
                keeps = kept_by(rule, images[1:] == images[:-1])
                cases.append(Case(number, "rows_mark", a.tobytes(), b"", keeps, n=rule.value, skews=skews))
    passes(checked, cases)


def test_partition_cuts_at_every_tile_edge(checked: Program, rng: np.random.Generator) -> None:
    cases = []
    for number, variant in enumerate(checked.variants):
        order = variant.order
        if order.is_rows:
            continue
        for _, runs in islice(key_runs(order, variant.runs, seed=3), few(variant)):
            counts = np.array([len(run) for run in runs], np.int64)
            items = np.concatenate(runs)
            owner = np.repeat(np.arange(len(runs)), counts)[np.argsort(order.image(items), kind="stable")]
            ahead = np.concatenate(
                [np.zeros((1, len(runs)), np.int64), np.cumsum(np.eye(len(runs), dtype=np.int64)[owner], 0)]
            )
            for tile in (1, 4, 7) if variant.runs == 2 else (4,):
                edges = np.minimum(np.arange(-(-len(items) // tile) + 1) * tile, len(items))
                cuts = ahead[edges].astype(np.int64)
                cases.append(Case(number, "partition", items.tobytes(), counts.tobytes(), cuts.tobytes(), tile=tile))
    passes(checked, a_sixth_of(cases, rng))


def few(variant: Variant) -> int:
    """The number of cases for a variant. Variants with many threads get few, because barriers are slow on a CPU."""
    return 1000 if variant.runs <= 4 else 6 if variant.runs <= 8 else 3


def run_cases(program: Program, *, each: int = 1000) -> Iterator[Case]:
    """Runs of their own for every variant, merged in one pass, with cuts found ahead and with cuts found by blocks."""
    for number, variant in enumerate(program.variants):
        if variant.order.is_rows:
            continue
        runs_each = key_runs(variant.order, variant.runs, seed=number)
        for turn, (_, runs) in enumerate(islice(runs_each, min(each, few(variant)))):
            counts = np.array([len(run) for run in runs], np.int64)
            items = np.concatenate(runs)
            expected = items[np.argsort(variant.order.image(items), kind="stable")]
            for blocks in (1, 2):
                yield Case(
                    number, "runs_merged", items.tobytes(), counts.tobytes(), expected.tobytes(),
                    blocks=blocks, skews=SKEWS[turn % len(SKEWS)],
                )  # fmt: skip


def test_merges_runs_in_one_pass(checked: Program, rng: np.random.Generator) -> None:
    passes(checked, a_sixth_of(list(run_cases(checked)), rng))


@pytest.mark.parametrize("wide", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_wide_integers_merge_as_all_items_do(tmp_path_factory: pytest.TempPathFactory, wide: bool) -> None:
    """The shares of wide.cuh hold what those of share.cuh hold, also where the last of all keys occurs."""

    def slowly(name: str, text: str) -> str:
        return text.replace("#define MERGES_WIDE (", "#define MERGES_WIDE (0 && ")

    order = KeyOrder("int", 4)
    shape = partial(Variant, order, 9, 3, 8, 1, (8, 3, 3), on_path=True)
    program = Program([shape() if wide else shape(change=slowly)], "address", tmp_path_factory.mktemp("wide"))
    random = np.random.default_rng(6)
    ends = np.iinfo(order.dtype)
    pools = [np.array([ends.min, -1, 0, ends.max - 1, ends.max], order.dtype), np.arange(90, dtype=order.dtype)]
    cases = []
    for turn in range(8):
        pool = pools[turn % 2] if turn < 6 else np.full(1, ends.max, order.dtype)
        runs = [np.sort(random.choice(pool, random.integers(0, 30))) for _ in range(8)]
        counts = np.array([len(run) for run in runs], np.int64)
        items = np.concatenate(runs)
        case = Case(0, "runs_merged", items.tobytes(), counts.tobytes(), np.sort(items).tobytes())
        cases.append(replace(case, blocks=1 + turn % 2, skews=SKEWS[turn % len(SKEWS)]))
    passes(program, cases)


@pytest.mark.thorough
def test_merges_runs_without_a_race(raced: Program) -> None:
    passes(raced, list(run_cases(raced, each=5)))


def test_check_finds_the_first_disorder(checked: Program) -> None:
    random = np.random.default_rng(5)
    cases = []
    for number, variant in enumerate(checked.variants):
        order = variant.order
        if order.is_rows or variant in PATHS + OTHER_PATHS:
            continue
        runs = [run for _, run, _ in key_pairs(order, seed=4)]
        runs += [random.permutation(run) for run in runs]
        if order.kind == "float":
            runs.append(special_floats(order))
        for run in runs:
            images = order.image(run)
            for strict in (False, True):
                disorders = np.flatnonzero(images[1:] <= images[:-1] if strict else images[1:] < images[:-1])
                first = 1000 + int(disorders[0]) + 1 if disorders.size else 2**64 - 1
                expected = first.to_bytes(8, "little")
                cases.append(Case(number, "check", run.tobytes(), b"", expected, len(run), strict=strict))
    passes(checked, cases)


@pytest.mark.thorough
def test_check_finds_the_first_disorder_of_lines(checked: Program) -> None:
    cases = []
    for number, order in line_orders(checked):
        for _, a, b in line_pairs(order, seed=6):
            keys = [key_of_line(order, line) for line in a + b]
            for strict in (False, True):
                bad = (at for at, (x, y) in enumerate(pairwise(keys), 1) if y < x or (strict and not x < y))
                first = next(bad, 2**64 - 1).to_bytes(8, "little")
                cases.append(
                    Case(number, "rows_check", b"".join(a), b"".join(b), first, text=order.text, strict=strict)
                )
    passes(checked, cases)


def kept_by(rule: Equals, same: Any) -> bytes:
    """Whether a rule of places keeps each item. same: whether each one but the first equals the one ahead of it."""
    known = [rule.is_continued, *same, rule.is_followed]
    return bytes(rule.value // SINGLE >> (ahead + 2 * behind) & 1 for ahead, behind in pairwise(known))


def test_marks_the_places_of_equals(checked: Program) -> None:
    cases = []
    for number, variant in enumerate(checked.variants):
        order = variant.order
        if order.is_rows or variant in PATHS + OTHER_PATHS:
            continue
        for turn, (_, run, _) in enumerate(key_pairs(order, seed=7)):
            images, rule = order.image(run), PLACES[(turn + 3 * number) % len(PLACES)]
            keeps = kept_by(rule, images[1:] == images[:-1])
            cases.append(Case(number, "mark", run.tobytes(), b"", keeps[: len(run)], len(run), rule.value))
    passes(checked, cases)


@pytest.mark.thorough
def test_marks_the_places_of_equal_lines(checked: Program) -> None:
    cases = []
    for number, order in line_orders(checked):
        for turn, (_, a, b) in enumerate(line_pairs(order, seed=8)):
            lines = sorted(a + b, key=partial(key_of_line, order))
            keys = [key_of_line(order, line) for line in lines]
            rule = PLACES[turn % len(PLACES)]
            keeps = kept_by(rule, [not ahead < here for ahead, here in pairwise(keys)])[: len(keys)]
            cases.append(Case(number, "rows_mark", b"".join(lines), b"", keeps, n=rule.value, text=order.text))
    passes(checked, cases)


def cases_of_mutant(number: int, name: str, order: Order) -> list[Case]:
    """Small cases that run every barrier of a file of kernels."""
    shape = partial(Case, number, block=4, items=2, tile=8)
    if name == "text":
        lines = [b"line %02d\n" % number for number in range(30)]
        a, b = b"".join(lines[::2]), b"".join(lines[1::2])
        return [shape("rows_merge", a, b, b"".join(lines), text=LINE_ORDERS[0])]
    runs = [np.arange(first, 240 + first, 2).astype(order.dtype) for first in (0, 1)]
    works = {"tiled": ["tiled_full", "tiled_exact"], "parts": ["path"]}.get(name, [name])
    return [
        shape(work, *(run.tobytes() for run in runs), merged(order, *runs).tobytes(), *map(len, runs), blocks=blocks)
        for work in works
        for blocks in ((1, 2) if work == "path" else (2,))
    ]


@pytest.mark.thorough
def test_every_missing_barrier_is_noticed(tmp_path_factory: pytest.TempPathFactory) -> None:
    files = ("tiled", "circular", "path", "parts", "text")
    mutants = [(name, which) for name in files for which in range(barriers(name))]
    others = {"path": ("block_section", "load"), "text": ("block_section",)}  # that these programs do not call
    mutants = [
        mutant for mutant in mutants if function_around(*mutant) not in ("read_columns", *others.get(mutant[0], ()))
    ]
    # For narrow keys path has other barriers, which make some of the usual ones superfluous.
    narrow, usual, lines = KeyOrder("uint", 1), KeyOrder("int", 4), Order.lines()
    orders = [
        lines if mutant[0] == "text" else narrow if function_around(*mutant) == "fill_tile" else usual
        for mutant in mutants
    ]
    program = Program(
        [Variant(orders[number], 4, 3, change=without_barrier(*mutant)) for number, mutant in enumerate(mutants)],
        "thread",
        tmp_path_factory.mktemp("mutants"),
    )
    unnoticed = []
    for number, (name, which) in enumerate(mutants):
        runs = (program.has_race(case) for case in cases_of_mutant(number, name, orders[number]))
        if not any(runs):
            unnoticed.append((name, which, function_around(name, which)))
    assert not unnoticed
