"""The sink of rows: pieces of items become groups of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.formats.sink import ItemSink
from gpumerge_cli.formats.tables.dictionaries import (
    bytes_in_memory,
    dictionary_bytes,
    one_table,
    rows_without_unused,
    table_of,
    without_dictionaries,
)  # fmt: skip
from gpumerge_cli.formats.tables.gather import Gather, WholeGroup
from gpumerge_cli.formats.tables.item_rows import ItemRows
from gpumerge_cli.formats.tables.join_gather import JoinGather
from gpumerge_cli.formats.tables.numbered import NumberColumn
from gpumerge_cli.formats.tables.summed import RowGroups, SumColumns, SummedRows
from gpumerge_cli.formats.tables.table import CopyingWriter, TableWriter
from gpumerge_cli.formats.tables.utf8 import check_utf8

RowPart = tuple[Any, bool]
"""(an encoded group or a WholeGroup that is copied, True) or (a table that waits for others, False)."""
_FEW = 64
"""So few rows are gathered at once first, and where large ones may follow any row."""
_UNEVEN = 4
"""Rows that are so many times smaller than the mean of all say that large ones follow."""
_GROUPS_AHEAD, _LEAST_AHEAD = 2, 4 << 20
"""A thread encodes the bytes of so many groups ahead of their turn, or so many bytes if that is more."""
_LEAST = 4
"""A piece of so many times fewer rows than a group waits for others."""


class RowPiece:
    """Rows of an output: as groups that are encoded, as rows that wait for others, or as what is to be gathered."""

    def __init__(self, parts: list[RowPart], left: Iterator[RowPart], nbytes: int) -> None:
        self.parts = parts
        self.left = left
        """Those behind, each made as it is asked for: all together may be larger than the memory."""
        self._nbytes = nbytes

    def __len__(self) -> int:
        return self._nbytes


class GroupSink(ItemSink):
    """Pieces of rows to an output. See formats.base.Sink.

    writer: makes the file. rows, nbytes: the most rows of a group, and bytes of its values in memory.
    """

    def __init__(self, output: Any, writer: TableWriter, rows: int, nbytes: int, *, line_end: int | None) -> None:
        super().__init__(output, compress=lambda data: data, line_end=line_end)
        self.seekable = False
        self._writer = writer
        self._rows, self._most_bytes = rows, nbytes
        self._most_waiting = nbytes
        """The most bytes of rows that wait."""
        self._at = 0
        self._waiting: list[Any] = []
        self._waiting_rows = self._waiting_bytes = 0
        self._write(writer.head)

    def _is_whole(self, rows: int, nbytes: int = 0) -> bool:
        """Whether so many rows, or bytes of them, are enough for a group."""
        return rows * _LEAST >= self._rows or nbytes * _LEAST >= self._most_bytes

    def write_at(self, start: int, data: Any) -> None:
        """See Sink."""
        for part, is_encoded in chain(data.parts, data.left):
            if is_encoded:
                self._flush()
                self._append(part)
                continue
            nbytes = bytes_in_memory(part) + dictionary_bytes(part, set())
            if self._waiting_rows + part.num_rows > self._rows or self._waiting_bytes + nbytes > self._most_waiting:
                self._flush()
            self._waiting.append(part)
            self._waiting_rows += part.num_rows
            self._waiting_bytes += nbytes

    def add(self, groups: Iterable[tuple[Any, Bytes]]) -> None:
        """Write groups that another process has encoded: the facts and bytes of each, see TableWriter.detached."""
        for facts, data in groups:
            self._append(self._writer.attached(facts, data))

    def finish(self, *, nbytes: int | None = None, count: int | None = None, durable: bool = False) -> None:
        """See Sink."""
        if self._finished:
            return
        self._flush()
        self._write(self._writer.end(self._at))
        self._output.finish(durable=durable)
        self._finished = True

    def _flush(self) -> None:
        """Write the rows that wait."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._waiting_rows = self._waiting_bytes = 0
            self._append(self._writer.encoded(one_table(waiting)))

    def _append(self, group: Any) -> None:
        if isinstance(group, WholeGroup):
            assert isinstance(self._writer, CopyingWriter), "of a group that it takes"
            for data in self._writer.copied(group.table, group.group, self._at):
                self._write(data)
            return
        self._write(self._writer.appended(group, self._at))

    def _write(self, data: Bytes) -> None:
        if len(data):
            self._output.write_at(self._at, data)
            self._at += len(data)


class RowSink(GroupSink):
    """Items to an output of rows. See formats.base.Sink.

    gather: finds the rows. writer: makes the file.
    """

    def __init__(self, output: Any, gather: Gather | JoinGather, writer: TableWriter, *, line_end: int | None) -> None:
        super().__init__(output, writer, gather.group_rows, gather.group_bytes, line_end=line_end)
        self._gather: Any = gather
        self._ahead = max(self._rows, gather.piece_rows)
        self._ahead_bytes = max(_LEAST_AHEAD, _GROUPS_AHEAD * min(gather.large_bytes, gather.group_bytes))
        self._most_waiting = self._ahead_bytes
        self._checks_utf8 = writer.needs_utf8 and not all(table.has_utf8 for table in gather.inputs)

    def encode(self, data: Bytes, numbers: Bytes | None = None) -> RowPiece:
        """See Sink. numbers: those of the items, if a column is made of them."""
        wanted = self._gather.wanted(data)
        if len(wanted) > self._ahead:
            wanted = wanted.copied()
        if numbers is None:
            return self._piece(wanted, None, len(data))
        column = self._gather.numbered
        assert isinstance(column, NumberColumn), "the engine has numbers for a column"
        of_rows = np.array(np.frombuffer(numbers, np.int64))
        kept = column.kept(of_rows)
        return self._piece(*((wanted, of_rows) if kept is None else (wanted.kept(kept), of_rows[kept])), len(data))

    def grouped(self, data: Bytes, follows: Bytes) -> RowGroups:
        """The groups of equal rows in whole items. follows: int64, 1 for one that belongs to the group ahead of it."""
        columns = self._gather.numbered
        assert isinstance(columns, SumColumns), "the engine sums columns"
        flags = np.array(np.frombuffer(follows, np.int64))
        return columns.groups(self._gather.wanted(data).copied(), flags, self._gather.values)

    def encode_groups(self, rows: SummedRows, nbytes: int) -> RowPiece:
        """Rows with sums as `encode` makes them. nbytes: what they count as."""
        return self._piece(rows.wanted, rows.sums, nbytes)

    def _piece(self, wanted: Any, of_rows: Any, nbytes: int) -> RowPiece:
        """The rows as a piece of the output. of_rows: their numbers, see _gathered; None for no column."""
        parts: list[RowPart] = []
        made, rows = self._made(wanted, of_rows), 0
        for part, is_encoded, count in made:
            parts.append((part, is_encoded))
            rows += count
            if rows >= self._ahead:
                break
        return RowPiece(parts, ((part, is_encoded) for part, is_encoded, _ in made), nbytes)

    def _made(self, wanted: Any, numbers: Any) -> Iterator[tuple[Any, bool, int]]:
        """The parts of a piece, and the rows ahead that each counts as. numbers: see _rows_of; None for no column."""
        if numbers is not None:
            for at in range(0, len(wanted), self._rows):
                yield from self._gathered(wanted.part(at, at + self._rows), numbers[at : at + self._rows])
            return
        for part in self._gather.parts(wanted, self._rows):
            if not isinstance(part, WholeGroup):
                yield from self._gathered(part)
            elif self._writer.takes(part.table, part.group):
                yield part, True, 0
            else:
                for some in part.wanted(self._rows):
                    yield from self._gathered(some)

    def _size(self, wanted: Any) -> int:
        """The rows in memory, more than they are if some are large."""
        return max(len(wanted), int(self._rows * wanted.nbytes / self._gather.group_bytes))

    def _gathered(self, found: Any, numbers: Any = None) -> Iterator[tuple[Any, bool, int]]:
        """The rows of some items, encoded if they are enough for a group. numbers: those of the rows."""
        if not self._is_uneven:
            size, rows = self._size(found), self._rows_of(found, numbers)
            nbytes = bytes_in_memory(rows)
            yield (*self._part(rows, whole=self._is_whole(size)), self._share_ahead(size, nbytes))
            return
        for some in self._limited(found, numbers):
            batches = [batch for rows in some for batch in rows.to_batches()]
            rows = some[0] if len(some) == 1 else table_of(batches, self._gather.output_schema)
            nbytes = bytes_in_memory(rows)
            size = max(rows.num_rows, int(self._rows * nbytes / self._gather.large_bytes))
            yield (*self._part(rows, whole=self._is_whole(size)), self._share_ahead(size, nbytes))

    def _share_ahead(self, rows: int, nbytes: int) -> int:
        """So many of the rows that are made ahead do these count as. nbytes: of them in memory."""
        return max(rows, int(self._ahead * nbytes / self._ahead_bytes))

    def _limited(self, found: Any, numbers: Any) -> Iterator[list[Any]]:
        """The rows by parts whose bytes are limited. They depend on the rows alone.

        Rows are gathered a few at a time where their bytes so far are much less than those of all rows on average.
        """
        most, mean = self._gather.large_bytes, self._gather.mean_bytes
        held: list[Any] = []
        size = seen = at = 0
        step = _FEW
        while at < len(found):
            stop = min(at + step, len(found))
            rows = self._rows_of(found.part(at, stop), None if numbers is None else numbers[at:stop])
            nbytes = bytes_in_memory(rows)
            if held and size + nbytes > most:
                yield held
                held, size = [], 0
            held.append(rows)
            size, seen = size + nbytes, seen + nbytes
            step = min(2 * (stop - at), int(most * (stop - at) / max(1, nbytes)))
            step = max(1, min(step, _FEW) if mean * stop > _UNEVEN * seen else step)
            at = stop
        yield held

    def _rows_of(self, found: Any, numbers: Any) -> Any:
        """The rows of items, with the types that the writer takes. numbers: those of the rows."""
        rows = self._gather.rows(found)
        if self._gather.numbered is not None:
            rows = self._gather.numbered.added_to(rows, numbers)
        if not self._writer.takes_dictionaries:
            rows = without_dictionaries(rows, self._gather.output_schema)
        return rows

    @cached_property
    def _is_uneven(self) -> bool:
        return bool(self._gather.is_uneven(plain=not self._writer.takes_dictionaries))

    def _part(self, rows: Any, *, whole: bool) -> RowPart:
        if not whole:
            rows = rows_without_unused(without_dictionaries(rows, self._gather.output_schema))
        if self._checks_utf8:
            check_utf8(rows, self._gather.inputs)
        return (self._writer.encoded(rows) if whole else rows), whole


class ConvertedSink(GroupSink):
    """Items of another format to an output of rows. See formats.base.Sink.

    items: makes rows of them. Others: see GroupSink.
    """

    def __init__(
        self, output: Any, items: ItemRows, writer: TableWriter, rows: int, nbytes: int, *, line_end: int | None
    ) -> None:
        super().__init__(output, writer, rows, nbytes, line_end=line_end)
        self._items = items

    def encode(self, data: Bytes) -> RowPiece:
        """See Sink."""
        rows = self._items.rows(data)
        most = min(self._rows, max(1, self._most_bytes * rows.num_rows // max(1, rows.nbytes)))
        parts: list[RowPart] = []
        for part in (rows.slice(at, most) for at in range(0, rows.num_rows, most)):
            whole = self._is_whole(part.num_rows, part.nbytes)
            parts.append((self._writer.encoded(part) if whole else part, whole))
        return RowPiece(parts, iter(()), len(data))
