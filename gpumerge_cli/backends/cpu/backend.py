"""The CPU backend: Numba kernels, host threads that each take one long co-ranked piece."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import (
    Bytes,
    DeviceInfo,
    Disorder,
    LaunchPolicy,
    LaunchRequest,
    Pace,
    SortPolicy,
    SortRequest,
    Unique,
    judge_recursion,
)
from gpumerge_cli.backends.cpu import baselines, policy
from gpumerge_cli.backends.cpu.library import LIBRARY, key_context, kind_of
from gpumerge_cli.backends.cpu.merging import Context, merge_tree
from gpumerge_cli.backends.cpu.rows import GROUP, PADDING, RECORDS, Rows, rows_of
from gpumerge_cli.backends.cpu.sorting import make_images, sort_items, sort_rows
from gpumerge_cli.backends.cpu.team import Team
from gpumerge_cli.measure import Span
from gpumerge_cli.native import numba_version
from gpumerge_cli.order import Order

# A chunk's input, output and temporaries stay in a core's share of cache, and writers take short turns at the file's
# lock: 2 MiB was the fastest of 0.5 to 128 MiB for 2 x 1 GB on two cores.
_CHUNK = 2 << 20
# Lines take more work a byte than writing them does; longer turns leave the interpreter less to do between them. Of 2
# to 16 MiB the fastest for 2 x 0.5 GB of four kinds of lines on two cores.
_ROW_CHUNK = 8 << 20
_LEAST_CHUNK = 1 << 20
_FEW_THREADS = 4
_WHOLE = 2.2  # keys as they come and sorted, and a little to deal them through
_WHOLE_ROW_BYTES = 52  # a line's start, image of two words, pair of two, and what helps to deal them and some to spare
# What is kept of each row goes through fresh memory once, where pieces use theirs again: on two cores lines of 10 bytes
# took a third longer in one piece, of 33 to 100 bytes a fifth less (cheaper where the system has memory at hand).
_LEAST_WHOLE_ROW = 24
_PLACES, _COPIES = 3, 5  # of the copy ceiling
_ROW_BYTES = 32  # a line's start, prefix and number, and its place in the merge; a record has no start


class CpuBackend:
    """Merges in host memory."""

    name = "cpu"

    def info(self) -> DeviceInfo:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        details = {"cores": str(len(os.sched_getaffinity(0))), "numba": numba_version(), "numpy": np.__version__}
        return DeviceInfo("cpu", _cpu_name(), memory, details)

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2) -> LaunchPolicy:
        return policy.resolve(request, order)

    def resolve_sort(self, request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
        return policy.resolve_sort(request, order, nbytes)

    def sort_array(self, items: Any, order: Order, policy: SortPolicy, out: Any, *, threads: int = 1) -> None:
        _judge(policy, len(items))
        views = items.view(order.unsigned), out.view(order.unsigned)
        with Team(threads) as team:
            sort_items(kind_of(order), *views, key_context(order), policy, team)

    def sort_ranks(self, items: Any, order: Order, policy: SortPolicy, *, threads: int = 1) -> Any:
        _judge(policy, len(items))
        with Team(threads) as team:
            images = make_images(kind_of(order), items.view(order.unsigned), key_context(order), team)
            # Rows whose prefixes say all.
            context = (images.ctypes.data, 0, 0, RECORDS)
            return sort_rows(len(items), context, policy, team)

    def pace(self, order: Order, runs: int, item_bytes: float) -> Pace:
        spares = min(2, max(0, (runs - 1).bit_length() - 1))
        if order.is_rows:
            return Pace(_ROW_CHUNK, _LEAST_CHUNK, 0, 2 + (1.25 * _ROW_BYTES + 8 * spares) / item_bytes)
        return Pace(_CHUNK, _LEAST_CHUNK, 0, 2 + spares)

    def whole_sort(self, order: Order, nbytes: int, item_bytes: float, part: int, threads: int) -> int | None:
        # By many threads sorts are faster in pieces that stay near the cores.
        if threads > _FEW_THREADS or (order.is_rows and item_bytes < _LEAST_WHOLE_ROW):
            return None
        if order.is_rows:
            return int((1 + _WHOLE_ROW_BYTES / item_bytes) * nbytes) + threads * part
        return int(_WHOLE * nbytes)

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> CpuWorkspace:
        return CpuWorkspace(order, capacity, threads)

    def copy_ceiling(self, nbytes: int, *, threads: int = 1) -> float:
        with Team(threads) as team:
            return min(_copy_seconds(nbytes, team) for _ in range(_PLACES))

    def merge_arrays(
        self, runs: Sequence[Any], order: Order, policy: LaunchPolicy, out: Any, *, threads: int = 1
    ) -> None:
        views = [run.view(order.unsigned) for run in runs]
        target = out.view(order.unsigned)
        with Team(threads) as team:
            merged = merge_tree(kind_of(order), views, target, [None, None], key_context(order), policy, team)
            if merged is not target:
                target[:] = merged

    def first_disorder(self, run: Any, order: Order) -> int | None:
        find = LIBRARY.function(f"first_disorder-{kind_of(order)}")
        index = find(run.ctypes.data, 0, len(run), 0, *key_context(order))
        return None if index < 0 else index


def _judge(policy: SortPolicy, items: int) -> None:
    if policy.algorithm == "recursive":
        judge_recursion(items)


def _copy_seconds(nbytes: int, team: Team) -> float:
    """The median of a few copies between two arrays of their own, whose pages are there."""
    source, target = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8)
    found = []
    for _ in range(_COPIES):
        start = time.perf_counter()
        _copy(source, target, team)
        found.append(time.perf_counter() - start)
    return median(found)


def _copy(source: Bytes, target: Bytes, team: Team) -> None:
    team.run(np.copyto, [(target[a:b], source[a:b]) for a, b in team.pieces(len(source))])


@lru_cache(maxsize=1)
def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


class CpuWorkspace:
    """One chunk at a time, as Workspace says. Lines and records are rows: numbers that merge by prefix, then key."""

    remote = False

    def __init__(self, order: Order, capacity: int, threads: int) -> None:
        self.spans: list[Span] = []
        self.counts: list[int] = []
        self.dropped = 0
        self._order = order
        self._kind = kind_of(order)
        self._team = Team(threads)
        self._room = np.empty(capacity + PADDING, np.uint8)
        self._out_room = np.empty(capacity + PADDING, np.uint8)
        self._nbytes = 0
        self.merged_bytes = 0
        self._lengths: list[int] = []
        self._edges: list[int] = []  # items at which runs begin and end
        self._by_parts = False
        self._parts = threading.local()
        self._sorted = np.empty(0, np.int64)
        self._part_edges = np.zeros(1, np.int64)
        self._context: Context = (0, 0, 0, 0)
        self._spare: list[Any] = [None, None]
        self._rows: Rows | None = rows_of(order) if order.is_rows else None
        self._by_library: NDArray[Any] | None = None  # what a baseline gave, if it ran last

    def staging(self, nbytes: int) -> Bytes:
        if nbytes + PADDING > len(self._room):
            self._room = np.empty(nbytes + PADDING, np.uint8)
            self._out_room = np.empty(nbytes + PADDING, np.uint8)
        self._nbytes = nbytes
        return self._room[:nbytes]

    def part(self, position: int, nbytes: int) -> Bytes:
        return self._room[position : position + nbytes]

    def send(self, position: int, nbytes: int) -> None:
        pass  # it is there

    def adopt(self, lengths: Sequence[int]) -> None:
        self._nbytes = sum(lengths)
        self.upload(lengths)
        self._by_parts = True

    def receive(self, position: int, nbytes: int) -> Bytes:
        if self._rows is None:
            return self.download()[position : position + nbytes]
        edges = self._part_edges
        first = int(np.searchsorted(edges, position, "right")) - 1
        last = int(np.searchsorted(edges, position + nbytes))
        start, size = int(edges[first]), int(edges[last] - edges[first])
        room = getattr(self._parts, "room", self._out_room[:0])
        if len(room) < size + PADDING:
            room = self._parts.room = np.empty(size + size // 4 + PADDING, np.uint8)
        self._rows.copy(self._sorted[first * GROUP : last * GROUP], size, room)
        return room[position - start : position - start + nbytes]

    def upload(self, lengths: Sequence[int]) -> None:
        self._lengths = list(lengths)
        self._by_parts = False
        ends = [0]
        for length in lengths:
            ends.append(ends[-1] + length)
        if self._rows is not None:
            start = time.perf_counter()
            self._edges = self._rows.index(self._room, ends, self._team)
            self._context = self._rows.context()
            self._span("index", start)
        else:
            self._edges = [end // self._order.width for end in ends]
            self._context = key_context(self._order)
        self.counts = [stop - start for start, stop in pairwise(self._edges)]

    def _runs(self) -> list[NDArray[Any]]:
        if self._rows is not None:
            return [self._rows.numbers(a, b) for a, b in pairwise(self._edges)]
        items = self._room[: self._nbytes].view(self._order.unsigned)
        return [items[a:b] for a, b in pairwise(self._edges)]

    def disorder(self, *, strict: bool = False) -> Disorder | None:
        start = time.perf_counter()
        found = None
        first_disorder = LIBRARY.function(f"first_disorder-{self._kind}")
        for number, run in enumerate(self._runs()):
            pieces = [
                (run.ctypes.data, max(0, a - 1), b, strict, *self._context) for a, b in self._team.pieces(len(run))
            ]
            falls = [index for index in self._team.run(first_disorder, pieces) if index >= 0]
            if falls:
                found = Disorder(number, self._offset(number, min(falls)))
                break
        self._span("check", start)
        return found

    def _offset(self, number: int, index: int) -> int:
        if self._rows is None:
            return index * self._order.width
        return self._rows.start_of(self._edges[number] + index) - sum(self._lengths[:number])

    def merge(self, policy: LaunchPolicy, unique: Unique = None) -> None:
        def work(out: NDArray[Any] | None) -> NDArray[Any]:
            if out is None:
                assert self._rows is not None
                out = self._rows.merged()
            merge_tree(self._kind, self._runs(), out, self._spare, self._context, policy, self._team)
            return out

        self._put_out(work, unique)

    def merge_heads(self, *, unique: bool) -> None:
        """Merge the uploaded rows, in order or not, as engine/heads.py says; of equal neighbours all or the first."""
        assert self._rows is not None
        rows = self._rows

        def work(_: NDArray[Any] | None) -> NDArray[Any]:
            greatest = np.empty(self._edges[-1], np.int64)
            find = LIBRARY.function("running_maxima-rows")
            for a, b in pairwise(self._edges):
                find(a, b, greatest.ctypes.data, *self._context)
            runs = [greatest[a:b] for a, b in pairwise(self._edges)]
            launch = policy.resolve(LaunchRequest(), self._order)
            merged = rows.merged()
            merge_tree(self._kind, runs, merged, self._spare, self._context, launch, self._team)
            edges, taken = np.array(self._edges, np.int64), np.empty(len(runs), np.int64)
            where = (merged.ctypes.data, len(merged), edges.ctypes.data, taken.ctypes.data, len(runs))
            kept = LIBRARY.function("take_in_turn-rows")(*where, unique, *self._context)
            return merged[:kept]

        self._put_out(work, None)

    def sort(self, policy: SortPolicy, unique: Unique = None) -> None:
        def work(out: NDArray[Any] | None) -> NDArray[Any]:
            if out is None:
                return sort_rows(sum(self.counts), self._context, policy, self._team)
            items = self._room[: self._nbytes].view(self._order.unsigned)
            sort_items(self._kind, items, out, self._context, policy, self._team)
            return out

        _judge(policy, sum(self.counts))
        self._put_out(work, unique)

    def _put_out(self, work: Callable[[NDArray[Any] | None], NDArray[Any]], unique: Unique) -> None:
        """Have `work` give all items in order: in the room for them or, given none, numbers of rows anywhere."""
        start = time.perf_counter()
        self._by_library = None
        if self._rows is not None:
            items = work(None)
            kept = self._kept(items, unique)
            if self._by_parts:  # they are gathered as they are asked for
                self._sorted = items[:kept]
                self._part_edges = self._rows.edges(self._sorted, self._team)
                self.merged_bytes = int(self._part_edges[-1])
            else:
                self.merged_bytes = self._rows.gather(items[:kept], self._out_room, self._team)
        else:
            items = self._out_room[: self._nbytes].view(self._order.unsigned)
            work(items)
            kept = self._kept(items, unique)
            self.merged_bytes = kept * self._order.width
        self.dropped = sum(self.counts) - kept
        self._span("kernel", start)

    def _kept(self, merged: NDArray[Any], unique: Unique) -> int:
        """How many items stay; they are moved to the front."""
        if not unique:
            return len(merged)
        drop_equals = LIBRARY.function(f"drop_equals-{self._kind}")
        return drop_equals(merged.ctypes.data, len(merged), unique == "ahead", *self._context)

    def download(self) -> Bytes:
        if self._by_library is not None:
            return np.ascontiguousarray(self._by_library).view(np.uint8)
        return self._out_room[: self.merged_bytes]

    def copy(self) -> None:
        _copy(self._room[: self._nbytes], self._out_room[: self._nbytes], self._team)

    def poison(self) -> None:
        self._out_room[:] = 0xA5
        self._by_library = None

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        if self._order.is_rows or not self._nbytes:
            return {}
        found = baselines.baselines([run.view(self._order.dtype) for run in self._runs()], self._order)
        return {name: partial(self._run_library, work) for name, work in found.items()}

    def sort_baselines(self) -> Mapping[str, Callable[[], None]]:
        if self._order.is_rows or not self._nbytes:
            return {}
        found = baselines.sorts(self._room[: self._nbytes].view(self._order.dtype), self._order)
        return {name: partial(self._run_library, work) for name, work in found.items()}

    def _run_library(self, work: Callable[[], NDArray[Any]]) -> None:
        # Not copied to the room for output: libraries are timed without that.
        self._by_library = work()

    def time(self, work: Callable[[], None]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def synchronize(self) -> None:
        pass

    def close(self) -> None:
        self._team.close()
        self._by_library = None
        self._room = self._out_room = np.empty(0, np.uint8)

    def _span(self, name: str, start: float) -> None:
        self.spans.append(Span(name, time.perf_counter() - start, self._nbytes))
