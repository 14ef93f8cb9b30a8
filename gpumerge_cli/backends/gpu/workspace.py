"""The GPU's workspace: a chunk's bytes go to the device through pinned memory, are merged there, and come back.

Work is queued on a separate stream and timed by events; the host waits only where it needs a result.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Disorder
from gpumerge_cli.backends.gpu.baselines import Library, SetOfKeys, merges, sets, sorts
from gpumerge_cli.backends.gpu.buffers import DeviceBuffer, OwnedStream, PinnedBuffer
from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.folding import Folds
from gpumerge_cli.backends.gpu.lanes import Lanes
from gpumerge_cli.backends.gpu.launching import queue
from gpumerge_cli.backends.gpu.many_runs import merge_of_many
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.sorting import sort_of
from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.backends.gpu.streams import scratch
from gpumerge_cli.backends.gpu.text import DeviceText
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.kernel_sizes import whole_vectors
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.measure import Span
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

_TO_DEVICE = cupy.cuda.runtime.memcpyHostToDevice
_TO_HOST = cupy.cuda.runtime.memcpyDeviceToHost
_ON_DEVICE = cupy.cuda.runtime.memcpyDeviceToDevice
_POISON = 0xA5
_HEAD_START = 500_000  # nanoseconds, several times what the host needs to queue a merge


class GpuWorkspace:
    """See backends.compared.ComparedWorkspace. Every span carries the bytes of the chunk, once.

    Lines are counted on the device, so `counts` gives 0 for them from `upload` until `disorder` or `merge`.
    """

    remote = True

    def __init__(self, device: cupy.cuda.Device, order: Order, kernels: Kernels, capacity: int) -> None:
        self.spans: list[Span] = []
        self.counts: list[int] = []
        self.dropped = 0
        self.merged_bytes = 0
        self._device = device
        self._order = order
        self._kernels, self._checks = kernels, Checks(kernels)
        self._capacity = capacity
        self._pending: list[tuple[str, int, cupy.cuda.Event, cupy.cuda.Event]] = []
        self._staging, self._downloaded = PinnedBuffer(), PinnedBuffer()
        self._input, self._output = DeviceBuffer(), DeviceBuffer()
        self._lengths: list[int] = []
        self._library: Library | None = None  # the one that ran last, if its output may be elsewhere
        with device_errors(), device:
            self._owned = OwnedStream()
            self._stream = self._owned.stream
            self._uploaded = cupy.cuda.Event(disable_timing=True)
        self._lanes = Lanes([device])
        self._parts = threading.Lock()
        self._staged: Bytes = np.empty(0, np.uint8)
        self._text = DeviceText(order, kernels) if moves_rows(order) else None
        self._folds = Folds(kernels)
        self._equals: NDArray[np.int64] = np.empty(0, np.int64)

    def staging(self, nbytes: int) -> Bytes:
        """See Workspace. Waits until the last upload has left the memory."""
        with device_errors(), self._device:
            self._uploaded.synchronize()
            self._staged = self._staging.reserve(nbytes, self._capacity)
        return self._staged

    def upload(self, lengths: Sequence[int]) -> None:
        """See Workspace. Returns before the bytes are on the device."""
        self._lengths = list(lengths)
        total = self._total
        with self._span("upload", total):
            self._input.reserve(max(total, self._capacity))
            self._output.reserve(max(total, self._capacity))
            if total:
                self._copy_bytes(self._input.address, self._staged.ctypes.data, total, _TO_DEVICE)
            self._uploaded.record(self._stream)
        self._take()

    def part(self, position: int, nbytes: int) -> Bytes:
        """See Workspace."""
        return self._lanes.mine().memory(nbytes)

    def send(self, position: int, nbytes: int) -> None:
        """See Workspace."""
        if nbytes:
            with self._parts, device_errors(), self._device:
                address = self._input.reserve(self._capacity).address
            self._lanes.mine().send(address + position, nbytes)

    def adopt(self, lengths: Sequence[int]) -> None:
        """See Workspace."""
        self._lengths = list(lengths)
        with self._entered():
            self._input.reserve(max(self._total, self._capacity))
            self._output.reserve(max(self._total, self._capacity))
        self._take()

    def receive(self, position: int, nbytes: int) -> Bytes:
        """See Workspace."""
        return self._lanes.mine().receive(self._output.address + position, nbytes)

    def _take(self) -> None:
        if self._text is not None:
            self._text.reset(self._input.address, self._lengths)
        self.merged_bytes = self._total
        self.counts = [self._order.count(length) or 0 for length in self._lengths]

    def disorder(self, *, strict: bool = False) -> Disorder | None:
        """See Workspace."""
        with self._span("check", self._total):
            runs = self._runs()
            self.counts = [count for _, count in runs]
            text = (0, 0) if self._text is None else self._text.context
            bases = list(accumulate((count for _, count in runs), initial=0))
            first = self._checks.no_disorder()
            for run, base in zip(runs, bases, strict=False):
                self._checks.check(run, base, first.data.ptr, text, strict=strict)
            item = int(first.get()[0])
        return None if item >= bases[-1] else self._at(item, bases)

    def _at(self, item: int, bases: Sequence[int]) -> Disorder:
        """The place of an item. bases: the number of each run's first item, and the number of all."""
        number = next(number for number, (_, end) in enumerate(pairwise(bases)) if item < end)
        if self._text is None:
            return Disorder(number, (item - bases[number]) * self._order.item_bytes)
        with device_errors(), self._device, self._stream:
            return Disorder(number, self._text.offset_of(item) - sum(self._lengths[:number]))

    def fault(self) -> Disorder | None:
        """See Workspace. Waits for the device."""
        assert self._text is not None, "only lines have faults"
        with self._span("check", self._total):
            counts = self._text.counts
            first = self._checks.no_disorder()
            queue(self._checks.values(sum(counts), first.data.ptr, self._text.context), self._stream.ptr)
            line = int(first.get()[0])
        bases = list(accumulate(counts, initial=0))
        return None if line >= bases[-1] else self._at(line, bases)

    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL, *, counted: bool = False) -> None:
        """See CountingWorkspace. Returns before the merge is done, unless something may be dropped."""
        total = self.merged_bytes = self._total
        self.dropped = 0
        self._equals = np.empty(0, np.int64)
        self._library = None
        if total == 0:
            return
        with self._span("kernel", total):
            if self._text is not None:
                self.merged_bytes, self.dropped = self._text.merge(
                    policy, self._output.address, total, equals, counted=counted
                )
                self.counts, self._equals = self._text.counts, self._text.equals
                return
            if equals.is_set:
                self._combine(equals)
            else:
                merge = merge_of_many(self._kernels, policy)
                queue(merge.steps(self._runs(), self._output.address, self._scratch), self._stream.ptr)
            if counted:
                items, kept = total // self._order.item_bytes, self.merged_bytes // self._order.item_bytes
                self._equals = self._checks.count_equals((self._output.address, kept))
                self._keep(len(self._equals), items)
            elif not equals.is_set:
                self._drop_equals(equals, total // self._order.item_bytes)

    def equals(self) -> Bytes:
        """See CountingWorkspace."""
        return self._equals.view(np.uint8)

    def sort(self, policy: SortPolicy, equals: Equals = Equals.ALL, *, by_parts: bool = False) -> None:
        """See Workspace. Returns before the sort is done, unless something may be dropped."""
        total = self.merged_bytes = self._total
        self.dropped = 0
        self._library = None
        if total == 0:
            return
        with self._span("kernel", total):
            if self._text is not None:
                self.merged_bytes, self.dropped = self._text.sort(policy, self._output.address, total, equals)
                self.counts = self._text.counts
                return
            count = total // self._order.item_bytes
            sort = sort_of(self._kernels, policy)
            steps = sort.steps((self._input.address, count), self._output.address, self._scratch)
            queue(steps, self._stream.ptr)
            self._drop_equals(equals, count)

    def download(self) -> Bytes:
        """See Workspace. Waits for all work so far. Raises DisorderError if the merged lines are not in order."""
        return self._fetched(self._downloaded)

    def outputs(self) -> Iterable[Bytes]:
        """See Workspace. The result overwrites the staged input in its pinned memory."""
        return [self._fetched(self._staging)]

    def _fetched(self, to: PinnedBuffer) -> Bytes:
        total = self.merged_bytes
        with self._span("download", total):
            if self._library is not None:
                self._library.finish()
                self._library = None
            merged = to.reserve(total, self._capacity)
            if total:
                self._copy_bytes(merged.ctypes.data, self._output.address, total, _TO_HOST)
        self.synchronize()
        if self._text is not None:
            with self._entered():
                self._text.raise_disorder()
        return merged

    def copy(self) -> None:
        """See Workspace."""
        with self._entered():
            if self._total:
                self._copy_bytes(self._output.address, self._input.address, self._total, _ON_DEVICE)

    def poison(self) -> None:
        """See Workspace."""
        with self._entered():
            if self._total:
                cupy.cuda.runtime.memsetAsync(self._output.address, _POISON, self._total, self._stream.ptr)

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        """See Workspace."""
        if self._text is not None:
            return {}
        with self._entered():  # the arrays are made on the stream, after the upload
            runs = [run for run in self._runs() if run[1]]
            return self._callable(merges(self._order, runs, self._input, self._output))

    def sort_baselines(self) -> Mapping[str, Callable[[], None]]:
        """See Workspace."""
        if self._text is not None:
            return {}
        with self._entered():
            count = self._total // self._order.item_bytes
            return self._callable(sorts(self._order, count, self._input, self._output))

    def set_baselines(self, equals: Equals) -> Mapping[str, Callable[[], None]]:
        """See Workspace."""
        if self._text is not None or not self._total:
            return {}
        with self._entered():
            found = sets(self._order, self._runs(), equals, self._input, self._output)
            return {name: partial(self._run_set, library) for name, library in found.items()}

    def time(self, work: Callable[[], None]) -> float:
        """See Workspace: by events on the workspace's stream. A kernel holds the device until the work is queued."""
        with self._entered():
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            queue([(self._kernels.ready("hold", 1), 1, [_HEAD_START], False)], self._stream.ptr)
            start.record(self._stream)
            work()
            end.record(self._stream)
            end.synchronize()
            return float(cupy.cuda.get_elapsed_time(start, end)) / 1000

    def synchronize(self) -> None:
        """See Workspace."""
        with device_errors(), self._device:
            self._stream.synchronize()
            now = time.perf_counter()
            for name, nbytes, start, end in self._pending:
                # The last one ended just now. Events are timed only relative to each other.
                stopped = now - float(cupy.cuda.get_elapsed_time(end, self._pending[-1][3])) / 1000
                self.spans.append(Span(name, float(cupy.cuda.get_elapsed_time(start, end)) / 1000, nbytes, stopped))
        self._pending.clear()

    def close(self) -> None:
        """See Workspace."""
        self.synchronize()
        self._staged = np.empty(0, np.uint8)
        self._library = None
        for buffer in (self._staging, self._downloaded, self._input, self._output):
            buffer.free()
        if self._text is not None:
            self._text.free()
        self._lanes.close()
        with device_errors(), self._device:
            cupy.get_default_memory_pool().free_all_blocks()
            self._owned.close()

    @property
    def _total(self) -> int:
        return sum(self._lengths)

    def _runs(self) -> list[Run]:
        if self._text is not None:
            return self._text.runs()
        starts = accumulate(self._lengths, initial=self._input.address)
        return [(start, length // self._order.item_bytes) for start, length in zip(starts, self._lengths, strict=False)]

    def _scratch(self, nbytes: int) -> Any:
        """See streams.scratch. Memory for all items has one size for all chunks, so that the pool holds it once."""
        return scratch(max(nbytes, self._capacity) if nbytes == whole_vectors(self._total) else nbytes)

    def _combine(self, equals: Equals) -> None:
        """Put out the set of the runs."""
        runs = self._runs()
        kept = self._folds.of(equals, len(runs))(runs, self._output.address, self._scratch)
        self._keep(kept, sum(count for _, count in runs))

    def _keep(self, kept: int, count: int) -> None:
        """Record that so many of `count` items are put out."""
        self.merged_bytes, self.dropped = kept * self._order.item_bytes, count - kept

    def _drop_equals(self, equals: Equals, count: int) -> None:
        if not equals.keeps_all:
            self._keep(self._checks.keep((self._output.address, count), equals), count)

    def _callable(self, libraries: Mapping[str, Library]) -> Mapping[str, Callable[[], None]]:
        return {name: partial(self._run, library) for name, library in libraries.items()}

    def _run(self, library: Library) -> None:
        with self._entered():
            library.run(self._stream)
            self._library = library

    def _run_set(self, library: SetOfKeys) -> None:
        self._run(library)
        self._keep(library.kept, self._total // self._order.item_bytes)

    def _copy_bytes(self, to: int, source: int, nbytes: int, kind: int) -> None:
        cupy.cuda.runtime.memcpyAsync(to, source, nbytes, kind, self._stream.ptr)

    @contextmanager
    def _entered(self) -> Iterator[None]:
        with device_errors(), self._device, self._stream:
            yield

    @contextmanager
    def _span(self, name: str, nbytes: int) -> Iterator[None]:
        with self._entered():
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(self._stream)
            yield
            end.record(self._stream)
            self._pending.append((name, nbytes, start, end))
