"""Tables whose columns differ, brought to one schema.

By default they differ in their form alone. Writers store the same texts as string, large_string, string_view or a
dictionary of these, times in several units, and say or do not say that a column has no nulls. With a schema of
formats.schema, columns go by their names, and numbers may get wider types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.schema import Schema, common_columns
from gpumerge_cli.formats.tables.column_paths import values_type
from gpumerge_cli.formats.tables.common_types import are_stored_alike, as_type, common_field, nulls_of
from gpumerge_cli.formats.tables.index_widths import with_wide_indices
from gpumerge_cli.formats.tables.table import Stored, Table, reading
from gpumerge_cli.units import in_short

_SHOWN = 12
_OF_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
"""The columns as Spark reads them, whatever others there are."""


def alike(
    tables: Sequence[Table], schema: Schema = "same", *, widens: bool = False, counts: bool = False
) -> list[Table]:
    """The tables with the columns of the first one, or those that a schema says, nullable where any is.

    widens: numbers may get wider types where files differ, as they do by a schema. counts: dictionaries get indices
    that count the values of all files, for which their columns may be read. Raises InputError if others differ.
    """
    plain = frozenset().union(*(table.plain_columns for table in tables))
    if plain:
        tables = [table.with_plain(plain & _dictionaries(table.schema)) for table in tables]
    if schema != "same":
        return _by_names(tables, schema, counts=counts)
    first = tables[0]
    common = first.schema
    for other in tables:
        if not other.schema.equals(common):
            common = _common_schema(common, other, first, widens=widens)
    common = _with_fields(first.schema, list(with_wide_indices(tables, common) if counts else common))
    return [one if one.schema.equals(common) else _Brought(one, common) for one in tables]


class _Brought(Table):
    """A table whose columns get the types of another schema. Columns of batches may be dictionaries of their type.

    by_name: columns may lack, be more, or in another order. Each name occurs once.
    """

    def __init__(self, table: Table, schema: pa.Schema, *, by_name: bool = False) -> None:
        self.name = table.name
        self.schema = schema
        self.group_rows = table.group_rows
        self.has_utf8 = table.has_utf8
        self.reads_forward = table.reads_forward
        self._table = table
        self._by_name = by_name

    @property
    def file(self) -> Table:
        """See Table."""
        return self._table

    @cached_property
    def plain_columns(self) -> frozenset[str]:
        """See Table."""
        return self._table.plain_columns & _dictionaries(self.schema)

    @cached_property
    def is_changed(self) -> bool:
        """See Table."""
        own = self._table.schema
        if own.names != self.schema.names:
            return True
        return not all(are_stored_alike(*pair) for pair in zip(own.types, self.schema.types, strict=True))

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        fields = [one for one in self.schema if columns is None or one.name in columns]
        batches = self._table.batches(self._own(columns), group, rows)
        yield from reading(self.name, (self._brought(batch, fields) for batch in batches))

    def _own(self, columns: Sequence[str] | None) -> Sequence[str] | None:
        """The columns that the file has of these, in its order."""
        known = self._table.schema.names
        if not self._by_name or (columns is None and set(known) <= set(self.schema.names)):
            return columns
        wanted = set(self.schema.names if columns is None else columns)
        return [name for name in known if name in wanted]

    def _brought(self, batch: pa.RecordBatch, fields: Sequence[pa.Field]) -> pa.RecordBatch:
        if not fields:
            return batch
        columns = []
        for number, field in enumerate(fields):
            if self._by_name and field.name not in batch.schema.names:
                columns.append(nulls_of(field.type, batch.num_rows))
                continue
            column = batch.column(field.name if self._by_name else number)
            type = field.type.value_type if field.name in self.plain_columns else field.type
            try:
                columns.append(as_type(column, type))
            except pa.ArrowInvalid as error:
                what = f"{field.name}: {error}".splitlines()[0].rstrip(".")
                way_out = f"write all files again with one type of {field.name} that holds its values"
                raise InputError(what, where=self.name, way_out=way_out) from None
        types = [field.with_type(column.type) for column, field in zip(columns, fields, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(types, self.schema.metadata))

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        return self._lacks(path) or self._table.may_have_nulls(path)

    def has_order(self, path: Sequence[str]) -> bool:
        """See Table."""
        return self._table.has_order(path)

    def extremes(self, group: int, path: Sequence[str]) -> tuple[Any, Any, bool] | None:
        """See Table."""
        found = None if self._lacks(path) else self._table.extremes(group, path)
        if found is None:
            return None
        own, type = _type_at(self._table.schema, path), _type_at(self.schema, path)
        if own == type or not pa.types.is_temporal(own):
            return found
        try:  # integers of another unit
            least, greatest = pa.array(found[:2], own).cast(type)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return None
        return least, greatest, found[2]

    def has_exact_extremes(self, group: int, path: Sequence[str]) -> bool:
        """See Table."""
        return not self._lacks(path) and self._table.has_exact_extremes(group, path)

    def _lacks(self, path: Sequence[str]) -> bool:
        return path[0] not in self._table.schema.names

    @property
    def stored(self) -> Stored:
        """See Table."""
        return self._table.stored

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.bytes_of_rows(self._own(columns))

    def largest_rows(self, nbytes: int) -> float:
        """See Table."""
        return self._table.largest_rows(nbytes)

    def most_uneven(self, *, plain: bool) -> float:
        """See Table."""
        return self._table.most_uneven(plain=plain)

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.open_bytes(self._own(columns))

    def again(self) -> Table:
        """See Table."""
        return _Brought(self._table.again(), self.schema, by_name=self._by_name)

    def with_plain(self, columns: Collection[str]) -> Table:
        """See Table."""
        return _Brought(self._table.with_plain(columns), self.schema, by_name=self._by_name)


def check_keys(tables: Sequence[Table], paths: Sequence[Sequence[str]]) -> None:
    """Raise InputError if a file lacks the column of a key, which would be null, or if its values have no order."""
    names = [path[0] for path in paths]
    for table in tables:
        unordered = next((path for path in paths if not table.has_order(path)), None)
        if unordered is not None:
            what = f"--field {'.'.join(unordered)}: values of type INTERVAL have no order"
            raise InputError(what, where=table.name, way_out="name another column")
        lacking = [name for name in names if name not in table.file.schema.names]
        if lacking:
            what = f"it has no column {lacking[0]!r}, which is a key"
            raise InputError(what, where=table.name, way_out="leave the file out, or name keys that all files have")


def _dictionaries(schema: pa.Schema) -> frozenset[str]:
    """The columns that are dictionaries without an order."""
    return frozenset(one.name for one in schema if pa.types.is_dictionary(one.type) and not one.type.ordered)


def _by_names(tables: Sequence[Table], schema: Schema, *, counts: bool = False) -> list[Table]:
    """See alike. Numbers get wider types where files differ."""
    names = common_columns([(table.name, table.schema.names) for table in tables], schema)
    fields = []
    for name in names:
        having = [table for table in tables if name in table.schema.names]
        field = having[0].schema.field(name)
        for other in having[1:]:
            common = common_field(field, other.schema.field(name), widens=True)
            if common is None:
                here, there = other.schema.field(name), having[0].schema.field(name)
                what = f"{_shown(here)} differs from {_shown(there)} of {having[0].name}"
                way_out = f"write it again with {name} as {there.type}, or rename one of the columns"
                raise InputError(what, where=other.name, way_out=way_out)
            field = common
        fields.append(field.with_nullable(field.nullable or len(having) < len(tables)))
    if counts:
        fields = list(with_wide_indices(tables, pa.schema(fields)))
    common_schema = _with_fields(tables[0].schema, fields)
    return [one if one.schema.equals(common_schema) else _Brought(one, common_schema, by_name=True) for one in tables]


def _with_fields(schema: pa.Schema, fields: Sequence[pa.Field]) -> pa.Schema:
    """The fields with the metadata of a schema, as far as they fit."""
    metadata = dict(schema.metadata or {})
    if [(field.name, field.type) for field in fields] != [(field.name, field.type) for field in schema]:
        metadata.pop(_OF_SPARK, None)
    return pa.schema(fields, metadata or None)


def _common_schema(schema: pa.Schema, other: Table, first: Table, *, widens: bool) -> pa.Schema:
    """The schema for the columns of both. Raises InputError."""
    fields = [common_field(*pair, widens=widens) for pair in zip(schema, other.schema, strict=False)]
    found = [field for field in fields if field is not None]
    if len(found) == len(schema) == len(other.schema):
        return pa.schema(found, schema.metadata)
    what = f"its columns are {_listed(other)}, the columns of {first.name} are {_listed(first)}"
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
    if _go_by_name(first, other):
        way_out += ", or add --schema union or intersect"
    raise InputError(what, where=other.name, way_out=way_out)


def _go_by_name(first: Table, other: Table) -> bool:
    """Whether two files have columns in common whose types fit."""
    try:
        return bool(_by_names([first, other], "intersect"))
    except InputError:
        return False


def _type_at(schema: pa.Schema, path: Sequence[str]) -> pa.DataType:
    type: Any = pa.struct(list(schema))
    for name in path:
        type = values_type(type).field(name).type
    return values_type(type)


def _listed(table: Table) -> str:
    shown = ", ".join(_shown(field) for field in list(table.schema)[:_SHOWN])
    return shown + ", ..." * (len(table.schema) > _SHOWN)


def _shown(field: pa.Field) -> str:
    return f"{in_short(field.name)} {field.type}{'' if field.nullable else ' not null'}"
