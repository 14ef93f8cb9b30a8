"""Columns of an output that are made of a number for each row, which a margin of the engine has."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import COUNT_TITLE, PLACE_TITLE, PLACES, Margin

RowNumbers = Any
"""The numbers of some rows, int64, or what is made of them: it has slices."""


class NumberColumns(Protocol):
    """Columns that are made of numbers."""

    def schema_with(self, schema: pa.Schema) -> pa.Schema:
        """The columns of an output of rows with these columns."""

    def added_to(self, rows: pa.Table, numbers: RowNumbers) -> pa.Table:
        """Rows that go out with the columns for their numbers, which may be dictionaries."""


class NumberColumn:
    """One more column. See NumberColumns."""

    field: pa.Field
    at: int
    """The place of the column among those of the rows, -1 behind all of them."""

    def kept(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Whether each row goes out; None if all do."""
        return None

    def values(self, numbers: NDArray[np.int64]) -> Any:
        """The values for the numbers of rows that go out, of the field's type or a dictionary of it."""
        return pa.array(numbers)

    def schema_with(self, schema: pa.Schema) -> pa.Schema:
        """See NumberColumns."""
        return schema.insert(len(schema) if self.at < 0 else self.at, self.field)

    def added_to(self, rows: pa.Table, numbers: RowNumbers) -> pa.Table:
        """See NumberColumns."""
        values = self.values(numbers)
        return rows.add_column(rows.num_columns if self.at < 0 else self.at, self.field.with_type(values.type), values)


class CountColumn(NumberColumn):
    """The numbers of equal rows."""

    field = pa.field(COUNT_TITLE, pa.int64())
    at = -1


class PlaceColumn(NumberColumn):
    """The inputs, of two, that hold a row. margin: its columns are None where rows are left out."""

    field = pa.field(PLACE_TITLE, pa.string(), nullable=False)
    at = 0

    def __init__(self, margin: Margin) -> None:
        self._goes_out = np.array([text is not None for text in margin.columns])

    def kept(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """See NumberColumn."""
        return None if self._goes_out.all() else self._goes_out[numbers]

    def values(self, numbers: NDArray[np.int64]) -> Any:
        """See NumberColumn."""
        return pa.DictionaryArray.from_arrays(numbers.astype(np.int32), pa.array(PLACES, pa.string()))


def refuse_title(schema: pa.Schema, column: NumberColumn, option: str, way_out: str) -> None:
    """Raise UsageError if rows have a column of this title."""
    if column.field.name in schema.names:
        raise UsageError(f"{option}: the rows have a column {column.field.name!r} already", way_out=way_out)
