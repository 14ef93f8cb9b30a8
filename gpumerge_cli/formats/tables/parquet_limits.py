"""Values that pyarrow's writer of Parquet would change without a word: it stores some types as others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import OutputError


def check_values(rows: pa.Table, *, int96: bool) -> None:
    """Raise OutputError for a column with a value that its type in the file does not hold.

    int96: timestamps are stored as nanoseconds.
    """
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if not _changes(column.type, int96=int96):
            continue
        for array in _leaves(column.chunks):
            stored = _stored(array.type, int96=int96)
            try:
                array.cast(stored)
            except pa.ArrowInvalid:
                raise OutputError(
                    f"a value of the column {name} does not fit Parquet, which stores {array.type} as {stored}",
                    way_out="write Arrow (.arrow)",
                ) from None


def _stored(type: pa.DataType, *, int96: bool) -> pa.DataType:
    """The type in the file of a type without others inside it."""
    if pa.types.is_date64(type):
        return pa.date32()
    if pa.types.is_timestamp(type):
        unit = "ns" if int96 else "ms" if type.unit == "s" else type.unit
        return pa.timestamp(unit, type.tz)
    return type


def _changes(type: pa.DataType, *, int96: bool) -> bool:
    """Whether a type, or one inside it, is stored as another one."""
    if isinstance(type, pa.BaseExtensionType):
        return _changes(type.storage_type, int96=int96)
    if pa.types.is_dictionary(type):
        return _changes(type.value_type, int96=int96)
    inner = [type.field(number).type for number in range(type.num_fields)]
    return any(_changes(one, int96=int96) for one in inner) or _stored(type, int96=int96) != type


def _leaves(arrays: list[Any]) -> Iterator[Any]:
    """The arrays inside arrays that have none inside them, without values below a null, and those that no row has."""
    for array in arrays:
        type = array.type
        if isinstance(type, pa.BaseExtensionType):
            yield from _leaves([array.storage])
        elif pa.types.is_dictionary(type):
            yield from _leaves([array.dictionary.take(array.indices.unique().drop_null())])
        elif pa.types.is_struct(type):
            yield from _leaves(array.flatten())
        elif pa.types.is_map(type):
            shown = array.filter(array.is_valid())
            yield from _leaves([shown.keys, shown.items])
        elif pa.types.is_nested(type):
            yield from _leaves([array.flatten()])
        else:
            yield array
