"""Columns of a sort that files hold as dictionaries: rows have the ranks of their values among the values of all files.

A text that many rows have is held once, whatever its length is. A key compares by its rank. Runs in temporary files
have the ranks in place of the texts, and none has a dictionary of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.tables.cursor import batch_rows
from gpumerge_cli.formats.tables.dictionaries import too_long
from gpumerge_cli.formats.tables.key_columns import KeyColumn, is_text
from gpumerge_cli.formats.tables.table import Stored, Table, reading

_MOST_HELD = 64 << 20
"""Bytes of the values of all columns that are held, however small the memory is."""
_SHARES = 4
"""Else they may take one of so many shares of the memory."""
_LARGE = 1 << 18
"""Values of a column that is no key are held if a dictionary has so many bytes."""
_MOST_LOOKED_UP = 16 << 30
"""The most bytes of values among which those of dictionaries are looked up, each time all of them."""
_BATCH_BYTES = 4 << 20
_RANK = pa.int32()


class Ranks:
    """The ranks of the values of some columns. schema: of the tables. values: by the name of a column, in order."""

    def __init__(self, schema: pa.Schema, values: dict[str, Any]) -> None:
        self.schema = schema
        self._values = values
        fields = [field.with_type(_RANK) if field.name in values else field for field in schema]
        self.ranked_schema = pa.schema(fields, schema.metadata)
        """The columns of tables with ranks."""
        self.longest = sum(int(pc.max(pc.binary_length(one)).as_py() or 0) for one in values.values())
        """The most bytes of the values of a row."""

    @property
    def names(self) -> Collection[str]:
        """The columns that have ranks."""
        return self._values.keys()

    def key(self, key: KeyColumn) -> KeyColumn:
        """The key by ranks, if it has them."""
        return replace(key, type=_RANK) if key.path[0] in self._values else key

    def ranked(self, name: str, dictionary: Any) -> Any:
        """The ranks of the values of a dictionary of a column, int32; null for null."""
        return pc.index_in(dictionary.cast(self._values[name].type), self._values[name])

    def restored(self, rows: pa.Table) -> pa.Table:
        """Rows with dictionaries in place of ranks. Raises InputError if indices cannot count the values of these."""
        for number, field in enumerate(rows.schema):
            if field.name in self._values:
                column = self._restored(self.schema.field(field.name), rows.column(number))
                rows = rows.set_column(number, field.with_type(column.type), column)
        return rows

    def _restored(self, field: pa.Field, ranks: Any) -> Any:
        """A column of ranks as a dictionary of the values that it has."""
        whole, values = ranks.combine_chunks(), self._values[field.name]
        mask = whole.is_null().to_numpy(zero_copy_only=False) if whole.null_count else None
        places = whole.fill_null(0).to_numpy(zero_copy_only=False)
        used, places = np.unique(places, return_inverse=True)
        if len(values):
            values = values.take(pa.array(used))
        type = field.type if pa.types.is_dictionary(field.type) else pa.dictionary(_RANK, field.type)
        try:
            indices = pa.array(places, mask=mask).cast(type.index_type)
        except pa.ArrowInvalid:
            raise too_long(field.name, type) from None
        return pa.DictionaryArray.from_arrays(indices, values.cast(type.value_type))


def with_ranks(
    tables: Sequence[Table], keys: Sequence[KeyColumn], memory: int
) -> tuple[Sequence[Table], Ranks | None]:
    """(the tables, the ranks that they have in place of values; None if no column is held as a dictionary by all).

    keys: those of the sort. Keys of large dictionaries without ranks are read as plain values as far as files can.
    memory: bytes that the sort may take, of which the values take a part. Raises InputError.
    """
    schema = tables[0].schema
    if len(set(schema.names)) < len(schema):
        return tables, None
    names = {key.path[0] for key in keys}
    without = {key.path[0] for key in keys if len(key.path) > 1 or key.kind}
    found, plain, left = {}, [], max(_MOST_HELD, memory // _SHARES)
    for field in schema:
        first = _first_dictionary(tables, field)
        if first is None or (first.nbytes < _LARGE and (field.name not in names or field.name in without)):
            continue
        is_ranked = _may_be_ranked(first.type) and field.name not in without
        values = _values_of(tables, field.name, left) if is_ranked else None
        if values is not None:
            found[field.name] = values
            left -= values.nbytes
        elif field.name in names and first.nbytes >= _LARGE:
            plain.append(field.name)
    if plain:
        tables = [table.with_plain(plain) for table in tables]
    ranks = Ranks(schema, found) if found else None
    return tables if ranks is None else [RankedTable(table, ranks) for table in tables], ranks


def _first_dictionary(tables: Sequence[Table], field: pa.Field) -> Any:
    """The first dictionary of a column of texts without an order of its own; None if it has none."""
    type, is_dictionary = field.type, pa.types.is_dictionary(field.type)
    if not is_text(type.value_type if is_dictionary else type) or (is_dictionary and type.ordered):
        return None
    for table in tables:
        for batch in reading(table.name, table.batches([field.name], 0, 1)):
            if batch.num_rows:
                column = batch.column(0)
                return column.dictionary if pa.types.is_dictionary(column.type) else None
    return None


def _may_be_ranked(type: pa.DataType) -> bool:
    """Whether Arrow sorts and looks up texts of a type."""
    types = pa.types
    return is_text(type) and not (
        types.is_string_view(type) or types.is_binary_view(type) or types.is_fixed_size_binary(type)
    )


def _values_of(tables: Sequence[Table], name: str, most: int) -> Any:
    """The values of a column in the order of their bytes, without null; None for plain ones, or more than `most` bytes."""
    known: Any = None
    waiting: list[Any] = []
    last: Any = None
    size = dictionaries = 0
    for table in tables:
        for batch in reading(table.name, table.batches([name], 0, batch_rows(table, [name], _BATCH_BYTES))):
            column = batch.column(0)
            if not pa.types.is_dictionary(column.type):
                return None
            if last is not None and column.dictionary.equals(last):
                continue
            last = column.dictionary
            dictionaries += 1
            waiting.append(last.cast(_large(last.type)))
            size += last.nbytes
            if known is None or size > max(_BATCH_BYTES, known.nbytes):
                known, waiting, size = _distinct(known, waiting), [], 0
                if known.nbytes > most or known.nbytes * dictionaries > _MOST_LOOKED_UP:
                    return None
    known = _distinct(known, waiting)
    if known.nbytes > most or known.nbytes * dictionaries > _MOST_LOOKED_UP:
        return None
    return known.take(pc.sort_indices(known))


def _distinct(known: Any, more: Sequence[Any]) -> Any:
    parts = [*([] if known is None else [known]), *more]
    return pc.drop_null(pc.unique(pa.chunked_array(parts)))


def _large(type: pa.DataType) -> pa.DataType:
    return pa.large_binary() if pa.types.is_binary(type) or pa.types.is_large_binary(type) else pa.large_string()


class RankedTable(Table):
    """A table with ranks in place of values."""

    def __init__(self, table: Table, ranks: Ranks) -> None:
        self.name = table.name
        self.schema = ranks.ranked_schema
        self.group_rows = table.group_rows
        self.has_utf8 = table.has_utf8
        self.reads_forward = table.reads_forward
        self._table, self._ranks = table, ranks

    @property
    def is_changed(self) -> bool:
        """See Table."""
        return True

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        known: dict[str, tuple[Any, Any]] = {}
        for batch in self._table.batches(columns, group, rows):
            arrays = list(batch.columns)
            for number, name in enumerate(batch.schema.names):
                if name in self._ranks.names:
                    dictionary = arrays[number].dictionary
                    if name not in known or not known[name][0].equals(dictionary):
                        known[name] = dictionary, self._ranks.ranked(name, dictionary)
                    arrays[number] = known[name][1].take(arrays[number].indices)
            fields = [field.with_type(one.type) for field, one in zip(batch.schema, arrays, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        return self._table.may_have_nulls(path)

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

    def most_uneven(self, *, plain: bool) -> float:
        """See Table."""
        return self._table.most_uneven(plain=plain)

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.open_bytes(columns)

    def check_read(self, rows: int) -> None:
        """See Table."""
        self._table.check_read(rows)

    def place(self, row: int) -> str:
        """See Table."""
        return self._table.place(row)

    def again(self) -> RankedTable:
        """See Table."""
        return RankedTable(self._table.again(), self._ranks)
