"""The cases of a bench as plain data: synthetic runs, and presets of cases for a backend."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from math import inf
from typing import Any

import numpy as np

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.compare.key_shapes import SHAPES, Family
from gpumerge_cli.compare.oracle import SORTED
from gpumerge_cli.compare.records import record_blocks
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.units import format_counted

TINY, SHUFFLED = "tiny", "shuffled"
MERGED_SHAPES: tuple[str, ...] = (*SHAPES, TINY)
"""The shapes of `cases`, and TINY: uniform keys, all but the first run a thousandth of the whole each."""
BENCH_SHAPES = (*MERGED_SHAPES, SHUFFLED)
"""All shapes. SHUFFLED: one run of uniform keys in no order, to be sorted."""
_TINY_SHARE = 1024
_FOOTPRINTS = {
    "records": ((5, 32), (5, 52)),
    "floats": ((11, 0), (15, 2)),
    "keys": ((9, 0), (13, 2)),
    "many keys": ((5, 2), (8, 2)),
}
"""Host memory that a case takes, with two runs and with more, which are merged a level at a time.

The first number counts copies of all runs, with their images and the memory of a sort; the second, further bytes for
each item, such as indices. Many keys are not sorted to check a merge.
"""


@dataclass(frozen=True)
class CaseItems:
    """The items of a case: their name and their order."""

    name: str
    order: Order

    @property
    def nbytes(self) -> int:
        """Bytes of one item."""
        return self.order.item_bytes


def items_named(name: str) -> CaseItems:
    """The items called `name`: a NumPy dtype of keys, or a key with a payload of so many bytes, such as "int32+4".

    Raises UsageError for anything else.
    """
    key, plus, payload = name.partition("+")
    if not key:
        raise UsageError(f"{name!r} has no key", way_out="begin with its dtype, for example int32+4")
    order = Order.of(key)
    if not plus:
        return CaseItems(order.dtype.name, order)
    if not payload.isdecimal() or int(payload) == 0:
        raise UsageError(f"{name!r} has no payload size", way_out="end with its bytes, for example int32+4")
    return CaseItems(f"{order.dtype.name}+{int(payload)}", Order.records(order.width + int(payload), 0, order.dtype))


@dataclass(frozen=True)
class Case:
    """Sorted runs of equal length.

    Raises UsageError for an empty run, for an unknown shape, and for several runs of keys in no order.
    """

    items: CaseItems
    shape: str
    """The way in which the keys of the runs interleave, one of BENCH_SHAPES."""
    runs: int
    """The number of runs."""
    size: int
    """The items of all runs together; a size that `runs` does not divide is rounded down."""

    def __post_init__(self) -> None:
        if self.shape not in BENCH_SHAPES:
            raise UsageError(f"--shapes: {self.shape!r} is not a shape", way_out=f"use {', '.join(BENCH_SHAPES)}")
        if self.runs < 1:
            raise UsageError(f"{self.runs} runs cannot be merged", way_out="use 1 or more")
        if self.sorts and self.runs > 1:
            raise UsageError(f"{self.runs} shuffled runs cannot be merged", way_out="use 1, which is sorted")
        if self.size < self.runs:
            raise UsageError(f"{self.size} items are too few for {self.runs} runs", way_out="use larger sizes")

    @property
    def sorts(self) -> bool:
        """True if the case is a sort."""
        return self.shape == SHUFFLED

    @property
    def lengths(self) -> tuple[int, ...]:
        """Items of each run."""
        if self.shape == TINY:
            others = max(1, self.size // _TINY_SHARE // self.runs)
            return (self.size - (self.runs - 1) * others, *[others] * (self.runs - 1))
        return (self.size // self.runs,) * self.runs

    @property
    def nbytes(self) -> int:
        """Bytes of all runs."""
        return sum(self.lengths) * self.items.nbytes

    @property
    def footprint(self) -> int:
        """Bytes of host memory that the case takes, as measured on the CPU backend and a little more."""
        order, count = self.items.order, sum(self.lengths)
        keys = "many keys" if count > SORTED else "floats" if order.kind == "float" else "keys"
        copies, each = _FOOTPRINTS["records" if order.is_rows else keys][self.runs > 2]
        return copies * self.nbytes + each * count

    def describe(self) -> str:
        """For progress: "int32, uniform, 2 runs, 1,048,576 items"."""
        of = f"{format_counted(self.runs, 'run')}, {format_counted(self.size, 'item')}"
        return f"{self.items.name}, {self.shape}, {of}"

    def fill(self, staging: Bytes, seed: int, threads: int) -> list[Bytes]:
        """Make the runs in `staging`, `nbytes` long, back to back; they come back as views of it."""
        edges = [0]
        for length in self.lengths:
            edges.append(edges[-1] + length * self.items.nbytes)
        runs = [staging[start:stop] for start, stop in pairwise(edges)]
        shape: Any = "uniform" if self.shape in (TINY, SHUFFLED) else self.shape
        order = self.items.order
        families = [Family(shape, order.dtype, length, self.runs, seed, self.sorts) for length in self.lengths]

        def make(number: int) -> None:
            start = 0
            family = families[number]
            for block in record_blocks(family, number, order):
                runs[number][start : start + block.nbytes] = block.view(np.uint8)
                start += block.nbytes

        with ThreadPoolExecutor(max(1, min(threads, self.runs))) as pool:
            list(pool.map(make, range(self.runs)))
        return runs


@dataclass(frozen=True)
class Axes:
    """The values that a bench varies: its cases are their product."""

    items: tuple[str, ...]
    sizes: tuple[int, ...]
    shapes: tuple[str, ...]
    runs: tuple[int, ...]

    def cases(self) -> list[Case]:
        """All cases, each once: sorts have one run. Raises UsageError for a value that no case can have."""
        found = map(items_named, self.items)
        every = product(found, self.shapes, self.runs, self.sizes)
        return list(dict.fromkeys(Case(of, shape, 1 if shape == SHUFFLED else k, size) for of, shape, k, size in every))


@dataclass(frozen=True)
class Preset:
    """The default cases of a bench."""

    middle: Axes
    """The cases from which one axis at a time is varied."""
    swept: Axes
    """Each axis of these replaces the middle's in turn."""
    repeat: int
    """The number of timed repetitions."""

    def cases(self) -> list[Case]:
        """All cases, each once."""
        sweeps = [
            *(self._of(name) for name in self.swept.items),
            replace(self.middle, items=self.swept.items[:2], sizes=self.swept.sizes),
            replace(self.middle, shapes=self.swept.shapes),
            replace(self.middle, runs=self.swept.runs),
        ]
        return list(dict.fromkeys(case for axes in sweeps for case in axes.cases()))

    def _of(self, name: str) -> Axes:
        """The middle case with other items. Records are checked by a sort, so their number is limited."""
        most = SORTED if items_named(name).order.is_rows else inf
        sizes = tuple(dict.fromkeys(size if size <= most else SORTED for size in self.middle.sizes))
        return replace(self.middle, items=(name,), sizes=sizes)


_DTYPES = ("int32", "int64", "int16", "uint8", "float32", "float64", "int32+4", "int64+8")
_RUNS = (2, 4, 8, 16)


def preset(backend: str, *, quick: bool) -> Preset:
    """The preset that suits a backend; a `quick` one ends in about a minute."""
    sizes = tuple(1 << power for power in ((12, 16, 20) if quick else (16, 20, 24, 28)))
    if backend != "gpu" or quick:
        sizes = sizes[:3]
    middle = Axes(("int32",), sizes[-1:], ("uniform",), (2,))
    dtypes = _DTYPES[:2] if quick else _DTYPES
    return Preset(middle, Axes(dtypes, sizes, MERGED_SHAPES, _RUNS), 3 if quick else 7)
