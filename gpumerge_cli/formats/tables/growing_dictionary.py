"""A dictionary to which each batch of a file adds the values that it is the first to have.

Arrow has no table of values that grows: each look-up in one makes it anew. So texts are found by hashes in order, and
compared with those found. Values that are not texts, and texts whose hashes collide, are looked up by Arrow.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_BLOCK = 1 << 18
"""Bytes that are hashed at once. Longer texts are hashed by their beginnings."""
_FACTOR = 0x9E3779B97F4A7C15
_INVERSE = pow(_FACTOR, -1, 1 << 64)


class GrowingDictionary:
    """Distinct values in the order in which they came. values: the first ones."""

    def __init__(self, values: Any) -> None:
        self.values = values
        """All values so far, an Array."""
        self._hashes: NDArray[np.uint64] | None = np.zeros(0, np.uint64) if _is_text(values.type) else None
        """Those of the values, in their order; None if these are looked up by Arrow."""
        self._places = np.zeros(0, np.int64)
        """The numbers of the values with these hashes."""

    def places_of(self, dictionary: Any) -> Any:
        """The numbers of the values of a dictionary among all, an Array of int64. Those that are new are added."""
        if self._hashes is not None and not dictionary.null_count:
            found = self._by_hashes(dictionary)
            if found is not None:
                return found
        self._hashes = None
        return self._by_values(dictionary)

    def _by_hashes(self, dictionary: Any) -> Any:
        """The same; None if hashes collide."""
        import pyarrow.compute as pc

        assert self._hashes is not None, "it has hashes"
        if len(pc.unique(dictionary)) < len(dictionary):
            return None
        hashes = text_hashes(dictionary)
        at = np.searchsorted(self._hashes, hashes)
        is_known = at < len(self._hashes)
        is_known[is_known] = self._hashes[at[is_known]] == hashes[is_known]
        made = np.empty(len(hashes), np.int64)
        made[is_known] = self._places[at[is_known]]
        known, is_new = dictionary.filter(pa.array(is_known)), ~is_known
        new_hashes = hashes[is_new]
        if not self.values.take(pa.array(made[is_known])).equals(known) or len(np.unique(new_hashes)) < len(new_hashes):
            return None
        made[is_new] = np.arange(len(self.values), len(self.values) + len(new_hashes))
        order = np.argsort(new_hashes)
        where = at[is_new][order]
        self._hashes = np.insert(self._hashes, where, new_hashes[order])
        self._places = np.insert(self._places, where, made[is_new][order])
        if len(new_hashes):
            self.values = pa.concat_arrays([self.values, dictionary.filter(pa.array(is_new))])
        return pa.array(made)

    def _by_values(self, dictionary: Any) -> Any:
        import pyarrow.compute as pc

        try:
            sought = _searchable(dictionary)
            new = pc.unique(sought.filter(pc.invert(pc.is_in(sought, _searchable(self.values)))))
            self.values = pa.concat_arrays([self.values, pc.drop_null(new).view(self.values.type)])
            return pc.index_in(sought, _searchable(self.values))
        except pa.ArrowNotImplementedError:  # Arrow finds no values of some types, such as views and lists
            start = len(self.values) - len(dictionary)
            if start < 0 or not self.values.slice(start).equals(dictionary):
                start, self.values = len(self.values), pa.concat_arrays([self.values, dictionary])
            return pa.array(range(start, len(self.values)), pa.int64())


def _searchable(values: Any) -> Any:
    """Values among which Arrow finds others: half floats by their bits."""
    return values.view(pa.uint16()) if pa.types.is_float16(values.type) else values


def text_hashes(texts: Any) -> NDArray[np.uint64]:
    """Hashes of an Array of texts or bytes without nulls, uint64[texts]: a polynomial of the first bytes of each."""
    width = np.int64 if pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type) else np.int32
    buffers, found = texts.buffers(), np.zeros(len(texts), np.uint64)
    if not len(texts):
        return found
    offsets = np.frombuffer(buffers[1], width, len(texts) + 1, texts.offset * np.dtype(width).itemsize).astype(np.int64)
    data = np.frombuffer(buffers[2] or b"", np.uint8)
    powers, inverses = _powers(_FACTOR), _powers(_INVERSE)
    at = 0
    while at < len(texts):
        stop = max(at + 1, int(np.searchsorted(offsets, offsets[at] + _BLOCK, "right")) - 1)
        starts = offsets[at:stop] - offsets[at]
        lengths = np.diff(offsets[at : stop + 1])
        block = data[offsets[at] : offsets[at] + min(int(lengths.sum()), _BLOCK)]
        has_bytes = lengths > 0
        if has_bytes.any():
            sums = np.add.reduceat(block * powers[: len(block)], starts[has_bytes])
            found[at:stop][has_bytes] = sums * inverses[starts[has_bytes]]
        found[at:stop] += lengths.astype(np.uint64) * powers[1]
        at = stop
    return found


@cache
def _powers(factor: int) -> NDArray[np.uint64]:
    """The powers of an odd number, from its zeroth one on."""
    factors = np.full(_BLOCK, factor, np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _is_text(type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(type) or types.is_large_string(type) or types.is_binary(type) or types.is_large_binary(type)
    )
