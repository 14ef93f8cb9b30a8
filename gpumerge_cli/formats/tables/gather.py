"""The rows of items, in their order, from the tables that they refer to."""

from __future__ import annotations

import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.tables.cursor import Cursor, RowsInMemory
from gpumerge_cli.formats.tables.dictionaries import table_of
from gpumerge_cli.formats.tables.interleaving import RowStretch, interleaved
from gpumerge_cli.formats.tables.kept_memory import KeptMemory
from gpumerge_cli.formats.tables.numbered import NumberColumns
from gpumerge_cli.formats.tables.references import (
    END,
    WHOLE,
    places,
    references,
    references_of,
)
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.spooled import Keep
from gpumerge_cli.formats.tables.table import Table, arrow_errors
from gpumerge_cli.formats.tables.taking import rows_at
from gpumerge_cli.formats.tables.value_ranks import ValueRanks
from gpumerge_cli.native.row_gather import row_ranges

_FEW = 1 << 16
"""Numbers below it are sorted by their digits."""
_LARGE = 4
"""A group may be so many times as large as others."""
_SPARSE = 4
"""If only one of so many rows of an input is wanted, it is taken before those of other inputs join it."""


@dataclass(frozen=True)
class StatedKey:
    """A column whose values the images in items say."""

    name: str
    values: Callable[[NDArray[np.uint64]], Any]
    """Makes an Array of them."""


@dataclass(frozen=True)
class WantedRows:
    """Rows that an output takes."""

    references: NDArray[np.uint64]
    images: NDArray[np.uint64] | None = None
    """Those of their only key; None if they are not known."""

    @property
    def nbytes(self) -> int:
        """About the bytes of the rows; 0 if that is not known."""
        return 0

    def __len__(self) -> int:
        return len(self.references)

    def copied(self) -> WantedRows:
        """The same, whatever becomes of the items."""
        return WantedRows(np.array(self.references), None if self.images is None else np.array(self.images))

    def part(self, low: int, high: int) -> WantedRows:
        """The rows low to high - 1 of these."""
        return WantedRows(self.references[low:high], None if self.images is None else self.images[low:high])

    def kept(self, mask: NDArray[np.bool_]) -> WantedRows:
        """Those of the rows for which `mask` is true."""
        return WantedRows(self.references[mask], None if self.images is None else self.images[mask])


class WholeGroup:
    """All rows of a group of a table, which is input `number`."""

    def __init__(self, table: Table, group: int, number: int) -> None:
        self.table = table
        self.group = group
        self._number = number

    def wanted(self, most: int) -> Iterator[WantedRows]:
        """Its rows, at most so many at a time: a damaged file may state any number of rows."""
        start, stop = self.table.starts[self.group : self.group + 2]
        for at in range(start, stop, most):
            yield WantedRows(references(self._number, at, min(most, stop - at)))


class Gather:
    """Finds rows.

    tables: by the numbers in references. schema: their columns, which may be dictionaries instead. group_rows: the most
    rows of a group of an output. piece_rows: see there. memory: bytes that decoded rows may take. item_bytes: of an
    item, 0 for lines. settings: those of the output that the inputs give.
    large_bytes: see there. key: the column that need not be read; None for none. keep: see KeptMemory. unasked: for
    each table, see Cursor. ranks: those that tables have in place of values.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        schema: pa.Schema,
        group_rows: int,
        piece_rows: int,
        memory: int,
        item_bytes: int,
        settings: TableSettings,
        large_bytes: int,
        key: StatedKey | None = None,
        keep: Keep | None = None,
        unasked: Sequence[frozenset[int]] | None = None,
        ranks: ValueRanks | None = None,
    ) -> None:
        self.schema = schema
        """The columns of the rows."""
        self._ranks = ranks
        self._read_schema = schema if ranks is None else ranks.ranked_schema
        self.group_bytes = sys.maxsize
        """The most bytes of a group of an output; `group_rows` limits them already."""
        self.large_bytes = large_bytes
        """The bytes at which a group of an output ends, where rows are uneven."""
        self.numbered: NumberColumns | None = None
        """The columns of an output that are made of numbers, if it has any."""
        self.group_rows = group_rows
        self.piece_rows = piece_rows
        """The rows of an output that one thread encodes ahead of their turn, if they are more than a group."""
        self._name = tables[0].name
        self.settings = settings
        self._item_bytes = item_bytes
        self._tables = tables
        self.inputs: Sequence[Table] = tables
        """The files of the rows."""
        self.nbytes = [table.bytes_of_rows(None) for table in tables]
        """About the bytes of the rows of each table in memory."""
        self.mean_bytes = sum(self.nbytes) / max(1, sum(table.rows for table in tables))
        """About the bytes of a row."""
        self.unlisted = [0] * len(tables)
        """The number of rows of each table beyond that of its items."""
        self._memory = memory
        self._kept = KeptMemory(memory, len(tables), keep)
        self._key = key
        self._rest = self._read_schema
        if self._key is not None:
            self._rest = self._rest.remove(schema.get_field_index(self._key.name))
        self._unasked = unasked
        self._cursors = self._cursors_of(None if self._key is None else self._rest.names)
        self._named_cursors: dict[tuple[str, ...], list[Cursor | RowsInMemory]] = {}
        self._lock = threading.Lock()

    def again(self) -> Gather:
        """Another one, of the same tables opened once more."""
        tables = [table.again() for table in self._tables]
        return self._of(tables, self.inputs, self.schema, self._item_bytes, self._key, self._unasked, self._ranks)

    def of_runs(self, runs: Sequence[Table], item_bytes: int) -> Gather:
        """Another one, of sorted runs of its tables and others."""
        return self._of(runs, runs, runs[0].schema, item_bytes, None)

    def _of(
        self,
        tables: Sequence[Table],
        inputs: Sequence[Table],
        schema: pa.Schema,
        item_bytes: int,
        key: StatedKey | None,
        unasked: Sequence[frozenset[int]] | None = None,
        ranks: ValueRanks | None = None,
    ) -> Gather:
        rows = self.group_rows, self.piece_rows
        made = Gather(
            tables, schema, *rows, self._memory, item_bytes, self.settings, self.large_bytes, key, None, unasked, ranks
        )
        made.numbered, made.inputs = self.numbered, inputs
        return made

    @property
    def output_schema(self) -> pa.Schema:
        """The columns of an output."""
        return self.schema if self.numbered is None else self.numbered.schema_with(self.schema)

    def is_uneven(self, *, plain: bool) -> bool:
        """Whether a group of an output may be much larger than others of as many rows. plain: see Table.most_uneven."""
        most = _LARGE * self.large_bytes
        if plain and self._ranks is not None and self._ranks.longest * self.group_rows > most:
            return True
        return any(table.most_uneven(plain=plain) > most for table in self._tables)

    def _cursors_of(self, columns: Sequence[str] | None) -> list[Cursor | RowsInMemory]:
        unasked: Sequence[frozenset[int] | None] = self._unasked or [None] * len(self._tables)
        return [
            (one if columns is None else one.only(columns))
            if isinstance(one, RowsInMemory)
            else Cursor(one, self._kept, columns, unasked=groups)
            for one, groups in zip(self._tables, unasked, strict=True)
        ]

    @cached_property
    def _whole_cursors(self) -> list[Cursor | RowsInMemory]:
        """Those that read the key, too."""
        return self._cursors if self._key is None else self._cursors_of(None)

    def parts(self, wanted: WantedRows, most: int) -> Iterator[WantedRows | WholeGroup]:
        """Rows by parts: at most so many, or a whole group."""
        found, at = wanted.references, 0
        marked = np.flatnonzero(found & (WHOLE | END)).tolist()
        for stop in [*marked, len(found)]:
            for low in range(at, stop, most):
                yield wanted.part(low, min(stop, low + most))
            if stop < len(found) and not found[stop] & END:
                inputs, rows = places(found[stop : stop + 1])
                table = self._tables[int(inputs[0])]
                yield WholeGroup(table, bisect_right(table.starts, int(rows[0])) - 1, int(inputs[0]))
            at = stop + 1

    def wanted(self, items: Bytes) -> WantedRows:
        """The rows of whole items."""
        found = references_of(items, self._item_bytes)
        if self._key is None:
            return WantedRows(found)
        return WantedRows(found, np.frombuffer(items, np.uint64).reshape(-1, self._item_bytes // found.itemsize)[:, 0])

    def rows(self, wanted: WantedRows) -> pa.Table:
        """These rows, in their order; from any thread. Columns may be dictionaries. Raises InputError."""
        with arrow_errors(self._name):
            if self._key is None or wanted.images is None:
                with self._lock:
                    cursors = self._whole_cursors
                return self._restored(self._rows(wanted.references, cursors, self._read_schema))
            rows = self._rows(wanted.references, self._cursors, self._rest)
            number = self.schema.get_field_index(self._key.name)
            return self._restored(
                rows.add_column(number, self._read_schema.field(number), self._key.values(wanted.images))
            )

    def _restored(self, rows: pa.Table) -> pa.Table:
        """Rows with values in place of ranks."""
        return rows if self._ranks is None else self._ranks.restored(rows)

    def values(self, wanted: WantedRows, names: Sequence[str]) -> pa.Table:
        """The columns of these names, in the order of the schema, for some rows. See `rows`. Raises InputError.

        names: the key alone, or columns that are no key.
        """
        if self._key is not None and wanted.images is not None and [*names] == [self._key.name]:
            return self._restored(pa.table([self._key.values(wanted.images)], names=[*names]))
        with arrow_errors(self._name):
            with self._lock:
                if tuple(names) not in self._named_cursors:
                    self._named_cursors[tuple(names)] = self._cursors_of(names)
            schema = pa.schema([self._read_schema.field(name) for name in names])
            return self._restored(self._rows(wanted.references, self._named_cursors[tuple(names)], schema))

    def _rows(self, found: NDArray[np.uint64], cursors: Sequence[Cursor | RowsInMemory], schema: pa.Schema) -> pa.Table:
        """The rows of references. cursors, schema: of the columns that are wanted."""
        ranges = row_ranges(found, len(cursors))
        if ranges and all(
            isinstance(cursors[number], RowsInMemory) or one.high - one.low <= _SPARSE * one.count
            for number, one in ranges.items()
        ):
            some: list[Any] = []
            stretches = []
            for number, one in ranges.items():
                at = one.low
                for batch in cursors[number].taken(range(one.low, one.high)):
                    stretches.append(RowStretch(number, at, batch.num_rows))
                    some.append(batch)
                    at += batch.num_rows
            table = table_of(some, schema)
            follow = len(ranges) == 1 and table.num_rows == len(found) and bool((found[1:] > found[:-1]).all())
            return table if follow else interleaved(found, stretches, table)
        inputs, rows = places(found)
        order = np.argsort(inputs.astype(np.uint16) if len(self._tables) <= _FEW else inputs, kind="stable")
        batches: list[Any] = []
        inputs, rows = inputs[order], rows[order]
        edges = [0, *(np.flatnonzero(np.diff(inputs)) + 1).tolist(), len(inputs)]
        for low, high in pairwise(edges):
            if low < high:
                batches += cursors[int(inputs[low])].taken(rows[low:high])
        if not batches:
            return schema.empty_table()
        table = table_of(batches, schema)
        if len(edges) == 2:
            return table
        index = np.empty(len(order), np.int64)
        index[order] = np.arange(len(order))
        return rows_at(table, index)
