"""Rows of a table that are asked for from the first to the last: each is decoded once, in a bounded memory."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables.dictionaries import bytes_in_memory
from gpumerge_cli.formats.tables.kept_memory import KeptMemory
from gpumerge_cli.formats.tables.table import Table
from gpumerge_cli.formats.tables.taking import rows_at

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 1 << 17
"""The most rows of a batch."""
LEAST_OF_COLUMN = 1 << 9
"""The bytes of a column in a batch: each takes some time, whatever its rows are."""
_LEFT_BEHIND = 2
"""So many readers of rows ahead of those that are asked for stay open: threads may come back to them."""


def batch_rows(table: Table, columns: list[str] | None, nbytes: int) -> int:
    """The rows of a batch of about `nbytes`."""
    nbytes = max(nbytes, LEAST_OF_COLUMN * len(columns or table.schema))
    each = table.bytes_of_rows(columns) / max(1, table.rows) if columns else table.largest_rows(nbytes)
    return max(1, min(_MOST_ROWS, int(nbytes / max(1.0, each))))


class _Kept:
    """A decoded batch. start: its first row. left: the rows of it that nobody has asked for yet."""

    def __init__(self, start: int, batch: Any) -> None:
        self.start = start
        self.batch = batch
        self.left = batch.num_rows
        self.nbytes = bytes_in_memory(batch)

    @property
    def stop(self) -> int:
        return self.start + int(self.batch.num_rows)

    def taken(self, rows: NDArray[np.int64] | range) -> Any:
        """Some of its rows, which ascend."""
        first = int(rows[0])
        if int(rows[-1]) - first + 1 == len(rows):
            return self.batch.slice(first - self.start, len(rows))
        return rows_at(self.batch, np.asarray(rows) - self.start)


class _Lane:
    """A reader of consecutive rows, which one thread at a time decodes.

    stop: the row at which another lane began. open_bytes: those that count until it is closed.
    """

    def __init__(self, batches: Iterator[Any], start: int, stop: int, open_bytes: int) -> None:
        self.batches = batches
        self.start = self.end = start
        """The row behind the decoded ones."""
        self.stop = stop
        self.open_bytes = open_bytes
        self.is_busy = False
        self.last: _Kept | None = None
        """Its last batch, of which a thread takes some rows after others: it stays, however much is kept."""


class Cursor:
    """Takes rows from a table.

    columns: see Table.batches. again: rows may be asked for more than once, so that only memory limits the batches that
    are kept. unasked: groups whose rows are not asked for; None if nobody knows. Else a thread whose rows another one
    is decoding decodes rows of later groups meanwhile, as memory allows.
    """

    def __init__(
        self,
        table: Table,
        memory: KeptMemory,
        columns: Sequence[str] | None = None,
        *,
        again: bool = False,
        unasked: frozenset[int] | None = None,
    ) -> None:
        self._again = again
        self._table = table
        self._memory = memory
        self._columns = columns
        self._unasked = None if table.reads_forward else unasked
        self._rows = batch_rows(table, None, memory.batch_bytes)
        self._kept: list[_Kept] = []
        self._lanes: list[_Lane] = []
        """Those used last are at the end."""
        self._ended: deque[_Lane] = deque(maxlen=_LEFT_BEHIND)
        """Those closed last."""
        self._open_bytes: int | None = None
        """The bytes that a reader holds; None before the first one is opened."""
        self._changed = threading.Condition()

    def taken(self, rows: NDArray[np.int64] | range) -> list[pa.RecordBatch]:
        """These rows, which ascend, in batches. From any thread. Raises InputError."""
        found, at = [], 0
        while at < len(rows):
            kept = self._holding(int(rows[at]))
            stop = bisect_left(rows, kept.stop, at)
            found.append(kept.taken(rows[at:stop]))
            if not self._again:
                self._count(kept, stop - at)
            at = stop
        return found

    def _holding(self, row: int) -> _Kept:
        """A batch that has a row."""
        with self._changed:
            while True:
                for kept in chain(self._kept, self._last):
                    if kept.start <= row < kept.stop:
                        return kept
                lane, reserved = self._lane_to(row), False
                if lane.is_busy:
                    ahead = self._lane_ahead(lane)
                    if ahead is None:
                        self._changed.wait()
                        continue
                    lane, reserved = ahead, True
                kept = self._decoded(lane, reserved=reserved)
                if kept.start <= row < kept.stop:
                    return kept

    @property
    def _last(self) -> Iterator[_Kept]:
        """The last batches of readers."""
        return (one.last for one in chain(self._lanes, self._ended) if one.last is not None)

    def _count(self, kept: _Kept, rows: int) -> None:
        """Note that so many rows of a batch were taken. It is dropped once all are."""
        with self._changed:
            kept.left -= rows
            if kept.left > 0:
                return
            if kept in self._kept:
                self._kept.remove(kept)
                self._memory.is_over(-kept.nbytes)
            for lane in chain(self._lanes, self._ended):
                if lane.last is kept:
                    lane.last = None

    def _decoded(self, lane: _Lane, *, reserved: bool) -> _Kept:
        """The next batch of a lane, which is kept. reserved: memory was reserved for it."""
        lane.is_busy = True
        self._lanes.remove(lane)
        self._lanes.append(lane)
        self._changed.release()
        batch = None
        try:
            batch = next(lane.batches, None)
            if batch is None:
                what = f"it ends at row {lane.end}, and says that it has {self._table.rows}"
                raise InputError(what, where=self._table.name, way_out="copy or write it again")
        finally:
            self._changed.acquire()
            lane.is_busy = False
            if reserved:
                self._memory.is_over(-self._memory.batch_bytes)
            if batch is None:
                self._close(lane)
            self._changed.notify_all()
        kept = _Kept(lane.end, batch.slice(0, lane.stop - lane.end))
        lane.end, lane.last = kept.stop, kept
        if lane.end >= lane.stop:
            self._close(lane)
        if kept.left:
            self._keep(kept)
        return kept

    def _keep(self, kept: _Kept) -> None:
        """Keep a batch, and drop others if too much is kept: first those whose rows were asked for long ago."""
        over = self._memory.is_over(kept.nbytes)
        while over and self._kept:
            oldest = min(self._kept, key=lambda one: one.start)
            self._kept.remove(oldest)
            over = self._memory.is_over(-oldest.nbytes)
        self._kept.append(kept)

    def _lane_to(self, row: int) -> _Lane:
        """The lane that comes to a row next, which is opened if there is none."""
        if self._open_bytes is None:
            nbytes = self._table.open_bytes(self._columns)
            self._table, counts = self._memory.opened(self._table, nbytes, self._rows, self._columns)
            self._open_bytes = nbytes if counts else 0
            if not counts:
                self._unasked = None
            return self._opened(bisect_right(self._table.starts, row) - 1)
        starts, forward = self._table.starts, self._table.reads_forward
        group = bisect_right(starts, row) - 1
        first = 0 if forward else min(starts[group], row - self._rows)
        found = [one for one in self._lanes if first <= one.end <= row < one.stop]
        if found:
            return max(found, key=lambda one: one.end)
        behind = [one for one in self._lanes if one.end < first and not one.is_busy]
        for lane in behind[: max(0, len(behind) - _LEFT_BEHIND)]:
            self._close(lane)
        self._memory.count(self._open_bytes)
        return self._opened(group)

    def _lane_ahead(self, busy: _Lane) -> _Lane | None:
        """A lane behind a busy one that may decode a batch of rows which nobody has asked for yet, if there is one.

        Memory for the batch is reserved.
        """
        if self._unasked is None:
            return None
        assert self._open_bytes is not None, "a lane is busy"
        ahead = sorted((one for one in self._lanes if one.end > busy.end), key=lambda one: one.end)
        idle = next((one for one in ahead if not one.is_busy), None)
        if idle is not None:
            return idle if self._memory.reserve() else None
        starts = self._table.starts
        group = bisect_left(starts, [busy, *ahead][-1].end + self._rows)
        while group < len(starts) - 1 and (group in self._unasked or starts[group] == starts[group + 1]):
            group += 1
        if group >= len(starts) - 1 or not self._memory.reserve():
            return None
        if not self._memory.may_open(self._open_bytes):
            self._memory.is_over(-self._memory.batch_bytes)
            return None
        return self._opened(group)

    def _opened(self, group: int) -> _Lane:
        """A new lane from a group on. The lanes ahead of it end there."""
        assert self._open_bytes is not None, "the first reader was opened"
        start = self._table.starts[group]
        stop = min((one.start for one in self._lanes if one.start > start), default=self._table.rows)
        for lane in self._lanes:
            if lane.end <= start:
                lane.stop = min(lane.stop, start)
        table = self._table.again() if self._lanes else self._table
        lane = _Lane(table.batches(self._columns, group, self._rows), start, stop, self._open_bytes)
        self._lanes.append(lane)
        return lane

    def _close(self, lane: _Lane) -> None:
        """Let a reader go."""
        if lane in self._lanes:
            self._lanes.remove(lane)
            lane.batches = iter(())
            self._ended.append(lane)
            self._memory.close(lane.open_bytes)


class RowsInMemory(Table):
    """Rows in memory, which may be asked for in any order. rows: a table whose columns are one chunk each."""

    def __init__(self, rows: pa.Table) -> None:
        self.name = "memory"
        self.schema = rows.schema
        self.group_rows = [rows.num_rows]
        self._rows = rows

    def taken(self, rows: NDArray[np.int64] | range) -> list[pa.RecordBatch]:
        """See Cursor."""
        if isinstance(rows, range):
            return list(self._rows.slice(rows.start, len(rows)).to_batches())
        found: list[pa.RecordBatch] = rows_at(self._rows, rows).to_batches()
        return found

    def only(self, columns: Sequence[str]) -> RowsInMemory:
        """The same rows with some of their columns."""
        return RowsInMemory(self._rows.select(columns))

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        yield from (self._rows if columns is None else self._rows.select(columns)).to_batches(rows)

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        return True

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return int(self._rows.nbytes)

    def again(self) -> RowsInMemory:
        """See Table."""
        return self
