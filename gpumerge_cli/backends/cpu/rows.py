"""The rows of a chunk of text: where each line starts, its prefix, and its number in input order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Bytes
from gpumerge_cli.backends.cpu.library import LIBRARY
from gpumerge_cli.backends.cpu.team import Team
from gpumerge_cli.order import Order

PADDING = 16
"""Bytes that may be read behind a text."""
NUMERIC, DESCENDING, STABLE = 1, 2, 4
"""Flags of an order of lines."""


class Rows:
    """The lines of one chunk at a time; its arrays grow when needed."""

    def __init__(self) -> None:
        self.starts = np.empty(1, np.int64)
        self.prefixes = np.empty(0, np.uint64)
        self.lines = np.empty(0, np.int64)
        self._merged = np.empty(0, np.int64)
        self._text = np.empty(0, np.uint8)
        self._flags = 0
        self._count = 0

    def index(self, room: Bytes, ends: list[int], order: Order, team: Team) -> list[int]:
        """Find the lines of room[: ends[-1]]; returns the number of the first line of every run, and of the end."""
        text, stop = room.ctypes.data, ends[-1]
        self._text = room
        numeric, descending = order.kind == "numeric", order.descending
        self._flags = NUMERIC * numeric | DESCENDING * descending | STABLE * order.stable
        self._count = LIBRARY.function("count_lines")(text, stop)
        if self._count > len(self.lines):
            room_for = self._count + self._count // 4
            self.starts = np.empty(room_for + 1, np.int64)
            self.prefixes = np.empty(room_for, np.uint64)
            self.lines = np.arange(room_for, dtype=np.int64)
            self._merged = np.empty(room_for, np.int64)
        starts, prefixes = self.starts.ctypes.data, self.prefixes.ctypes.data
        LIBRARY.function("find_lines")(text, stop, starts)
        make_prefixes = LIBRARY.function("make_prefixes")
        team.run(make_prefixes, [(text, starts, a, b, self._flags, prefixes) for a, b in team.pieces(self._count)])
        return [int(np.searchsorted(self.starts[: self._count + 1], end)) for end in ends]

    def context(self) -> tuple[int, int, int, int]:
        """What keys.py wants of rows; valid as long as these arrays live."""
        return self.prefixes.ctypes.data, self._text.ctypes.data, self.starts.ctypes.data, self._flags

    def merged(self) -> NDArray[np.int64]:
        """Room for the numbers of all lines."""
        return self._merged[: self._count]

    def gather(self, lines: NDArray[np.int64], out: Bytes, team: Team) -> int:
        """Copy the lines, in this order, to `out`; returns their bytes."""
        pieces = team.pieces(len(lines))
        starts, numbers = self.starts.ctypes.data, lines.ctypes.data
        lengths = team.run(LIBRARY.function("total_length"), [(starts, numbers, a, b) for a, b in pieces])
        edges = np.cumsum([0, *lengths]).tolist()
        where = (self._text.ctypes.data, starts, numbers)
        calls = [(*where, a, b, out.ctypes.data, *into) for (a, b), into in zip(pieces, pairwise(edges), strict=True)]
        team.run(LIBRARY.function("gather"), calls)
        return int(edges[-1])
