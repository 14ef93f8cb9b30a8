"""Columns of an output that are made of a number for each row, which a margin of the engine has."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import COUNT_TITLE, PLACE_TITLE, PLACES, Margin


class NumberColumn(Protocol):
    """A column made of numbers."""

    field: pa.Field
    at: int
    """The place of the column among those of the rows, -1 behind all of them."""

    def kept(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Whether each row goes out; None if all do."""

    def values(self, numbers: NDArray[np.int64]) -> Any:
        """The values for the numbers of rows that go out, of the field's type or a dictionary of it."""


class CountColumn:
    """The numbers of equal rows. See NumberColumn."""

    field = pa.field(COUNT_TITLE, pa.int64())
    at = -1

    def kept(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """See NumberColumn."""
        return None

    def values(self, numbers: NDArray[np.int64]) -> Any:
        """See NumberColumn."""
        return pa.array(numbers)


class PlaceColumn:
    """The inputs, of two, that hold a row. See NumberColumn. margin: its columns are None where rows are left out."""

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


def with_column(schema: pa.Schema, column: NumberColumn) -> pa.Schema:
    """The columns of an output that has one more."""
    return schema.insert(len(schema) if column.at < 0 else column.at, column.field)


def refuse_title(schema: pa.Schema, column: NumberColumn, option: str, way_out: str) -> None:
    """Raise UsageError if rows have a column of this title."""
    if column.field.name in schema.names:
        raise UsageError(f"{option}: the rows have a column {column.field.name!r} already", way_out=way_out)


def add_column(rows: pa.Table, column: NumberColumn, numbers: NDArray[np.int64]) -> pa.Table:
    """Rows with the column for their numbers, which may be a dictionary."""
    values = column.values(numbers)
    field = column.field.with_type(values.type)
    return rows.add_column(rows.num_columns if column.at < 0 else column.at, field, values)
