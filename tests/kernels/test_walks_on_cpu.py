"""Sets of two runs on the CPU, under sanitizers, blocks at the same time, and compared with sets of groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from kernel_pairs import line_pairs
from kernel_shim import ALIGNED_SHARED, DERIVED, EVERY_COMPARISON, Case, Common, Program, Variant, a_sixth_of, digest
from set_pairs import EVERY_SET, Run, key_of_row, row_pairs, set_of, set_pairs
from test_digits_on_cpu import barriers

from gpumerge_cli.backends.gpu.source import (
    flatten,
    moves_rows,
    order_macros,
    run_macros,
    shape_macros,
    walk_macros,
)
from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import KeyOrder, Order, TextOrder
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests import reference
from tests.line_orders import LINE_ORDERS

SKEWS = [(0, 0, 0), (1, 0, 3), (3, 2, 1)]


@dataclass(frozen=True)
class Walk(Variant):
    """walk.cu for one order and one set, in blocks of `path_block` threads of `path_items` items."""

    path_block: int = 32
    equals: Equals = Equals.UNION

    def source(self) -> tuple[str, str]:
        macros = {
            **dict(order_macros(self.order)), **dict(run_macros(2)), "WALK": 1,
            "PARTITION_SIZE": 6, "STRETCH": 5, "STRIDE": 5,
            **dict(walk_macros(self.equals, bulk=bool(self.bulk))),
            **dict(shape_macros(self.path_block, self.path_items, 1)), "SUMMED_PER_THREAD": 2,
        }  # fmt: skip
        if not self.order.item_bytes:
            macros["COMPARED"] = EVERY_COMPARISON
        head = "\n".join(f"#define {name} {value}" for name, value in macros.items())

        common = Common(partial(self.change, "common"))

        def text_of(file: str) -> str:
            text = self.change(file, flatten(file)).replace('extern "C"', "")
            return common.left_out_of(text.replace(ALIGNED_SHARED, "using shim::shared_bytes;"))

        files = {"cutting": "partition.cu", "walking": "walk.cu"}
        files |= {"rows": "rows.cu"} if moves_rows(self.order) else {}
        files |= {} if self.order.item_bytes else {"text": "text.cu"}
        derived = "\n".join(f"#undef {name}" for name in DERIVED)
        texts = [f"{derived}\n{common.text}"]
        texts += [f"namespace {name} {{\n{text_of(file)}\n}}" for name, file in files.items()]
        name = f"walk_{digest([head, *texts])}"
        body = "\n".join([*texts, '#include "walk.inl"'])
        return f"{head}\nnamespace {name} {{\n{body}\n}}\n", name

    @property
    def tile(self) -> int:
        """The items of a block."""
        return self.path_block * self.path_items


ORDERS = [
    (KeyOrder("int", 4), 3, 0), (KeyOrder("uint", 1), 2, 1), (KeyOrder("float", 4), 4, 1),
    (KeyOrder("int", 8, True), 3, 1), (KeyOrder("float", 2, True), 1, 0), (KeyOrder("float", 8), 5, 0),
    (Order.records(12, 1, np.dtype("i8")), 2, 1), (KeyOrder("uint", 2), 7, 0),
]  # fmt: skip
VARIANTS = [
    Walk(order, path_items=count, bulk=bulk, equals=EVERY_SET[turn]) for turn, (order, count, bulk) in enumerate(ORDERS)
]
"""Each set once. Thorough runs have all sets of all orders."""
OTHERS = [
    Walk(order, path_items=count, bulk=bulk, equals=equals) for order, count, bulk in ORDERS for equals in EVERY_SET
]


ROWS = [
    Walk(Order.lines(), path_items=3, equals=Equals.UNION),
    Walk(Order.records(33, 2, 20, descending=True), path_items=4, bulk=1, equals=Equals.DIFFERENCE),
    Walk(
        order_of(np.dtype("u1,>f8,S3,<i2"), Key(fields=("f3,f1:r,f0",))), path_items=2,
        equals=Equals.DISTINCT_INTERSECT,
    ),
]  # fmt: skip
"""The variants for lines serve all orders of them. Thorough runs have all sets of lines and of records."""
OTHER_ROWS = [
    Walk(order, path_items=2 + turn % 3, bulk=turn % 2, equals=equals)
    for order in (Order.lines(), Order.records(100, 0, 10))
    for turn, equals in enumerate(EVERY_SET)
]
WALKED_LINES = [
    LineOrder(), LineOrder((LineKey("numeric"),), stable=True), LineOrder(reverse=True),
    LineOrder((LineKey("numeric", reverse=True),), stable=True),
]  # fmt: skip
"""Orders of long walks. In the second and the last one, equal lines differ."""


@pytest.fixture(scope="module", params=["some", pytest.param("others", marks=pytest.mark.thorough)])
def rows_checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(ROWS if request.param == "some" else OTHER_ROWS, "address", tmp_path_factory.mktemp("address"))


@pytest.fixture(scope="module", params=["some", pytest.param("others", marks=pytest.mark.thorough)])
def checked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(VARIANTS if request.param == "some" else OTHERS, "address", tmp_path_factory.mktemp("address"))


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program([VARIANTS[0], VARIANTS[6], *ROWS[:2]], "thread", tmp_path_factory.mktemp("thread"))


def case(number: int, variant: Walk, a: Run, b: Run, turn: int, *, loose: bool = False) -> Case:
    room = variant.equals.most([len(a), len(b)])
    expected = b"" if loose else set_of(variant.order, a, b, variant.equals).tobytes()
    return Case(
        number, "sort", a.tobytes(), b.tobytes(), expected, len(a), len(b),
        block=1 + turn % 3, tile=room, skews=SKEWS[turn % len(SKEWS)], loose=loose,
    )  # fmt: skip


def row_case(
    number: int, variant: Walk, order: Order, a: list[bytes], b: list[bytes], turn: int, *, loose: bool = False
) -> Case:
    """Runs of lines with their terminators, or of records that are merged as rows."""
    room = variant.equals.most([len(a), len(b)])
    expected = [] if loose else reference.set_of([a, b], key_of_row(order), variant.equals)
    return Case(
        number, "sort", b"".join(a), b"".join(b), b"".join(expected),
        block=1 + turn % 3, tile=room, skews=SKEWS[turn % len(SKEWS)], text=order.text, loose=loose,
    )  # fmt: skip


def row_cases(program: Program, *, step: int = 1) -> Iterator[tuple[int, Walk, Order, list[bytes], list[bytes]]]:
    """Walks of many tiles through lines and records, most of which tie in their prefixes."""
    for number, variant in enumerate(program.variants):
        assert isinstance(variant, Walk)
        if not moves_rows(variant.order):
            continue
        orders = list(map(Order.lines, WALKED_LINES)) if isinstance(variant.order, TextOrder) else [variant.order]
        for turn, order in enumerate(orders):
            pairs = list(row_pairs(order, variant.tile, seed=number))
            for _, a, b in pairs[(number + turn) % (step * len(orders)) :: step * len(orders)]:
                yield number, variant, order, a, b


def cases(program: Program, *, step: int = 1) -> Iterator[Case]:
    turn = 0
    for number, variant in enumerate(program.variants):
        assert isinstance(variant, Walk)
        if moves_rows(variant.order):
            continue
        for _, a, b in list(set_pairs(variant.order, variant.tile, seed=number))[number % step :: step]:
            yield case(number, variant, a, b, turn)
            turn += 1


def passes(program: Program, chosen: list[Case]) -> None:
    assert chosen
    status, output = program.run(chosen)
    assert status == 0, output


def test_sets_within_bounds(checked: Program, rng: np.random.Generator) -> None:
    passes(checked, a_sixth_of(list(cases(checked, step=2)), rng))


def test_sets_of_rows_within_bounds(rows_checked: Program, rng: np.random.Generator) -> None:
    chosen = [row_case(*each, turn) for turn, each in enumerate(row_cases(rows_checked, step=2))]
    passes(rows_checked, a_sixth_of(chosen, rng))


def test_sets_of_every_order_of_lines(rows_checked: Program, rng: np.random.Generator) -> None:
    """Few lines of all kinds: without a common prefix, empty, and equal by their keys alone."""
    walks = [each for each in enumerate(rows_checked.variants) if isinstance(each[1].order, TextOrder)]
    chosen = []
    for at, rules in enumerate(LINE_ORDERS):
        order = Order.lines(rules)
        for turn, (_, a, b) in enumerate(line_pairs(order, seed=at)):
            number, variant = walks[(at + turn) % len(walks)]
            assert isinstance(variant, Walk)
            chosen.append(row_case(number, variant, order, a, b, turn))
    passes(rows_checked, a_sixth_of(chosen, rng))


@pytest.mark.thorough
def test_sets_without_a_race(raced: Program) -> None:
    rows = [row_case(*each, turn) for turn, each in enumerate(row_cases(raced, step=8))]
    passes(raced, list(cases(raced, step=8)) + rows)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("tiles", "blind", "usual"),
    [
        *(pytest.param(tiles, False, False, marks=pytest.mark.thorough) for tiles in (40, 100)),
        (100, True, True),
        pytest.param(1100, True, False, marks=pytest.mark.thorough),
    ],
)
def test_many_tiles(tiles: int, blind: bool, usual: bool, tmp_path: Path, rng: np.random.Generator) -> None:
    """Tiles are counted in groups. blind: no group knows the sum of all groups up to it, so each is added up.

    usual: each test run takes one of two variants, which take long to compile.
    """

    def change(name: str, text: str) -> str:
        assert (name in ("common", "partition.cu")) != (
            "return before >= 0 ? load_descriptor(up_to + before) : SUM;" in text
        )
        return text.replace("load_descriptor(up_to + before)", "0") if blind else text

    variants = [
        Walk(KeyOrder("int", 4), path_items=1, bulk=bulk, equals=equals, change=change)
        for bulk, equals in ((0, Equals.UNION), (1, Equals.INTERSECT))
    ]
    if usual:
        variants = [variants[int(rng.integers(2))]]
    program = Program(variants, "address", tmp_path)
    chosen = []
    for number, variant in enumerate(variants):
        m = int(rng.integers(1, tiles * variant.tile))
        a, b = (np.sort(rng.integers(0, 2 * m, count).astype(np.int32)) for count in (m, tiles * variant.tile - m))
        chosen.append(case(number, variant, a, b, number + 1))
    passes(program, chosen)


def test_runs_that_are_not_in_order(checked: Program, rng: np.random.Generator) -> None:
    chosen = []
    for number, variant in enumerate(checked.variants):
        assert isinstance(variant, Walk)
        for turn, (_, a, b) in enumerate(set_pairs(variant.order, variant.tile, seed=number)):
            way = (lambda run: run[::-1], rng.permutation)[turn % 2]
            chosen.append(case(number, variant, way(a), way(b), turn, loose=True))
    passes(checked, a_sixth_of(chosen[:: 2 if len(checked.variants) == len(VARIANTS) else 4], rng))


def test_rows_that_are_not_in_order(rows_checked: Program, rng: np.random.Generator) -> None:
    chosen = []
    for turn, (number, variant, order, a, b) in enumerate(row_cases(rows_checked)):
        a, b = ([run[at] for at in rng.permutation(len(run))] for run in (a, b))
        chosen.append(row_case(number, variant, order, a, b, turn, loose=True))
    passes(rows_checked, a_sixth_of(chosen[:: 2 if len(rows_checked.variants) == len(ROWS) else 4], rng))


@pytest.mark.thorough
@pytest.mark.parametrize("guard", ["", "if (!has_a || !has_b) return {has_a, has_b};", "(!ROWS || goes) && "])
def test_text_is_read_of_rows_alone(guard: str, tmp_path: Path) -> None:
    """Shared memory holds rows of a larger text from before. Without each guard, a walk reads their text."""
    begin = "Shared* const shared = "
    before = """
        if (threadIdx.x == 0)
            for (int at = 0; at < STAGED_BYTES / SIZE; ++at)
                reinterpret_cast<Item*>(shared_bytes)[at] = {0x7468652073616d65, 1ll << 40};  // "the same"
        __syncthreads();
    """

    def change(name: str, text: str) -> str:
        if name != "walk.cu":
            return text
        assert text.count(begin) == 1
        assert not guard or text.count(guard) == 1
        text = text.replace(begin, before + begin)
        return text.replace(guard, "") if guard else text

    variant = Walk(Order.lines(), path_items=3, equals=Equals.DISTINCT_UNION, change=change)
    program = Program([variant], "address", tmp_path)
    chosen = [row_case(*each, turn) for turn, each in enumerate(row_cases(program))]
    if not guard:
        passes(program, chosen)
        return
    status, output = program.run(chosen)
    assert status != 0
    assert "AddressSanitizer" in output


def test_every_barrier_says_what_it_protects() -> None:
    text = flatten("walk.cu")
    for place in barriers(text):
        assert text[place.end() :].startswith("  // "), text[place.start() : place.end() + 80]


@pytest.mark.thorough
def test_every_missing_barrier_is_noticed(tmp_path_factory: pytest.TempPathFactory) -> None:
    def without(which: int, bulk: int) -> Walk:
        def change(name: str, text: str) -> str:
            if name != "walk.cu":
                return text
            place = barriers(text)[which]
            return text[: place.start()] + text[place.end() :]

        return Walk(KeyOrder("int", 4), path_items=2, path_block=64, equals=Equals.UNION, bulk=bulk, change=change)

    # The barriers of the kernel itself, and the one of sums_of. The others stand in functions that it does not call.
    text = flatten("walk.cu")
    sums = text.index("unsigned sums_of(")
    own = [
        number
        for number, place in enumerate(barriers(text))
        if place.start() > text.index(") walk(") or sums < place.start() < text.index("\n}", sums)
    ]
    assert len(own) == 5
    mutants = [(which, without(which, bulk)) for which in own for bulk in (0, 1)]
    program = Program([mutant for _, mutant in mutants], "thread", tmp_path_factory.mktemp("mutants"))
    a, b = (np.arange(first, 720 + first, 2).astype(np.int32) for first in (0, 1))
    noticed = set()
    for number, (which, mutant) in enumerate(mutants):
        status, output = program.run([case(number, mutant, a, b, 1)], timeout=60)  # one of them never ends
        if status != 0 and ("data race" in output or "DEADLYSIGNAL" in output):
            noticed.add(which)  # in one of the two ways to load, as each has a barrier of its own
    assert noticed == set(own)
