"""The choice of columns whose values a sort replaces by their ranks. See formats.tables.value_ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.tables.cursor import batch_rows
from gpumerge_cli.formats.tables.decoded import DecodedTable
from gpumerge_cli.formats.tables.key_columns import KeyColumn, is_text
from gpumerge_cli.formats.tables.table import Table, reading
from gpumerge_cli.formats.tables.value_ranks import RANK, RankedTable, ValueRanks

_MOST_HELD = 64 << 20
"""Bytes of the values of all columns that are held, however small the memory is."""
_SHARES = 4
"""Else they may take one of so many shares of the memory."""
_LARGE = 1 << 18
"""Values of a column that is no key are held if a dictionary has so many bytes."""
_MOST_LOOKED_UP = 16 << 30
"""The most bytes of values among which those of dictionaries are looked up, each time all of them."""
_BATCH_BYTES = 4 << 20


def with_ranks(
    tables: Sequence[Table], keys: Sequence[KeyColumn], memory: int
) -> tuple[list[Table], ValueRanks | None]:
    """(the tables, the ranks that they have in place of values; None if no column is held as a dictionary by all).

    keys: those of the sort. Keys of large dictionaries without ranks are plain values.
    memory: bytes that the sort may take, of which the values take a part. Raises InputError.
    """
    schema = tables[0].schema
    if len(set(schema.names)) < len(schema):
        return list(tables), None
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
        tables = [_with_plain(table, plain) for table in tables]
    ranks = ValueRanks(schema, found) if found else None
    return [table if ranks is None else RankedTable(table, ranks) for table in tables], ranks


def _with_plain(table: Table, names: Sequence[str]) -> Table:
    """The table with plain values of columns, which its file reads as such or which are decoded."""
    plain = table.with_plain(names)
    first = next((one for one in reading(plain.name, plain.batches(list(names), 0, 1)) if one.num_rows), None)
    left = [] if first is None else [name for name in names if pa.types.is_dictionary(first.schema.field(name).type)]
    return DecodedTable(plain, left) if left else plain


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
    """The values of a column, ordered by their bytes, without null; None if batches have others, or for too many.

    most: bytes of them.
    """
    import pyarrow.compute as pc

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
    import pyarrow.compute as pc

    parts = [*([] if known is None else [known]), *more]
    return pc.drop_null(pc.unique(pa.chunked_array(parts)))


def _large(type: pa.DataType) -> pa.DataType:
    return pa.large_binary() if pa.types.is_binary(type) or pa.types.is_large_binary(type) else pa.large_string()


def ranked_key(key: KeyColumn, ranks: ValueRanks | None) -> KeyColumn:
    """A key of tables with these ranks."""
    return replace(key, type=RANK) if ranks is not None and key.path[0] in ranks.names else key
