"""A bench: synthetic cases, planned as plain data, and the contest of all variants and libraries over each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product
from math import inf
from statistics import median
from typing import Any

import numpy as np

from gpumerge_cli.backends.base import KERNELS, Bytes, KernelName, LaunchPolicy
from gpumerge_cli.backends.compared import ComparedBackend, ComparedWorkspace
from gpumerge_cli.compare.cases import SHAPES, Family
from gpumerge_cli.compare.contest import contest, environment, untimed
from gpumerge_cli.compare.launches import variants
from gpumerge_cli.compare.oracle import SORTED, oracle
from gpumerge_cli.compare.records import blocks_of
from gpumerge_cli.compare.stats import relative_spread
from gpumerge_cli.engine.resources import available_memory
from gpumerge_cli.errors import DeviceMemoryError, Interrupted, UsageError
from gpumerge_cli.order import Order
from gpumerge_cli.report.compared import BenchReport, BenchRow, Measured
from gpumerge_cli.units import format_bytes, format_counted

TINY = "tiny"
BENCH_SHAPES: tuple[str, ...] = (*SHAPES, TINY)
"""The shapes of `cases`, and TINY: uniform keys, all but the first run a thousandth of the whole each."""
_TINY_SHARE = 1024
_FOOTPRINTS = {
    "records": ((5, 32), (5, 52)),
    "floats": ((11, 0), (15, 2)),
    "keys": ((9, 0), (13, 2)),
    "many keys": ((5, 2), (8, 2)),
}
"""Host memory that a case takes, of two runs and of more, merged a level at a time: copies of all runs, with images and
what a sort of them takes, and bytes for each item besides, such as indices. Many keys are not sorted to judge a merge.
"""


@dataclass(frozen=True)
class Items:
    """What is merged: its name and its order."""

    name: str
    order: Order

    @property
    def nbytes(self) -> int:
        """Bytes of one item."""
        return self.order.item_bytes


def items_named(name: str) -> Items:
    """The items called `name`: a NumPy dtype of keys, or a key with a payload of so many bytes, such as "int32+4".

    Raises UsageError for anything else.
    """
    key, plus, payload = name.partition("+")
    if not key:
        raise UsageError(f"{name!r} names no key", way_out="say its dtype, for example int32+4")
    order = Order.of(key)
    if not plus:
        return Items(order.dtype.name, order)
    if not payload.isdecimal() or int(payload) == 0:
        raise UsageError(f"{name!r} names no payload", way_out="say its bytes, for example int32+4")
    return Items(f"{order.dtype.name}+{int(payload)}", Order.records(order.width + int(payload), 0, order.dtype))


@dataclass(frozen=True)
class Case:
    """`runs` sorted runs of `size` items in all, whose keys interleave as `shape` says.

    Runs are equally long, so a size that does not divide is rounded down. Raises UsageError where a run would be empty
    or there is no such shape.
    """

    items: Items
    shape: str
    runs: int
    size: int

    def __post_init__(self) -> None:
        if self.shape not in BENCH_SHAPES:
            raise UsageError(f"{self.shape!r} is no shape", way_out=f"use {', '.join(BENCH_SHAPES)}")
        if self.runs < 1:
            raise UsageError(f"{self.runs} runs cannot be merged", way_out="use 1 or more")
        if self.size < self.runs:
            raise UsageError(f"{self.size} items are too few for {self.runs} runs", way_out="use larger sizes")

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
        shape: Any = "uniform" if self.shape == TINY else self.shape
        order = self.items.order
        families = [Family(shape, order.dtype, length, self.runs, seed) for length in self.lengths]

        def make(number: int) -> None:
            start = 0
            family = families[number]
            for block in blocks_of(family, number, order):
                runs[number][start : start + block.nbytes] = block.view(np.uint8)
                start += block.nbytes

        with ThreadPoolExecutor(max(1, min(threads, self.runs))) as pool:
            list(pool.map(make, range(self.runs)))
        return runs


@dataclass(frozen=True)
class Axes:
    """What a bench varies: the cases are the product."""

    items: tuple[str, ...]
    sizes: tuple[int, ...]
    shapes: tuple[str, ...]
    runs: tuple[int, ...]

    def cases(self) -> list[Case]:
        """Raises UsageError for a name, a shape or a size that no case can have."""
        found = map(items_named, self.items)
        return [Case(*case) for case in product(found, self.shapes, self.runs, self.sizes)]


@dataclass(frozen=True)
class Preset:
    """What to run where nothing is said: `middle`, and each axis of `swept` varied about it, the others as there."""

    middle: Axes
    swept: Axes
    repeat: int

    def cases(self) -> list[Case]:
        """Without repetition."""
        sweeps = [
            *(self._of(name) for name in self.swept.items),
            replace(self.middle, items=self.swept.items[:2], sizes=self.swept.sizes),
            replace(self.middle, shapes=self.swept.shapes),
            replace(self.middle, runs=self.swept.runs),
        ]
        return list(dict.fromkeys(case for axes in sweeps for case in axes.cases()))

    def _of(self, name: str) -> Axes:
        """The middle case with other items; of records no more than are sorted quickly, which judges a merge of any."""
        most = SORTED if items_named(name).order.is_rows else inf
        sizes = tuple(dict.fromkeys(size if size <= most else SORTED for size in self.middle.sizes))
        return replace(self.middle, items=(name,), sizes=sizes)


_DTYPES = ("int32", "int64", "int16", "uint8", "float32", "float64", "int32+4", "int64+8")
_RUNS = (2, 4, 8, 16)


def preset(backend: str, *, quick: bool) -> Preset:
    """What suits a backend; `quick` ends in about a minute."""
    sizes = tuple(1 << power for power in ((12, 16, 20) if quick else (16, 20, 24, 28)))
    if backend != "gpu" or quick:
        sizes = sizes[:3]
    middle = Axes(("int32",), sizes[-1:], ("uniform",), (2,))
    dtypes = _DTYPES[:2] if quick else _DTYPES
    return Preset(middle, Axes(dtypes, sizes, BENCH_SHAPES, _RUNS), 3 if quick else 7)


def bench(
    cases: Sequence[Case],
    backend: ComparedBackend,
    *,
    kernels: Sequence[KernelName] = KERNELS,
    repeat: int = 5,
    seed: int = 0,
    threads: int = 1,
    version: str = "",
    told: Callable[[int, int, Case, Sequence[BenchRow]], None] = lambda done, total, case, rows: None,
) -> BenchReport:
    """Run every case: the variants of `kernels` and all library baselines, `repeat` timings each.

    threads: host threads that make runs, judge outputs and, on the CPU, merge. told: called after each case with how
    many are done, how many there are, the case and its rows. A case that memory has no room for is told as not run, a
    wrong output as wrong.

    A signal ends it with the cases done so far. Raises Interrupted if there is none.
    """

    @cache
    def ceiling(nbytes: int) -> float:
        try:
            return backend.copy_ceiling(nbytes, threads=threads)
        except (MemoryError, DeviceMemoryError):
            return inf

    rows: list[BenchRow] = []
    stopped = 0
    try:
        for done, case in enumerate(cases, 1):
            policies = variants(backend, case.items.order, kernels, case.runs)
            try:
                _check_room(case)
                found = _run(case, backend, policies, ceiling(case.nbytes), repeat, seed, threads)
            except (MemoryError, DeviceMemoryError) as error:
                found = _not_run(case, policies, str(error) or "not enough memory")
            rows += found
            told(done, len(cases), case, found)
    except Interrupted as error:
        if not rows:
            raise
        stopped = error.signal_number
    info = backend.info()
    return BenchReport(
        backend.name,
        info.name,
        repeat,
        seed,
        threads,
        tuple(rows),
        {**environment(), **info.details},
        version,
        stopped,
    )


def _check_room(case: Case) -> None:
    """Raise MemoryError for a case that would not fit: the system would end the process instead."""
    needed, available = case.footprint, available_memory()
    if needed > available:
        raise MemoryError(f"needs {format_bytes(needed)} of host memory, {format_bytes(available)} are available")


def _run(
    case: Case,
    backend: ComparedBackend,
    policies: Sequence[LaunchPolicy],
    ceiling: float,
    repeat: int,
    seed: int,
    threads: int,
) -> list[BenchRow]:
    workspace: ComparedWorkspace = backend.workspace(case.items.order, case.nbytes, threads=threads)
    try:
        runs = case.fill(workspace.staging(case.nbytes), seed, threads)
        truth = oracle(runs, case.items.order, threads=threads)
        workspace.upload([run.size for run in runs])
        found = contest(workspace, policies, truth, case.nbytes, repeat)
    finally:
        workspace.close()
    copy = Measured("copy", "", True, found.copies, 2 * case.nbytes)
    # The merge's own memory is a place like the others.
    best = min(ceiling, median(found.copies))
    rows = _rows(case, found.rows, best, truth.how)
    return [*rows, replace(*_rows(case, [copy], best, ""), role="copy")]


def _rows(case: Case, measured: Iterable[Measured], ceiling: float, judged_by: str) -> list[BenchRow]:
    return [_row(case, one, ceiling, judged_by) for one in measured]


def _row(case: Case, one: Measured, ceiling: float, judged_by: str) -> BenchRow:
    middle = median(one.seconds) if one.seconds else 0.0
    return BenchRow(
        items=case.items.name,
        shape=case.shape,
        runs=case.runs,
        size=case.size,
        count=sum(case.lengths),
        nbytes=one.nbytes,
        name=one.name,
        role="library" if one.library else "kernel",
        launch=one.launch,
        right=one.right,
        problem=one.problem,
        judged_by=judged_by,
        seconds=one.seconds,
        median=middle,
        spread=relative_spread(one.seconds) if one.seconds else 0.0,
        ceiling=ceiling,
        share_of_copy=ceiling / middle if middle > 0 else 0.0,
    )


def _not_run(case: Case, policies: Sequence[LaunchPolicy], problem: str) -> list[BenchRow]:
    return _rows(case, (replace(untimed(policy, case.nbytes), problem=problem) for policy in policies), 0.0, "")
