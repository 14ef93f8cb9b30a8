"""The columns of an Arrow schema, and fields of structs inside them, by their names."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.json_paths import path_of

ESCAPE = "\\"


def values_type(type: pa.DataType) -> pa.DataType:
    """The type of the values, without dictionaries, runs and extensions around it."""
    while True:
        if pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type):
            type = type.value_type
        elif isinstance(type, pa.BaseExtensionType):
            type = type.storage_type
        else:
            return type


def found_column(schema: pa.Schema, name: str) -> tuple[tuple[str, ...], pa.DataType] | None:
    """The path and the type of a column; None if there is none, or if several have the name.

    A name as it is goes ahead of one with backslashes, as json_paths has them.
    """
    column = _found_as_is(schema, name)
    if column is not None or ESCAPE not in name:
        return column
    try:
        return _at_path(schema, path_of(name))
    except UsageError:  # no escapes
        return None


def _at_path(schema: pa.Schema, path: Sequence[str]) -> tuple[tuple[str, ...], pa.DataType] | None:
    """The same for the names of a column and of fields in it."""
    type = pa.struct(list(schema))
    for name in path:
        inner = values_type(type)
        if not is_struct(inner) or len(inner.get_all_field_indices(name)) != 1:
            return None
        type = inner.field(name).type
    return tuple(path), type


def named_so(schema: pa.Schema, name: str) -> int:
    """The number of columns, or of fields within one, that have a name."""
    count = len(schema.get_all_field_indices(name))
    dot = name.find(".")
    while count < 2 and dot >= 0:
        if len(schema.get_all_field_indices(name[:dot])) == 1:
            inner = values_type(schema.field(name[:dot]).type)
            count = named_so(pa.schema(list(inner)), name[dot + 1 :]) if is_struct(inner) else 0
        dot = name.find(".", dot + 1)
    return count


def _found_as_is(schema: pa.Schema, name: str) -> tuple[tuple[str, ...], pa.DataType] | None:
    if len(schema.get_all_field_indices(name)) == 1:
        return (name,), schema.field(name).type
    dot = name.find(".")
    while dot >= 0:
        if len(schema.get_all_field_indices(name[:dot])) == 1:
            inner = values_type(schema.field(name[:dot]).type)
            below = _found_as_is(pa.schema(list(inner)), name[dot + 1 :]) if is_struct(inner) else None
            if below is not None:
                return (name[:dot], *below[0]), below[1]
        dot = name.find(".", dot + 1)
    return None


def is_struct(type: pa.DataType) -> bool:
    return bool(pa.types.is_struct(type)) and type.num_fields > 0
