"""Pairs of items with equal keys, each item in one of them. `xp` is the module of the arrays, NumPy or CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from math import prod
from operator import or_
from typing import Any

import numpy as np

from gpumerge_cli.arrays.equal_pairs import cuts, partners_of
from gpumerge_cli.arrays.searching import search_ranks
from gpumerge_cli.arrays.subnormals import exact
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.errors import InputError

_NONE = -1


def partners_by_threads(a: Any, b: Any, descending: bool, threads: int) -> Any:
    """See partners_in_order. a, b: keys of NumPy arrays. Each thread pairs some of the pieces between cuts."""
    edges = cuts(a, b, descending)
    out = np.empty(len(a), np.int64)

    def find(piece: tuple[tuple[int, int], tuple[int, int]]) -> None:
        (low, start), (high, stop) = piece
        found = partners_in_order(np, a[low:high], b[start:stop], descending)
        out[low:high] = np.where(found < 0, _NONE, found + start)

    for_each(list(pairwise(edges)), find, threads)
    return out


def partners_in_order(xp: Any, a: Any, b: Any, descending: bool) -> Any:
    """For each item of `a` the index of its partner in `b`, or -1, int64.

    a, b: sorted keys or images. The partner of the n-th of equal items of `a` is the n-th of those of `b`.
    """
    low, count = partners_of(xp, a, b, descending)
    nth = xp.arange(len(a)) - search_ranks(xp, [a], a, "left", descending=descending)
    found = low + nth
    # Arrays that are out of order, or change during the call, give ranks that mean nothing.
    return xp.where((nth >= 0) & (nth < count) & (found < len(b)), found, _NONE)


def diff_of(xp: Any, found: Any, count: int, values: Sequence[Any] | None) -> tuple[Any, Any, Any, Any]:
    """(added, removed, changed, unchanged): see ArrayDiff.

    found: the partner of each old item. count: of the new items. values: the rows of both sides, if there are any.
    """
    removed, old = _indices(xp, found < 0), _indices(xp, found >= 0)
    new = found[old]
    is_taken = xp.zeros(count, bool)
    is_taken[new] = True
    added = _indices(xp, ~is_taken)
    if values is None:
        return added, removed, (old[:0], new[:0]), (old, new)
    differs = _rows_differ(xp, values[0][old], values[1][new])
    return added, removed, (old[differs], new[differs]), (old[~differs], new[~differs])


def check_unique(xp: Any, sides: Sequence[Any]) -> None:
    """Raises InputError if a key is that of the item ahead of it. sides: sorted keys or images of both arrays."""
    for number, keys in enumerate(sides):
        again = ~_differ(keys[1:], keys[:-1])
        if again.any():
            raise InputError(
                "its key equals the key of the item before it",
                where=f"array {number}, index {int(xp.flatnonzero(again)[0]) + 1}",
                way_out="give keys that are unique, or pair items with equal keys in order, multi=True",
            )


def _rows_differ(xp: Any, x: Any, y: Any) -> Any:
    """Whether each row differs from the row at its place in another array of one dtype and shape."""
    names = x.dtype.names
    if names:
        return reduce(or_, [_rows_differ(xp, x[name], y[name]) for name in names])
    differs = _differ(x, y)
    if isinstance(x, np.ma.MaskedArray) or isinstance(y, np.ma.MaskedArray):
        masks = np.ma.getmaskarray(x), np.ma.getmaskarray(y)
        differs = (masks[0] != masks[1]) | (np.ma.getdata(differs) & ~masks[0])
    return differs.reshape(len(x), prod(differs.shape[1:])).any(axis=1) if differs.ndim != 1 else differs


def _differ(x: Any, y: Any) -> Any:
    """Whether keys or values differ. NaN and NaT equal themselves."""
    x, y = exact(x), exact(y)
    differs = x != y
    return differs & ((x == x) | (y == y)) if x.dtype.kind in "fcmM" else differs


def _indices(xp: Any, mask: Any) -> Any:
    return xp.flatnonzero(mask).astype(np.int64, copy=False)
