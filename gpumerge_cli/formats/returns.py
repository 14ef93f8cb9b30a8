"""Places of a file whose carriage returns were left out of a copy."""

from __future__ import annotations

from array import array

from gpumerge_cli.formats.input import SeekableInput


class Returns:
    """The carriage returns that the copy of a file lacks ahead of the ends of lines.

    end: that of a line. base: the bytes of the file ahead of its first item.
    """

    def __init__(self, end: bytes, base: int) -> None:
        self.ends = end
        """The bytes of the copy that stand for ends of lines, each of them alone."""
        self._end, self._base = end, base
        # Each piece begins at a byte of the copy and at a byte of the file; the last entries are the ends of both.
        self._starts, self._places = array("q", [0]), array("q", [0])
        self._mixed: dict[int, bytes] = {}  # for a piece with both ends: 1 for each line with a carriage return, else 0

    def note(self, data: bytes, bare: bytes) -> None:
        """Take the next piece of the file, and the bytes of it that are written."""
        if bare != data and len(data) - len(bare) < bare.count(self._end):
            self._mixed[len(self._starts) - 1] = bytes(line.endswith(b"\r") for line in data.split(self._end)[:-1])
        self._starts.append(self._starts[-1] + len(bare))
        self._places.append(self._places[-1] + len(data))

    def place(self, copy: SeekableInput, position: int) -> int:
        """The byte of the file, counted from its first item, that is byte `position` of the copy, header included."""
        position = min(position, self._starts[-1])
        from bisect import bisect_right  # a merge does not need it

        piece = bisect_right(self._starts, position) - 1
        start = self._starts[piece]
        left_out = 0
        if start < position and self._places[piece + 1] - self._places[piece] > self._starts[piece + 1] - start:
            data = copy.read_exactly(start, position - start)
            left_out = sum(data.count(end) for end in self.ends)
            if piece in self._mixed:
                left_out = sum(self._mixed[piece][:left_out])
        return self._places[piece] + position - start + left_out - self._base
