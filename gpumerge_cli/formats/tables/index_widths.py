"""The types of the indices of dictionaries: wider ones where the values of all files are more than they count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.formats.tables.cursor import batch_rows
from gpumerge_cli.formats.tables.growing_dictionary import text_hashes
from gpumerge_cli.formats.tables.key_columns import is_text
from gpumerge_cli.formats.tables.table import Table, reading
from gpumerge_cli.formats.tables.unified import wider_indices

_SHORT_BITS = 16
"""Indices of more bits count the values of all files, as a rule."""
_BATCH_BYTES = 4 << 20


def with_wide_indices(tables: Sequence[Table], schema: pa.Schema) -> pa.Schema:
    """The schema of tables, whose dictionaries get indices that count the values of all.

    The columns of dictionaries with indices of 8 or 16 bits are read if the footers leave it open. Raises InputError.
    """
    for number, field in enumerate(schema):
        type = field.type
        if not pa.types.is_dictionary(type) or type.index_type.bit_width > _SHORT_BITS:
            continue
        if schema.names.count(field.name) > 1:
            continue
        having = [table for table in tables if field.name in table.schema.names]
        index = next(one for one in _candidates(type.index_type) if _has_at_most(having, field, counted_by(one)))
        if index != type.index_type:
            schema = schema.set(number, field.with_type(pa.dictionary(index, type.value_type, type.ordered)))
    return schema


def counted_by(index: pa.DataType) -> int:
    """The most values of a dictionary with such indices: Arrow unifies no more than the greatest index."""
    return int(1 << index.bit_width - bool(pa.types.is_signed_integer(index))) - 1


def _candidates(index: pa.DataType) -> Iterator[pa.DataType]:
    yield index
    yield from (one for one in wider_indices(index) if counted_by(one) > counted_by(index))


def _has_at_most(tables: Sequence[Table], field: pa.Field, most: int) -> bool:
    """Whether a column has at most so many distinct values in all tables."""
    if most >= counted_by(pa.int32()) or sum(table.rows for table in tables) <= most:
        return True
    known = [table.most_values(field.name) for table in tables]
    if all(one is not None for one in known) and sum(one or 0 for one in known) <= most:
        return True
    return _distinct(tables, field, most) <= most


def _distinct(tables: Sequence[Table], field: pa.Field, most: int) -> int:
    """The number of distinct values of a column; more than `most` if it is. Texts with one hash count as one."""
    texts: NDArray[np.uint64] = np.zeros(0, np.uint64)
    others: list[Any] = []
    last: Any = None
    names, type = [field.name], field.type.value_type
    for table in tables:
        for batch in reading(table.name, table.batches(names, 0, batch_rows(table, names, _BATCH_BYTES))):
            column = batch.column(0)
            values = column.dictionary if pa.types.is_dictionary(column.type) else column
            if last is not None and values.type == last.type and values.equals(last):
                continue
            last = values
            if is_text(type):
                texts = np.union1d(texts, text_hashes(_as_bytes(values).drop_null()))
            else:
                others = _joined(others, values, type)
            count = len(texts) + sum(map(len, others))
            if count > most:
                return count
    return len(texts) + sum(map(len, others))


def _as_bytes(texts: Any) -> Any:
    if pa.types.is_fixed_size_binary(texts.type):
        texts = texts.cast(pa.binary())
    return texts.cast(pa.large_binary()) if not pa.types.is_large_string(texts.type) else texts


def _joined(known: list[Any], values: Any, type: pa.DataType) -> list[Any]:
    """Arrays of all values; one of distinct ones, if Arrow finds them."""
    import pyarrow.compute as pc

    try:
        return [pc.unique(pa.concat_arrays([*known, values.cast(type)])).drop_null()]
    except pa.ArrowException:  # values that do not fit are refused as they are read
        return [*known, values]
