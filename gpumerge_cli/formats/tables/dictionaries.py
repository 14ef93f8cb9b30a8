"""Columns of texts that files hold as dictionaries: rows keep them so from the input to the output.

Such a column of a batch has a dictionary type where the schema has that of its values. The other way round, a column
that the schema types as a dictionary has plain values in batches where its dictionaries are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import InputError


def table_of(batches: Sequence[Any], schema: pa.Schema) -> Any:
    """The rows of one or more batches as a table; equal columns have one type and one dictionary.

    Raises InputError if the values of such a dictionary are more than its indices can count.
    """
    columns = []
    for number in range(len(schema)):
        chunks = [batch.column(number) for batch in batches]
        if any(chunk.type != chunks[0].type for chunk in chunks):
            chunks = [_plain(chunk) for chunk in chunks]
        columns.append(pa.chunked_array(chunks))
    return _table([_unified(*pair) for pair in zip(columns, schema, strict=True)], schema, batches)


def one_table(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of one or more tables; columns that are dictionaries in some of them become plain values."""
    if all(table.schema.types == tables[0].schema.types for table in tables):
        return pa.concat_tables(tables)
    return table_of([batch for table in tables for batch in table.to_batches()], tables[0].schema)


def _unified(column: Any, field: pa.Field) -> Any:
    try:
        return column.unify_dictionaries()
    except pa.ArrowInvalid:
        raise too_long(field.name, field.type) from None


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


def dictionary_bytes(rows: Any, known: set[int]) -> int:
    """The bytes of the dictionaries of a batch but those at known addresses, to which it adds the addresses."""
    found = 0
    for column in rows.columns:
        if not pa.types.is_dictionary(column.type):
            continue
        dictionary = column.dictionary
        address = max((one.address for one in dictionary.buffers() if one is not None), default=0)
        if address not in known:
            known.add(address)
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
    chunks = column.dictionary_encode().unify_dictionaries().chunks
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
