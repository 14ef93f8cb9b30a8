"""A GPU in name only: the GPU's backend and workspaces on the host's memory, where the CPU's library makes sets.

It shows that a run takes the right steps on the right addresses. Other tests show that the kernels do what is asked.
"""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import DeviceInfo
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.source import lines_order, moves_rows
from gpumerge_cli.backends.limits import TUNED_ON, DeviceLimits
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import SINGLE, Equals
from gpumerge_cli.order.kinds import Order
from tests import needs
from tests.fake_driver import put_driver
from tests.fake_kernels import memory
from tests.linekeys import is_at_fault, key_of
from tests.reference import set_of

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

_AROUND = 64  # bytes of a device's memory that nothing may change, ahead of it and behind it


class _Memory:
    """cupy.cuda.Memory, in the host's memory, which says where it was written to beyond its ends."""

    def __init__(self, size: int) -> None:
        self._bytes = np.full(size + 2 * _AROUND, 0xA5, np.uint8)
        self.ptr = self._bytes.ctypes.data + _AROUND

    def __del__(self) -> None:
        assert (self._bytes[:_AROUND] == 0xA5).all()
        assert (self._bytes[-_AROUND:] == 0xA5).all()


class _Event:
    def __init__(self, **options: bool) -> None: ...

    def record(self, stream: Any) -> None: ...

    def synchronize(self) -> None: ...


class _Stream:
    """An OwnedStream, and its stream."""

    ptr = 1

    def __init__(self) -> None:
        self.stream = self

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *error: object) -> None: ...

    def synchronize(self) -> None: ...

    def close(self) -> None: ...


_Row = np.dtype([("prefix", np.uint64), ("line", np.int64)])
_NO_PREFIX = 0x5A5A5A5A


class _Starts:
    """The starts of lines, as module.Kernels.text gives them: behind the order of the lines."""

    def __init__(self, ahead: Any, starts: Any) -> None:
        self._words = np.concatenate([ahead, starts])
        self._ahead = len(ahead)
        self.data = SimpleNamespace(ptr=self._words.ctypes.data + 8 * self._ahead)

    def __getitem__(self, line: int) -> int:
        return int(self._words[self._ahead + line])


class FakeText:
    """The kernels of text_kernels.TextKernels. Prefixes say nothing, so nothing may look at them."""

    def __init__(self, order: Order) -> None:
        self._order = order

    def line_starts(self, text: int, nbytes: int) -> _Starts:
        layout = self._order.layout()
        data = memory(text, nbytes)
        assert data[-1] == layout.terminator
        assert layout.table is not None
        ends = np.flatnonzero(data == layout.terminator) + 1
        return _Starts(lines_order(layout.table), np.concatenate([[0], ends]))

    def line_numbers(self, starts: _Starts, offsets: list[int]) -> list[int]:
        return [int(np.flatnonzero(starts._words[starts._ahead :] == offset)[0]) for offset in offsets]

    def make_rows(self, context: tuple[int, int], lines: int, rows: int) -> None:
        made = memory(rows, lines * _Row.itemsize).view(_Row)
        made["prefix"], made["line"] = _NO_PREFIX, np.arange(lines)

    def gather(
        self, context: tuple[int, int], rows: tuple[int, int], out: int, nbytes: int, whole: bool
    ) -> tuple[int, Any]:
        from gpumerge_cli.backends.gpu.text_kernels import out_of_order

        numbers = row_numbers(memory(rows[0], rows[1] * _Row.itemsize))
        text = b"".join(item_of(self._order, context, number, ended=True) for number in numbers)
        if len(text) > nbytes:
            raise out_of_order()
        memory(out, len(text))[:] = np.frombuffer(text, np.uint8)
        return len(text), None


def row_numbers(rows: Any) -> list[int]:
    """The numbers of rows, which are given as bytes."""
    assert (rows.view(_Row)["prefix"] == _NO_PREFIX).all()
    return rows.view(_Row)["line"].tolist()  # type: ignore[no-any-return]


def item_of(order: Order, context: tuple[int, int], number: int, *, ended: bool = False) -> bytes:
    """A line or record of a text in memory. ended: a line has its terminator."""
    text, starts = context
    if order.item_bytes:
        assert starts == 0
        return bytes(memory(text + number * order.item_bytes, order.item_bytes))
    begin, end = memory(starts + 8 * number, 16).view(np.int64).tolist()
    return bytes(memory(text + begin, end - begin))[: None if ended else -1]


class FakeKernels:
    """module.Kernels, of which only the order is asked for."""

    def __init__(self, device: int, order: Order, limits: DeviceLimits) -> None:
        self.order, self.limits = order, limits


class FakeChecks:
    """checking.Checks."""

    def __init__(self, kernels: FakeKernels) -> None:
        self._order = kernels.order

    def no_disorder(self) -> Any:
        found = np.full(1, np.iinfo(np.uint64).max, np.uint64)
        return SimpleNamespace(data=SimpleNamespace(ptr=found.ctypes.data), get=lambda: found)

    def check(
        self, run: tuple[int, int], base: int, first: int, text: tuple[int, int] = (0, 0), *, strict: bool = False
    ) -> None:
        keys = keys_of(self._order, memory(run[0], run[1] * item_bytes(self._order)), text)
        falls = np.flatnonzero([second < first for first, second in pairwise(keys)])
        found = memory(first, 8).view(np.uint64)
        if len(falls):
            found[0] = min(int(found[0]), base + int(falls[0]) + 1)

    def values(self, lines: int, first: int, text: tuple[int, int]) -> list[Any]:
        assert self._order.text is not None
        faults = (at for at in range(lines) if is_at_fault(self._order.text, item_of(self._order, text, at)))
        memory(first, 8).view(np.uint64)[0] = next(faults, np.iinfo(np.uint64).max)
        return []

    def keep(self, items: tuple[int, int], equals: Equals, text: tuple[int, int] = (0, 0)) -> int:
        address, count = items
        size = item_bytes(self._order)
        found = memory(address, count * size).reshape(-1, size)
        keys = keys_of(self._order, found, text)
        same = [equals.is_continued, *(not first < second for first, second in pairwise(keys)), equals.is_followed]
        kept = [at for at in range(count) if equals.value // SINGLE >> (same[at] + 2 * same[at + 1]) & 1]
        found[: len(kept)] = found[kept]
        found[len(kept) :] = 0x5A
        return len(kept)

    def count_equals(self, items: tuple[int, int], text: tuple[int, int] = (0, 0)) -> Any:
        address, count = items
        size = item_bytes(self._order)
        found = memory(address, count * size).reshape(-1, size)
        keys = keys_of(self._order, found, text)
        firsts = [at for at in range(count) if at == 0 or keys[at - 1] < keys[at]]
        found[: len(firsts)] = found[firsts]
        found[len(firsts) :] = 0x5A
        return np.diff(np.array(firsts, np.int64), append=count)


class FakeMerge:
    """many_runs.MergeOfMany and sorting.Sort. The work is done when its steps are asked for."""

    def __init__(self, kernels: FakeKernels, policy: Any) -> None:
        self._order = kernels.order

    def steps(
        self, runs: Any, out: int, take: Any, text: tuple[int, int] = (0, 0), *, overwrite: bool = False
    ) -> list[Any]:
        size = item_bytes(self._order)
        runs = [runs] if isinstance(runs, tuple) else runs
        items = np.concatenate([memory(address, count * size).reshape(-1, size) for address, count in runs])
        keys = keys_of(self._order, items, text)
        ranks = sorted(range(len(keys)), key=keys.__getitem__)
        memory(out, items.size)[:] = items[ranks].reshape(-1)
        return []


def keys_of(order: Order, items: Any, text: tuple[int, int]) -> list[Any]:
    """The keys of items, which are rows of bytes."""
    if moves_rows(order):
        key = key_of(order)
        return [key(item_of(order, text, number)) for number in row_numbers(items.reshape(-1))]
    return order.image(order.keys(items.reshape(-1))).tolist()  # type: ignore[no-any-return]


class FakeWalk:
    """walks.Walk, by the CPU's library, and for rows by the plain rule. The room behind what goes out is poisoned."""

    def __init__(self, kernels: FakeKernels, equals: Equals) -> None:
        self._order, self._equals = kernels.order, equals

    def __call__(
        self,
        runs: list[tuple[int, int]],
        out: int,
        room: int,
        values: list[int],
        moved: int,
        text: tuple[int, int] = (0, 0),
    ) -> int:
        size = item_bytes(self._order)
        assert len(runs) == 2
        assert sum(count for _, count in runs) > 0
        assert (values, moved) == ([], 0)
        for address, count in runs:
            assert address + count * size <= out or out + room * size <= address, "the output overlaps an input"
        parts = [memory(address, count * size) for address, count in runs]
        if moves_rows(self._order):
            found = rows_combined(self._order, self._equals, parts, text)
        else:
            assert text == (0, 0)
            found = combined(self._order, self._equals, parts)
        assert len(found) <= room * size
        memory(out, room * size)[:] = 0x5A
        memory(out, len(found))[:] = found
        return len(found) // size


def rows_combined(order: Order, equals: Equals, runs: list[Any], text: tuple[int, int]) -> Any:
    """The set of sorted runs of rows, all as bytes."""
    key = key_of(order)
    numbers = [row_numbers(run) for run in runs]
    found = set_of(numbers, lambda number: key(item_of(order, text, number)), equals)
    rows = np.empty(len(found), _Row)
    rows["prefix"], rows["line"] = _NO_PREFIX, found
    return rows.view(np.uint8)


def combined(order: Order, equals: Equals, runs: list[Any]) -> Any:
    """The set of sorted runs, all as bytes, by the CPU's library."""
    backend = backends_select.host()
    workspace = backend.workspace(order, 1)
    workspace.staging(sum(map(len, runs)))[:] = np.concatenate(runs)
    workspace.upload(list(map(len, runs)))
    workspace.merge(backend.resolve(LaunchRequest(), order), equals)
    found = np.array(workspace.download())
    workspace.close()
    return found


def stand_in(monkeypatch: pytest.MonkeyPatch) -> GpuBackend:
    """Until the test ends, runs on "gpu" take this backend, which makes sets, sorts, and merges that are counted."""
    backend = needs.module("backends.gpu.backend")
    from gpumerge_cli.backends.gpu import buffers, folding, text, workspace

    def copy(to: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        ctypes.memmove(to, source, nbytes)

    def fill(to: int, value: int, nbytes: int, stream: int) -> None:
        ctypes.memset(to, value, nbytes)

    cuda = SimpleNamespace(
        Memory=_Memory,
        MemoryPointer=lambda held, offset: SimpleNamespace(ptr=held.ptr + offset, held=held),
        PinnedMemory=bytearray,
        PinnedMemoryPointer=lambda held, offset: held,
        Event=_Event,
        get_elapsed_time=lambda start, end: 0.01,
        get_current_stream=_Stream,
        runtime=SimpleNamespace(memcpyAsync=copy, memsetAsync=fill, memcpyDeviceToDevice=3),
    )
    fake = SimpleNamespace(
        cuda=cuda, get_default_memory_pool=lambda: SimpleNamespace(free_all_blocks=lambda: None)
    )  # fmt: skip
    put_driver(monkeypatch).moves = True
    for module in (buffers, workspace):
        monkeypatch.setattr(module, "cupy", fake)
    monkeypatch.setattr(workspace, "OwnedStream", _Stream)
    monkeypatch.setattr(workspace, "Lanes", lambda devices: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(folding, "Walk", FakeWalk)
    for module in (workspace, text):
        monkeypatch.setattr(module, "merge_of_many", FakeMerge)
        monkeypatch.setattr(module, "sort_of", FakeMerge)
        monkeypatch.setattr(module, "Checks", FakeChecks)
        monkeypatch.setattr(module, "scratch", _Memory)
    monkeypatch.setattr(text, "current_stream", lambda: 1)
    monkeypatch.setattr(text, "TextKernels", lambda kernels: FakeText(kernels.order))
    monkeypatch.setattr(backend, "gpu_kernels", FakeKernels)
    monkeypatch.setattr(backend, "_compile_ahead", lambda *arguments, **options: None)
    monkeypatch.setattr(backend.device, "device_info", lambda device: DeviceInfo("gpu", "a GPU in name only"))

    def create(device: Any = 0) -> Any:
        made = object.__new__(backend.GpuBackend)
        made._limits = TUNED_ON
        made._device = type("Device", (nullcontext,), {"id": device})()
        return made

    monkeypatch.setattr(gpu, "create", create)
    return create()  # type: ignore[no-any-return]
