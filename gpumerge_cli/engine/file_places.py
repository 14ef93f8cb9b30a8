"""The places of items in the files that users name, whose last line may lack its end and which may have been copied."""

from __future__ import annotations

import sys
from bisect import bisect, insort

from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.line_source import EndedSource, LineSource
from gpumerge_cli.plan import Chunk, FileChunk

_BLOCK = 1 << 20


class FilePlaces:
    """The places in all inputs."""

    def __init__(self, inputs: Inputs) -> None:
        self._sources = inputs.sources
        self._shown = inputs.written.shown
        self._known = [[(0, 0)] for _ in inputs.sources]

    def ahead(self, number: int, position: int) -> int:
        """The bytes of the items ahead of a position of source `number`, the end of each included."""
        source = self._sources[number]
        if self._shown is None or _origin_of(source) is None:
            return position
        known = self._known[number]
        start, nbytes = known[bisect(known, (position, sys.maxsize)) - 1]
        while start < position:
            stop = min(position, source.item_start(start + _BLOCK))
            lines = bytearray(stop - start)
            source.read_into(start, lines)
            nbytes += len(self._shown(bytes(lines)))
            start = stop
        insort(known, (position, nbytes))
        return nbytes

    def place(self, number: int, position: int) -> int:
        """The byte of the file, counted from its first item, at which the item at a position lies."""
        source = self._sources[number]
        held = source.held if isinstance(source, EndedSource) else source.size
        origin = _origin_of(source)
        skipped = source.skipped_ahead(position) if isinstance(source, LineSource) else 0
        return min(self.ahead(number, position) + skipped, held if origin is None else origin)

    def piece(self, chunk: Chunk) -> FileChunk:
        """A chunk of the sources as it lies in the files, and in the output."""
        ends = list(enumerate(chunk.ranges))
        start, stop = (sum(self.ahead(number, low_high[at]) for number, low_high in ends) for at in (0, 1))
        ranges = tuple((self.place(number, low), self.place(number, high)) for number, (low, high) in ends)
        return FileChunk(ranges, start, stop - start)


def _origin_of(source: Source) -> int | None:
    return source.origin if isinstance(source, LineSource) else None
