"""Tables in temporary files: rows that are read in small batches, whatever the pages of their file are.

A reader of Parquet holds a page of each column, and a reader of Arrow a whole batch. That is too much memory for
thousands of columns, for hundreds of files at once, and for large pages. There rows are copied once, a few columns at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

import pyarrow as pa

from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.tables.dictionaries import rows_without_unused, table_of
from gpumerge_cli.formats.tables.table import Table, arrow_errors, reading

Keep = Callable[[Callable[[IO[bytes]], None]], SeekableInput]
"""Keeps what a function writes in a temporary file."""


def spooled(table: Table, keep: Keep, open_bytes: int, rows: int, columns: Sequence[str] | None = None) -> SpooledTable:
    """The table with its rows in a temporary file, in batches of `rows`. Raises InputError.

    open_bytes: the most that reading it may take beside its batches; one column is read at least. columns: its columns,
    see Table.batches.
    """
    whole = [field for field in table.schema if columns is None or field.name in columns]
    wanted = pa.schema(whole, table.schema.metadata)
    parts = list(_parts(table, wanted.names, open_bytes))
    places = [[number for number, field in enumerate(wanted) if field.name in part] for part in parts]
    ends: list[list[int]] = []
    counts: list[int] = []

    def write(out: IO[bytes]) -> None:
        for part, numbers in zip(parts, places, strict=True):
            schema = pa.schema([wanted.field(number) for number in numbers])
            counts.clear()
            ends.append([out.tell()])
            for batch in reading(table.name, _batches_of(table.batches(part, 0, rows), rows, schema)):
                with pa.ipc.new_stream(out, batch.schema) as stream:
                    stream.write_batch(batch)
                counts.append(batch.num_rows)
                ends[-1].append(out.tell())
            table.check_read(sum(counts))

    return SpooledTable(table, wanted, keep(write), counts, places, ends)


def _parts(table: Table, names: Sequence[str], open_bytes: int) -> Iterator[list[str]]:
    """The names of columns that are read at once."""
    part: list[str] = []
    size = 0
    for name in dict.fromkeys(names):
        nbytes = table.open_bytes([name])
        if part and size + nbytes > open_bytes:
            yield part
            part, size = [], 0
        part.append(name)
        size += nbytes
    if part:
        yield part


def _batches_of(batches: Iterator[Any], rows: int, schema: pa.Schema) -> Iterator[Any]:
    """The same rows in batches of `rows`, whichever the batches are. schema: their columns."""
    held: list[Any] = []
    count = 0
    for batch in batches:
        if batch.schema.names != schema.names:
            raise ValueError("a column has the name of a field of another one")
        at = 0
        while at < batch.num_rows:
            held.append(batch.slice(at, rows - count))
            at += held[-1].num_rows
            count += held[-1].num_rows
            if count == rows:
                yield _joined(held, schema)
                held, count = [], 0
    if held:
        yield _joined(held, schema)


def _joined(held: Sequence[Any], schema: pa.Schema) -> Any:
    """The rows of batches as one, whose dictionaries have no more values than rows."""
    whole = table_of(held, schema).combine_chunks()
    columns = [column.chunk(0) for column in rows_without_unused(whole).columns]
    return pa.RecordBatch.from_arrays(columns, schema=whole.schema)


class SpooledTable(Table):
    """See above. places: the numbers of the columns of each part. ends: of its batches in the file, and its start."""

    def __init__(
        self,
        table: Table,
        schema: pa.Schema,
        file: SeekableInput,
        counts: Sequence[int],
        places: Sequence[Sequence[int]],
        ends: Sequence[Sequence[int]],
    ) -> None:
        self.name = table.name
        self.schema = schema
        self.group_rows = counts
        self._table = table
        self._file = file
        self._places = places
        self._ends = ends

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table. The batches and columns are those that were written."""
        with arrow_errors(self.name):
            for number in range(group, len(self.group_rows)):
                found: list[Any] = [None] * len(self.schema)
                for places, ends in zip(self._places, self._ends, strict=True):
                    data = self._file.read_exactly(ends[number], ends[number + 1] - ends[number])
                    batch = pa.ipc.open_stream(data).read_next_batch()
                    for place, column in zip(places, batch.columns, strict=True):
                        found[place] = column
                fields = [field.with_type(column.type) for field, column in zip(self.schema, found, strict=True)]
                yield pa.RecordBatch.from_arrays(found, schema=pa.schema(fields, self.schema.metadata))

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        return self._table.may_have_nulls(path)

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.bytes_of_rows(columns)

    def again(self) -> SpooledTable:
        """See Table."""
        return self
