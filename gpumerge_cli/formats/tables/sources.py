"""Tables with the names of their files as their first column."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.tables.table import Table, TableOver
from gpumerge_cli.units import quoted_value

_BYTES = 4
"""Those of the column for a row."""


def with_sources(tables: Sequence[Table], title: str) -> list[Table]:
    """The tables, with the name of each as a column ahead of all others.

    Raises UsageError if they have a column of this title, or for a title or name that is not UTF-8.
    """
    if title in tables[0].schema.names:
        what = f"--source: the rows have a column {title!r} already"
        raise UsageError(what, way_out="write --source=NAME with another name, or leave it out")
    _refuse_bytes(title, "write --source=NAME with another name")
    for table in tables:
        _refuse_bytes(table.name, "rename it, or name a link to it")
    names = pa.array([table.name for table in tables], pa.string())
    return [_Named(table, title, names, number) for number, table in enumerate(tables)]


def _refuse_bytes(name: str, way_out: str) -> None:
    """Raise UsageError for a name that is not UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        what = f"--source: the name {quoted_value(name)} is not UTF-8, which texts of tables are"
        raise UsageError(what, way_out=way_out) from None


class _Named(TableOver):
    """A table with a column of one text, names[number], whose batches have the column as a dictionary of all names."""

    def __init__(self, table: Table, title: str, names: Any, number: int) -> None:
        super().__init__(table, table.schema.insert(0, pa.field(title, pa.string(), nullable=False)))
        self.group_rows = table.group_rows
        self._of = (title, names, number)

    @property
    def file(self) -> Table:
        """The table as its file has it, without the column."""
        return self._table.file

    @property
    def is_changed(self) -> bool:
        """Whether values have another form in the file: a column is not there."""
        return True

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        title, names, number = self._of
        has_title = columns is None or title in columns
        for batch in self._table.batches(self._of_file(columns), group, rows):
            if not has_title:
                yield batch
                continue
            column = pa.DictionaryArray.from_arrays(np.full(batch.num_rows, number, np.int32), names)
            schema = batch.schema.insert(0, self.schema.field(0).with_type(column.type))
            yield pa.RecordBatch.from_arrays([column, *batch.columns], schema=schema)

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        of_names = _BYTES * self.rows if columns is None or self._of[0] in columns else 0
        return self._table.bytes_of_rows(self._of_file(columns)) + of_names

    def largest_rows(self, nbytes: int) -> float:
        """See Table."""
        return self._table.largest_rows(nbytes) + _BYTES

    def most_uneven(self, *, plain: bool) -> float:
        """See Table."""
        return self._table.most_uneven(plain=plain)

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.open_bytes(self._of_file(columns))

    def again(self) -> Table:
        """See Table."""
        return _Named(self._table.again(), *self._of)

    def with_plain(self, columns: Collection[str]) -> Table:
        """See Table."""
        return _Named(self._table.with_plain(columns), *self._of)

    def _of_file(self, columns: Sequence[str] | None) -> Sequence[str] | None:
        return None if columns is None else [name for name in columns if name != self._of[0]]
