"""Batches in pieces whose keys are short enough to be written out: a dictionary refers to a text from many rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.formats.tables.key_columns import KeyColumn, stored_array

_BESIDE = 16
"""Bytes that a text takes beside its own."""


def key_pieces(keys: Sequence[KeyColumn], batches: Iterable[Any], nbytes: int) -> Iterator[Any]:
    """The rows of batches in pieces, whose texts of keys take at most `nbytes`, or which have one row.

    Texts that lie in the batch one by one are not counted: its bytes are theirs.
    """
    for batch in batches:
        arrays = [stored_array(key, batch) for key in keys if key.fixed_bytes is None]
        sizes = [_sizes(one) for one in arrays if _is_shared(one.type) and _longest(one) * len(one) > nbytes]
        yield from _parts(batch, sum(sizes[1:], sizes[0]), nbytes) if sizes else (batch,)


def _parts(batch: Any, sizes: NDArray[np.int64], nbytes: int) -> Iterator[Any]:
    """The rows in pieces. sizes: int64[rows], the bytes of each."""
    ends = np.cumsum(sizes)
    at, done = 0, 0
    while at < len(ends):
        stop = max(at + 1, int(np.searchsorted(ends, done + nbytes, "right")))
        yield batch.slice(at, stop - at)
        at, done = stop, int(ends[stop - 1])


def _is_shared(type: pa.DataType) -> bool:
    """Whether several rows may have one value in memory."""
    if isinstance(type, pa.BaseExtensionType):
        return _is_shared(type.storage_type)
    return bool(pa.types.is_dictionary(type) or pa.types.is_run_end_encoded(type))


def _longest(array: Any) -> int:
    """The most bytes of a value, see _sizes."""
    if isinstance(array.type, pa.BaseExtensionType):
        return _longest(array.storage)
    if pa.types.is_dictionary(array.type):
        return _longest(array.dictionary)
    if pa.types.is_run_end_encoded(array.type):
        return _longest(array.values)
    return int(_sizes(array).max(initial=0))


def _sizes(array: Any) -> NDArray[np.int64]:
    """The bytes of each value of an Array of texts, which may be shared."""
    import pyarrow.compute as pc

    if isinstance(array.type, pa.BaseExtensionType):
        return _sizes(array.storage)
    if pa.types.is_dictionary(array.type):
        places = array.indices.fill_null(0).to_numpy(zero_copy_only=False)
        of_values = _sizes(array.dictionary)
        return of_values[places] if len(of_values) else np.full(len(places), _BESIDE, np.int64)
    if pa.types.is_run_end_encoded(array.type):
        starts = np.arange(array.offset, array.offset + len(array))
        runs = np.searchsorted(array.run_ends.to_numpy(zero_copy_only=False), starts, "right")
        return _sizes(array.values)[runs]
    if pa.types.is_null(array.type):
        return np.full(len(array), _BESIDE, np.int64)
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.large_string() if pa.types.is_string_view(array.type) else pa.large_binary())
    return np.asarray(pc.binary_length(array).fill_null(0)).astype(np.int64) + _BESIDE
