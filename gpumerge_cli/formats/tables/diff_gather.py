"""The rows of a diff of tables: those of its items, with the mark of each as their first column."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.formats.tables.compared_rows import MarkedItems, RowPairs
from gpumerge_cli.formats.tables.cursor import Cursor, RowsInMemory
from gpumerge_cli.formats.tables.gather import Gather, WantedRows
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.table import Table
from gpumerge_cli.order.differences import CHANGE_TITLE, MARKS
from gpumerge_cli.order.joins import suffix_apart

_MARKS = pa.array(MARKS, pa.string())


@dataclass(frozen=True)
class MarkedRows(WantedRows):
    """See WantedRows."""

    marks: NDArray[np.uint8] = np.empty(0, np.uint8)
    """The number of each row's mark in MARKS."""

    def copied(self) -> MarkedRows:
        """See WantedRows."""
        return replace(self, references=np.array(self.references))

    def part(self, low: int, high: int) -> MarkedRows:
        """See WantedRows."""
        return MarkedRows(self.references[low:high], None, self.marks[low:high])


class DiffGather(Gather):
    """Finds the rows of a diff. pairs: compares them, and has the cursors of all columns. Others: see Gather."""

    def __init__(
        self,
        tables: Sequence[Table],
        pairs: RowPairs,
        group_rows: int,
        piece_rows: int,
        memory: int,
        item_bytes: int,
        settings: TableSettings,
        large_bytes: int,
    ) -> None:
        self._pairs = pairs
        super().__init__(tables, tables[0].schema, group_rows, piece_rows, memory, item_bytes, settings, large_bytes)

    def _cursors_of(self, columns: Sequence[str] | None) -> list[Cursor | RowsInMemory]:
        return list(self._pairs.cursors)

    def again(self) -> DiffGather:
        """See Gather. Rows come from the cursors of the comparison, whose readers any number of threads share."""
        return self

    @cached_property
    def change(self) -> pa.Field:
        """The field of the column of marks."""
        title = CHANGE_TITLE + suffix_apart(CHANGE_TITLE, self.schema.names)
        return pa.field(title, pa.string(), nullable=False)

    @property
    def output_schema(self) -> pa.Schema:
        """See Gather."""
        return self.schema.insert(0, self.change)

    def wanted(self, items: Bytes) -> MarkedRows:
        """See Gather."""
        marked = MarkedItems(items, self._item_bytes)
        return MarkedRows(marked.references, None, marked.marks)

    def rows(self, wanted: WantedRows) -> pa.Table:
        """See Gather."""
        assert isinstance(wanted, MarkedRows), "of wanted"
        rows = super().rows(wanted)
        column = pa.DictionaryArray.from_arrays(wanted.marks.astype(np.int32), _MARKS)
        return rows.add_column(0, self.change.with_type(column.type), column)
