"""The rows of a chunk, of lines or of records: a prefix each, and their numbers in input order.

To compare two rows whose prefixes are equal, kernels are given `data`, `places` and `flags`. Of lines these are the
addresses of the text, of int64 line starts and of the order's table, a multiple of 8. Of records, `data` is the address
of the first record's key behind its prefix, `places` the bytes from one record to the next, and `flags`, shifted right
by TAIL, the bytes that there are to compare.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Bytes
from gpumerge_cli.backends.cpu.library import LIBRARY
from gpumerge_cli.backends.cpu.packing import WORDS, is_worth_it, packing_of, tells_all
from gpumerge_cli.backends.cpu.team import Team
from gpumerge_cli.lines import COMPARE_WORD, FOLLOWING_WORD, NUMERIC, PLAIN
from gpumerge_cli.order import Order

_SAMPLE, _SAMPLES = 64, 16  # neighbouring lines, and how many times those, that are looked at first
PADDING = 64
"""Bytes that may be read behind a chunk."""
GROUP = 1024
"""Rows whose bytes are counted together, where rows are to be put out by parts."""
RECORDS, DESCENDING = 1, 2
"""Flags of records."""
TAIL = 4

Numbers = NDArray[np.int64]


class Rows(Protocol):
    """The rows of one chunk at a time. Addresses that are handed out hold until the next chunk."""

    def index(self, room: Bytes, ends: list[int], team: Team) -> list[int]:
        """Find the rows of room[: ends[-1]]; returns the number of the first row of every run, and of the end."""

    def context(self) -> tuple[int, int, int, int]:
        """What keys.py wants of rows."""

    def numbers(self, first: int, last: int) -> Numbers:
        """first, first + 1, ... up to the one before `last`; the same memory for the same rows."""

    def merged(self) -> Numbers:
        """Room for the numbers of all rows."""

    def start_of(self, row: int) -> int:
        """Where a row starts in the chunk, in bytes."""

    def gather(self, rows: Numbers, out: Bytes, team: Team) -> int:
        """Copy the rows, in this order, to `out`; returns their bytes."""

    def edges(self, rows: Numbers, team: Team) -> NDArray[np.int64]:
        """Where each GROUP of the rows begins among their bytes, if they lie in this order; behind them, the end."""

    def copy(self, rows: Numbers, nbytes: int, out: Bytes) -> None:
        """Copy the rows, of `nbytes` in all, to the start of `out`. From any thread."""


def rows_of(order: Order) -> Rows:
    """What makes the rows of an order's items."""
    return RecordRows(order) if order.record else LineRows(order)


class _Table:
    """Prefixes and numbers for as many rows as needed."""

    def __init__(self) -> None:
        self.prefixes = np.empty(0, np.uint64)
        self._numbers = np.empty(0, np.int64)
        self._merged = np.empty(0, np.int64)
        self._count = 0

    def _grow(self, count: int) -> bool:
        """Room for `count` rows; whether what was there had to be given up."""
        self._count = count
        if count <= len(self.prefixes):
            return False
        room = count + count // 4
        self.prefixes = np.empty(room, np.uint64)
        self._numbers = np.empty(0, np.int64)
        self._merged = np.empty(room, np.int64)
        return True

    def numbers(self, first: int, last: int) -> Numbers:
        """See Rows."""
        if len(self._numbers) < self._count:  # what sorts does without them
            self._numbers = np.arange(len(self.prefixes), dtype=np.int64)
        return self._numbers[first:last]

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
        self._packing = np.empty(0, np.uint64)
        self._told = False  # whether prefixes tell all of their lines
        self._following = np.empty(0, np.uint64)  # of the lines' images, what follows the prefix

    def index(self, room: Bytes, ends: list[int], team: Team) -> list[int]:
        """See Rows."""
        text, stop = room.ctypes.data, ends[-1]
        self._text = room
        parts = team.pieces(stop)
        counts = team.run(LIBRARY.function("count_lines"), [(text, a, b, self._terminator) for a, b in parts])
        if self._grow(sum(counts)):
            self.starts = np.empty(len(self.prefixes) + 1, np.int64)
            self._following = np.empty(0 if self._simple else len(self.prefixes), np.uint64)
        starts, prefixes = self.starts.ctypes.data, self.prefixes.ctypes.data
        self.starts[0] = 0
        team.run(
            LIBRARY.function("find_lines"),
            [
                (text, a, b, self._terminator, starts, line)
                for (a, b), line in zip(parts, accumulate(counts, initial=1), strict=False)
            ],
        )
        table, pieces = self._table.ctypes.data, team.pieces(self._count)
        self._told = False
        packed: tuple[int, ...] = ()
        make = "make_prefixes" if self._simple else "make_key_prefixes"
        if self._table[0] & PLAIN and self._count:
            common_start = LIBRARY.function("common_start")
            # Pieces have a line in common, so that all lines have what the pieces have.
            found = team.run(common_start, [(text, starts, max(0, a - 1), b) for a, b in pieces])
            self._table[FOLLOWING_WORD] = min(found)
            if self._pack(text, starts, pieces, team):
                make, packed = "make_packed_prefixes", (self._packing.ctypes.data,)
        elif not self._simple:
            self._table[FOLLOWING_WORD] = self._following.ctypes.data
        told = team.run(LIBRARY.function(make), [(text, starts, a, b, table, *packed, prefixes) for a, b in pieces])
        if not self._table[0] & PLAIN:
            compare = "compare_last_resort" if all(told) else "compare_keyed"
            self._table[COMPARE_WORD] = LIBRARY.address(compare)
        if not self._simple:
            self._pack_images(pieces, team)
        return [int(np.searchsorted(self.starts[: self._count + 1], end)) for end in ends]

    def _pack(self, text: int, starts: int, pieces: list[tuple[int, int]], team: Team) -> bool:
        """Whether prefixes are to be packed; `_packing` says how then."""
        step = max(_SAMPLE, self._count // _SAMPLES)
        for some in ([(a, min(a + _SAMPLE, self._count)) for a in range(0, self._count, step)], pieces):
            masks = np.zeros((len(some), WORDS), np.uint64)
            skip = int(self._table[FOLLOWING_WORD])
            calls = [(text, starts, a, b, skip, masks[number].ctypes.data) for number, (a, b) in enumerate(some)]
            found = team.run(LIBRARY.function("differing_words"), calls)
            differing = np.bitwise_or.reduce(masks)
            if not is_worth_it("lines", differing):
                return False
        self._packing = packing_of(differing)
        self._told = tells_all(max(found), self._packing)
        return True

    def _pack_images(self, pieces: list[tuple[int, int]], team: Team) -> None:
        """Have prefixes hold what differs, of themselves and of what follows them."""
        images = self.prefixes.ctypes.data, self._following.ctypes.data
        differing_bits = LIBRARY.function("differing_bits-u8")
        masks = np.zeros(WORDS, np.uint64)
        for word, where in enumerate(images):
            found = team.run(differing_bits, [(where, a, b, 0, 0, 0, 0) for a, b in pieces])
            masks[word] = np.bitwise_or.reduce(np.array(found, np.int64)).view(np.uint64)
        if is_worth_it("images", masks):
            self._packing = packing_of(masks)
            packing = self._packing.ctypes.data
            team.run(LIBRARY.function("pack_images"), [(*images, a, b, packing) for a, b in pieces])

    def context(self) -> tuple[int, int, int, int]:
        """See Rows."""
        if self._told:  # as if they were records of a short key
            return self.prefixes.ctypes.data, 0, 0, RECORDS
        return self.prefixes.ctypes.data, self._text.ctypes.data, self.starts.ctypes.data, self._table.ctypes.data

    def start_of(self, row: int) -> int:
        """See Rows."""
        return int(self.starts[row])

    def gather(self, rows: Numbers, out: Bytes, team: Team) -> int:
        """See Rows."""
        if len(rows) == self._count and team.size == 1:
            nbytes = int(self.starts[self._count])
            self.copy(rows, nbytes, out)
            return nbytes
        edges = self.edges(rows, team)
        where = (self._text.ctypes.data, self.starts.ctypes.data, rows.ctypes.data)
        calls = [
            (*where, a * GROUP, min(b * GROUP, len(rows)), out.ctypes.data, int(edges[a]), int(edges[b]))
            for a, b in team.pieces(len(edges) - 1, GROUP)
        ]
        team.run(LIBRARY.function("gather"), calls)
        return int(edges[-1])

    def edges(self, rows: Numbers, team: Team) -> NDArray[np.int64]:
        """See Rows."""
        groups = -(-len(rows) // GROUP)
        edges = np.zeros(groups + 1, np.int64)
        where = (self.starts.ctypes.data, rows.ctypes.data, len(rows))
        calls = [(*where, a, b, GROUP, edges[1:].ctypes.data) for a, b in team.pieces(groups, GROUP)]
        team.run(LIBRARY.function("total_lengths"), calls)
        return np.cumsum(edges, out=edges)

    def copy(self, rows: Numbers, nbytes: int, out: Bytes) -> None:
        """See Rows."""
        where = (self._text.ctypes.data, self.starts.ctypes.data, rows.ctypes.data)
        LIBRARY.function("gather")(*where, 0, len(rows), out.ctypes.data, 0, nbytes)


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

    def edges(self, rows: Numbers, team: Team) -> NDArray[np.int64]:
        """See Rows."""
        return np.minimum(np.arange(0, len(rows) + GROUP, GROUP), len(rows)) * self._order.record

    def copy(self, rows: Numbers, nbytes: int, out: Bytes) -> None:
        """See Rows."""
        where = (self._data.ctypes.data, self._order.record, rows.ctypes.data)
        LIBRARY.function("gather_records")(*where, 0, len(rows), out.ctypes.data)
