"""Rows taken from columns of Arrow, also from more than 2 GiB of texts with 32-bit offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from gpumerge_cli.formats.tables.taking import values_at

MOST_BYTES = (1 << 31) - 1
"""The bytes of all texts of an array whose offsets are 32-bit integers."""
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def taken_column(column: Any, positions: Any) -> Any:
    """The values at these positions, a ChunkedArray of the same type. Raises ArrowException.

    column: a ChunkedArray. positions: an Array of integers.
    """
    type = column.type
    if type not in _LARGE or column.nbytes <= MOST_BYTES:
        return values_at(column, positions)
    [taken] = values_at(column.cast(_LARGE[type]), positions).chunks
    return pa.chunked_array([part.cast(type) for part in _parts(taken)], type)


def _parts(texts: Any) -> Iterator[Any]:
    """An array with 64-bit offsets in parts that need 32-bit ones."""
    if texts.nbytes <= MOST_BYTES or len(texts) < 2:
        yield texts
    else:
        half = len(texts) // 2
        yield from _parts(texts.slice(0, half))
        yield from _parts(texts.slice(half))
