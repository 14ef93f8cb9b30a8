"""Columns beside each other as one array of records, in host memory or on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpumerge_cli.arrays.column_array import ColumnArray, as_column
from gpumerge_cli.arrays.columns import NamedColumns, as_columns
from gpumerge_cli.arrays.interchange import as_array, check_unmasked, is_cupy, name_of
from gpumerge_cli.arrays.options import in_native_order, same_side, short_repr
from gpumerge_cli.arrays.plain_items import item_rows, native
from gpumerge_cli.errors import UsageError


def records_of_columns(columns: Mapping[Any, Any]) -> Any:
    """A structured array with a field for each column, of NumPy or CuPy, where the columns lie. Fields are aligned.

    columns: 1-D arrays of one length by their names. Raises UsageError for others, and for columns of objects.
    """
    if not columns:
        raise UsageError("a dict without columns", way_out='give arrays by their names, as {"city": cities}')
    _check_names(columns)
    found = {}
    for name, given in columns.items():
        array = as_array(given)
        check_unmasked(array)
        if array.ndim != 1 or array.dtype.hasobject or array.dtype.kind == "T" or not array.dtype.itemsize:
            what = f"column {short_repr(name)}: an array of {array.dtype}, {array.ndim}-D, is not a column of records"
            raise UsageError(what, way_out="give 1-D arrays of numbers, dates, bytes or records")
        found[name] = array
    lengths = {name: len(array) for name, array in found.items()}
    if len(set(lengths.values())) != 1:
        raise UsageError(f"columns of different lengths: {lengths}", way_out="give an item of each for each record")
    on_device, count = same_side(list(found.values())), next(iter(lengths.values()))
    fields: Any = [(name, in_native_order(array.dtype)) for name, array in found.items()]
    dtype = np.dtype(fields, align=True)
    if not on_device:
        records = np.zeros(count, dtype)
        for name, array in found.items():
            records[name] = array
        return records
    first = next(iter(found.values()))
    with first.device:
        import cupy

        rows = cupy.zeros((count, dtype.itemsize), np.uint8)
        for name, array in found.items():
            fields_of: Any = dtype.fields
            start = fields_of[name][1]
            if count:
                rows[:, start : start + array.itemsize] = item_rows(array)
        return rows.reshape(-1).view(dtype)


def _check_names(columns: Mapping[Any, Any]) -> None:
    for name in columns:
        if not isinstance(name, str) or not name:
            what = f"{short_repr(name)} is not the name of a column"
            raise UsageError(what, way_out='use texts, as {"city": cities}')


def as_given_array(given: Any, *, payload: bool = False) -> Any:
    """See as_array, which this is but for columns. payload: values are no columns.

    A ColumnArray stays one, as a column on a GPU becomes one that no array holds. A dict of columns becomes records, or
    NamedColumns if such a column is among them.
    """
    if isinstance(given, np.ndarray) or is_cupy(given):  # looked at first: calls on small arrays are short
        return given if payload or not is_cupy(given) else native(given)
    if payload:
        column = as_column(given)
        if isinstance(column, ColumnArray):
            what = f"values: {name_of(given)} holds texts or nulls, which do not move with keys"
            raise UsageError(what, way_out="give the numbers of rows, and take the rows that come back")
        return as_array(given if column is None else column, payload=True)
    if isinstance(given, NamedColumns):
        return given
    if isinstance(given, Mapping):
        columns = _columns_of(given)
        return columns_of_dict(columns) if _has_column(columns) else records_of_columns(columns)
    column = as_column(given)
    if isinstance(column, ColumnArray):
        return column
    array = as_array(given if column is None else column)
    return native(array) if is_cupy(array) else array


def dicts_with_columns(given: Sequence[Any]) -> list[Any] | None:
    """Dicts of columns as NamedColumns, if one of them holds a ColumnArray; None for all other arrays of a call.

    A column that is a ColumnArray in one of them becomes one in all.
    """
    if not all(isinstance(each, Mapping) for each in given):
        return None
    dicts = [_columns_of(each) for each in given]
    names = {name for each in dicts for name, column in each.items() if isinstance(column, ColumnArray)}
    if not names:
        return None
    return [
        columns_of_dict({name: ColumnArray.of(one) if name in names else one for name, one in each.items()})
        for each in dicts
    ]


def columns_of_dict(columns: Mapping[Any, Any]) -> NamedColumns:
    """Columns beside each other, as ColumnArrays or 1-D arrays. Raises UsageError for others."""
    _check_names(columns)
    return as_columns({name: _plain(each) for name, each in columns.items()})


def _columns_of(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """The columns of a dict; those that offer a column on a GPU as the ColumnArray or the array of it."""
    found = {name: as_column(each) for name, each in given.items()}
    return {name: given[name] if each is None else each for name, each in found.items()}


def _has_column(columns: Mapping[Any, Any]) -> bool:
    return any(isinstance(each, ColumnArray) for each in columns.values())


def _plain(given: Any) -> Any:
    if isinstance(given, ColumnArray):
        return given
    array = as_array(given)
    check_unmasked(array)
    if array.ndim != 1:
        raise UsageError(f"a column has {array.ndim} dimensions", way_out="give 1-D arrays")
    return array
