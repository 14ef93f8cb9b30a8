"""The bytes that each row of a table takes in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_OF_TEXT = 8
"""Bytes of an offset."""


def row_sizes(rows: pa.Table) -> NDArray[np.int64]:
    """About the bytes of each row. Values of lists and maps count as the mean of their column."""
    found = np.zeros(rows.num_rows, np.int64)
    at = 0
    for batch in rows.to_batches():
        some = found[at : at + batch.num_rows]
        at += batch.num_rows
        for column in batch.columns:
            some += _sizes(column)
    return found


def _sizes(column: Any) -> NDArray[np.int64] | int:
    if pa.types.is_dictionary(column.type):
        return int(column.indices.nbytes) // max(1, len(column))
    if pa.types.is_struct(column.type):
        return sum((_sizes(one) for one in column.flatten()), np.zeros(len(column), np.int64))
    try:
        lengths = pc.binary_length(column)
    except pa.ArrowNotImplementedError:
        return -(-int(column.nbytes) // max(1, len(column)))
    return np.asarray(lengths.fill_null(0)).astype(np.int64) + _OF_TEXT
