"""The pairs of equal items of two sorted arrays, as indices. `xp` is the module of the arrays, NumPy or CuPy."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Literal

import numpy as np

from gpumerge_cli.arrays.searching import search_ranks
from gpumerge_cli.engine.parallel import for_each

How = Literal["inner", "left", "right", "outer", "anti", "semi"]
HOWS: tuple[How, ...] = ("inner", "left", "right", "outer", "anti", "semi")
_NONE = -1
"""The index of a missing item."""
# A cut follows so many items of either array. The indices of such a piece fit into a core's cache.
_PIECE = 1 << 16


def pairs_by_threads(a: Any, b: Any, how: How, descending: bool, threads: int) -> Any:
    """See gpumerge_cli.join. a, b: keys of NumPy arrays.

    Each thread joins some of the pieces between cuts, which split no group of equals.
    """
    edges = cuts(a, b, descending)
    if len(edges) <= 2:
        return equal_pairs(np, a, b, how, descending)

    pieces: list[Any] = [()] * (len(edges) - 1)

    def find(number: int) -> None:
        low, high = edges[number], edges[number + 1]
        found = equal_pairs(np, a[low[0] : high[0]], b[low[1] : high[1]], how, descending, low)
        pieces[number] = found if isinstance(found, tuple) else (found,)

    for_each(range(len(pieces)), find, threads)
    ends = list(accumulate((len(rows[0]) for rows in pieces), initial=0))
    columns = tuple(np.empty(ends[-1], np.int64) for _ in pieces[0])

    def place(number: int) -> None:
        for column, rows in zip(columns, pieces[number], strict=True):
            column[ends[number] : ends[number + 1]] = rows

    for_each(range(len(pieces)), place, threads)
    return columns if len(columns) > 1 else columns[0]


def cuts(a: Any, b: Any, descending: bool) -> list[tuple[int, int]]:
    """The items of `a` and of `b` ahead of each cut: ascending, from none to all.

    A cut lies ahead of all items that equal every _PIECE-th item of either array.
    """
    keys = (a[_PIECE::_PIECE], b[_PIECE::_PIECE])
    ahead = [
        np.concatenate([search_ranks(np, [run], some, "left", descending=descending) for some in keys])
        for run in (a, b)
    ]
    # Both ascend with the key, so each is sorted by itself. Then they ascend even if the arrays are not in order.
    inner = zip(*(np.sort(each).tolist() for each in ahead), strict=True)
    return sorted({(0, 0), *inner, (len(a), len(b))})


def equal_pairs(xp: Any, a: Any, b: Any, how: How, descending: bool, first: tuple[int, int] = (0, 0)) -> Any:
    """See gpumerge_cli.join. a, b: keys or images, in arrays of xp. first: the indices of their first items."""
    low, partners = partners_of(xp, a, b, descending)
    if how in ("anti", "semi"):
        return _indices(xp, (partners > 0) == (how == "semi"), first[0])
    rows = xp.maximum(partners, 1) if how in ("left", "outer") else partners
    ends = xp.cumsum(rows)
    total = int(ends[-1]) if len(a) else 0
    left = _repeated(xp, rows, ends, total)
    starts = ends - rows
    right = xp.arange(first[1], first[1] + total) + (low - starts)[left]
    if how in ("left", "outer"):
        right[partners[left] == 0] = _NONE
    left += first[0]
    if how in ("right", "outer"):
        return _with_lone(xp, (left, right), xp.append(starts, total), partners_of(xp, b, a, descending), first[1])
    return left, right


def partners_of(xp: Any, a: Any, b: Any, descending: bool) -> tuple[Any, Any]:
    """For each item of `a`: the index of its first partner in `b`, or of the item behind; and how many it has."""
    low = search_ranks(xp, [b], a, "left", descending=descending)
    high = search_ranks(xp, [b], a, "right", descending=descending)
    return low, (high - low).clip(0)  # the end may be lower if the data changes during the call


def _repeated(xp: Any, rows: Any, ends: Any, total: int) -> Any:
    """The index of each row's item. rows: how many rows each item has. ends: where these end."""
    if xp is np:
        return np.repeat(np.arange(len(rows)), rows)
    return _int64(xp.searchsorted(ends, xp.arange(total), "right"))  # CuPy repeats each item by a call of its own


def _with_lone(xp: Any, pairs: tuple[Any, Any], starts: Any, of_b: tuple[Any, Any], first: int) -> tuple[Any, Any]:
    """The rows of `pairs`, and between them those of the items of B that have no partner.

    starts: the first row of each item of A, and the end of all rows. of_b: see _partners, of B. first: the index of B's
    first item.
    """
    place, partners = of_b
    lone = _indices(xp, partners == 0)
    ahead = starts[place[lone]]
    # It ascends already, unless arrays are out of order or change during the call: two items must not get one row.
    ahead = np.maximum.accumulate(ahead) if xp is np else xp.sort(ahead)
    at = ahead + xp.arange(len(lone))
    total = len(pairs[0]) + len(lone)
    is_pair = xp.ones(total, bool)
    is_pair[at] = False
    of_pairs = xp.flatnonzero(is_pair)
    left, right = xp.full(total, _NONE), xp.full(total, _NONE)
    left[of_pairs], right[of_pairs] = pairs
    right[at] = lone + first
    return left, right


def _indices(xp: Any, mask: Any, first: int = 0) -> Any:
    return _int64(xp.flatnonzero(mask)) + first


def _int64(array: Any) -> Any:
    return array.astype(np.int64, copy=False)
