"""groups.cu, run on the CPU under sanitizers, blocks at the same time: the first items of groups of equals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kernel_shim import ALIGNED_SHARED, Case, Program, Variant

from gpumerge_cli.order.kinds import KeyOrder

BLOCK, TURNS = 64, 2
TILE = BLOCK * TURNS


@dataclass(frozen=True)
class Groups(Variant):
    """groups.cu for one order, in tiles of 128 items."""

    def source(self) -> tuple[str, str]:
        changes = {
            "#define BLOCK_SIZE GROUPING_THREADS": f"#define BLOCK_SIZE {BLOCK}",
            "TURNS = GROUPING_TURNS": f"TURNS = {TURNS}",
            ALIGNED_SHARED: "using shim::shared_bytes;",
        }
        return self.of_file("groups", changes, ["BLOCK_SIZE", "WIDE"])


VARIANTS = [
    Groups(KeyOrder("int", 4)),
    Groups(KeyOrder("uint", 1)),
    Groups(KeyOrder("float", 2)),
    Groups(KeyOrder("float", 8)),
    Groups(KeyOrder("int", 8)),
]


def case(number: int, order: KeyOrder, count: int, rng: np.random.Generator) -> Case:
    """Keys in either direction, with zeros of both signs and NaNs among floats."""
    most = int(rng.choice([1, 2, 30, 5000]))
    keys: Any = np.sort(rng.integers(0, most, count).astype(order.dtype))
    if order.kind == "float":
        keys[keys == 0] *= rng.choice([1, -1], int((keys == 0).sum())).astype(order.dtype)
        keys[count - count // 8 :] = np.nan
    if rng.integers(2):
        keys = keys[::-1].copy()
    images = order.image(keys)
    firsts = np.flatnonzero(np.concatenate([[True], images[1:] != images[:-1]]))
    room = int(rng.choice([len(firsts), count, max(len(firsts) - 2, 0)]))
    firsts = firsts[:room]
    expected = firsts.astype(np.int64).tobytes() + keys[firsts].tobytes() + len(firsts).to_bytes(8, "little")
    return Case(
        number, "sort", keys.tobytes(), b"", expected, count, room,
        block=int(rng.integers(1, 4)), blocks=int(rng.integers(3, 6)), skews=(int(rng.integers(0, 3)), 0, 0),
    )  # fmt: skip


def cases(variants: list[Groups], rng: np.random.Generator, counts: tuple[int, ...]) -> list[Case]:
    found = []
    for number, variant in enumerate(variants):
        assert isinstance(variant.order, KeyOrder)
        found += [case(number, variant.order, count, rng) for count in counts for _ in range(3)]
    return found


@pytest.mark.parametrize(
    "variants", [VARIANTS[::3], pytest.param(VARIANTS, marks=pytest.mark.thorough)], ids=["some", "all"]
)
def test_groups_of_equals(
    variants: list[Groups], tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    program = Program(variants, "address", tmp_path_factory.mktemp("groups"))
    counts = (1, 2, 31, 32, 33, TILE - 1, TILE, TILE + 1, 40 * TILE + 7)
    status, output = program.run(cases(variants, rng, counts))
    assert status == 0, output


@pytest.mark.thorough
def test_no_race(tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator) -> None:
    program = Program(VARIANTS[:2], "thread", tmp_path_factory.mktemp("groups"))
    status, output = program.run(cases(VARIANTS[:2], rng, (TILE + 1, 9 * TILE)))
    assert status == 0, output
