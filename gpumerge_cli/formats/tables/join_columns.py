"""The columns of joined tables: which column of A or B each is, and its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.formats.tables.column_paths import found_column, values_type
from gpumerge_cli.formats.tables.join_keys import JoinedKeys
from gpumerge_cli.formats.tables.key_columns import KeyColumn, key_array
from gpumerge_cli.formats.tables.table import StoredColumn, Table, reading
from gpumerge_cli.order.joins import suffix_apart
from gpumerge_cli.order.row_joins import JoinRequest

_OF_SCHEMA = (b"pandas", b"org.apache.spark.sql.parquet.row.metadata")
"""The metadata that describe all columns of a file."""


@dataclass(frozen=True)
class JoinedColumn:
    """A column of the output. At least one of its two places is given."""

    field: pa.Field
    places: tuple[int | KeyColumn | None, int | KeyColumn | None]
    """The number of the column in the schema of A and of B, or the key; None where the file does not give it."""


def joined_columns(tables: Sequence[Table], keys: JoinedKeys, request: JoinRequest) -> list[JoinedColumn]:
    """The columns of the output."""
    lacks = request.may_lack
    places = _places(tables, keys, request)
    names = [
        keys[0][number].name if source == 0 else tables[source - 1].schema.field(number).name
        for source, number in places
    ]
    made = []
    for at, (source, number) in enumerate(places):
        others = [*names[:at], *names[at + 1 :]] if source == 2 else names[:at]
        if request.only_one < 0 or request.columns is not None:
            names[at] += suffix_apart(names[at], others)
        if source == 0:
            made.append(_key(names[at], tables, keys, number, lacks[0]))
            continue
        field = tables[source - 1].schema.field(number).with_name(names[at])
        field = field.with_nullable(field.nullable or lacks[source - 1])
        made.append(JoinedColumn(field, (number, None) if source == 1 else (None, number)))
    return made


def _places(tables: Sequence[Table], keys: JoinedKeys, request: JoinRequest) -> Sequence[tuple[int, int]]:
    """See JoinRequest.columns. By default the key comes first, unless rows of one table go out as they are."""
    if request.columns is not None:
        return request.columns
    if request.only_one >= 0:
        return [(request.only_one + 1, number) for number in range(len(tables[request.only_one].schema))]
    found = [(0, number) for number in range(len(keys[0]))]
    for side, table in enumerate(tables):
        taken = [table.schema.get_field_index(key.path[0]) for key in keys[side] if len(key.path) == 1]
        found += [(side + 1, number) for number in range(len(table.schema)) if number not in taken]
    return found


def _key(name: str, tables: Sequence[Table], keys: JoinedKeys, number: int, may_lack_a: bool) -> JoinedColumn:
    a, b = (its[number] for its in keys)
    field = tables[0].schema.field(a.path[0]).with_name(name)
    has_type = len(a.path) == 1 and values_type(field.type) == a.type
    if has_type and not may_lack_a:
        return JoinedColumn(field, (tables[0].schema.get_field_index(a.path[0]), None))
    found = found_column(tables[0].schema, a.name)
    own = a.type if found is None else found[1]
    is_extension = isinstance(own, pa.BaseExtensionType) and own.storage_type == a.type
    made = pa.field(name, own if is_extension else a.type)
    return JoinedColumn(made, (a, replace(b, type=a.type) if may_lack_a else None))


def joined_schema(columns: Sequence[JoinedColumn], first: Table) -> pa.Schema:
    """The schema of the output, with the metadata of A that do not describe its columns."""
    kept = {key: value for key, value in (first.schema.metadata or {}).items() if key not in _OF_SCHEMA}
    return pa.schema([column.field for column in columns], kept or None)


def places_in(columns: Sequence[JoinedColumn]) -> list[tuple[int | None, int | None]]:
    """The number of each column among the picked ones of A and of B; None where it is not picked. See JoinGather."""
    counts = [0, 0]
    found = []
    for column in columns:
        places: list[int | None] = [None, None]
        for side, place in enumerate(column.places):
            if place is not None:
                places[side] = counts[side]
                counts[side] += 1
        found.append((places[0], places[1]))
    return found


class PickedColumns(Table):
    """The columns of a table that go into a join's output, with their names there. side: 0 for A, 1 for B."""

    def __init__(self, table: Table, columns: Sequence[JoinedColumn], side: int) -> None:
        self.name = table.name
        self.group_rows = table.group_rows
        self.has_utf8 = table.has_utf8
        self.reads_forward = table.reads_forward
        self._table, self._columns, self._side = table, columns, side
        picked = [(column.field, place) for column in columns if (place := column.places[side]) is not None]
        self._places = [place for _, place in picked]
        self.schema = pa.schema([self._field(*one) for one in picked])

    def _field(self, field: pa.Field, place: int | KeyColumn) -> pa.Field:
        type = place.type if isinstance(place, KeyColumn) else self._table.schema.field(place).type
        return field.with_type(type).with_nullable(True)

    @property
    def file(self) -> Table:
        """See Table."""
        return self._table

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        numbers = [at for at, name in enumerate(self.schema.names) if columns is None or name in columns]
        yield from reading(
            self.name, (self._picked(batch, numbers) for batch in self._table.batches(self._read(), group, rows))
        )

    def _read(self) -> list[str] | None:
        """The columns that are read; None for all, where names do not tell them."""
        names = self._table.schema.names
        if len(set(names)) < len(names):
            return None
        wanted = {place.path[0] if isinstance(place, KeyColumn) else names[place] for place in self._places}
        return None if wanted == set(names) else [name for name in names if name in wanted]

    def _picked(self, batch: Any, numbers: Sequence[int]) -> pa.RecordBatch:
        names = self._table.schema.names
        arrays = []
        for number in numbers:
            place = self._places[number]
            if isinstance(place, KeyColumn):
                arrays.append(key_array(place, batch))
            else:
                arrays.append(batch.column(names[place] if batch.num_columns < len(names) else place))
        fields = [self.schema.field(number).with_type(one.type) for number, one in zip(numbers, arrays, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        return True

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.bytes_of_rows(self._read())

    def largest_rows(self, nbytes: int) -> float:
        """See Table."""
        return self._table.largest_rows(nbytes)

    def most_uneven(self, *, plain: bool) -> float:
        """See Table."""
        return self._table.most_uneven(plain=plain)

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.open_bytes(self._read())

    def again(self) -> PickedColumns:
        """See Table."""
        return PickedColumns(self._table.again(), self._columns, self._side)

    def stored_columns(self) -> list[StoredColumn]:
        """The forms in which the file stores these columns, by their names in the output. Raises InputError."""
        names, stored = self._table.schema.names, self._table.stored.columns
        found = []
        for name, place in zip(self.schema.names, self._places, strict=True):
            path = place.path if isinstance(place, KeyColumn) else (names[place],)
            for one in stored:
                if one.path[: len(path)] == path:
                    found.append(replace(one, path=(name, *one.path[len(path) :])))
        return found
