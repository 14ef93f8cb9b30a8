"""The places of items in the files that users name, whose last line may lack its end and which may have been copied."""

from __future__ import annotations

import sys
from bisect import bisect, insort

from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.line_source import EndedSource, LineSource
from gpumerge_cli.plan import Chunk, FileChunk

_BLOCK = 1 << 20


class FilePlaces:
    """The places in all inputs."""

    def __init__(self, inputs: Inputs) -> None:
        self._sources = inputs.sources
        self._shown = inputs.written.shown
        self.in_rows = inputs.written.rows is not None
        """Whether files have rows, whose places are no bytes."""
        self._known = [[(0, 0)] for _ in inputs.sources]

    def ahead(self, number: int, position: int) -> int:
        """The bytes that an output has of the items ahead of a position of source `number`."""
        if self._shown is None:
            return position
        source, known = self._sources[number], self._known[number]
        start, nbytes = known[bisect(known, (position, sys.maxsize)) - 1]
        while start < position:
            stop = min(position, source.item_start(start + _BLOCK))
            lines = bytearray(stop - start)
            source.read_into(start, lines)
            nbytes += len(self._shown(bytes(lines)))
            start = stop
        insort(known, (position, nbytes))
        return nbytes

    def place(self, number: int, position: int) -> int | None:
        """The byte of the file, counted from its first item, at which the item at a position lies.

        None if that is unknown, or the file has rows instead.
        """
        if self.in_rows:
            return None
        source = self._sources[number]
        if not isinstance(source, LineSource):
            return min(position, source.held) if isinstance(source, EndedSource) else position
        if source.is_rearranged:
            return None
        place = source.place_in_file(position)
        if place is None:
            place = self.ahead(number, position) + source.skipped_ahead(position)
        return place if source.origin is None else min(place, source.origin)

    def piece(self, chunk: Chunk) -> FileChunk:
        """A chunk of the sources as it lies in the files, and in the output. Raises InputError if that is unknown."""
        ends = list(enumerate(chunk.ranges))
        if self.in_rows:  # each row has an item
            rows = tuple((self._sources[at].count(low), self._sources[at].count(high)) for at, (low, high) in ends)
            start, stop = (sum(one[at] for one in rows) for at in (0, 1))
            return FileChunk(rows, start, stop - start, in_rows=True)
        start, stop = (sum(self.ahead(number, low_high[at]) for number, low_high in ends) for at in (0, 1))
        ranges = tuple(
            (self._known_place(number, low), self._known_place(number, high)) for number, (low, high) in ends
        )
        return FileChunk(ranges, start, stop - start)

    def _known_place(self, number: int, position: int) -> int:
        place = self.place(number, position)
        if place is None:
            what = "it cannot be cut, because the merged records have other columns"
            raise InputError(what, where=self._sources[number].name, way_out="give all files the same columns")
        return place
