"""The sort by digits, run on the CPU under sanitizers, blocks at the same time, and compared with a stable sort."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from kernel_shim import ALIGNED_SHARED, Case, Program, Variant, digest
from sort_inputs import key_inputs, record_inputs, stable, stable_records

from gpumerge_cli.backends.gpu.sort_policy import pair_order
from gpumerge_cli.backends.gpu.source import digit_macros, flatten, moves_rows, order_macros, shape_macros
from gpumerge_cli.order.kinds import KeyOrder, Order

pytestmark = pytest.mark.thorough
BLOCK, ITEMS = 64, 2
TILE = BLOCK * ITEMS
PLACES = 0
"""The values of keys that are their places."""
FILES = ("count_digits.cu", "sort_radix.cu")


@dataclass(frozen=True)
class Digits(Variant):
    """sort_radix.cu for one order. value: bytes that go along with each key, None for keys alone."""

    wide: bool = False
    value: int | None = None

    def source(self) -> tuple[str, str]:
        order = self.order if self.value is None else pair_order(self.order, self.value or 4)
        macros = (
            *order_macros(order),
            *digit_macros(self.order.prefix_bytes, wide=self.wide, pairs=self.value is not None),
        )
        head = "\n".join(f"#define {name} {value}" for name, value in (*macros, *shape_macros(BLOCK, ITEMS, 1)))
        texts = [self.change(file, flatten(file)).replace('extern "C"', "") for file in FILES]
        count, sort = (text.replace(ALIGNED_SHARED, "using shim::shared_bytes;") for text in texts)
        name = f"digits_{digest([head, count, sort])}"
        body = f'namespace counting {{\n{count}\n}}\n{sort}\n#include "digits.inl"'
        return f"{head}\nnamespace {name} {{\n{body}\n}}\n", name


VARIANTS = [
    Digits(KeyOrder("int", 4)),
    Digits(KeyOrder("uint", 1)),
    Digits(KeyOrder("int", 2, True), wide=True),
    Digits(KeyOrder("float", 4)),
    Digits(KeyOrder("float", 2, True)),
    Digits(KeyOrder("float", 8, True), wide=True),
    Digits(Order.records(12, 1, np.dtype("i8"))),
    Digits(Order.records(4, 1, 3)),
    Digits(Order.records(33, 2, 5)),
    Digits(KeyOrder("int", 4), value=PLACES),
    Digits(KeyOrder("float", 8), value=8),
    Digits(KeyOrder("uint", 1, True), value=4),
    Digits(KeyOrder("float", 2), value=8, wide=True),
]
SIZES = (1, TILE - 1, TILE, TILE + 1, 3 * TILE, 6 * TILE + 5)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(VARIANTS, "address", tmp_path_factory.mktemp("address"))


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program([VARIANTS[0], VARIANTS[6], VARIANTS[10]], "thread", tmp_path_factory.mktemp("thread"))


def case(
    number: int, variant: Digits, items: bytes, expected: bytes, count: int, turn: int, values: bytes = b""
) -> Case:
    odd = variant.order.prefix_bytes % 2
    where = (0, 2 if odd else 1)[turn % 2] if variant.value is None else 0
    return Case(
        number, "sort", items, values, expected, count, where, block=1 + turn % 3, tile=int(variant.value == PLACES),
        blocks=3 + turn % 2, skews=((0, 0, 0), (1, 3, 2), (3, 0, 1))[turn % 3],
    )  # fmt: skip


def inputs_of(number: int, variant: Digits, count: int) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Items, values and the expected output."""
    order = variant.order
    if moves_rows(order):
        random = np.random.default_rng(number)
        rows = random.integers(0, 1 << 8 * order.width, (count, 2), dtype=np.uint64)
        rows[:, 0] &= random.choice(np.array([0x3, 0xFFFF00FFFF], np.uint64), 1)
        yield rows.tobytes(), b"", rows[np.argsort(rows[:, 0], kind="stable")].tobytes()
    elif not isinstance(order, KeyOrder):
        for _, records in record_inputs(order, count, seed=number):
            yield records.tobytes(), b"", stable_records(order, records).tobytes()
    else:
        for _, keys in key_inputs(order, count, seed=number):
            if variant.value is None:
                yield keys.tobytes(), b"", stable(order, keys).tobytes()
                continue
            ranks = np.argsort(order.image(keys), kind="stable")
            values = np.random.default_rng(count).integers(0, 256, (count, variant.value), dtype=np.uint8)
            moved = ranks.astype(np.int64) if variant.value == PLACES else values[ranks]
            yield keys.tobytes(), values.tobytes(), keys[ranks].tobytes() + moved.tobytes()


def cases(program: Program) -> Iterator[Case]:
    turn = 0
    for number, variant in enumerate(program.variants):
        assert isinstance(variant, Digits)
        for count in SIZES:
            for items, values, expected in inputs_of(number, variant, count):
                yield case(number, variant, items, expected, count, turn, values)
                turn += 1


def passes(program: Program, chosen: list[Case]) -> None:
    for first in range(0, len(chosen), 40):
        status, output = program.run(chosen[first : first + 40])
        assert status == 0, output


def test_sorts_within_bounds(checked: Program) -> None:
    passes(checked, list(cases(checked))[::3])


def changing(program: Program) -> Iterator[Case]:
    """Inputs whose keys all become the greatest ones between the count of the digits and the moves."""
    for number, variant in enumerate(program.variants):
        assert isinstance(variant, Digits)
        for count in (TILE + 1, 3 * TILE):
            for turn, (items, values, _) in enumerate(inputs_of(number, variant, count)):
                yield replace(case(number, variant, items, b"", count, turn, values), strict=True)


def test_an_input_that_changes_meanwhile_is_sorted_within_bounds(checked: Program) -> None:
    passes(checked, list(changing(checked)))


def test_sorts_without_a_race(raced: Program) -> None:
    passes(raced, list(cases(raced))[::9])


def barriers(text: str) -> list[re.Match[str]]:
    return list(re.finditer(r"__sync(threads|warp)\(\);", text))


@pytest.mark.parametrize("file", FILES)
def test_every_barrier_says_what_it_protects(file: str) -> None:
    text = flatten(file)
    assert barriers(text)
    for place in barriers(text):
        assert text[place.end() :].startswith("  // "), text[place.start() : place.end() + 80]


@pytest.mark.parametrize("file", FILES)
def test_every_missing_barrier_is_noticed(file: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    def without(which: int) -> Digits:
        def change(name: str, text: str) -> str:
            if name != file:
                return text
            place = barriers(text)[which]
            return text[: place.start()] + text[place.end() :]

        return Digits(KeyOrder("uint", 2), change=change)

    # Only sets call sums_of.
    text = flatten(file)
    sums = text.index("unsigned sums_of(")
    found = [not sums < place.start() < text.index("\n}", sums) for place in barriers(text)]
    mutants = [without(which) for which, called in enumerate(found) if called]
    program = Program(mutants, "thread", tmp_path_factory.mktemp("mutants"))
    random = np.random.default_rng(3)
    unnoticed = []
    for number, mutant in enumerate(mutants):
        cases = []
        for low in (0, 200 << 8):  # some need a digit that is the same in all keys, and not one of the first thread's
            keys = random.integers(low, low + (256 if low else 1 << 16), 5 * TILE + 7).astype(np.uint16)
            sort = stable(mutant.order, keys).tobytes()
            cases.append(Case(number, "sort", keys.tobytes(), b"", sort, len(keys), 0, block=2, blocks=2))
        runs = (program.run([one]) for one in cases)
        if not any(status != 0 and "data race" in output for status, output in runs):
            unnoticed.append(number)
    assert not unnoticed
