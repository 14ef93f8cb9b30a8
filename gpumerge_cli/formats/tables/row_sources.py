"""The sources of items of tables: one is opened with its file, and items are made of it later."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.fixed_source import FixedSource
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.line_source import EndedSource
from gpumerge_cli.order.key_types import ItemType
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rows import FixedRowOrder, TextRowOrder
from gpumerge_cli.order.rules import END

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.apart import Apart
    from gpumerge_cli.formats.tables.items import Form
    from gpumerge_cli.formats.tables.table import Table

_READ_AT_ONCE = 4
"""The most tables whose keys are decoded at once."""
_LARGEST_BATCH, _GOOD_BATCH, _LEAST_BATCH = 4 << 20, 1 << 20, 64 << 10
"""Bytes of keys that are decoded at once: with more threads, no fewer than the second number."""
_COPIES_OF_KEYS = 16
"""The keys, images and items of a batch, which take a half of the memory at most, and copies that are freed late."""
_FEW_ROWS = 1 << 10
"""So few rows are decoded at once, whatever their size is."""
_MANY_ROWS = 1 << 24
_ROWS_OF_BYTE = 8
"""A damaged file may state more rows for each of its bytes: rows that are nulls or runs take hardly any."""


class OpenedTable(FixedSource):
    """A table whose items are not made yet. See formats.base.Source."""

    def __init__(self, file: SeekableInput, table: Table) -> None:
        super().__init__(file, ItemType("V", 1), 0, 0)
        self.file = file
        self.table = table


class _OfTable:
    """Items of a table, in a temporary file, whatever their form."""

    name: str
    _origin: OpenedTable
    _item_bytes: int
    """0 for lines."""
    item_at: Callable[[int], bytes]
    """See formats.base.Source."""

    def location(self, start: int) -> str:
        from gpumerge_cli.formats.tables.references import row_of

        return f"{self.name}: {self._origin.table.place(row_of(self.item_at(start), self._item_bytes))}"

    def order_hint(self, others: Sequence[Source] | None, order: Order) -> str:
        """See HintingSource."""
        from gpumerge_cli.formats.tables.stated import way_out_of_disorder

        assert isinstance(order, FixedRowOrder | TextRowOrder)
        tables = None if others is None else [one._origin.table for one in others if isinstance(one, _OfTable)]
        return way_out_of_disorder(self._origin.table, tables, [key.column for key in order.keys_of_rows])

    def check_unchanged(self) -> None:
        self._origin.file.check_unchanged()


class FixedItems(_OfTable, FixedSource):
    """Items of one size. See formats.base.Source."""

    def __init__(self, file: SeekableInput, item_bytes: int, origin: OpenedTable) -> None:
        super().__init__(file, ItemType("V", item_bytes), 0, file.size)
        self._origin = origin
        self._item_bytes = item_bytes


class TextItems(_OfTable, EndedSource):
    """Items that are lines. See formats.base.Source."""

    def __init__(self, file: SeekableInput, origin: OpenedTable) -> None:
        super().__init__(file, END[0])
        self._origin = origin
        self._item_bytes = 0


def all_items(
    opened: Sequence[OpenedTable],
    forms: Sequence[Form],
    order: Order,
    progress: Callable[[int, float], None],
    apart: Sequence[Apart] | None,
    memory: int,
    *,
    checks: bool = True,
    most: int | None = None,
) -> list[FixedItems | TextItems]:
    """The items of all tables. forms: those of each. memory: bytes for this. Others: see items_of_table."""
    from concurrent.futures import ThreadPoolExecutor

    threads = min(len(opened), os.cpu_count() or 1, _READ_AT_ONCE)
    share = memory // _COPIES_OF_KEYS
    of_one = max(1, min((os.cpu_count() or 1) // threads, share // _GOOD_BATCH // threads))
    batch = max(_LEAST_BATCH, min(_LARGEST_BATCH, share // (threads * of_one)))
    with ThreadPoolExecutor(threads) as pool:
        made = []
        for number, one in enumerate(opened):
            advance = partial(progress, number)
            make = partial(
                items_of_table, number, one, forms[number], order, advance, checks=checks, most=most, threads=of_one
            )
            made.append(pool.submit(make, apart[number] if apart else None, batch))
    if all(future.exception() is None for future in made):
        return [future.result() for future in made]
    for future in made:
        if future.exception() is None:
            future.result().close()
    raise next(filter(None, (future.exception() for future in made)))


def items_of_table(
    number: int,
    origin: OpenedTable,
    form: Form,
    order: Order,
    progress: Callable[[float], None],
    apart: Apart | None,
    batch_bytes: int,
    *,
    checks: bool,
    most: int | None = None,
    threads: int = 1,
) -> FixedItems | TextItems:
    """The items of table `number`, in a temporary file.

    apart: groups that two items stand for; None for none. batch_bytes: those of keys that are decoded at once. checks:
    the keys of such groups are read. most: see formats.format.Purpose. threads: the most that decode keys.
    """
    from gpumerge_cli.formats.tables.apart import items_as_stated, items_of_rows, items_of_some
    from gpumerge_cli.formats.tables.cursor import batch_rows
    from gpumerge_cli.formats.tables.item_spans import spans_of, write_spans
    from gpumerge_cli.formats.tables.table import reading

    table = origin.table
    columns = table.columns_of(key.column.path for key in form.keys)
    wanted = range(table.rows) if most is None else range(table.rows)[slice(most) if most >= 0 else slice(most, None)]

    def write(out: IO[bytes]) -> None:
        def batches(group: int = 0) -> Iterator[Any]:
            few = len(wanted) <= _FEW_ROWS
            rows = max(1, len(wanted)) if few else batch_rows(table, columns, batch_bytes)
            return table.batches(columns, group, rows)

        as_stated = apart is not None and not checks and not apart.needs_keys(table, form)
        if not as_stated and len(wanted) > max(_MANY_ROWS, _ROWS_OF_BYTE * origin.file.size):
            _check_all_columns(table, batch_bytes)
        spans = spans_of(table, threads) if apart is None and form.is_fixed and len(wanted) == table.rows else []
        if len(spans) > 1:
            rows = batch_rows(table, columns, batch_bytes)
            advance = lambda done: progress(done / len(wanted))  # noqa: E731
            table.check_read(
                write_spans(out, number, table, columns, form, order.item_bytes, spans, rows, threads, advance)
            )
            return
        if len(wanted) < table.rows:
            made = items_of_some(number, table, batches, form, wanted, batch_bytes)
        elif apart is not None and as_stated:
            made = items_as_stated(number, table, batches, form, apart, batch_bytes)
        else:
            made = items_of_rows(number, table, batches(), form, apart, batch_bytes)
        done = 0
        for items, rows in reading(table.name, made):  # errors of writing are not those of the table
            out.write(items)
            done += rows
            progress(done / max(1, len(wanted)))
        if len(wanted) == table.rows:
            table.check_read(done)

    return source_of(origin.file.beside(write), form, order, origin)


def _check_all_columns(table: Table, batch_bytes: int) -> None:
    """Raise InputError if another column has fewer rows than the table states, before items of all of them are written.

    batch_bytes: those of rows that are decoded at once.
    """
    from gpumerge_cli.formats.tables.cursor import batch_rows
    from gpumerge_cli.formats.tables.table import reading

    rows = batch_rows(table, None, batch_bytes)
    table.check_read(sum(batch.num_rows for batch in reading(table.name, table.batches(None, 0, rows))))


def source_of(file: SeekableInput, form: Form, order: Order, origin: OpenedTable) -> FixedItems | TextItems:
    return FixedItems(file, order.item_bytes, origin) if form.is_fixed else TextItems(file, origin)
