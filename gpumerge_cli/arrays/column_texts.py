"""The texts of columns beside each other, and items of columns in another order. `xp` is NumPy or CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from gpumerge_cli.arrays.column_array import ColumnArray, check_starts
from gpumerge_cli.arrays.payload import concatenated
from gpumerge_cli.arrays.plain_items import taken_items

Texts = tuple[Any, Any]
"""(bytes, starts): text i lies in bytes[starts[i]:starts[i + 1]]. uint8, int64, contiguous; starts do not descend."""

_PIECE = 1 << 22
"""Bytes of texts that the host gathers at a time."""


def checked_starts(xp: Any, column: ColumnArray, number: int) -> Any:
    """A copy of the offsets of a column, int64, which keeps its order if the column changes during the call."""
    starts = column.offsets.astype(np.int64)
    check_starts(starts, len(column.values), number)
    return starts


def joined_texts(xp: Any, columns: Sequence[ColumnArray]) -> Texts:
    """The texts of all columns one behind the other. Raises InputError for offsets out of order."""
    starts = [checked_starts(xp, each, number) for number, each in enumerate(columns)]
    values = [xp.ascontiguousarray(each.values) for each in columns]
    if len(columns) == 1:
        return values[0], starts[0]
    edges = [(int(each[0]), int(each[-1])) for each in starts]
    ends = accumulate((high - low for low, high in edges), initial=0)
    shifted = [each[:-1] + (end - low) for each, end, (low, _) in zip(starts, ends, edges, strict=False)]
    total = sum(high - low for low, high in edges)
    data = xp.concatenate([each[low:high] for each, (low, high) in zip(values, edges, strict=True)])
    return data, xp.concatenate([*shifted, xp.full(1, total, np.int64)])


def taken_of_columns(xp: Any, backend: Any, columns: Sequence[Any], positions: Any) -> Any:
    """The items at these positions in all columns, one behind the other: a ColumnArray, or an array if they are."""
    if not any(isinstance(each, ColumnArray) for each in columns):
        return taken_items(concatenated(columns), positions)
    columns = [each if isinstance(each, ColumnArray) else ColumnArray(each) for each in columns]
    valid = None
    if any(each.valid is not None for each in columns):
        masks = [xp.ones(len(each), bool) if each.valid is None else each.valid for each in columns]
        valid = concatenated(masks)[positions]
    nulls = next((each.nulls for each in columns if each.nulls is not None), None)
    if columns[0].offsets is None:
        return ColumnArray(taken_items(concatenated([each.values for each in columns]), positions), None, valid, nulls)
    values, offsets = _taken_texts(xp, backend, columns, positions)
    dtype = columns[0].offsets.dtype
    if len(values) <= np.iinfo(dtype).max:
        offsets = offsets.astype(dtype)
    return ColumnArray(values, offsets, valid, nulls, any(each.binary for each in columns))


def _taken_texts(xp: Any, backend: Any, columns: Sequence[ColumnArray], positions: Any) -> tuple[Any, Any]:
    """(the bytes of the texts at these positions one behind the other, their offsets, int64)."""
    joined = joined_texts(xp, columns)
    lengths = joined[1][1:] - joined[1][:-1]
    offsets = xp.zeros(len(positions) + 1, np.int64)
    offsets[1:] = xp.cumsum(lengths[positions])
    if xp is not np:
        return backend.strings().gathered(joined, positions, offsets), offsets
    return _gathered_on_host(joined, positions, offsets), offsets


def _gathered_on_host(texts: Texts, positions: Any, offsets: Any) -> Any:
    """The bytes of the texts at these positions, which begin at `offsets` in the result."""
    out = np.empty(int(offsets[-1]), np.uint8)
    begins = texts[1][:-1][positions]
    # Each byte of a piece needs its place as an integer. A longer text is a piece of its own.
    edges = np.searchsorted(offsets, np.arange(_PIECE, len(out), _PIECE))
    edges = np.unique(np.concatenate([[0], edges, np.maximum(edges - 1, 0), [len(positions)]])).tolist()
    for low, high in pairwise(edges):
        to = out[offsets[low] : offsets[high]]
        if high == low + 1:
            to[:] = texts[0][begins[low] : begins[low] + len(to)]
        elif len(to):
            places = np.repeat(begins[low:high] - offsets[low:high], offsets[low + 1 : high + 1] - offsets[low:high])
            places += np.arange(offsets[low], offsets[high])
            to[:] = texts[0][places]
    return out
