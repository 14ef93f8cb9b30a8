"""The passes of merges of many runs, as the host decides them, run on the CPU under the address sanitizer.

All memories are as long as the host asks for, so that each access outside of them is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from kernel_pairs import special_floats
from kernel_shim import _DEFAULTS, ALIGNED_SHARED, DERIVED, Case, Common, Program, Variant, digest

from gpumerge_cli.backends.gpu import grouped, many_runs, merging
from gpumerge_cli.backends.gpu.many_runs import MergeOfMany
from gpumerge_cli.backends.gpu.source import flatten, moves_rows, order_macros
from gpumerge_cli.backends.gpu.tree import passes
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.backends.variants.rung4_path import path_tile
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.kinds import KeyOrder, Order

FILES = {"parts": "partition.cu", "path": "merge_path.cu", "writing": "write_words.cu"}
REGION = 1 << 44
"""Memory number N is at address N * REGION here: 1 has the runs, 2 is the output, 3 has the text of rows."""
RECORD = 40
"""The bytes of a record that moves as a row."""


@dataclass(frozen=True)
class Passes(Variant):
    """The kernels that merge groups. They write few words a launch, so that a table takes several."""

    def source(self) -> tuple[str, str]:
        values = {**_DEFAULTS, **dict(order_macros(self.order)), "RUNS": self.runs, "BULK": self.bulk, "GROUPED": 1}
        values |= {"BLOCK_SIZE": self.path_block, "ITEMS_PER_THREAD": self.path_items}
        values |= dict(zip(("PARTITION_SIZE", "STRETCH", "STRIDE"), self.partition, strict=True))
        lines = [f"#undef {name}" for name in DERIVED]
        lines += [f"#undef {name}\n#define {name} {value}" for name, value in values.items()]
        head, common = len(lines), Common()
        lines.append(common.text)
        for name, file in FILES.items():
            text = flatten(file).replace('extern "C"', "").replace(ALIGNED_SHARED, "using shim::shared_bytes;")
            text = text.replace(f"WRITTEN_WORDS = {grouped.MAX_WORDS}", f"WRITTEN_WORDS = {WRITTEN}")
            lines.append(f"namespace {name} {{\n{common.left_out_of(text)}\n}}")
        lines.append('#include "passes.inl"\n}')
        name = f"passes_{digest(lines)}"
        return "\n".join([*lines[:head], f"namespace {name} {{", *lines[head:]]), name


WRITTEN = 25
SOME = [
    Passes(KeyOrder("int", 4), 4, 3, 4, 1, (8, 6, 2)),
    Passes(KeyOrder("uint", 1), 2, 4, 2, 0),
    Passes(Order.records(RECORD, 3, 20), 9, 2, 8, 0, (8, 6, 2)),
]
OTHERS = [
    Passes(KeyOrder("int", 2, True), 9, 3, 8, 0, (9, 5, 3)),
    Passes(KeyOrder("float", 8), 17, 2, 16, 1, (17, 6, 3)),
    Passes(KeyOrder("float", 4, True), 4, 3, 4, 0, (8, 4, 2)),
    Passes(KeyOrder("uint", 1), 4, 3, 4, 1, (8, 4, 2)),
    Passes(Order.records(12, 1, np.dtype("i8")), 4, 3, 4, 1, (8, 6, 2)),
    Passes(Order.records(RECORD, 3, 20), 17, 2, 16, 1, (17, 6, 2)),
]
"""For thorough runs: other widths and fan-ins of the same code."""


@pytest.fixture(scope="module", params=["some", pytest.param("others", marks=pytest.mark.thorough)])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program(SOME if request.param == "some" else OTHERS, "address", tmp_path_factory.mktemp("passes"))


class Recorded:
    """Stands for Kernels. A launch is the number of its kernel in passes.inl."""

    def __init__(self, order: Order) -> None:
        self.order, self.limits = order, TUNED_ON
        self.rooms: list[int] = []

    def ready(self, name: str, threads: int, macros: Any = (), shared: int = 0, *, file: str = "") -> int:
        return ("write_words", "partition", "merge_path").index(name)

    def room(self, nbytes: int) -> Any:
        self.rooms.append(nbytes)
        return SimpleNamespace(ptr=(3 + len(self.rooms)) * REGION)


@pytest.fixture(params=["own", "ahead"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether blocks find their own cuts, or all but the first find them ahead, in short stretches."""
    monkeypatch.setattr(grouped, "MAX_WORDS", WRITTEN)
    monkeypatch.setattr(merging, "OWN_CUTS", 0 if request.param == "ahead" else 1 << 20)
    monkeypatch.setattr(merging, "own_cuts_of_dependents", lambda limits: 1)
    monkeypatch.setattr(many_runs, "fan_ins", lambda runs, most: [most] * passes(runs, most))
    monkeypatch.setattr(many_runs, "pays", lambda *given: False)
    return str(request.param)


def lengths(rng: np.random.Generator, fan_in: int) -> Iterator[list[int]]:
    """The items of each run: of about equal runs, of tiny ones, of many empty ones, and of some huge ones."""
    most = 6 * fan_in
    yield [int(length) for length in rng.integers(0, 30, fan_in + 1)]
    yield [int(length) for length in rng.integers(0, 3, int(rng.integers(fan_in + 1, most)))]
    yield [int(length) * int(rng.integers(2)) for length in rng.integers(1, 12, 2 * most)]
    yield [int(rng.integers(200, 700)) if rng.integers(9) == 0 else int(rng.integers(3)) for _ in range(most)]
    yield [0, 1] * most
    yield [int(length) for length in rng.integers(0, 9, fan_in * fan_in + 3)] if fan_in < 16 else [1] * (fan_in + 1)


def drawn(rng: np.random.Generator, order: Order, count: int) -> Any:
    """Items with many equal keys: keys, or records as rows of bytes."""
    if order.record:
        return rng.integers(0, 2, (count, order.item_bytes), np.uint8)
    if order.kind == "float" and rng.integers(2):
        return rng.choice(special_floats(order), count)
    return rng.integers(0, rng.choice([1, 3, 120]), count).astype(order.dtype)


def ranks(order: Order, items: Any) -> Any:
    image = order.image(order.keys(items.reshape(-1)) if order.record else items)
    return np.argsort(image, kind="stable")


def case(rng: np.random.Generator, number: int, variant: Variant, counts: list[int], ordered: bool) -> Case:
    """Runs of so many items of a variant, some of which touch the one ahead of them."""
    order, text = variant.order, b""
    items = drawn(rng, order, sum(counts))
    edges = np.cumsum([0, *counts])
    for start, end in pairwise(edges):
        if ordered:
            part = items[start:end]
            items[start:end] = part[ranks(order, part)]
    expected = items[ranks(order, items)]
    width = order.item_bytes
    if moves_rows(order):
        # A row is the prefix of a key and the number of its record.
        text, width = items.tobytes(), 16
        keys = np.ascontiguousarray(items[:, 3:11]).view(">u8")[:, 0].astype(np.uint64)
        items = np.stack([keys, np.arange(len(keys), dtype=np.uint64)], axis=1)
        expected = items[ranks(order, np.frombuffer(text, np.uint8).reshape(-1, RECORD))]
    memory, runs, flat = bytearray(), [], items.tobytes()
    for start, count in zip(edges[:-1], counts, strict=True):
        memory += bytes(width * int(rng.integers(0, 3)))
        runs.append((REGION + len(memory), count))
        memory += flat[start * width : (start + count) * width]
    kernels = Recorded(order)
    tile = path_tile(variant.path_block, variant.path_items, variant.runs)
    shape = variant.path_block, variant.path_items, tile
    policy = LaunchPolicy("path", *shape, fan_in=variant.runs, transfer="bulk" if variant.bulk else "vector")
    merge = MergeOfMany(kernels, policy)  # type: ignore[arg-type]
    context = (3 * REGION, 0) if text else (0, 0)
    steps: list[Any] = []
    for launch, blocks, words, _ in merge.steps(runs, 2 * REGION, kernels.room, context):
        steps += [launch, blocks, len(words), *words]
    told = np.array([len(kernels.rooms), *kernels.rooms, *steps], np.int64).tobytes()
    skews = (width * int(rng.integers(0, 4)) % 16, 0, width * int(rng.integers(0, 4)) % 16)
    nbytes = len(expected) * width
    return Case(
        number, "sort", bytes(memory) + text, told, expected.tobytes(), len(memory), nbytes, skews=skews,
        loose=not ordered,
    )  # fmt: skip


@pytest.mark.usefixtures("cut")
@pytest.mark.parametrize("ordered", [True, False])
def test_passes_merge_groups_within_bounds(
    program: Program, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, ordered: bool
) -> None:
    """The result is a stable sort. Of runs that are not in order, it only has items of the runs."""
    stretch = partial(lambda most, *given, groups: most, int(rng.integers(1, 7)))
    monkeypatch.setattr(merging, "partition_stretch", stretch)
    cases = [
        case(rng, number, variant, counts, ordered)
        for number, variant in enumerate(program.variants)
        for counts in lengths(rng, variant.runs)
        if sum(count > 0 for count in counts) > variant.runs
    ]
    status, output = program.run(cases[int(rng.integers(2)) :: 2])
    assert status == 0, output
