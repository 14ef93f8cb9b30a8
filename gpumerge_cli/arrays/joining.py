"""gpumerge_cli.join: the pairs of equal items of two sorted arrays, as indices."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.options import same_side
from gpumerge_cli.arrays.ranking import rank_of
from gpumerge_cli.arrays.taking import taken
from gpumerge_cli.errors import UsageError

How = Literal["inner", "left", "right", "outer", "anti", "semi"]
HOWS: tuple[How, ...] = ("inner", "left", "right", "outer", "anti", "semi")
_NONE = -1
"""The index of a missing item."""


def join(a: Any, b: Any, *, how: How = "inner", descending: bool = False) -> Any:
    """Join two sorted arrays: the indices of the items that equal each other.

    >>> import gpumerge_cli, numpy as np
    >>> left, right = gpumerge_cli.join(np.array([1, 2, 2, 5]), np.array([2, 4, 5]))
    >>> left.tolist(), right.tolist()
    ([1, 2, 3], [0, 0, 2])
    >>> left, right = gpumerge_cli.join(np.array([1, 2]), np.array([2, 4]), how="outer")
    >>> left.tolist(), right.tolist()
    ([0, 1, -1], [-1, 0, 1])
    >>> gpumerge_cli.join(np.array([1, 2, 2, 5]), np.array([2, 4]), how="anti").tolist()
    [0, 3]

    Parameters
    ----------
    a, b:
        Sorted 1-D arrays of one dtype that `merge` takes without `key`, in host memory or on one GPU. That they are
        sorted is not checked. To join tables, give their key columns, and use the indices for all columns.
    how:
        "inner" gives all pairs. "left", "right" and "outer" also give the items of `a`, of `b`, of both that have no
        partner. "anti" gives the items of `a` without a partner, "semi" those with one, each once.
    descending:
        The arrays are in descending order, and so is the result.

    Returns
    -------
    Two arrays of int64, indices into `a` and into `b`, with -1 for an item that is missing; for "anti" and "semi" one
    array of indices into `a`. Rows are in the order of the keys: for each item of `a` all its partners in the order of
    `b`. NumPy arrays, or CuPy arrays for arrays on a GPU, where the call waits for the number of rows. Items are equal
    as in `merge`: NaN equals NaN, NaT equals NaT, and -0.0 equals 0.0.

    Raises
    ------
    UsageError: arrays that do not fit, or a word that is no kind of join. DeviceError: a GPU that cannot be had.
    """
    if how not in HOWS:
        raise UsageError(f"how={how!r} is no kind of join", way_out=f"use {', '.join(HOWS)}")
    given = [taken(a), taken(b)]
    ArrayKeys.of(given, None, descending)
    if not same_side(given):
        return _joined(np, given[0], given[1], how, descending)
    import cupy

    from gpumerge_cli.backends.gpu.launching import calls_on, current_stream, judge_waiting

    with calls_on(given[0].device):
        judge_waiting(current_stream(), "join")
        return _joined(cupy, given[0], given[1], how, descending)


def _joined(xp: Any, a: Any, b: Any, how: How, descending: bool) -> Any:
    """See join. xp: the module of the arrays, NumPy or CuPy."""
    low, partners = _partners(a, b, descending)
    if how in ("anti", "semi"):
        return _indices(xp, (partners > 0) == (how == "semi"))
    rows = xp.maximum(partners, 1) if how in ("left", "outer") else partners
    ends = xp.cumsum(rows)
    total = int(ends[-1]) if len(a) else 0
    left = _repeated(xp, rows, ends, total)
    starts = ends - rows
    right = xp.arange(total) + (low - starts)[left]
    if how in ("left", "outer"):
        right[partners[left] == 0] = _NONE
    if how in ("right", "outer"):
        return _with_lone(xp, (left, right), xp.append(starts, total), *_partners(b, a, descending))
    return left, right


def _partners(a: Any, b: Any, descending: bool) -> tuple[Any, Any]:
    """For each item of `a`: the index of its first partner in `b`, or of the item behind; and how many it has."""
    low, high = (rank_of([b], a, side=side, descending=descending) for side in ("left", "right"))
    return low, high - low


def _repeated(xp: Any, rows: Any, ends: Any, total: int) -> Any:
    """The index of each row's item. rows: how many rows each item has. ends: where these end."""
    if xp is np:
        return np.repeat(np.arange(len(rows)), rows)
    return _int64(xp.searchsorted(ends, xp.arange(total), "right"))  # CuPy repeats each item by a call of its own


def _with_lone(xp: Any, pairs: tuple[Any, Any], starts: Any, place: Any, partners: Any) -> tuple[Any, Any]:
    """The rows of `pairs`, and between them those of the items of B that have no partner.

    starts: the first row of each item of A, and the end of all rows. place: for each item of B, the first item of A
    that is not ahead of it. partners: how many items of A equal it.
    """
    lone = _indices(xp, partners == 0)
    at = starts[place[lone]] + xp.arange(len(lone))
    total = len(pairs[0]) + len(lone)
    is_pair = xp.ones(total, bool)
    is_pair[at] = False
    of_pairs = xp.flatnonzero(is_pair)
    left, right = xp.full(total, _NONE), xp.full(total, _NONE)
    left[of_pairs], right[of_pairs] = pairs
    right[at] = lone
    return left, right


def _indices(xp: Any, mask: Any) -> Any:
    return _int64(xp.flatnonzero(mask))


def _int64(array: Any) -> Any:
    return array.astype(np.int64, copy=False)
