"""Columns of texts that files hold as dictionaries: rows keep them so from the input to the output.

Such a column of a batch has a dictionary type where the schema has that of its values. The other way round, a column
that the schema types as a dictionary has plain values in batches where its dictionaries are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables.nested_dictionaries import dictionaries_inside
from gpumerge_cli.formats.tables.taking import values_at
from gpumerge_cli.formats.tables.unified import address, unified, with_null_indices

_LARGE = 1 << 18
"""Dictionaries of so many bytes are worth a look for values that no row has."""


def table_of(batches: Sequence[Any], schema: pa.Schema) -> Any:
    """The rows of one or more batches as a table; equal columns have one type and one dictionary.

    Raises InputError if the values of such a dictionary are more than its indices can count.
    """
    columns = []
    for number in range(len(schema)):
        chunks = [batch.column(number) for batch in batches]
        if any(chunk.type != chunks[0].type for chunk in chunks):
            chunks = [_plain(chunk) for chunk in chunks]
        elif pa.types.is_dictionary(chunks[0].type) and len({address(chunk.dictionary) for chunk in chunks}) > 1:
            chunks = [without_unused(chunk) for chunk in chunks]
        columns.append(pa.chunked_array(chunks))
    return _table([_unified(*pair) for pair in zip(columns, schema, strict=True)], schema, batches)


def one_table(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of one or more tables; columns that are dictionaries in some of them become plain values.

    Equal columns have one dictionary, unless its indices cannot count the values of all.
    """
    if all(table.schema.types == tables[0].schema.types for table in tables):
        whole = pa.concat_tables(tables)
        if len(tables) > 1 and any(map(pa.types.is_dictionary, whole.schema.types)):
            with suppress(pa.ArrowInvalid):
                return pa.Table.from_arrays([unified(column) for column in whole.columns], schema=whole.schema)
        return whole
    return table_of([batch for table in tables for batch in table.to_batches()], tables[0].schema)


def _unified(column: Any, field: pa.Field) -> Any:
    try:
        return unified(column)
    except pa.ArrowInvalid as error:
        if pa.types.is_dictionary(field.type):
            raise too_long(field.name, field.type) from None
        what = f"the dictionaries inside the column {field.name} do not become one: {error}".splitlines()[0]
        raise InputError(what, way_out="write the inputs again without dictionaries inside other types") from None


def too_long(name: str, type: pa.DataType) -> InputError:
    """The error of a column whose dictionaries have more values in all than its indices can count."""
    what = f"the dictionaries of the column {name} have more values in all than {type} can count"
    return InputError(what, way_out="write the inputs again with indices of int32, or without dictionaries")


def without_dictionaries(rows: Any, schema: pa.Schema) -> Any:
    """Rows without the dictionaries that the schema does not have."""
    pairs = zip(rows.columns, schema, strict=True)
    columns = [column if column.type == field.type else _decoded(column) for column, field in pairs]
    return _table(columns, schema, [rows])


def with_dictionaries(rows: Any, schema: pa.Schema) -> Any:
    """Rows with the types of the schema, whose columns may have plain values where it has dictionaries.

    Raises InputError if the values of such a column are more than its indices can count.
    """
    pairs = zip(rows.columns, schema, strict=True)
    columns = [column if column.type == field.type else _encoded(column, field) for column, field in pairs]
    return _table(columns, schema, [rows])


def check_index_types(rows: pa.Table, schema: pa.Schema) -> None:
    """Raise InputError if rows have more values than the indices can count that the schema has for plain columns."""
    for column, field in zip(rows.columns, schema, strict=True):
        if not pa.types.is_dictionary(field.type) or pa.types.is_dictionary(column.type):
            continue
        index = field.type.index_type
        most = 1 << index.bit_width - pa.types.is_signed_integer(index)
        if len(column) > most and len(column.unique().drop_null()) > most:
            raise too_long(field.name, field.type)


def bytes_in_memory(rows: Any) -> int:
    """About the bytes of a batch or table, without dictionaries, which batches share."""
    found = 0
    for column in rows.columns:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        found += sum(one.indices.nbytes if pa.types.is_dictionary(one.type) else one.nbytes for one in chunks)
    return found


def without_unused(column: Any) -> Any:
    """A DictionaryArray or ChunkedArray of one, whose dictionary has no values that no row has if it is large.

    The others stay in their order. Chunks have one dictionary, and stay one by one if it stays.
    """
    if isinstance(column, pa.ChunkedArray):
        if not column.num_chunks or not _is_large(column.chunk(0).dictionary, len(column)):
            return column
        whole = column.combine_chunks()
        made = without_unused(whole)
        return column if made is whole else pa.chunked_array([made], column.type)
    dictionary = column.dictionary
    if not _is_large(dictionary, len(column)):
        return column
    is_null = column.indices.is_null().to_numpy(zero_copy_only=False) if column.indices.null_count else None
    places = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    used = np.zeros(len(dictionary), np.bool_)
    used[places if is_null is None else places[~is_null]] = True
    if used.all():
        return column
    numbers = np.cumsum(used, dtype=np.int64) - 1
    indices = pa.array(numbers[places], mask=is_null).cast(column.type.index_type)
    values = values_at(dictionary, pa.array(np.flatnonzero(used)))
    return pa.DictionaryArray.from_arrays(indices, values, ordered=column.type.ordered)


def rows_without_unused(rows: pa.Table) -> pa.Table:
    """A table whose columns that are dictionaries are `without_unused`. Nulls are those of rows."""
    for number, column in enumerate(rows.columns):
        if pa.types.is_dictionary(column.type):
            made = without_unused(column)
            if any(chunk.dictionary.null_count for chunk in made.chunks):
                made = pa.chunked_array([with_null_indices(chunk) for chunk in made.chunks])
            if made is not column:
                rows = rows.set_column(number, rows.schema.field(number), made)
    return rows


def schema_without_views(schema: pa.Schema) -> pa.Schema:
    """A schema with dictionaries of texts in place of those of views: polars makes these, and Parquet has none."""
    return pa.schema([field.with_type(_without_views(field.type)) for field in schema], schema.metadata)


def rows_without_views(rows: pa.Table) -> pa.Table:
    """A table with the columns of `schema_without_views`."""
    for number, column in enumerate(rows.columns):
        type = _without_views(column.type)
        if type == column.type:
            continue
        chunks = [
            pa.DictionaryArray.from_arrays(one.indices, one.dictionary.cast(type.value_type), ordered=type.ordered)
            for one in column.chunks
        ]
        rows = rows.set_column(number, rows.schema.field(number).with_type(type), pa.chunked_array(chunks, type))
    return rows


def _without_views(type: pa.DataType) -> pa.DataType:
    """The type itself, but for a dictionary of views."""
    if not pa.types.is_dictionary(type):
        return type
    texts = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    values = texts.get(type.value_type, type.value_type)
    return type if values == type.value_type else pa.dictionary(type.index_type, values, type.ordered)


def _is_large(dictionary: Any, rows: int) -> bool:
    return bool(len(dictionary) and (len(dictionary) > rows or dictionary.nbytes > _LARGE))


def with_known_dictionaries(batch: Any, known: dict[int, Any]) -> Any:
    """A batch with the dictionaries of the batch ahead of it, where they are equal: readers make new ones each time.

    known: those of the batch ahead by the numbers of their columns, which become those of this one.
    """
    columns = list(batch.columns)
    for number, column in enumerate(columns):
        if not pa.types.is_dictionary(column.type):
            continue
        last, own = known.get(number), column.dictionary
        if last is not None and last.type == own.type and own.equals(last):
            ordered = column.type.ordered
            columns[number] = pa.DictionaryArray.from_arrays(column.indices, last, ordered=ordered, safe=False)
        else:
            known[number] = own
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema) if known else batch


def dictionary_bytes(rows: Any, known: set[int]) -> int:
    """The bytes of the dictionaries of a batch or table but those at known addresses, to which it adds the others."""
    found = 0
    for column in rows.columns:
        if not pa.types.is_dictionary(column.type):
            continue
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            dictionary = chunk.dictionary
            place = address(dictionary)
            if place not in known:
                known.add(place)
                found += dictionary.nbytes
    return found


def _table(columns: Sequence[Any], schema: pa.Schema, rows: Sequence[Any]) -> Any:
    if not columns:
        return pa.Table.from_batches([one for some in rows for one in _batches(some)], schema)
    fields = [field.with_type(column.type) for field, column in zip(schema, columns, strict=True)]
    return pa.Table.from_arrays(list(columns), schema=pa.schema(fields, schema.metadata))


def _batches(rows: Any) -> Sequence[Any]:
    return [rows] if isinstance(rows, pa.RecordBatch) else rows.to_batches()


def _encoded(column: Any, field: pa.Field) -> Any:
    type = field.type
    if not pa.types.is_dictionary(type) or pa.types.is_float16(type.value_type):
        return dictionaries_inside(column, type)
    chunks = unified(column.dictionary_encode()).chunks
    try:
        indices = [one.indices.cast(type.index_type) for one in chunks]
    except pa.ArrowInvalid:
        raise too_long(field.name, type) from None
    pairs = zip(indices, chunks, strict=True)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(one, chunk.dictionary) for one, chunk in pairs], type)


def _decoded(column: Any) -> Any:
    type = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return pa.chunked_array([_plain(chunk) for chunk in column.chunks], type)


def _plain(chunk: Any) -> Any:
    return chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
