"""A merge by looking at the inputs' first lines only, one after the other: what GNU sort -m does with any input.

Of sorted inputs it gives what every merge gives. Of others it gives what their users have always had from sort -m,
which says nothing of disorder: always the least of the inputs' next lines, of equal ones that of the first input.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from gpumerge_cli.backends import cpu
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.engine.stream import Outcome
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.order import Order

if TYPE_CHECKING:
    from gpumerge_cli.backends.cpu.backend import CpuBackend

_BLOCK = 1 << 20
_MORE = 8  # bytes a line, beyond what any merge takes


def merge_heads(
    sources: Sequence[Source], sink: Sink, order: Order, *, unique: bool, memory: int, item_bytes: float
) -> Outcome:
    """Merge lines to the sink. unique: of equal lines that follow each other the first.

    memory: bytes that it may take. item_bytes: of a line on average. What fits is merged at once by compiled code.
    """
    backend = cpu.create()
    pace = backend.pace(order, len(sources), item_bytes)
    if sum(source.size for source in sources) * (pace.footprint + _MORE / item_bytes) <= memory:
        return _at_once(backend, sources, sink, order, unique)
    return _line_by_line(sources, sink, order, unique)


def _at_once(backend: CpuBackend, sources: Sequence[Source], sink: Sink, order: Order, unique: bool) -> Outcome:
    sizes = [source.size for source in sources]
    workspace = backend.workspace(order, sum(sizes), threads=cores())
    try:
        staging = workspace.staging(sum(sizes))
        for source, stop in zip(sources, accumulate(sizes), strict=True):
            source.read_into(0, staging[stop - source.size : stop])
        workspace.upload(sizes)
        workspace.merge_heads(unique=unique)
        data = sink.encode(workspace.download())
        sink.write_at(0, data)
        return Outcome(list(workspace.counts), workspace.dropped, len(data), chunks=1, largest=sum(sizes))
    finally:
        workspace.close()


def _line_by_line(sources: Sequence[Source], sink: Sink, order: Order, unique: bool) -> Outcome:
    assert order.text is not None
    end = bytes([order.text.terminator])
    position = 0
    held: list[bytes] = []
    size = 0
    last = None
    lines = [_Lines(source, end) for source in sources]
    outcome = Outcome([0] * len(sources), chunks=1)

    def write() -> None:
        nonlocal position, size
        data = sink.encode(np.frombuffer(b"".join(held), np.uint8))
        sink.write_at(position, data)
        position += len(data)
        held.clear()
        size = 0

    for line in heapq.merge(*lines, key=order.key):
        if unique:
            key = order.key(line)
            if last is not None and key == last:
                outcome.dropped += 1
                continue
            last = key
        held += (line, end)
        size += len(line) + 1
        if size >= _BLOCK:
            write()
    if held:
        write()
    outcome.counts[:] = [each.count for each in lines]
    outcome.written = position
    return outcome


class _Lines:
    """The lines of a source, one after the other. count: how many have been given."""

    def __init__(self, source: Source, end: bytes) -> None:
        self.count = 0
        self._source = source
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        rest: list[bytes] = []
        for start in range(0, self._source.size, _BLOCK):
            block = np.empty(min(_BLOCK, self._source.size - start), np.uint8)
            self._source.read_into(start, block)
            first, *lines = block.tobytes().split(self._end)
            rest.append(first)
            if lines:
                lines.insert(0, b"".join(rest))
                rest = [lines.pop()]
            for line in lines:
                self.count += 1
                yield line
