"""ranks.cu, run on the CPU under sanitizers: ranks of items in sorted runs, and in others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kernel_shim import Case, Program, Variant

from gpumerge_cli.order.kinds import KeyOrder
from tests.strategies import special_values


@dataclass(frozen=True)
class Ranks(Variant):
    """ranks.cu for one order, in blocks of two warps, which hold 256 bytes of a run."""

    def source(self) -> tuple[str, str]:
        fewer = {"RANKING_THREADS = 256": "RANKING_THREADS = 64", "RANKING_WINDOW = 24576": "RANKING_WINDOW = 256"}
        return self.of_file("ranks", fewer)


VARIANTS = [
    Ranks(KeyOrder("int", 4)),
    Ranks(KeyOrder("uint", 1, True)),
    Ranks(KeyOrder("float", 2)),
    Ranks(KeyOrder("float", 8, True)),
    Ranks(KeyOrder("int", 8)),
]


def drawn(order: KeyOrder, count: int, rng: np.random.Generator) -> Any:
    """Keys of few or of many values, and special ones."""
    few = rng.integers(0, rng.choice([2, 9, 120]), count).astype(order.dtype)
    return np.where(rng.random(count) < 0.8, few, rng.choice(special_values(np.dtype(order.dtype)), count))


def case(number: int, order: KeyOrder, run: Any, items: Any, through: bool, rng: np.random.Generator) -> Case:
    ahead = int(rng.choice([-1, 0, 7]))  # the rank of each item in runs ahead of this one; -1 for the first run
    side = "right" if through else "left"
    expected = np.searchsorted(order.image(run), order.image(items), side).astype(np.int64)
    return Case(
        number, "sort", run.tobytes(), items.tobytes(), (expected + max(ahead, 0)).tobytes(), len(run), len(items),
        tile=int(through), items=ahead, block=int(rng.integers(1, 4)), blocks=int(rng.integers(1, 4)),
        skews=(int(rng.integers(0, 5)), int(rng.integers(0, 5)), 0),
    )  # fmt: skip


def test_ranks(tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator) -> None:
    program = Program(VARIANTS, "address", tmp_path_factory.mktemp("ranks"))
    cases = []
    for number, variant in enumerate(VARIANTS):
        order = variant.order
        assert isinstance(order, KeyOrder)
        for count in (0, 1, 2, 3, 15, 16, 17, 100, 257, 1025):
            for through in (False, True, False, True):
                run, items = drawn(order, count, rng), drawn(order, int(rng.integers(1, 1000)), rng)
                run, ordered = (keys[np.argsort(order.image(keys), kind="stable")] for keys in (run, items))
                for searched in (items, ordered):
                    cases.append(case(number, order, run, searched, through, rng))
    status, output = program.run(cases)
    assert status == 0, output
