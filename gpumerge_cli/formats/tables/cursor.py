"""Rows of a table that are asked for from the first to the last: each is decoded once, in a bounded memory."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables.dictionaries import bytes_in_memory
from gpumerge_cli.formats.tables.spooled import Keep, spooled
from gpumerge_cli.formats.tables.table import Table
from gpumerge_cli.formats.tables.taking import rows_at

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 1 << 17
"""The most rows of a batch."""
_LARGEST_BATCH, _LEAST_BATCH = 16 << 20, 16 << 10
LEAST_OF_COLUMN = 1 << 9
"""The bytes of a column in a batch: each takes some time, whatever its rows are."""
LEAST_OPEN = 32 << 20
"""The bytes that readers of tables may hold, however small the memory is."""
_BATCHES = 4
"""A batch takes one of so many shares of the memory of its table."""


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


class KeptMemory:
    """The memory of batches that the cursors of several tables keep, and the same again of what their readers hold.

    most: bytes of the former. keep: where tables are spooled to if readers would hold more than that; None if never.
    """

    def __init__(self, most: int, tables: int, keep: Keep | None) -> None:
        self.batch_bytes = max(_LEAST_BATCH, min(_LARGEST_BATCH, most // _BATCHES // max(1, tables)))
        """The bytes of a batch."""
        self._most = most
        self._held = 0
        self._open = 0
        self._keep = keep
        self._spooling = threading.Lock()
        self._lock = threading.Lock()

    def is_over(self, change: int) -> bool:
        """Whether too much is held after a change by so many bytes."""
        with self._lock:
            self._held += change
            return self._held > self._most

    def opened(self, table: Table, nbytes: int, rows: int, columns: Sequence[str] | None) -> tuple[Table, bool]:
        """The table, and whether its reader counts until it is closed; one in a temporary file if it is too large.

        nbytes: those that its reader holds. rows: of a batch. columns: see Table.batches.
        """
        most = max(self._most, LEAST_OPEN)
        with self._lock:
            if self._keep is None or self._open + nbytes <= most:
                self._open += nbytes
                return table, True
        with self._spooling:
            return spooled(table, self._keep, most, rows, columns), False

    def close(self, nbytes: int) -> None:
        """Count a reader no longer."""
        with self._lock:
            self._open -= nbytes


class Cursor:
    """Takes rows from a table.

    columns: see Table.batches. again: rows may be asked for more than once, so that only memory limits the batches that
    are kept.
    """

    def __init__(
        self, table: Table, memory: KeptMemory, columns: Sequence[str] | None = None, *, again: bool = False
    ) -> None:
        self._again = again
        self._table = table
        self._memory = memory
        self._columns = columns
        self._rows = batch_rows(table, None, memory.batch_bytes)
        self._kept: list[_Kept] = []
        self._batches: Iterator[Any] = iter(())
        self._end = 0
        """The row behind the decoded ones."""
        self._lock = threading.Lock()
        self._begun = False
        self._open = 0
        """The bytes that its reader holds."""

    def taken(self, rows: NDArray[np.int64] | range) -> list[pa.RecordBatch]:
        """These rows, which ascend, in batches. From any thread. Raises InputError."""
        with self._lock:
            found = self._taken(rows)
        if sum(batch.num_rows for batch in found) == len(rows):
            return found
        other = Cursor(self._table.again(), self._memory, self._columns)
        try:
            return other._taken(rows)
        finally:
            other._close()
            other._forget()

    def _taken(self, rows: NDArray[np.int64] | range) -> list[pa.RecordBatch]:
        """The rows, but for those whose batches are not kept any more."""
        found, at = [], 0
        if isinstance(rows, range):
            for kept in self._covering(rows):
                low, high = max(rows.start, kept.start), min(rows.stop, kept.stop)
                found.append(kept.batch.slice(low - kept.start, high - low))
                kept.left -= 0 if self._again else high - low
            self._drop()
            return found
        for kept in self._covering(rows):
            at += int(np.searchsorted(rows[at:], kept.start))
            stop = int(np.searchsorted(rows[at:], kept.stop)) + at
            if stop == at:
                continue
            some = rows[at:stop] - kept.start
            at = stop
            if some[-1] - some[0] + 1 == len(some):
                found.append(kept.batch.slice(int(some[0]), len(some)))
            else:
                found.append(rows_at(kept.batch, some))
            kept.left -= 0 if self._again else len(some)
        self._drop()
        return found

    def _covering(self, rows: NDArray[np.int64] | range) -> Iterator[_Kept]:
        """The batches that hold rows, and others between them, decoded as they are needed."""
        low, high = int(rows[0]), int(rows[-1]) + 1
        for kept in list(self._kept):
            if kept.stop > low and kept.start < high:
                yield kept
        while self._end < high:
            self._go_to(int(rows[bisect_left(rows, self._end)]))
            batch = next(self._batches, None)
            if batch is None:
                what = f"it ends at row {self._end}, and says that it has {self._table.rows}"
                raise InputError(what, where=self._table.name, way_out="copy or write it again")
            kept = _Kept(self._end, batch)
            self._memory.is_over(kept.nbytes)
            self._end = kept.stop
            if kept.stop == self._table.rows:
                self._close()
            if kept.stop > low:
                self._kept.append(kept)
                yield kept
                self._drop()
            else:
                self._memory.is_over(-kept.nbytes)

    def _go_to(self, row: int) -> None:
        """Leave out groups that lie whole ahead of a row."""
        if not self._begun:
            nbytes = self._table.open_bytes(self._columns)
            self._table, counts = self._memory.opened(self._table, nbytes, self._rows, self._columns)
            self._open = nbytes if counts else 0
        starts = self._table.starts
        group = bisect_right(starts, row) - 1
        if not self._begun or (starts[group] > self._end and not self._table.reads_forward):
            self._batches = self._table.batches(self._columns, group, self._rows)
            self._end = starts[group]
            self._begun = True

    def _close(self) -> None:
        """Let its reader go."""
        self._batches = iter(())
        self._memory.close(self._open)
        self._open = 0

    def _forget(self) -> None:
        """Keep no batches any more."""
        self._memory.is_over(-sum(one.nbytes for one in self._kept))
        self._kept = []

    def _drop(self) -> None:
        """Drop batches that were asked for, and the oldest ones if too many are kept."""
        kept = [one for one in self._kept if one.left > 0]
        over = self._memory.is_over(-sum(one.nbytes for one in self._kept if one.left <= 0))
        while len(kept) > 1 and over:
            over = self._memory.is_over(-kept.pop(0).nbytes)
        self._kept = kept


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
