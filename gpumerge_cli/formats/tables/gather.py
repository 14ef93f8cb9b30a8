"""The rows of items, in their order, from the tables that they refer to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.formats.tables.cursor import Cursor, RowsInMemory
from gpumerge_cli.formats.tables.references import places, references_of
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.table import Table, arrow_errors
from gpumerge_cli.formats.tables.taking import rows_at


class Gather:
    """Finds rows.

    tables: by the numbers in references; they have the same columns. group_rows: the most rows of a group of an output.
    memory: bytes that decoded rows may take. item_bytes: of an item, 0 for lines. settings: those of the output that
    the inputs give.
    """

    def __init__(
        self, tables: Sequence[Table], group_rows: int, memory: int, item_bytes: int, settings: TableSettings
    ) -> None:
        self.schema = tables[0].schema
        """The columns of the rows."""
        self.group_rows = group_rows
        self._name = tables[0].name
        self.settings = settings
        self._item_bytes = item_bytes
        each = memory // max(1, len(tables))
        self._cursors = [one if isinstance(one, RowsInMemory) else Cursor(one, each) for one in tables]

    def references(self, items: Bytes) -> NDArray[np.uint64]:
        """The references of whole items."""
        return references_of(items, self._item_bytes)

    def rows(self, found: NDArray[np.uint64]) -> pa.Table:
        """The rows of references, in their order; from any thread. Raises InputError."""
        with arrow_errors(self._name):
            return self._rows(found)

    def _rows(self, found: NDArray[np.uint64]) -> pa.Table:
        inputs, rows = places(found)
        order = np.argsort(inputs, kind="stable")
        batches: list[Any] = []
        inputs, rows = inputs[order], rows[order]
        edges = [0, *(np.flatnonzero(np.diff(inputs)) + 1).tolist(), len(inputs)]
        for low, high in pairwise(edges):
            if low < high:
                batches += self._cursors[int(inputs[low])].taken(rows[low:high])
        if not batches:
            return self.schema.empty_table()
        table = pa.Table.from_batches(batches)
        if len(edges) == 2:
            return table
        index = np.empty(len(order), np.int64)
        index[order] = np.arange(len(order))
        return rows_at(table.unify_dictionaries(), index)
