"""Texts of columns that are read as values: the CPU makes images of them, wherever the columns lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpumerge_cli.arrays.column_array import ColumnArray
from gpumerge_cli.arrays.column_texts import checked_starts
from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.text_key import as_text_key
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError


def text_column_images(columns: Sequence[ColumnArray], text: Any, descending: bool, threads: int) -> list[Any]:
    """For each column the images of its texts, uint64, in host memory: see ArrayKeys.comparable.

    text: see merge. Nulls are empty texts; their place is that of the kind, else that of the columns. Raises UsageError
    for columns of other values, InputError for an invalid text and for offsets out of order.
    """
    kind = as_text_key(text)
    place = next((each.nulls for each in columns if each.nulls is not None), None)
    if kind.nulls is None and place is not None:
        kind = replace(kind, nulls=place)
    texts = [_as_bytes(each.on_host(), number) for number, each in enumerate(columns)]
    return ArrayKeys.of(texts, None, descending, kind).comparable(texts, threads)


def _as_bytes(column: ColumnArray, number: int) -> Any:
    """The texts of a column in host memory as an array of S. Nulls are empty."""
    if column.offsets is None:
        if column.values.dtype.kind not in "SV":
            what = f"text: a column of {column.values.dtype} holds no texts"
            raise UsageError(what, way_out="leave text out")
        found = column.values.view(f"S{column.values.dtype.itemsize}")
        return found if column.valid is None else np.where(column.valid, found, b"")
    starts = checked_starts(np, column, number)
    lengths = np.diff(starts)
    if column.valid is not None:
        lengths[~column.valid] = 0
    width = max(int(lengths.max(initial=0)), 1)
    rows = np.repeat(np.arange(len(column)), lengths)
    at = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    padded = np.zeros((len(column), width), np.uint8)
    padded[rows, at] = column.values[starts[:-1][rows] + at]
    return padded.view(f"S{width}").reshape(-1)
