"""Rows of several tables in the order of references. Values of one size are gathered by compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.tables.references import places
from gpumerge_cli.formats.tables.taking import values_at
from gpumerge_cli.native.row_gather import RowChunk, gather


@dataclass(frozen=True)
class RowStretch:
    """Consecutive rows of an input."""

    number: int
    """That of the input."""
    first: int
    """Its first row."""
    rows: int


def interleaved(found: NDArray[np.uint64], stretches: Sequence[RowStretch], rows: Any) -> Any:
    """The rows of references, in their order, as a table.

    stretches: the rows of inputs that hold them, none twice. rows: a table that has all of these, whose columns have
    one chunk for each stretch.
    """
    columns = []
    index: Any = None
    for column in rows.columns:
        made = _gathered(found, stretches, column)
        if made is None:
            index = pa.array(_places(found, stretches)) if index is None else index
            made = values_at(column, index)
        columns.append(made)
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _gathered(found: NDArray[np.uint64], stretches: Sequence[RowStretch], column: Any) -> Any:
    """The values of a column; None if they have nulls or different sizes."""
    type, chunks = column.type, column.chunks
    if len(chunks) != len(stretches) or column.null_count:
        return None
    dictionary = None
    if pa.types.is_dictionary(type):
        dictionary = chunks[0].dictionary
        type, chunks = type.index_type, [chunk.indices for chunk in chunks]
    if not _has_one_size(type):
        return None
    width = type.bit_width // 8
    made = [
        RowChunk(one.number, one.first, one.rows, chunk.buffers()[1].address + chunk.offset * width)
        for one, chunk in zip(stretches, chunks, strict=True)
        if one.rows
    ]
    out = pa.allocate_buffer(width * len(found))
    if not gather(found, width, made, out):
        return None
    values = pa.Array.from_buffers(type, len(found), [None, out], null_count=0)
    if dictionary is not None:
        values = pa.DictionaryArray.from_arrays(values, dictionary, ordered=column.type.ordered, safe=False)
    return pa.chunked_array([values], column.type)


def _has_one_size(type: pa.DataType) -> bool:
    """Whether values are whole bytes of one size."""
    types = pa.types
    if types.is_boolean(type) or types.is_null(type):
        return False
    return bool(types.is_primitive(type) or types.is_decimal(type) or types.is_fixed_size_binary(type))


def _places(found: NDArray[np.uint64], stretches: Sequence[RowStretch]) -> NDArray[np.int64]:
    """The places of the rows among those of all stretches."""
    inputs, rows = places(found)
    made = np.empty(len(found), np.int64)
    ahead = 0
    for one in stretches:
        in_it = (inputs == one.number) & (rows >= one.first) & (rows < one.first + one.rows)
        made[in_it] = rows[in_it] + (ahead - one.first)
        ahead += one.rows
    return made
