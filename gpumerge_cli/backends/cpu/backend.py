"""The CPU backend: Numba kernels, host threads that each take one long co-ranked piece."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Bytes, DeviceInfo, Disorder, LaunchPolicy, LaunchRequest, Pace, Unique
from gpumerge_cli.backends.cpu import kernels, policy, text
from gpumerge_cli.backends.cpu.keys import key_context
from gpumerge_cli.measure import Span
from gpumerge_cli.order import Order

_KERNELS = {
    "basic": kernels.merge_basic,
    "tiled": kernels.merge_tiled,
    "circular": kernels.merge_circular,
    "path": kernels.merge_path,
}
# A chunk's input, output and temporaries stay in a core's share of cache, and writers take short turns at the file's
# lock: 2 MiB was the fastest of 0.5 to 128 MiB for 2 x 1 GB on two cores.
_CHUNK = 2 << 20
_LEAST_CHUNK = 1 << 20
_ROW_BYTES = 32  # a line's start, prefix and number, and its place in the merge
# A piece shorter than this is done before another thread would have started.
_SHORTEST_PIECE = 1 << 15


class CpuBackend:
    """Merges in host memory."""

    name = "cpu"

    def info(self) -> DeviceInfo:
        import numba

        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        details = {"cores": str(len(os.sched_getaffinity(0))), "numba": numba.__version__, "numpy": np.__version__}
        return DeviceInfo("cpu", _cpu_name(), memory, details)

    def resolve(self, request: LaunchRequest, order: Order) -> LaunchPolicy:
        return policy.resolve(request, order)

    def pace(self, order: Order, runs: int, item_bytes: float) -> Pace:
        spares = min(2, max(0, (runs - 1).bit_length() - 1))
        if order.is_lines:
            return Pace(_CHUNK, _LEAST_CHUNK, 0, 2 + (1.25 * _ROW_BYTES + 8 * spares) / item_bytes)
        return Pace(_CHUNK, _LEAST_CHUNK, 0, 2 + spares)

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> CpuWorkspace:
        return CpuWorkspace(order, capacity, threads)

    def merge_arrays(
        self, runs: Sequence[Any], order: Order, policy: LaunchPolicy, out: Any, *, threads: int = 1
    ) -> None:
        views = [run.view(order.unsigned) for run in runs]
        target = out.view(order.unsigned)
        with _Team(threads) as team:
            merged = _merge_tree(views, target, [None, None], key_context(order), policy, team)
            if merged is not target:
                target[:] = merged

    def first_disorder(self, run: Any, order: Order) -> int | None:
        index = kernels.first_disorder(run.view(order.unsigned), 0, len(run), key_context(order))
        return None if index < 0 else int(index)


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


class _Team:
    """Host threads that share one chunk; a team of one works on the caller's."""

    def __init__(self, threads: int) -> None:
        self.size = max(1, threads)
        self._pool = ThreadPoolExecutor(self.size) if self.size > 1 else None

    def __enter__(self) -> _Team:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def pieces(self, count: int) -> list[tuple[int, int]]:
        """0..count cut into equal pieces, one a thread, fewer if they would be short."""
        number = max(1, min(self.size, count // _SHORTEST_PIECE))
        edges = [count * piece // number for piece in range(number + 1)]
        return list(pairwise(edges))

    def run(self, work: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        """work(*arguments) for each of `calls`, at once."""
        if self._pool is None or len(calls) == 1:
            return [work(*arguments) for arguments in calls]
        return [future.result() for future in [self._pool.submit(work, *arguments) for arguments in calls]]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def _merge_pair(a: Any, b: Any, out: Any, context: Any, policy: LaunchPolicy, team: _Team) -> None:
    kernel = _KERNELS[policy.kernel]
    shape = (policy.block_size, policy.items_per_thread, policy.tile_size, policy.tile_load == "exact")
    team.run(kernel, [(a, b, out, first, last, context, *shape) for first, last in team.pieces(len(out))])


def _merge_tree(
    runs: list[NDArray[Any]], out: Any, spare: list[Any], context: Any, policy: LaunchPolicy, team: _Team
) -> NDArray[Any]:
    """Merge neighbouring runs pair by pair, level by level; returns the array that holds the result.

    Levels alternate between `out` and the two `spare` arrays, which are made when first needed and kept in the list;
    the runs given stay as they are. Stable, since only neighbours meet and the left one is A.
    """
    runs = [run for run in runs if len(run)]
    if len(runs) <= 1:
        if runs:
            out[:] = runs[0]
        return out
    levels = (len(runs) - 1).bit_length()
    for level in range(levels):
        if level == levels - 1:
            target = out
        else:
            if spare[level % 2] is None or len(spare[level % 2]) < len(out):
                spare[level % 2] = np.empty(len(out), out.dtype)
            target = spare[level % 2]
        merged = []
        start = 0
        for pair in range(0, len(runs), 2):
            a = runs[pair]
            b = runs[pair + 1] if pair + 1 < len(runs) else a[:0]
            part = target[start : start + len(a) + len(b)]
            if len(b):
                _merge_pair(a, b, part, context, policy, team)
            else:
                part[:] = a
            merged.append(part)
            start += len(part)
        runs = merged
    return out


class CpuWorkspace:
    """One chunk at a time, as Workspace says. Lines are rows: line numbers that merge by prefix, then text."""

    def __init__(self, order: Order, capacity: int, threads: int) -> None:
        self.spans: list[Span] = []
        self.counts: list[int] = []
        self.dropped = 0
        self._order = order
        self._team = _Team(threads)
        self._room = np.empty(capacity + text.PADDING, np.uint8)
        self._out_room = np.empty(capacity + text.PADDING, np.uint8)
        self._nbytes = 0
        self._merged_bytes = 0
        self._lengths: list[int] = []
        self._runs: list[NDArray[Any]] = []
        self._context: Any = None
        self._spare: list[Any] = [None, None]
        self._rows = _Rows()

    def staging(self, nbytes: int) -> Bytes:
        if nbytes + text.PADDING > len(self._room):
            self._room = np.empty(nbytes + text.PADDING, np.uint8)
            self._out_room = np.empty(nbytes + text.PADDING, np.uint8)
        self._nbytes = nbytes
        return self._room[:nbytes]

    def upload(self, lengths: Sequence[int]) -> None:
        self._lengths = list(lengths)
        ends = [0]
        for length in lengths:
            ends.append(ends[-1] + length)
        if self._order.is_lines:
            start = time.perf_counter()
            numbers = self._rows.index(self._room, ends, self._order, self._team)
            self._runs = [self._rows.lines[a:b] for a, b in pairwise(numbers)]
            self._context = self._rows.context()
            self._span("index", start)
        else:
            items = self._room[: self._nbytes].view(self._order.unsigned)
            width = self._order.width
            self._runs = [items[a // width : b // width] for a, b in pairwise(ends)]
            self._context = key_context(self._order)
        self.counts = [len(run) for run in self._runs]

    def disorder(self) -> Disorder | None:
        start = time.perf_counter()
        found = None
        for number, run in enumerate(self._runs):
            pieces = [(run, max(0, a - 1), b, self._context) for a, b in self._team.pieces(len(run))]
            falls = [index for index in self._team.run(kernels.first_disorder, pieces) if index >= 0]
            if falls:
                found = Disorder(number, self._offset(number, min(falls)))
                break
        self._span("check", start)
        return found

    def _offset(self, number: int, index: int) -> int:
        if not self._order.is_lines:
            return index * self._order.width
        line = self._runs[number][index]
        return int(self._rows.starts[line]) - sum(self._lengths[:number])

    def merge(self, policy: LaunchPolicy, unique: Unique = None) -> None:
        start = time.perf_counter()
        if self._order.is_lines:
            merged = _merge_tree(self._runs, self._rows.merged(), self._spare, self._context, policy, self._team)
            kept = self._kept(merged, unique)
            self._merged_bytes = self._rows.gather(self._room, merged[:kept], self._out_room, self._team)
        else:
            merged = self._out_room[: self._nbytes].view(self._order.unsigned)
            _merge_tree(self._runs, merged, self._spare, self._context, policy, self._team)
            kept = self._kept(merged, unique)
            self._merged_bytes = kept * self._order.width
        self.dropped = len(merged) - kept
        self._span("kernel", start)

    def _kept(self, merged: NDArray[Any], unique: Unique) -> int:
        """How many items stay; they are moved to the front."""
        return int(kernels.drop_equals(merged, unique == "ahead", self._context)) if unique else len(merged)

    def download(self) -> Bytes:
        return self._out_room[: self._merged_bytes]

    def copy(self) -> None:
        source, target = self._room[: self._nbytes], self._out_room[: self._nbytes]
        self._team.run(np.copyto, [(target[a:b], source[a:b]) for a, b in self._team.pieces(self._nbytes)])

    def poison(self) -> None:
        self._out_room[:] = 0xA5

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        return {} if self._order.is_lines else {"numpy stable sort": self._numpy_sort}

    def _numpy_sort(self) -> None:
        dtype = self._order.dtype
        items = np.sort(np.concatenate([run.view(dtype) for run in self._runs]), kind="stable")
        out = self._out_room[: self._nbytes].view(dtype)
        out[:] = items[::-1] if self._order.descending else items
        self._merged_bytes = self._nbytes

    def time(self, work: Callable[[], None]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def synchronize(self) -> None:
        pass

    def close(self) -> None:
        self._team.close()
        self._runs = []
        self._room = self._out_room = np.empty(0, np.uint8)

    def _span(self, name: str, start: float) -> None:
        self.spans.append(Span(name, time.perf_counter() - start, self._nbytes))


class _Rows:
    """The rows of a chunk of text: where each line starts, its prefix, and its number in input order."""

    def __init__(self) -> None:
        self.starts = np.empty(1, np.int64)
        self.prefixes = np.empty(0, np.uint64)
        self.lines = np.empty(0, np.int64)
        self._merged = np.empty(0, np.int64)
        self._text = np.empty(0, np.uint8)
        self._flags = 0
        self._count = 0

    def index(self, room: Bytes, ends: list[int], order: Order, team: _Team) -> list[int]:
        """Find the lines of room[: ends[-1]]; returns the number of the first line of every run, and of the end."""
        stop = ends[-1]
        self._text = room
        numeric, descending = order.kind == "numeric", order.descending
        self._flags = text.NUMERIC * numeric | text.DESCENDING * descending | text.STABLE * order.stable
        self._count = text.count_lines(room, stop)
        if self._count > len(self.lines):
            room_for = self._count + self._count // 4
            self.starts = np.empty(room_for + 1, np.int64)
            self.prefixes = np.empty(room_for, np.uint64)
            self.lines = np.arange(room_for, dtype=np.int64)
            self._merged = np.empty(room_for, np.int64)
        text.find_lines(room.ctypes.data, stop, self.starts)
        pieces = team.pieces(self._count)
        where = (room.ctypes.data, self.starts.ctypes.data)
        team.run(text.make_prefixes, [(*where, a, b, self._flags, self.prefixes) for a, b in pieces])
        return [int(np.searchsorted(self.starts[: self._count + 1], end)) for end in ends]

    def context(self) -> tuple[Any, ...]:
        """What keys.py wants of rows; valid as long as these arrays live."""
        return self.prefixes.ctypes.data, self._text.ctypes.data, self.starts.ctypes.data, self._flags

    def merged(self) -> NDArray[np.int64]:
        return self._merged[: self._count]

    def gather(self, room: Bytes, lines: NDArray[Any], out: Bytes, team: _Team) -> int:
        """Copy the lines, in this order, to `out`; returns their bytes."""
        pieces = team.pieces(len(lines))
        starts = self.starts.ctypes.data
        lengths = team.run(text.total_length, [(starts, lines, a, b) for a, b in pieces])
        edges = np.cumsum([0, *lengths])
        calls = [
            (room.ctypes.data, starts, lines, a, b, out.ctypes.data, int(edges[piece]), int(edges[piece + 1]))
            for piece, (a, b) in enumerate(pieces)
        ]
        team.run(text.gather, calls)
        return int(edges[-1])
