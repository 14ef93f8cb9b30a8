"""Sorted runs of rows: as many as fit into memory at once are sorted by their items.

If all rows fit, they stay in memory as they came, and only their items are sorted. Else each run is written to a
temporary file in its order, so that its rows are gathered by reading forward.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import IO, Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.tables.cursor import LEAST_OF_COLUMN, RowsInMemory, batch_rows
from gpumerge_cli.formats.tables.dictionaries import bytes_in_memory, dictionary_bytes, table_of
from gpumerge_cli.formats.tables.input_file import opened
from gpumerge_cli.formats.tables.interleaving import RowStretch, interleaved
from gpumerge_cli.formats.tables.items import Form
from gpumerge_cli.formats.tables.kept_memory import LEAST_OPEN
from gpumerge_cli.formats.tables.references import references, references_of, renumbered
from gpumerge_cli.formats.tables.spooled import spooled
from gpumerge_cli.formats.tables.table import Table, arrow_errors
from gpumerge_cli.formats.tables.taking import rows_at
from gpumerge_cli.order.rows import FixedRowOrder, TextRowOrder

RowsOrder = FixedRowOrder | TextRowOrder
SortItems = Callable[[RowsOrder, int, Iterable[Bytes], Callable[[Bytes], None]], None]
"""Sorts whole items in memory, stably: so many bytes, which come in parts. The result goes to a function, which may
change it, and is valid until that returns."""
KeepRun = Callable[[Callable[[IO[bytes]], None], int], SeekableInput]
"""Keeps what a function writes in the temporary file of a run with this number."""
_LARGEST_BATCH, _LEAST_BATCH = 4 << 20, 64 << 10
_SHARES = 4
"""The batches of all runs take one of so many shares of the memory."""
_SPARED = 4
"""One of so many shares of the memory is left to decoders and allocators."""
_SAMPLED = 1 << 10
_AT_ONCE = 1 << 16
"""The rows whose items are made at once."""
_MOST_CANDIDATES = 1 << 18
"""Rows that are held at once, if few of them are wanted."""
_COPIES_OF_ITEMS = 6
"""The items, images and references that they are made of, and three copies as they are sorted."""


class SortedRows:
    """A sorted run. items: a file of whole ones, in order, with references to `table`."""

    def __init__(self, table: Table, items: SeekableInput) -> None:
        self.table = table
        self.items = items


@dataclass(frozen=True)
class SelectedRows:
    """The rows that a sort writes, if it does not write all."""

    count: int
    """Their number."""
    sift: Callable[[Any], Any] | None
    """Leaves out items that cannot be among them."""

    def of(self, batch: Any, form: Form, order: RowsOrder) -> Any:
        """The rows of a batch that may be among them."""
        if self.sift is None or not batch.num_rows:
            return batch
        items = memoryview(form.items(batch, references(0, 0, batch.num_rows))).cast("B")
        left = self.sift(items)
        if len(left) == len(items):
            return batch
        return rows_at(batch, references_of(left, order.item_bytes).astype(np.int64))


def sorted_runs(
    tables: Sequence[Table],
    form: Form,
    order: RowsOrder,
    sort: SortItems,
    memory: int,
    spool: KeepRun,
    wanted: SelectedRows | None = None,
) -> Iterator[SortedRows]:
    """The runs of all rows of tables, one at a time; equal rows stay in their order. Raises InputError, OutputError.

    memory: bytes that they may take. wanted: the rows that `sort` leaves of a run; None if it leaves all.
    """
    share = memory // _SHARES
    whole = sum(table.bytes_of_rows(None) for table in tables)
    # A gather holds a batch of each run.
    least = max(_LEAST_BATCH, LEAST_OF_COLUMN * len(tables[0].schema))
    batch_bytes = max(least, min(_LARGEST_BATCH, share * share // max(1, 2 * whole)))
    held: list[Any] = []
    known: set[int] = set()  # the addresses of dictionaries
    size = number = rows_held = 0
    for table in tables:
        found, rows = 0, batch_rows(table, None, batch_bytes)
        if table.open_bytes(None) > max(LEAST_OPEN, memory // _SPARED):
            table = spooled(table, lambda write: spool(write, 0), max(LEAST_OPEN, memory // _SPARED), rows)
        for batch in form.pieces(table.batches(None, 0, rows), batch_bytes):
            found += batch.num_rows
            if wanted is not None:
                batch = wanted.of(batch, form, order)
            nbytes = _bytes_to_sort(batch, form, known)
            full = held and size + nbytes > memory - memory // _SPARED
            many = wanted is not None and rows_held + batch.num_rows > max(_MOST_CANDIDATES, _SHARES * wanted.count)
            if held and wanted is not None and (full or many):
                held = _candidates(held, tables[0].schema, form, order, sort)
                known.clear()
                size, rows_held = (
                    sum(_bytes_to_sort(one, form, known) for one in held),
                    sum(one.num_rows for one in held),
                )
                nbytes = _bytes_to_sort(batch, form, known)
            if held and size + nbytes > memory - memory // _SPARED:
                yield _spilled(number, held, tables[0].schema, form, order, sort, batch_bytes, spool)
                held, size, number, rows_held = [], 0, number + 1, 0
                known.clear()
                nbytes = _bytes_to_sort(batch, form, known)
            held.append(batch)
            size += nbytes
            rows_held += batch.num_rows
        table.check_read(found)
    if number and held:
        yield _spilled(number, held, tables[0].schema, form, order, sort, batch_bytes, spool)
    elif held:
        rows = _joined(held, tables[0].schema)
        files: list[SeekableInput] = []
        _sort(0, rows, form, order, sort, lambda items: files.append(spool(partial(_write, items), 0)))
        yield SortedRows(RowsInMemory(_without_key(rows, form)), files[0])


def _candidates(held: list[Any], schema: pa.Schema, form: Form, order: RowsOrder, sort: SortItems) -> list[Any]:
    """The batches of the rows that `sort` leaves of those of other batches, which are let go."""
    rows = _joined(held, schema)
    found: list[Any] = []
    _sort(0, rows, form, order, sort, lambda items: found.append(references_of(items, order.item_bytes).copy()))
    made = interleaved(found[0], [RowStretch(0, 0, rows.num_rows)], rows)
    return list(made.combine_chunks().to_batches())


def _bytes_to_sort(batch: Any, form: Form, known: set[int]) -> int:
    """The most bytes that rows take as they are sorted: twice as their chunks are joined, or once beside items.

    known: see dictionary_bytes.
    """
    sample = batch.slice(0, _SAMPLED)
    items = memoryview(form.items(sample, references(0, 0, sample.num_rows))).nbytes if sample.num_rows else 0
    of_items = items * batch.num_rows // max(1, sample.num_rows)
    rows: int = bytes_in_memory(batch)
    return int(max(2 * rows, rows + _COPIES_OF_ITEMS * of_items)) + dictionary_bytes(batch, known)


def _write(data: Any, out: IO[bytes]) -> None:
    out.write(data)


def _joined(held: list[Any], schema: pa.Schema) -> Any:
    """The rows of batches, which are let go, as one batch."""
    rows = table_of(held, schema)
    held.clear()
    joined = rows.combine_chunks()
    del rows
    pa.default_memory_pool().release_unused()
    return joined


def _without_key(rows: Any, form: Form) -> Any:
    """The columns of rows whose values their items do not say."""
    key = form.stated_key(rows.schema)
    return rows if key is None else rows.drop_columns([key.name])


def _sort(number: int, rows: Any, form: Form, order: RowsOrder, sort: SortItems, use: Callable[[Bytes], None]) -> None:
    """Sort the items of rows of run `number`."""
    count = rows.num_rows
    if not form.is_fixed:
        items = form.items(rows, references(number, 0, count))
        sort(order, len(items), [items], use)
        return
    parts = (
        form.items(rows.slice(at, _AT_ONCE), references(number, at, min(_AT_ONCE, count - at)))
        for at in range(0, count, _AT_ONCE)
    )
    sort(order, count * order.item_bytes, parts, use)


def _spilled(
    number: int,
    held: list[Any],
    schema: pa.Schema,
    form: Form,
    order: RowsOrder,
    sort: SortItems,
    batch_bytes: int,
    spool: KeepRun,
) -> SortedRows:
    rows = _joined(held, schema)
    kept, stretches = _without_key(rows, form), [RowStretch(number, 0, rows.num_rows)]
    at_once = max(1, int(rows.num_rows * batch_bytes / max(1, bytes_in_memory(kept))))
    files: list[SeekableInput] = []
    counts: list[int] = []

    def keep(items: Bytes) -> None:
        found = references_of(items, order.item_bytes)
        count = len(found)
        counts.extend(min(at_once, count - at) for at in range(0, count, at_once))

        def write(out: IO[bytes]) -> None:
            with pa.ipc.new_file(out, kept.schema) as stream:
                for at in range(0, count, at_once):
                    stream.write_table(interleaved(found[at : at + at_once], stretches, kept), count)

        files.append(spool(write, number))
        files.append(spool(partial(_write, renumbered(items, number, order.item_bytes)), number))

    _sort(number, rows, form, order, sort, keep)
    return SortedRows(SpilledRows(files[0], counts), files[1])


def sorted_pieces(
    batches: list[Any], schema: pa.Schema, form: Form, order: RowsOrder, sort: SortItems
) -> Iterator[bytes]:
    """The bytes of a file with the sorted rows of batches, as SpilledRows.of opens it. Batches are let go."""
    rows = _joined(batches, schema)
    count, stretches = rows.num_rows, [RowStretch(0, 0, rows.num_rows)]
    found: list[Any] = []

    def keep(items: Bytes) -> None:
        found.append(references_of(items, order.item_bytes).copy())

    _sort(0, rows, form, order, sort, keep)
    at_once = max(1, int(count * _LARGEST_BATCH / max(1, bytes_in_memory(rows))))
    out = io.BytesIO()
    with pa.ipc.new_file(out, rows.schema) as stream:
        for at in range(0, count, at_once):
            stream.write_table(interleaved(found[0][at : at + at_once], stretches, rows), count)
            yield out.getvalue()
            out.seek(0)
            out.truncate()
    yield out.getvalue()


class SpilledRows(Table):
    """The rows of a run in a temporary file. counts: of its batches."""

    def __init__(self, file: SeekableInput, counts: Sequence[int]) -> None:
        self.name = file.name
        self.group_rows = counts
        self._file = file
        with arrow_errors(self.name):
            self._reader = pa.ipc.open_file(opened(file))
        self.schema = self._reader.schema

    @classmethod
    def of(cls, file: SeekableInput) -> SpilledRows:
        """The rows of a whole run that another process has written, whose batches but the last one have one size."""
        found = cls(file, ())
        with arrow_errors(found.name):
            number = found._reader.num_record_batches
            sizes = [found._reader.get_batch(at).num_rows for at in {0, number - 1} if at >= 0]
        found.group_rows = [*[max(sizes, default=0)] * (number - 1), *sizes[number > 1 :]][:number]
        return found

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        with arrow_errors(self.name):
            for number in range(group, len(self.group_rows)):
                batch = self._reader.get_batch(number)
                yield batch if columns is None else batch.select(columns)

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        return True

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._file.size

    def again(self) -> SpilledRows:
        """See Table."""
        return SpilledRows(self._file, self.group_rows)
