"""One chunk in host memory, worked on by the library."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from gpumerge_cli.backends.base import Disorder
from gpumerge_cli.backends.cpu.team import ThreadTeam
from gpumerge_cli.buffers import Bytes, address_of, allocate, memory_at
from gpumerge_cli.launch import LaunchPolicy, SortPolicy, check_recursion
from gpumerge_cli.measure import Span
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import RECEIVED_BYTES, check_status, launch_spec, order_spec, sort_spec
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CpuWorkspace:
    """See ComparedWorkspace. Its views show memory of the library, which `close` frees."""

    remote = False

    def __init__(self, order: Order, capacity: int, threads: int) -> None:
        self.spans: list[Span] = []
        self.counts: list[int] = []
        self.dropped = 0
        self.merged_bytes = 0
        self._order = order
        self._spec = order_spec(order)
        self._team = ThreadTeam(threads)
        self._capacity = capacity
        self._nbytes = 0
        self._lengths: list[int] = []
        self._by_parts = False
        self._parts = threading.local()
        self._copied: Bytes = allocate(0)
        self._by_library: NDArray[Any] | None = None  # the output of a baseline, if it ran last
        self._functions = library()
        self._handle: int | None = self._functions.gm_open(self._spec, capacity, threads)
        if self._handle is None:
            raise MemoryError
        self._room: Bytes = allocate(0)
        self.staging(capacity)

    def staging(self, nbytes: int) -> Bytes:
        if nbytes > len(self._room):
            address = self._functions.gm_staging(self._handle, nbytes)
            if address is None:
                raise MemoryError
            self._room = memory_at(address, nbytes)
        self._nbytes = nbytes
        return self._room[:nbytes]

    def part(self, position: int, nbytes: int) -> Bytes:
        return self._room[position : position + nbytes]

    def send(self, position: int, nbytes: int) -> None:
        pass  # `part` is the library's own memory

    def adopt(self, lengths: Sequence[int]) -> None:
        self._nbytes = sum(lengths)
        self.upload(lengths)
        self._by_parts = True

    def receive(self, position: int, nbytes: int) -> Bytes:
        address = self._functions.gm_result(self._handle, None, None)
        if address is not None:
            return memory_at(address + position, nbytes)
        buffer: Bytes = getattr(self._parts, "room", self._room[:0])
        if len(buffer) < nbytes:
            buffer = self._parts.room = allocate(nbytes)
        self._functions.gm_receive(self._handle, position, nbytes, address_of(buffer))
        return buffer[:nbytes]

    def upload(self, lengths: Sequence[int]) -> None:
        self._lengths = list(lengths)
        # A chunk far beyond the capacity holds a long line. Its output is gathered by parts, so only one copy is kept.
        self._by_parts = self._order.is_rows and self._nbytes > 2 * self._capacity
        start = time.perf_counter()
        counts = (ctypes.c_int64 * len(lengths))()
        check_status(self._functions.gm_upload(self._handle, (ctypes.c_int64 * len(lengths))(*lengths), len(lengths)))
        self._functions.gm_counts(self._handle, counts)
        self.counts = list(counts)
        if self._order.is_rows:
            self._span("index", start)

    def disorder(self, *, strict: bool = False) -> Disorder | None:
        failure = self._functions.Failure()
        with self._timed("check"):
            status = self._functions.gm_disorder(self._handle, strict, failure)
        if status == self._functions.DISORDER:
            return Disorder(failure.input, failure.position)
        check_status(status)
        return None

    def fault(self) -> Disorder | None:
        failure = self._functions.Failure()
        status = self._functions.gm_fault(self._handle, failure)
        if status == self._functions.DISORDER:
            return Disorder(failure.input, failure.position)
        check_status(status)
        return None

    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL) -> None:
        self._put_out(self._functions.gm_merge, launch_spec(policy), equals.value)

    def sort(self, policy: SortPolicy, equals: Equals = Equals.ALL, *, by_parts: bool = False) -> None:
        if policy.algorithm == "recursive":
            check_recursion(sum(self.counts))
        # Rows that go by parts are gathered when they are received, into the same room again and again. New memory
        # takes longer than the sort.
        self._by_parts |= by_parts and self._order.is_rows
        sort = self._functions.gm_sort_rows if self._by_parts else self._functions.gm_sort
        self._put_out(sort, sort_spec(policy), equals.value)

    def bytes_ahead(self, items: int) -> int:
        return int(self._functions.gm_bytes_ahead(self._handle, items))

    def _put_out(self, work: Callable[..., int], *arguments: Any) -> None:
        with self._timed("kernel"):
            check_status(work(self._handle, *arguments))
        self._take_result()

    def _take_result(self) -> None:
        self._by_library = None
        nbytes, items = ctypes.c_int64(), ctypes.c_int64()
        self._functions.gm_result(self._handle, ctypes.byref(nbytes), ctypes.byref(items))
        self.merged_bytes = nbytes.value
        self.dropped = sum(self.counts) - items.value

    def download(self) -> Bytes:
        if self._by_library is not None:
            import numpy as np

            return np.ascontiguousarray(self._by_library).view(np.uint8)
        return self._result()

    def _result(self) -> Bytes:
        nbytes = ctypes.c_int64()
        address = self._functions.gm_result(self._handle, ctypes.byref(nbytes), None)
        if address is None and nbytes.value:  # sorted rows that are not gathered yet
            whole = allocate(nbytes.value)
            self._functions.gm_receive(self._handle, 0, len(whole), address_of(whole))
            return whole
        return memory_at(address, nbytes.value)

    def outputs(self) -> Iterable[Bytes]:
        if not self._by_parts or not self.merged_bytes:
            return [self.download()]
        parts = range(0, self.merged_bytes, RECEIVED_BYTES)
        return (self.receive(position, min(RECEIVED_BYTES, self.merged_bytes - position)) for position in parts)

    def copy(self) -> None:
        import numpy as np  # which lets other threads copy meanwhile

        if len(self._copied) < self._nbytes:
            self._copied = allocate(self._nbytes)
        out, given = np.asarray(self._copied), np.asarray(self._room)
        self._team.run(np.copyto, [(out[a:b], given[a:b]) for a, b in self._team.pieces(self._nbytes)])

    def poison(self) -> None:
        import numpy as np

        result = np.asarray(self._result())
        if not np.may_share_memory(result, np.asarray(self._room)):  # the union of one run is the run where it lies
            result[:] = 0xA5
        self._by_library = None

    def _keys(self) -> NDArray[Any]:
        import numpy as np

        return np.asarray(self._room[: self._nbytes]).view(self._order.dtype)

    def _runs(self) -> list[NDArray[Any]]:
        keys, ends = self._keys(), accumulate(self.counts, initial=0)
        return [keys[a:b] for a, b in pairwise(ends)]

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        if self._order.is_rows or not self._nbytes:
            return {}
        from gpumerge_cli.backends.cpu import baselines

        found = baselines.baselines(self._runs(), self._order)
        return {name: partial(self._run_library, work) for name, work in found.items()}

    def sort_baselines(self) -> Mapping[str, Callable[[], None]]:
        if self._order.is_rows or not self._nbytes:
            return {}
        from gpumerge_cli.backends.cpu import baselines

        found = baselines.sorts(self._keys(), self._order)
        return {name: partial(self._run_library, work) for name, work in found.items()}

    def set_baselines(self, equals: Equals) -> Mapping[str, Callable[[], None]]:
        if self._order.is_rows or not self._nbytes:
            return {}
        from gpumerge_cli.backends.cpu import baselines

        found = baselines.sets(self._runs(), self._order, equals)
        return {name: partial(self._run_library, work) for name, work in found.items()}

    def _run_library(self, work: Callable[[], NDArray[Any]]) -> None:
        # Libraries are timed without a copy to the output, so `download` makes it.
        self._by_library = work()

    def time(self, work: Callable[[], None]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def synchronize(self) -> None:
        pass

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._team.close()
            self._by_library = None
            self._room = self._copied = allocate(0)
            self._functions.gm_close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self._span(name, start)

    def _span(self, name: str, start: float) -> None:
        self.spans.append(Span(name, time.perf_counter() - start, self._nbytes))
