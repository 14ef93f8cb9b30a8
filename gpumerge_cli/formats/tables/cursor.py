"""Rows of a table that are asked for from the first to the last: each is decoded once, in a bounded memory."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.formats.tables.table import Table
from gpumerge_cli.formats.tables.taking import rows_at

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_ROWS = 1 << 17
"""The most rows of a batch."""


def batch_rows(table: Table, columns: list[str] | None, nbytes: int) -> int:
    """The rows of a batch of about `nbytes`."""
    each = table.bytes_of_rows(columns) / max(1, table.rows)
    return max(1, min(_MOST_ROWS, int(nbytes / max(1.0, each))))


class _Kept:
    """A decoded batch. start: its first row. left: the rows of it that nobody has asked for yet."""

    def __init__(self, start: int, batch: Any) -> None:
        self.start = start
        self.batch = batch
        self.left = batch.num_rows

    @property
    def stop(self) -> int:
        return self.start + int(self.batch.num_rows)


class Cursor:
    """Takes rows from a table. memory: bytes of batches that it may keep."""

    def __init__(self, table: Table, memory: int) -> None:
        self._table = table
        self._memory = memory
        self._rows = batch_rows(table, None, memory // 4)
        self._kept: list[_Kept] = []
        self._batches: Iterator[Any] = iter(())
        self._end = 0
        """The row behind the decoded ones."""
        self._lock = threading.Lock()
        self._begun = False

    def taken(self, rows: NDArray[np.int64]) -> list[pa.RecordBatch]:
        """These rows, which ascend, in batches. From any thread. Raises InputError."""
        with self._lock:
            found = self._taken(rows)
        if sum(batch.num_rows for batch in found) == len(rows):
            return found
        return Cursor(self._table.again(), self._memory)._taken(rows)

    def _taken(self, rows: NDArray[np.int64]) -> list[pa.RecordBatch]:
        """The rows, but for those whose batches are not kept any more."""
        found, at = [], 0
        for kept in self._covering(int(rows[0]), int(rows[-1]) + 1):
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
            kept.left -= len(some)
        self._drop()
        return found

    def _covering(self, low: int, high: int) -> Iterator[_Kept]:
        """The batches that hold the rows low:high, decoded as they are needed."""
        for kept in list(self._kept):
            if kept.stop > low and kept.start < high:
                yield kept
        while self._end < high:
            self._go_to(max(low, self._end))
            batch = next(self._batches)
            kept = _Kept(self._end, batch)
            self._end = kept.stop
            if kept.stop > low:
                self._kept.append(kept)
                yield kept
                self._drop()

    def _go_to(self, row: int) -> None:
        """Leave out groups that lie whole ahead of a row."""
        starts = self._table.starts
        group = bisect_right(starts, row) - 1
        if not self._begun or (starts[group] > self._end and not self._table.reads_forward):
            self._batches = self._table.batches(None, group, self._rows)
            self._end = starts[group]
            self._begun = True

    def _drop(self) -> None:
        """Drop batches that were asked for, and the oldest ones if too many are kept."""
        kept = [one for one in self._kept if one.left > 0]
        size = sum(one.batch.nbytes for one in kept)
        while len(kept) > 1 and size > self._memory:
            size -= kept.pop(0).batch.nbytes
        self._kept = kept


class RowsInMemory(Table):
    """Rows in memory, which may be asked for in any order. rows: a table whose columns are one chunk each."""

    def __init__(self, rows: pa.Table) -> None:
        self.name = "memory"
        self.schema = rows.schema
        self.group_rows = [rows.num_rows]
        self._rows = rows

    def taken(self, rows: NDArray[np.int64]) -> list[pa.RecordBatch]:
        """See Cursor."""
        found: list[pa.RecordBatch] = rows_at(self._rows, rows).to_batches()
        return found

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
