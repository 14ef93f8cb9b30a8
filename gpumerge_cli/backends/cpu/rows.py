"""The rows of a chunk, of lines or of records: a prefix each, and their numbers in input order.

To compare two rows whose prefixes are equal, kernels are given `data`, `places` and `flags`. Of lines these are the
addresses of the text, of int64 line starts and of the order's table, a multiple of 8. Of records, `data` is the address
of the first record's key behind its prefix, `places` the bytes from one record to the next, and `flags`, shifted right
by TAIL, the bytes that there are to compare.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Bytes
from gpumerge_cli.backends.cpu.library import LIBRARY
from gpumerge_cli.backends.cpu.team import Team
from gpumerge_cli.lines import COMPARE_WORD, FOLLOWING_WORD, NUMERIC, PLAIN
from gpumerge_cli.order import Order

PADDING = 16
"""Bytes that may be read behind a chunk."""
RECORDS, DESCENDING = 1, 2
"""Flags of records."""
TAIL = 4

Numbers = NDArray[np.int64]


class Rows(Protocol):
    """The rows of one chunk at a time. Addresses that are handed out hold until the next chunk."""

    numbers: Numbers
    """0, 1, 2, ... for at least as many rows as there are."""

    def index(self, room: Bytes, ends: list[int], team: Team) -> list[int]:
        """Find the rows of room[: ends[-1]]; returns the number of the first row of every run, and of the end."""

    def context(self) -> tuple[int, int, int, int]:
        """What keys.py wants of rows."""

    def merged(self) -> Numbers:
        """Room for the numbers of all rows."""

    def start_of(self, row: int) -> int:
        """Where a row starts in the chunk, in bytes."""

    def gather(self, rows: Numbers, out: Bytes, team: Team) -> int:
        """Copy the rows, in this order, to `out`; returns their bytes."""


def rows_of(order: Order) -> Rows:
    """What makes the rows of an order's items."""
    return RecordRows(order) if order.record else LineRows(order)


class _Table:
    """Prefixes and numbers for as many rows as needed."""

    def __init__(self) -> None:
        self.prefixes = np.empty(0, np.uint64)
        self.numbers = np.empty(0, np.int64)
        self._merged = np.empty(0, np.int64)
        self._count = 0

    def _grow(self, count: int) -> bool:
        """Room for `count` rows; whether what was there had to be given up."""
        self._count = count
        if count <= len(self.numbers):
            return False
        room = count + count // 4
        self.prefixes = np.empty(room, np.uint64)
        self.numbers = np.arange(room, dtype=np.int64)
        self._merged = np.empty(room, np.int64)
        return True

    def merged(self) -> Numbers:
        """See Rows."""
        return self._merged[: self._count]


class LineRows(_Table):
    """See Rows."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self.starts = np.empty(1, np.int64)
        self._text = np.empty(0, np.uint8)
        assert order.text is not None
        self._terminator = order.text.terminator
        self._table = order.text.table()
        self._simple = bool(self._table[0] & (PLAIN | NUMERIC))
        self._following = np.empty(0, np.uint64)  # of the lines' images, what follows the prefix
        if not self._table[0] & PLAIN:
            self._table[COMPARE_WORD] = LIBRARY.address("compare_keyed")

    def index(self, room: Bytes, ends: list[int], team: Team) -> list[int]:
        """See Rows."""
        text, stop = room.ctypes.data, ends[-1]
        self._text = room
        if self._grow(LIBRARY.function("count_lines")(text, stop, self._terminator)):
            self.starts = np.empty(len(self.numbers) + 1, np.int64)
            self._following = np.empty(0 if self._simple else len(self.numbers), np.uint64)
        starts, prefixes = self.starts.ctypes.data, self.prefixes.ctypes.data
        LIBRARY.function("find_lines")(text, stop, self._terminator, starts)
        table, pieces = self._table.ctypes.data, team.pieces(self._count)
        if self._table[0] & PLAIN and self._count:
            common_start = LIBRARY.function("common_start")
            # Pieces have a line in common, so that all lines have what the pieces have.
            found = team.run(common_start, [(text, starts, max(0, a - 1), b) for a, b in pieces])
            self._table[FOLLOWING_WORD] = min(found)
        elif not self._simple:
            self._table[FOLLOWING_WORD] = self._following.ctypes.data
        make_prefixes = LIBRARY.function("make_prefixes" if self._simple else "make_key_prefixes")
        team.run(make_prefixes, [(text, starts, a, b, table, prefixes) for a, b in pieces])
        return [int(np.searchsorted(self.starts[: self._count + 1], end)) for end in ends]

    def context(self) -> tuple[int, int, int, int]:
        """See Rows."""
        return self.prefixes.ctypes.data, self._text.ctypes.data, self.starts.ctypes.data, self._table.ctypes.data

    def start_of(self, row: int) -> int:
        """See Rows."""
        return int(self.starts[row])

    def gather(self, rows: Numbers, out: Bytes, team: Team) -> int:
        """See Rows."""
        pieces = team.pieces(len(rows))
        starts, numbers = self.starts.ctypes.data, rows.ctypes.data
        lengths = team.run(LIBRARY.function("total_length"), [(starts, numbers, a, b) for a, b in pieces])
        edges = np.cumsum([0, *lengths]).tolist()
        where = (self._text.ctypes.data, starts, numbers)
        calls = [(*where, a, b, out.ctypes.data, *into) for (a, b), into in zip(pieces, pairwise(edges), strict=True)]
        team.run(LIBRARY.function("gather"), calls)
        return int(edges[-1])


class RecordRows(_Table):
    """See Rows."""

    def __init__(self, order: Order) -> None:
        super().__init__()
        self._order = order
        self._data = np.empty(0, np.uint8)

    def index(self, room: Bytes, ends: list[int], team: Team) -> list[int]:
        """See Rows."""
        order, record = self._order, self._order.record
        self._data = room
        self._grow(ends[-1] // record)
        key = (order.prefix_bytes, order.big_endian, order.flip, order.infinity or 0, self.prefixes.ctypes.data)
        make_prefixes = LIBRARY.function("make_record_prefixes")
        keys = room.ctypes.data + order.offset
        team.run(make_prefixes, [(keys, record, a, b, *key) for a, b in team.pieces(self._count)])
        return [end // record for end in ends]

    def context(self) -> tuple[int, int, int, int]:
        """See Rows."""
        order = self._order
        flags = RECORDS | DESCENDING * order.descending | (order.width - order.prefix_bytes) << TAIL
        tails = self._data.ctypes.data + order.offset + order.prefix_bytes
        return self.prefixes.ctypes.data, tails, order.record, flags

    def start_of(self, row: int) -> int:
        """See Rows."""
        return row * self._order.record

    def gather(self, rows: Numbers, out: Bytes, team: Team) -> int:
        """See Rows."""
        record, numbers = self._order.record, rows.ctypes.data
        calls = [(self._data.ctypes.data, record, numbers, a, b, out.ctypes.data) for a, b in team.pieces(len(rows))]
        team.run(LIBRARY.function("gather_records"), calls)
        return len(rows) * record
