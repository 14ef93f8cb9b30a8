"""A merge by looking at the inputs' first lines only, one after the other: what GNU sort -m does with any input.

Of sorted inputs it gives what every merge gives. Of others it gives what their users have always had from sort -m,
which says nothing of disorder: always the least of the inputs' next lines, of equal ones that of the first input.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import numpy as np

from gpumerge_cli.engine.stream import Outcome
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.order import Order

_BLOCK = 1 << 20


def merge_heads(sources: Sequence[Source], sink: Sink, order: Order, *, unique: bool) -> Outcome:
    """Merge lines to the sink. unique: of equal lines that follow each other the first."""
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
