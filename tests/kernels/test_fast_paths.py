"""Fast ways of the path kernel give what its slow ways give, are taken where they apply, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kernel_pairs import in_order, key_pairs, special_floats
from kernel_shim import Case, Program, Variant, a_sixth_of, barriers, function_around, merged, without_barrier

from gpumerge_cli.order.kinds import KeyOrder, Order

FLOATS = [
    Variant(KeyOrder("float", 4), 4, 3, on_path=True),
    Variant(KeyOrder("float", 8, True), 3, 5, bulk=1, on_path=True),
    Variant(KeyOrder("float", 4), 9, 2, 8, partition=(8, 3, 3), on_path=True),
]
NARROW = [
    Variant(KeyOrder("uint", 1), 4, 4, bulk=1, on_path=True),
    Variant(KeyOrder("int", 2, True), 5, 4, bulk=1, on_path=True),
    Variant(KeyOrder("int", 1), 8, 4, 4, 1, (4, 4, 2), on_path=True),
    Variant(KeyOrder("uint", 2), 40, 2, bulk=1, on_path=True),
]
NO_NAN = "return last == last;"
BY_NUMBER = "return DESCENDING ? x < y : y < x;"


def changed(variant: Variant, old: str, new: str) -> Variant:
    return replace(variant, change=lambda _, text: text.replace(old, new))


def float_pairs(order: Order, rng: np.random.Generator) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Sorted floats of every sort: any bits, NaNs of all payloads, both zeros, subnormals, infinities."""
    yield from ((a, b) for _, a, b in key_pairs(order, seed=int(rng.integers(1 << 30))))
    special = special_floats(order)
    for share in (0.1, 0.5, 1.0):
        drawn = rng.standard_normal(160).astype(order.dtype)
        odd = rng.random(160) < share
        drawn[odd] = rng.choice(special, int(odd.sum()))
        yield in_order(order, drawn[:90]), in_order(order, drawn[90:])
    # The numbers of one run meet the NaNs of the other, whichever run a merge by number takes such a pair from.
    with_nans, numbers = (in_order(order, np.repeat([1, last], 30).astype(order.dtype)) for last in (np.nan, 2))
    yield with_nans, numbers
    yield numbers, with_nans


def narrow_pairs(order: Order, rng: np.random.Generator) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Sorted narrow integers: any, and few near values, of which some occur in one run alone or not at all."""
    yield from ((a, b) for _, a, b in key_pairs(order, seed=int(rng.integers(1 << 30))))
    limits = np.iinfo(order.dtype)
    for spread, step in ((1, 1), (2, 1), (5, 1), (17, 1), (40, 1), (5, 23)):
        for first in (limits.min, 0, limits.max - step * (spread - 1)):
            values = first + step * rng.integers(0, spread, 260)
            m = int(rng.integers(0, 200))
            a, b = (in_order(order, run.astype(order.dtype)) for run in (values[:m], values[m:]))
            yield a, b


def cases(number: int, order: Order, rng: np.random.Generator) -> list[Case]:
    """Floats go through the path kernel, narrow integers through the one that merges value by value."""
    made = []
    for turn, (a, b) in enumerate(float_pairs(order, rng) if order.kind == "float" else narrow_pairs(order, rng)):
        expected = merged(order, a, b).tobytes()
        work, tile = ("path", 4) if order.kind == "float" else ("values", (5, 40, 1000)[turn % 3])
        how: dict[str, Any] = {"tile": tile, "skews": (turn % 4, turn % 3, turn % 2)}
        made.append(Case(number, work, a.tobytes(), b.tobytes(), expected, len(a), len(b), **how))
    return made


@pytest.mark.parametrize(
    ("floats", "narrow"),
    [(FLOATS[:1], NARROW[:1]), pytest.param(FLOATS[1:], NARROW[1:], marks=pytest.mark.thorough)],
    ids=["some", "others"],
)
def test_fast_ways_give_what_slow_ones_give(
    floats: list[Variant], narrow: list[Variant], tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    """Floats by number and by image, and narrow integers value by value."""
    variants = [*floats, *(changed(variant, NO_NAN, "return false;") for variant in floats[:1]), *narrow]
    program = Program(variants, "address", tmp_path_factory.mktemp("fast"))
    for number, variant in enumerate(variants):
        status, output = program.run(a_sixth_of(cases(number, variant.order, rng), rng))
        assert status == 0, output


@pytest.mark.parametrize(
    "narrow", [NARROW[::3], pytest.param(NARROW[1:3], marks=pytest.mark.thorough)], ids=["some", "others"]
)
def test_values_of_unsorted_runs(
    narrow: list[Variant], tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    program = Program(narrow, "address", tmp_path_factory.mktemp("unsorted"))
    for number, variant in enumerate(narrow):
        made = []
        for turn, (a, b) in enumerate(narrow_pairs(variant.order, rng)):
            for one, other in ((a[::-1], b[::-1]), (rng.permutation(a), rng.permutation(b))):
                sides = (one.tobytes(), other.tobytes(), b"", len(a), len(b))
                made.append(Case(number, "values", *sides, tile=(5, 40, 1000)[turn % 3], loose=True))
        status, output = program.run(a_sixth_of(made, rng))
        assert status == 0, output


@pytest.mark.thorough
def test_values_without_a_race(tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator) -> None:
    program = Program(NARROW[:2], "thread", tmp_path_factory.mktemp("thread"))
    for number, variant in enumerate(NARROW[:2]):
        status, output = program.run(cases(number, variant.order, rng)[::3])
        assert status == 0, output


@pytest.mark.thorough
def test_every_missing_barrier_of_values_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    order = KeyOrder("uint", 1)
    others = ("load", "read_columns")  # that this program does not call
    ours = [which for which in range(barriers("values")) if function_around("values", which) not in others]
    mutants = [Variant(order, 4, 4, on_path=True, change=without_barrier("values", which)) for which in ours]
    program = Program(mutants, "thread", tmp_path_factory.mktemp("mutants"))
    unnoticed = []
    for number in range(len(mutants)):
        runs = (program.has_race(case) for case in cases(number, order, rng)[-12:])
        if not any(runs):
            unnoticed.append(function_around("values", ours[number]))
    assert not unnoticed


# Floats are compared as if there were no NaNs, or as if all were equal.
MUTANTS = [
    changed(variant, *how) for variant in FLOATS[:1] for how in ((NO_NAN, "return true;"), (BY_NUMBER, "return false;"))
]


@pytest.mark.thorough
def test_floats_by_number_are_taken_and_guarded(
    tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    program = Program(MUTANTS, "address", tmp_path_factory.mktemp("mutants"))
    for number, variant in enumerate(MUTANTS):
        status, _ = program.run(cases(number, variant.order, rng))
        assert status == 1, number
