"""Rows taken from columns of Arrow, where Arrow itself takes none: from views, and more than 2 GiB of short texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MOST_BYTES = (1 << 31) - 1
"""The bytes of all texts of an array whose offsets are 32-bit integers."""
_TAKEN_AS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def taken_column(column: Any, positions: Any) -> Any:
    """The values at these positions, an Array or ChunkedArray of the same type. Raises ArrowException.

    column: a ChunkedArray. positions: an Array of integers.
    """
    type = column.type
    if type in _TAKEN_AS:
        return column.cast(_TAKEN_AS[type]).combine_chunks().take(positions).cast(type)
    if pa.types.is_run_end_encoded(type):
        plain = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], type.value_type)
        taken = taken_column(plain, positions)
        chunks = taken.chunks if isinstance(taken, pa.ChunkedArray) else [taken]
        return pa.chunked_array([pc.run_end_encode(chunk, run_end_type=type.run_end_type) for chunk in chunks], type)
    if type in _LARGE and column.nbytes > MOST_BYTES:
        taken = column.cast(_LARGE[type]).combine_chunks().take(positions)
        return pa.chunked_array([part.cast(type) for part in _parts(taken)], type)
    return column.combine_chunks().take(positions)


def _parts(texts: Any) -> Iterator[Any]:
    """An array with 64-bit offsets in parts that need 32-bit ones."""
    if texts.nbytes <= MOST_BYTES or len(texts) < 2:
        yield texts
    else:
        half = len(texts) // 2
        yield from _parts(texts.slice(0, half))
        yield from _parts(texts.slice(half))
