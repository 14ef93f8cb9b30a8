"""Tables by ranges of their rows: each process decodes the keys of its ranges, and no file of items is made ahead."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.extents import Extent
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.ranges import RangedSource, RangeItems
from gpumerge_cli.formats.tables.apart import items_of_some
from gpumerge_cli.formats.tables.cursor import batch_rows
from gpumerge_cli.formats.tables.items import Form
from gpumerge_cli.formats.tables.references import row_of
from gpumerge_cli.formats.tables.row_sources import OpenedTable, source_of
from gpumerge_cli.formats.tables.runs import SpilledRows
from gpumerge_cli.formats.tables.table import Table, reading, rows_of_range
from gpumerge_cli.order.key_types import ItemType
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rows import FixedRowOrder, TextRowOrder
from gpumerge_cli.order.rules import NUL

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype

_BATCH_BYTES = 4 << 20
"""Bytes of keys that are decoded at once."""
_BLOCK = 1 << 20
"""Rows of a group whose items are made at once for a search, at most."""
_KEPT = 4
"""Blocks of items that are kept, for the next search."""


class TableRanges(RangedSource):
    """The rows of a table, whose positions are their numbers. See RangedSource.

    number: of the table, in references. origin: has its file, which this source takes over.
    """

    def __init__(self, number: int, origin: OpenedTable, form: Form, order: FixedRowOrder | TextRowOrder) -> None:
        self.name = origin.name
        self.size = origin.table.rows
        self.dtype: Dtype | None = ItemType("V", order.item_bytes) if form.is_fixed else None
        self.table: Table = origin.table
        self._number = number
        self._origin = origin
        self.form = form
        """That of its items."""
        self._order = order
        self._columns = self.table.columns_of(key.column.path for key in form.keys)
        self._kept: OrderedDict[int, _Block] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def tag(self) -> str:
        """See Source."""
        return self._origin.file.tag

    @property
    def extent(self) -> Extent | None:
        """See Source: the place of the whole file."""
        return self._origin.file.extent(0, self._origin.file.size)

    def read_into(self, start: int, out: Bytes) -> None:
        """See Source. Rows have no bytes, so `out` must have none."""
        assert not len(out), "rows are read as items"

    def item_at(self, start: int) -> bytes:
        group = bisect_right(self.table.starts, start) - 1
        low, end = self.table.starts[group : group + 2]
        low += (start - low) // _BLOCK * _BLOCK
        with self._lock:
            if low not in self._kept:
                pieces = list(self._items(self.table, low, min(low + _BLOCK, end)))
                self._kept[low] = _Block(low, pieces, self._order.item_bytes)
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(low)
            return self._kept[low].item(start)

    def item_before(self, start: int) -> bytes:
        return self.item_at(start - 1)

    def item_start(self, position: int) -> int:
        return min(max(0, position), self.size)

    def item_end(self, start: int) -> int:
        return start + 1

    def start_before(self, position: int) -> int:
        """See RangedSource."""
        return position - 1

    def location(self, start: int) -> str:
        """See Source."""
        return f"{self.name}: {self.table.place(start)}"

    def count(self, stop: int | None = None) -> int:
        """See Source."""
        return self.size if stop is None else stop

    def items(self, low: int, high: int, *, behind: bool = False) -> RangeItems:
        """See RangedSource."""
        first, last = max(0, low - 1), min(high + behind, self.size)

        def write(out: IO[bytes]) -> None:
            for items in self._items(self.table.again(), first, last):
                out.write(items)

        source = source_of(self._origin.file.beside(write), self.form, self._order, self._origin)
        stop = source.size
        if last > high:
            stop -= self._order.item_bytes or len(source.item_before(stop)) + 1
        return RangeItems(source, source.item_end(0) if first < low else 0, stop)

    def _items(self, table: Table, low: int, high: int) -> Iterator[Any]:
        """The items of rows, in pieces. Raises InputError."""
        batches_from, rows = _batches_of(table, self._columns), range(low, high)
        made = items_of_some(self._number, table, batches_from, self.form, rows, _BATCH_BYTES)
        for items, _ in reading(self.name, made):
            yield items

    def rows(self, low: int, high: int) -> Iterator[Any]:
        """The rows of a range, in batches. Raises InputError."""
        table = self.table.again()
        return reading(self.name, rows_of_range(table, _batches_of(table, None), range(low, high)))

    def position_of(self, made: RangeItems, low: int, start: int) -> int:
        """See RangedSource."""
        return row_of(made.source.item_at(start), self._order.item_bytes)

    def run(self, file: SeekableInput, number: int, order: Order) -> TableRanges:
        """See RangedSource."""
        assert isinstance(order, FixedRowOrder | TextRowOrder), "of rows"
        return TableRanges(number, OpenedTable(file, SpilledRows.of(file)), Form.of_order(order), order)

    def check_unchanged(self) -> None:
        """See Source."""
        self._origin.file.check_unchanged()

    def close(self) -> None:
        """See Source."""
        self._origin.file.close()


def _batches_of(table: Table, columns: list[str] | None) -> Callable[[int], Iterator[Any]]:
    """Gives all rows from a group on with these columns, None for all."""
    return lambda group: table.batches(columns, group, batch_rows(table, columns, _BATCH_BYTES))


class _Block:
    """The items of neighbouring rows. first: the first one. item_bytes: see references_of."""

    def __init__(self, first: int, pieces: Sequence[Any], item_bytes: int) -> None:
        self._first = first
        self._data = b"".join(memoryview(piece).cast("B") for piece in pieces)
        self._item_bytes = item_bytes
        if not item_bytes:
            self._ends = np.flatnonzero(np.frombuffer(self._data, np.uint8) == NUL)

    def item(self, row: int) -> bytes:
        """The item of a row, without the end of a line."""
        at = row - self._first
        if self._item_bytes:
            return self._data[at * self._item_bytes : (at + 1) * self._item_bytes]
        return self._data[int(self._ends[at - 1]) + 1 if at else 0 : int(self._ends[at])]
