"""Tables whose columns differ in their form alone, brought to one schema.

Writers store the same texts as string, large_string, string_view or a dictionary of these, and say or do not say that a
column has no nulls. No value changes from one of these forms to another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables.key_columns import plain_values
from gpumerge_cli.formats.tables.table import Stored, Table, reading

_FAMILIES = (
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)
_SHORT_INDEX_BITS = 32
_SHOWN = 12


def alike(tables: Sequence[Table]) -> list[Table]:
    """The tables with the columns of the first one, nullable where any is. Raises InputError if others differ."""
    first = tables[0]
    schema = first.schema
    for other in tables:
        if not other.schema.equals(schema):
            schema = _common_schema(schema, other, first)
    return [one if one.schema.equals(schema) else _Brought(one, schema) for one in tables]


class _Brought(Table):
    """A table whose columns get the types of another schema. Columns of batches may be dictionaries of their type."""

    def __init__(self, table: Table, schema: pa.Schema) -> None:
        self.name = table.name
        self.schema = schema.with_metadata(table.schema.metadata)
        self.group_rows = table.group_rows
        self.has_utf8 = table.has_utf8
        self.reads_forward = table.reads_forward
        self._table = table

    @property
    def file(self) -> Table:
        """See Table."""
        return self._table

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        fields = [one for one in self.schema if columns is None or one.name in columns]
        batches = self._table.batches(columns, group, rows)
        yield from reading(self.name, (_brought(batch, fields, self.schema.metadata) for batch in batches))

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        return self._table.may_have_nulls(path)

    def extremes(self, group: int, path: Sequence[str]) -> tuple[Any, Any, bool] | None:
        """See Table."""
        return self._table.extremes(group, path)

    def has_exact_extremes(self, group: int, path: Sequence[str]) -> bool:
        """See Table."""
        return self._table.has_exact_extremes(group, path)

    @property
    def stored(self) -> Stored:
        """See Table."""
        return self._table.stored

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.bytes_of_rows(columns)

    def largest_rows(self, nbytes: int) -> float:
        """See Table."""
        return self._table.largest_rows(nbytes)

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.open_bytes(columns)

    def again(self) -> Table:
        """See Table."""
        return _Brought(self._table.again(), self.schema)


def _common_schema(schema: pa.Schema, other: Table, first: Table) -> pa.Schema:
    """The schema for the columns of both. Raises InputError."""
    fields = [_common_field(*pair) for pair in zip(schema, other.schema, strict=False)]
    found = [field for field in fields if field is not None]
    if len(found) == len(schema) == len(other.schema):
        return pa.schema(found, schema.metadata)
    what = f"its columns are {_listed(other)}, those of {first.name} are {_listed(first)}"
    way_out = "give all files the same columns"
    number = next((at for at, field in enumerate(fields) if field is None), None)
    if number is not None:
        here, there = other.schema.field(number), first.schema.field(number)
        what += f": {_shown(here)} differs from {_shown(there)}"
        if here.name == there.name:
            way_out += f": write {other.name} again with {there.name} as {there.type}"
    else:
        more = (other if len(other.schema) > len(schema) else first).schema.field(len(found))
        what += f": {_shown(more)} is in one of them"
    raise InputError(what, where=other.name, way_out=way_out)


def _common_field(first: pa.Field, other: pa.Field) -> pa.Field | None:
    type = common_type(first.type, other.type)
    if type is None or first.name != other.name:
        return None
    return first.with_type(type).with_nullable(first.nullable or other.nullable)


def common_type(first: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both without a change, the first one if it can; None if none does."""
    if first == other:
        return first
    if pa.types.is_dictionary(first) or pa.types.is_dictionary(other):
        return _common_dictionary(first, other)
    if any(_is_one_of(first, family) and _is_one_of(other, family) for family in _FAMILIES):
        return first
    makers = {pa.types.is_list: pa.list_, pa.types.is_large_list: pa.large_list}
    if _is_one_of(first, makers) and _is_one_of(other, makers):
        field = _common_field(first.value_field, other.value_field.with_name(first.value_field.name))
        return None if field is None else next(make for test, make in makers.items() if test(first))(field)
    if pa.types.is_struct(first) and pa.types.is_struct(other) and first.num_fields == other.num_fields:
        fields = [_common_field(*pair) for pair in zip(first, other, strict=True)]
        return None if any(field is None for field in fields) else pa.struct(fields)
    return None


def _common_dictionary(first: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    values, index_bits = [], []
    for type in (first, other):
        is_dictionary = pa.types.is_dictionary(type)
        if is_dictionary and type.ordered:
            return None  # its values have an order of their own
        values.append(type.value_type if is_dictionary else type)
        index_bits.append(type.index_type.bit_width if is_dictionary else 0)
    common = common_type(*values)
    if common is None or not pa.types.is_dictionary(first):
        return common
    if index_bits[0] == index_bits[1] and first.index_type == other.index_type:
        return pa.dictionary(first.index_type, common)
    return pa.dictionary(pa.int32() if max(index_bits) <= _SHORT_INDEX_BITS else pa.int64(), common)


def _is_one_of(type: pa.DataType, tests: Any) -> bool:
    return any(test(type) for test in tests)


def _brought(batch: pa.RecordBatch, fields: Sequence[pa.Field], metadata: Any) -> pa.RecordBatch:
    columns = [_as_type(column, field.type) for column, field in zip(batch.columns, fields, strict=True)]
    if not columns:
        return batch
    types = [field.with_type(column.type) for column, field in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(types, metadata))


def _as_type(array: Any, type: pa.DataType) -> Any:
    """The values as this type, or as a dictionary of it if they are one."""
    if array.type == type:
        return array
    is_dictionary = pa.types.is_dictionary(type)
    values = type.value_type if is_dictionary else type
    if pa.types.is_dictionary(array.type) and values not in (pa.string_view(), pa.binary_view()):
        index = type.index_type if is_dictionary else array.type.index_type
        return pa.DictionaryArray.from_arrays(array.indices.cast(index), array.dictionary.cast(values))
    array = plain_values(array) if pa.types.is_dictionary(array.type) else array
    if not is_dictionary:
        return array.cast(type)
    encoded = array.cast(values).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(type.index_type), encoded.dictionary)


def _listed(table: Table) -> str:
    shown = ", ".join(_shown(field) for field in list(table.schema)[:_SHOWN])
    return shown + ", ..." * (len(table.schema) > _SHOWN)


def _shown(field: pa.Field) -> str:
    return f"{field.name} {field.type}{'' if field.nullable else ' not null'}"
