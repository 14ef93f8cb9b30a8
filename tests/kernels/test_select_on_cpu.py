"""select.cu, run on the CPU under sanitizers: indices of items by a bound, and samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kernel_shim import Case, Program, Variant

from gpumerge_cli.arrays.first_items import sample_positions
from gpumerge_cli.backends.base import SELECT_EQUAL, SELECT_LESS
from gpumerge_cli.order.kinds import KeyOrder

BLOCK = 64


@dataclass(frozen=True)
class Selects(Variant):
    """select.cu for one order, in blocks of two warps."""

    def source(self) -> tuple[str, str]:
        changes = {"#define BLOCK_SIZE SELECTING_THREADS": f"#define BLOCK_SIZE {BLOCK}"}
        return self.of_file("select", changes, ["BLOCK_SIZE"])


VARIANTS = [
    Selects(KeyOrder("int", 4)),
    Selects(KeyOrder("uint", 1, True)),
    Selects(KeyOrder("float", 2)),
    Selects(KeyOrder("float", 8, True)),
    Selects(KeyOrder("int", 8, True)),
    Selects(KeyOrder("uint", 8)),
]


def drawn(order: KeyOrder, count: int, rng: np.random.Generator) -> Any:
    """Keys of few or of many values, with zeros of both signs and NaNs among floats."""
    most = int(rng.choice([1, 2, 9, 100]))
    keys = rng.integers(0, most + 1, count)
    items = keys.astype(order.dtype)
    if order.kind == "float":
        items[keys == 1] = -0.0
        items[keys == 2] = np.nan
    return items


def case(number: int, order: KeyOrder, items: Any, rng: np.random.Generator) -> Case:
    bound = drawn(order, 1, rng)
    images, edge = order.image(items), order.image(bound)
    selects = int(rng.choice([SELECT_LESS, SELECT_EQUAL, SELECT_LESS | SELECT_EQUAL]))
    wanted = (bool(selects & SELECT_LESS) & (images < edge)) | (bool(selects & SELECT_EQUAL) & (images == edge))
    base = int(rng.choice([0, 5, 1 << 40]))
    found = np.flatnonzero(wanted) + base
    room = int(rng.choice([len(found), len(items), max(len(found) - 3, 0)]))
    expected = np.append(found, len(found)).astype(np.int64).tobytes()
    return Case(
        number, "sort", items.tobytes(), bound.tobytes(), expected, len(items), room, tile=selects, items=base,
        block=int(rng.integers(1, 4)), blocks=int(rng.integers(1, 4)), skews=(int(rng.integers(0, 5)), 0, 0),
        loose=room < len(found),
    )  # fmt: skip


def sample_case(number: int, order: KeyOrder, items: Any, samples: int) -> Case:
    wanted = items[sample_positions(len(items), samples)]
    return Case(number, "sort", items.tobytes(), b"", wanted.tobytes(), len(items), samples, tile=0)


@pytest.mark.parametrize(
    "variants", [VARIANTS[::3], pytest.param(VARIANTS, marks=pytest.mark.thorough)], ids=["some", "all"]
)
def test_bounds_and_samples(
    variants: list[Selects], tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    program = Program(variants, "address", tmp_path_factory.mktemp("selects"))
    cases = []
    for number, variant in enumerate(variants):
        assert isinstance(variant.order, KeyOrder)
        for count in (0, 1, 2, 15, 16, 17, 100, 1025, 9000):
            cases += [case(number, variant.order, drawn(variant.order, count, rng), rng) for _ in range(4)]
            if count:
                items = np.arange(count).astype(variant.order.dtype)
                cases += [sample_case(number, variant.order, items, samples) for samples in {1, count // 3 or 1, count}]
    status, output = program.run(cases)
    assert status == 0, output


@pytest.mark.thorough
def test_no_race(tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator) -> None:
    program = Program(VARIANTS[:2], "thread", tmp_path_factory.mktemp("selects"))
    cases = [
        case(number, variant.order, drawn(variant.order, 3000, rng), rng)  # type: ignore[arg-type]
        for number, variant in enumerate(VARIANTS[:2])
        for _ in range(4)
    ]
    status, output = program.run(cases)
    assert status == 0, output
