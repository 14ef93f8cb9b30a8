"""gpumerge_cli.join: the pairs of equal items of two sorted arrays, as indices."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.common_dtype import as_arrays
from gpumerge_cli.arrays.device import DeviceCall
from gpumerge_cli.arrays.options import flag, short_repr
from gpumerge_cli.arrays.run import check_sorted
from gpumerge_cli.arrays.searching import search_ranks
from gpumerge_cli.arrays.signatures import Host, Indices
from gpumerge_cli.arrays.text_key import TextKey, TextKind
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.errors import UsageError

How = Literal["inner", "left", "right", "outer", "anti", "semi"]
HOWS: tuple[How, ...] = ("inner", "left", "right", "outer", "anti", "semi")
_NONE = -1
"""The index of a missing item."""
# A cut follows so many items of either array. The indices of such a piece fit into a core's cache.
_PIECE = 1 << 16


class _Keywords(TypedDict, total=False):
    descending: bool
    text: TextKey | TextKind | None
    check: bool
    threads: int | None


@overload
def join(
    a: Host, b: Host, *, how: Literal["inner", "left", "right", "outer"] = "inner", **options: Unpack[_Keywords]
) -> tuple[Indices, Indices]: ...
@overload
def join(a: Host, b: Host, *, how: Literal["anti", "semi"], **options: Unpack[_Keywords]) -> Indices: ...
@overload
def join(
    a: Any, b: Any, *, how: Literal["inner", "left", "right", "outer"] = "inner", **options: Unpack[_Keywords]
) -> tuple[Any, Any]: ...
@overload
def join(
    a: Host, b: Host, *, how: How = "inner", **options: Unpack[_Keywords]
) -> tuple[Indices, Indices] | Indices: ...
@overload
def join(a: Any, b: Any, *, how: How = "inner", **options: Unpack[_Keywords]) -> Any: ...
def join(
    a: Any,
    b: Any,
    *,
    how: How = "inner",
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    check: bool = False,
    threads: int | None = None,
) -> Any:
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
        Sorted 1-D arrays of one dtype that `merge` takes without `key`, in host memory or on one GPU. To join tables,
        give their key columns, and use the indices for all columns.
    how:
        "inner" gives all pairs. "left", "right" and "outer" also give the items of `a`, of `b`, of both that have no
        partner. "anti" gives the items of `a` without a partner, "semi" those with one, each once.
    descending:
        The arrays are in descending order, and so is the result.
    text:
        The kind of value that text is read as, on the CPU: see merge.
    check:
        Raise a DisorderError for an array that is not in order, as `merge` does. By default it is not checked.
    threads:
        Threads of the host for arrays in its memory; all cores by default.

    Returns
    -------
    Two arrays of int64, indices into `a` and into `b`, with -1 for an item that is missing; for "anti" and "semi" one
    array of indices into `a`. Rows are in the order of the keys: for each item of `a` all its partners in the order of
    `b`. NumPy arrays, or CuPy arrays for arrays on a GPU, where the call waits for the number of rows. Items are equal
    as in `merge`: NaN equals NaN, NaT equals NaT, and -0.0 equals 0.0.

    Raises
    ------
    UsageError: arrays that do not match, or an unknown kind of join. InputError: a text that its kind cannot read.
    DisorderError: see `check`. DeviceError: an
    unavailable GPU.
    """
    if not isinstance(how, str) or how not in HOWS:
        raise UsageError(f"how={short_repr(how)} is not a kind of join", way_out=f"use {', '.join(HOWS)}")
    given = as_arrays([a, b])
    for array in given:
        if array.dtype.names:
            raise UsageError("join takes no records", way_out=f"give a field of each, as a[{array.dtype.names[0]!r}]")
    options = CallOptions(descending=flag("descending", descending), threads=threads, check=check, text=text)
    call = Call.of(given, options)
    check_sorted(call)
    if not call.on_device:
        of_a, of_b = call.comparable()
        return _by_threads(of_a, of_b, how, call.keys.order.descending, call.threads)
    import cupy

    from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

    device = DeviceCall(call)
    with device.current():
        check_waiting(current_stream(), "join")
        of_a, of_b = map(device.images, call.arrays)
        return _joined(cupy, of_a, of_b, how, descending=False)


def _by_threads(a: Any, b: Any, how: How, descending: bool, threads: int) -> Any:
    """See join. a, b: keys of NumPy arrays.

    Each thread joins some of the pieces between cuts, which split no group of equals.
    """
    cuts = _cuts(a, b, descending)
    if len(cuts) <= 2:
        return _joined(np, a, b, how, descending)

    pieces: list[Any] = [()] * (len(cuts) - 1)

    def find(number: int) -> None:
        low, high = cuts[number], cuts[number + 1]
        found = _joined(np, a[low[0] : high[0]], b[low[1] : high[1]], how, descending, low)
        pieces[number] = found if isinstance(found, tuple) else (found,)

    for_each(range(len(pieces)), find, threads)
    ends = list(accumulate((len(rows[0]) for rows in pieces), initial=0))
    columns = tuple(np.empty(ends[-1], np.int64) for _ in pieces[0])

    def place(number: int) -> None:
        for column, rows in zip(columns, pieces[number], strict=True):
            column[ends[number] : ends[number + 1]] = rows

    for_each(range(len(pieces)), place, threads)
    return columns if len(columns) > 1 else columns[0]


def _cuts(a: Any, b: Any, descending: bool) -> list[tuple[int, int]]:
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


def _joined(xp: Any, a: Any, b: Any, how: How, descending: bool, first: tuple[int, int] = (0, 0)) -> Any:
    """See join. a, b: keys or images, in arrays of xp, NumPy or CuPy. first: the indices of their first items."""
    low, partners = _partners(xp, a, b, descending)
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
        return _with_lone(xp, (left, right), xp.append(starts, total), _partners(xp, b, a, descending), first[1])
    return left, right


def _partners(xp: Any, a: Any, b: Any, descending: bool) -> tuple[Any, Any]:
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
