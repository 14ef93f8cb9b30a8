"""The rows of items, in their order, from the tables that they refer to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.formats.tables.cursor import Cursor, KeptMemory, RowsInMemory
from gpumerge_cli.formats.tables.dictionaries import table_of
from gpumerge_cli.formats.tables.references import (
    END,
    WHOLE,
    has_few_inputs,
    places,
    ranges_of,
    references,
    references_of,
)
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.table import Table, arrow_errors
from gpumerge_cli.formats.tables.taking import rows_at

COUNT = "count"
"""The column of the numbers of equal rows."""
_FEW = 1 << 16
"""Numbers below it are sorted by their digits."""


class WholeGroup:
    """All rows of a group of a table, which is input `number`."""

    def __init__(self, table: Table, group: int, number: int) -> None:
        self.table = table
        self.group = group
        self._number = number

    def references(self, most: int) -> Iterator[NDArray[np.uint64]]:
        """The references to its rows, at most so many at a time: a damaged file may state any number of rows."""
        start, stop = self.table.starts[self.group : self.group + 2]
        for at in range(start, stop, most):
            yield references(self._number, at, min(most, stop - at))


class Gather:
    """Finds rows.

    tables: by the numbers in references. schema: their columns, which may be dictionaries instead. group_rows: the most
    rows of a group of an output. memory: bytes that decoded rows may take. item_bytes: of an item, 0 for lines.
    settings: those of the output that the inputs give.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        schema: pa.Schema,
        group_rows: int,
        memory: int,
        item_bytes: int,
        settings: TableSettings,
    ) -> None:
        self.schema = schema
        """The columns of the rows."""
        self.has_counts = False
        """Whether an output has a column of the numbers of equal rows, too."""
        self.group_rows = group_rows
        self._name = tables[0].name
        self.settings = settings
        self._item_bytes = item_bytes
        self._tables = tables
        self.inputs: Sequence[Table] = tables
        """The files of the rows."""
        self.nbytes = [table.bytes_of_rows(None) for table in tables]
        """About the bytes of the rows of each table in memory."""
        self.unlisted = [0] * len(tables)
        """The number of rows of each table beyond that of its items."""
        self._has_few = has_few_inputs(len(tables)) and not any(isinstance(one, RowsInMemory) for one in tables)
        self._memory = memory
        kept = KeptMemory(memory, len(tables))
        self._cursors = [one if isinstance(one, RowsInMemory) else Cursor(one, kept) for one in tables]

    def again(self) -> Gather:
        """Another one, of the same tables opened once more."""
        return self._of([table.again() for table in self._tables], self.inputs, self.schema, self._item_bytes)

    def of_runs(self, runs: Sequence[Table], item_bytes: int) -> Gather:
        """Another one, of sorted runs of its tables and others."""
        return self._of(runs, runs, runs[0].schema, item_bytes)

    def _of(self, tables: Sequence[Table], inputs: Sequence[Table], schema: pa.Schema, item_bytes: int) -> Gather:
        made = Gather(tables, schema, self.group_rows, self._memory, item_bytes, self.settings)
        made.has_counts, made.inputs = self.has_counts, inputs
        return made

    @property
    def output_schema(self) -> pa.Schema:
        """The columns of an output."""
        return self.schema.append(pa.field(COUNT, pa.int64())) if self.has_counts else self.schema

    def parts(self, found: NDArray[np.uint64], most: int) -> Iterator[NDArray[np.uint64] | WholeGroup]:
        """References by parts: at most so many of rows, or a whole group."""
        at = 0
        marked = np.flatnonzero(found & (WHOLE | END)).tolist()
        for stop in [*marked, len(found)]:
            for low in range(at, stop, most):
                yield found[low : min(stop, low + most)]
            if stop < len(found) and not found[stop] & END:
                inputs, rows = places(found[stop : stop + 1])
                table = self._tables[int(inputs[0])]
                yield WholeGroup(table, bisect_right(table.starts, int(rows[0])) - 1, int(inputs[0]))
            at = stop + 1

    def references(self, items: Bytes) -> NDArray[np.uint64]:
        """The references of whole items."""
        return references_of(items, self._item_bytes)

    def rows(self, found: NDArray[np.uint64]) -> pa.Table:
        """The rows of references, in their order; from any thread. Columns may be dictionaries. Raises InputError."""
        with arrow_errors(self._name):
            return self._rows(found)

    def _rows(self, found: NDArray[np.uint64]) -> pa.Table:
        whole = ranges_of(found) if self._has_few and len(found) else None
        if whole is not None:
            ranges, index = whole
            some = [batch for number, rows in ranges.items() for batch in self._cursors[number].taken(rows)]
            table = table_of(some, self.schema)
            return table if len(ranges) == 1 else rows_at(table, index)
        inputs, rows = places(found)
        order = np.argsort(inputs.astype(np.uint16) if len(self._tables) <= _FEW else inputs, kind="stable")
        batches: list[Any] = []
        inputs, rows = inputs[order], rows[order]
        edges = [0, *(np.flatnonzero(np.diff(inputs)) + 1).tolist(), len(inputs)]
        for low, high in pairwise(edges):
            if low < high:
                batches += self._cursors[int(inputs[low])].taken(rows[low:high])
        if not batches:
            return self.schema.empty_table()
        table = table_of(batches, self.schema)
        if len(edges) == 2:
            return table
        index = np.empty(len(order), np.int64)
        index[order] = np.arange(len(order))
        return rows_at(table, index)
