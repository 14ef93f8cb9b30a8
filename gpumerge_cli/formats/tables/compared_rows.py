"""The pairs of rows with equal keys in a diff of tables: which of them have changed, and in which columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.tables.cursor import Cursor, batch_rows
from gpumerge_cli.formats.tables.kept_memory import KeptMemory
from gpumerge_cli.formats.tables.references import places, references_of
from gpumerge_cli.formats.tables.same_values import Path, Same, same_values
from gpumerge_cli.formats.tables.spooled import Keep
from gpumerge_cli.formats.tables.table import Table, arrow_errors
from gpumerge_cli.order.differences import MARKS
from gpumerge_cli.order.rules import NUL

_ROW_MARKS = b"".join(mark.encode() for mark in MARKS)
"""The byte ahead of an item for each of MARKS."""
_CHANGED_FROM = 2


@dataclass(frozen=True)
class ComparedColumn:
    """A column of the tables that a diff compares."""

    number: int
    """Its number in their schema."""
    ignored: tuple[Path, ...] = ()
    """Fields of structs in it that are not compared."""


class MarkedItems:
    """The items of a diff's result. items: whole ones. item_bytes: those of an item behind its mark, 0 for lines."""

    def __init__(self, items: Bytes, item_bytes: int) -> None:
        self._data: Any = np.frombuffer(items, np.uint8)
        if item_bytes:
            self._data = self._data.reshape(-1, 1 + item_bytes)
            marks = self._data[:, 0]
        else:
            self._ends = np.flatnonzero(self._data == NUL) + 1
            marks = self._data[np.concatenate([[0], self._ends[:-1]])] if len(self._ends) else self._data
        self.marks = np.zeros(len(marks), np.uint8)
        """The number of each item's mark in MARKS."""
        for number, byte in enumerate(_ROW_MARKS):
            self.marks[marks == byte] = number
        self.references = references_of(items, 1 + item_bytes if item_bytes else 0)
        """The reference of each item."""
        self._is_fixed = item_bytes > 0

    @property
    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(the number of the first item, the old row, the new row) of each pair of items."""
        firsts = np.flatnonzero(self.marks == _CHANGED_FROM)
        old, new = (places(self.references[firsts + at])[1] for at in (0, 1))
        return firsts, old, new

    def kept(self, mask: Same) -> Bytes:
        """The items for which `mask` is true, in memory of their own."""
        of_bytes = mask if self._is_fixed else np.repeat(mask, np.diff(self._ends, prepend=0))
        found: Any = np.ascontiguousarray(self._data[of_bytes]).reshape(-1)
        return memoryview(found)


class RowPairs:
    """Compares old rows with new ones.

    tables: of one schema. columns: those that are compared. whole: all columns are decoded, so that the rows that have
    changed can be taken from the same cursors. memory, keep: see KeptMemory. item_bytes: of an item, 0 for lines.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        columns: Sequence[ComparedColumn],
        memory: int,
        keep: Keep | None,
        item_bytes: int,
        *,
        whole: bool,
    ) -> None:
        self.columns = columns
        self.schema = tables[0].schema
        self._item_bytes = item_bytes
        self._name = tables[0].name
        names = [self.schema.names[column.number] for column in columns]
        is_part = not whole and len(set(self.schema.names)) == len(self.schema)
        self._numbers = list(range(len(columns))) if is_part else [column.number for column in columns]
        self._read = names if is_part else None
        kept = KeptMemory(memory, len(tables), keep)
        self.cursors = [Cursor(table, kept, self._read, again=True) for table in tables]
        self._most = min(batch_rows(table, self._read, kept.batch_bytes) for table in tables)
        self._writes = whole

    def changed_items(self, items: Bytes) -> tuple[Bytes, int]:
        """The whole items of a result without the pairs of rows that are the same, and the number of these pairs.

        None remain if the result is only counted. Raises InputError.
        """
        marked = MarkedItems(items, self._item_bytes)
        firsts, old, new = marked.pairs
        if not len(firsts):
            return items if self._writes else b"", 0
        same = firsts[~self.changed(old, new)]
        if not self._writes:
            return b"", len(same)
        mask = np.ones(len(marked.marks), np.bool_)
        mask[same] = mask[same + 1] = False
        return marked.kept(mask), len(same)

    def changed(self, old: NDArray[np.int64], new: NDArray[np.int64]) -> Same:
        """Whether rows of the old table differ from those of the new one. Both ascend. Raises InputError."""
        found = np.zeros(len(old), np.bool_)
        if not self.columns:
            return found
        for low, rows, others in self.side_by_side(old, new):
            part = found[low : low + rows.num_rows]
            for column, number in zip(self.columns, self._numbers, strict=True):
                part |= ~same_values(rows.column(number), others.column(number), column.ignored)
        return found

    def side_by_side(
        self, old: NDArray[np.int64], new: NDArray[np.int64]
    ) -> Iterator[tuple[int, pa.RecordBatch, pa.RecordBatch]]:
        """(the number of the first row, old rows, new rows): as many of each, from the first one to the last."""
        with arrow_errors(self._name):
            for at in range(0, len(old), self._most):
                taken = [
                    cursor.taken(_as_range(rows[at : at + self._most]))
                    for cursor, rows in zip(self.cursors, (old, new), strict=True)
                ]
                done = 0
                for pair in _aligned(*taken):
                    yield at + done, *pair
                    done += pair[0].num_rows


def _as_range(rows: NDArray[np.int64]) -> NDArray[np.int64] | range:
    """Rows that ascend, as a range if they follow each other."""
    low, high = int(rows[0]), int(rows[-1]) + 1
    return range(low, high) if high - low == len(rows) else rows


def _aligned(
    a: Sequence[pa.RecordBatch], b: Sequence[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """The rows of batches in pairs of batches that have as many."""
    edges = sorted({0, *np.cumsum([one.num_rows for one in a]), *np.cumsum([one.num_rows for one in b])})
    sides = [_cut(batches, edges) for batches in (a, b)]
    yield from zip(*sides, strict=True)


def _cut(batches: Sequence[pa.RecordBatch], edges: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The rows of batches, cut at edges, among which are those of all batches."""
    number = at = 0
    for low, high in pairwise(edges):
        while low >= at + batches[number].num_rows:
            at += batches[number].num_rows
            number += 1
        yield batches[number].slice(low - at, high - low)
