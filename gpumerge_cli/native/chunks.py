"""Chunks, each of which the library reads, merges and writes in one call."""

from __future__ import annotations

import ctypes
import os
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from gpumerge_cli.buffers import Bytes, address_of, allocate, memory_at
from gpumerge_cli.errors import lost_output, output_error
from gpumerge_cli.extents import Target
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.measure import Span
from gpumerge_cli.native.calls import ChunkWork, Disordered
from gpumerge_cli.native.library import library
from gpumerge_cli.native.sources import Sources
from gpumerge_cli.native.specs import RECEIVED_BYTES, launch_spec, margin_spec, order_spec, sort_spec

_STAGES = ("read", "index", "check", "kernel", "write")


class Chunks:
    """The merge of the chunks of one work, for any number of threads, each with a worker."""

    def __init__(self, work: ChunkWork, policy: LaunchPolicy | SortPolicy, targets: Sequence[Target]) -> None:
        lib = library()
        self.work, self.targets = work, targets
        self.sources = Sources(work.sources)
        self.order = order_spec(work.order)
        sorts = isinstance(policy, SortPolicy)
        self.launch = sort_spec(policy) if isinstance(policy, SortPolicy) else launch_spec(policy)
        self.spec = lib.ChunkSpec(self.sources.specs, 0, len(work.sources), work.check, sorts, work.equals.value)
        self.margin = None if work.margin is None else margin_spec(work.margin)
        self.gates: list[int] = []  # one for each target
        for target in targets:
            gate = lib.gm_gate_open(target.writers)
            if gate is None:
                raise MemoryError
            self.gates.append(gate)

    def __del__(self) -> None:
        for gate in getattr(self, "gates", ()):
            library().gm_gate_close(gate)


class CpuChunkWorker:
    """See ChunkWorker."""

    def __init__(self, chunks: Chunks, capacity: int) -> None:
        self.counts: list[int] = []
        self.dropped = self.changed = 0
        self.merged_bytes = 0  # of the last result
        self._items = 0
        self.spans: list[Span] = []
        self._library = library()
        self._chunks = chunks
        self._handle = self._library.gm_open(chunks.order, capacity, 1)
        if self._handle is None:
            raise MemoryError
        self._spec = self._library.ChunkSpec.from_buffer_copy(chunks.spec)  # each worker has ranges of its own
        if chunks.margin is not None:
            self._library.gm_margin(self._handle, chunks.margin)

    def run(self, ranges: Sequence[tuple[int, int]], part: int, offset: int) -> None:
        lib, chunks = self._library, self._chunks
        count = len(ranges)
        edges = array("q", chain.from_iterable(ranges))
        spec = self._spec
        spec.ranges = edges.buffer_info()[0]
        sink = lib.SinkSpec(descriptor=-1)
        if chunks.targets:
            target, gate = chunks.targets[part], chunks.gates[part]
            start = target.start + offset
            sink = lib.SinkSpec(target.descriptor, start, target.piece, target.swap, gate, target.memory or None)
        result, failure = lib.ChunkResult(), lib.Failure()
        status = lib.gm_chunk(self._handle, spec, chunks.launch, sink, result, failure)
        stopped = time.perf_counter()
        if status == lib.DISORDER:
            raise Disordered(failure.input)
        if status == lib.WRITE_FAILED:
            if target.memory:
                raise lost_output(target.name)
            raise output_error(OSError(failure.error, os.strerror(failure.error)), target.name)
        chunks.sources.check_status(status, failure)
        counts = (ctypes.c_int64 * count)()
        lib.gm_counts(self._handle, counts)
        self.counts, self.dropped, self.merged_bytes = list(counts), result.dropped, result.nbytes
        self._items = result.items
        self._tell(result, sum(high - low for low, high in ranges), stopped)

    def _tell(self, result: Any, nbytes: int, stopped: float) -> None:
        self.spans = []
        if not self._chunks.work.check:  # then the check has only found which of equal items is written
            result.kernel_ns, result.check_ns = result.kernel_ns + result.check_ns, 0
        for stage in reversed(_STAGES):
            seconds = getattr(result, f"{stage}_ns") / 1e9
            if seconds > 1e-6 and (stage != "index" or self._chunks.work.order.is_rows):
                moved = result.nbytes if stage == "write" else nbytes
                self.spans.append(Span(stage, seconds, moved, stopped))
            stopped -= seconds
        self.spans.reverse()

    def outputs(self) -> Iterable[Bytes]:
        address = self._library.gm_result(self._handle, None, None)
        if address is not None or not self.merged_bytes:
            return [memory_at(address, self.merged_bytes)]
        return self._parts()

    def _parts(self) -> Iterator[Bytes]:
        """The result of a chunk that holds a long line, which has no room for a second copy."""
        held = allocate(min(RECEIVED_BYTES, self.merged_bytes))
        for position in range(0, self.merged_bytes, RECEIVED_BYTES):
            part = held[: min(RECEIVED_BYTES, self.merged_bytes - position)]
            self._library.gm_receive(self._handle, position, len(part), address_of(part))
            yield part

    def equals(self) -> Bytes:
        return memory_at(self._library.gm_equals(self._handle), 8 * self._items)

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.gm_close(handle)
