"""Fast ways of the path kernel give what its slow ways give, are taken where they apply, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from kernel_pairs import in_order, key_pairs, special_floats
from kernel_shim import Case, Program, Variant, merged

from gpumerge_cli.order import Keys, Order

FLOATS = [
    Variant(Keys("float", 4), 4, 3),
    Variant(Keys("float", 8, True), 3, 5, bulk=1),
    Variant(Keys("float", 4), 9, 2, 8, partition=(8, 3, 3)),
]
NO_NAN = "return last == last;"
BY_NUMBER = "return DESCENDING ? x < y : y < x;"


def replaced(old: str, new: str) -> Callable[[str, str], str]:
    """A change of all kernel files that have the text `old`."""
    return lambda _, text: text.replace(old, new)


def changed(variant: Variant, old: str, new: str) -> Variant:
    how = (variant.path_block, variant.path_items, variant.runs, variant.bulk, variant.partition)
    return Variant(variant.order, *how, replaced(old, new))


def float_pairs(order: Order, rng: np.random.Generator) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Sorted floats of every sort: any bits, NaNs of all payloads, both zeros, subnormals, infinities."""
    for _, a, b in key_pairs(order, seed=int(rng.integers(1 << 30))):
        yield a, b
    special = special_floats(order)
    for share in (0.1, 0.5, 1.0):
        drawn = rng.standard_normal(160).astype(order.dtype)
        odd = rng.random(160) < share
        drawn[odd] = rng.choice(special, int(odd.sum()))
        yield in_order(order, drawn[:90]), in_order(order, drawn[90:])


def cases(number: int, order: Order, rng: np.random.Generator) -> list[Case]:
    made = []
    for turn, (a, b) in enumerate(float_pairs(order, rng)):
        expected = merged(order, a, b).tobytes()
        skews = (turn % 4, turn % 3, turn % 2)
        made.append(Case(number, "path", a.tobytes(), b.tobytes(), expected, len(a), len(b), skews=skews))
    return made


def test_floats_merge_alike_by_number_and_by_image(
    tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    variants = [*FLOATS, *(changed(variant, NO_NAN, "return false;") for variant in FLOATS)]
    program = Program(variants, "address", tmp_path_factory.mktemp("floats"))
    for number, variant in enumerate(variants):
        status, output = program.run(cases(number, variant.order, rng))
        assert status == 0, output


@pytest.mark.parametrize(("old", "new"), [(NO_NAN, "return true;"), (BY_NUMBER, "return false;")])
def test_floats_are_compared_by_number_unless_there_is_a_nan(
    tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator, old: str, new: str
) -> None:
    variants = [changed(variant, old, new) for variant in FLOATS[:2]]
    program = Program(variants, "address", tmp_path_factory.mktemp("mutants"))
    for number, variant in enumerate(variants):
        status, _ = program.run(cases(number, variant.order, rng))
        assert status == 1
