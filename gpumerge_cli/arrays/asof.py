"""gpumerge_cli.asof_join: the nearest item of another sorted array, as an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from gpumerge_cli.arrays.asof_pairs import AsofRequest, limit_of
from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.common_dtype import as_arrays, beside_arrays
from gpumerge_cli.arrays.interchange import is_cupy, is_one_array
from gpumerge_cli.arrays.options import flag, same_side, short_repr
from gpumerge_cli.arrays.plain_items import in_wider_dtype
from gpumerge_cli.arrays.run import run_call
from gpumerge_cli.arrays.signatures import Host, Indices
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.asof import DIRECTIONS, AsofDirection

_TEXTS = np.dtype("S")
"""The dtype of keys that are near to each other in their order alone."""


class _Keywords(TypedDict, total=False):
    by: Sequence[Any] | None
    direction: AsofDirection
    tolerance: Any
    check: bool
    threads: int | None


@overload
def asof_join(a: Host, b: Host, **options: Unpack[_Keywords]) -> Indices: ...
@overload
def asof_join(a: Any, b: Any, **options: Unpack[_Keywords]) -> Any: ...
def asof_join(
    a: Any,
    b: Any,
    *,
    by: Sequence[Any] | None = None,
    direction: AsofDirection = "backward",
    tolerance: Any = None,
    check: bool = False,
    threads: int | None = None,
) -> Any:
    """For each item of a sorted array the nearest one of another sorted array: the last quote before each trade.

    >>> import gpumerge_cli, numpy as np
    >>> trades, quotes = np.array([2, 5, 9]), np.array([1, 5, 5, 8])
    >>> gpumerge_cli.asof_join(trades, quotes)
    array([0, 2, 3])
    >>> gpumerge_cli.asof_join(trades, quotes, direction="nearest", tolerance=0)
    array([-1,  2, -1])
    >>> gpumerge_cli.asof_join(trades, quotes, by=(["x", "y", "x"], ["x", "x", "y", "y"])).tolist()
    [0, 2, 1]

    Parameters
    ----------
    a, b:
        1-D arrays of one dtype that `merge` takes without `key`, in ascending order, in host memory or on one GPU.
    by:
        Exact keys beside them: two arrays of one dtype, as long as `a` and as `b`, in any order. An item of `a` then
        matches only items of `b` with an equal key, and it is enough if `a` and `b` ascend within each of these keys.
        Strings are possible, too.
    direction:
        "backward" gives the last item of `b` that is not greater, "forward" the first one that is not less, "nearest"
        the nearer of the next ones on both sides, and the one that is not greater if both are equally near. Of several
        equal items of `b`, "backward" and "nearest" give the last one if it is not greater, else the first one.
    tolerance:
        The largest distance of a match, itself included: a number, or for dates and time spans a numpy.timedelta64 or a
        datetime.timedelta. None for any distance.
    check:
        Raise a DisorderError for an array that is not in order. By default it is not checked.
    threads:
        Threads of the host for arrays in its memory; all cores by default.

    Returns
    -------
    An array of int64, as long as `a` and on its side: indices into `b`, with -1 for an item without a match. NaN and
    NaT match nothing; NaN in `by` equals NaN. On a GPU the call waits.

    Raises
    ------
    UsageError: arrays that do not match, an unknown direction, an unusable tolerance. DisorderError: see `check`.
    DeviceError: an unavailable GPU.
    """
    if not isinstance(direction, str) or direction not in DIRECTIONS:
        raise UsageError(f"direction={short_repr(direction)} is not one", way_out=f"use {', '.join(DIRECTIONS)}")
    given = as_arrays([a, b])
    for array in given:
        if array.dtype.names:
            raise UsageError(
                "asof_join does not accept records", way_out=f"give a field of each, as a[{array.dtype.names[0]!r}]"
            )
    check = flag("check", check)
    groups = None if by is None else _groups(by, given)
    options = CallOptions(threads=threads, check=check and groups is None)
    call = Call.of(given, options)  # messages about dtypes come ahead of those about distances
    if call.imaged is not None and call.imaged.has_nulls:
        raise UsageError("asof_join does not accept nulls", way_out="drop or fill nulls first")
    limit = limit_of(tolerance, call.keys.dtype if call.imaged is None else _TEXTS, direction)
    request = AsofRequest(direction, limit, groups, check)
    return run_call(given, options, lambda on: on.asof_join(request))


def _groups(by: Any, sides: Sequence[Any]) -> tuple[Any, Any]:
    """The arrays of exact keys, of one dtype. Raises UsageError unless they fit the sides."""
    if not isinstance(by, list | tuple) or len(by) != len(sides) or is_one_array(by):
        raise UsageError(f"by={short_repr(by)} is not two arrays", way_out="give one for each side: (keys_a, keys_b)")
    try:
        a, b = beside_arrays(list(by), as_arrays(list(by)), sides)
        if is_cupy(a) and is_cupy(b) and {a.dtype.kind, b.dtype.kind} == {"U"}:
            wider = max(a.dtype, b.dtype, key=lambda dtype: dtype.itemsize)  # groups are equal texts in any order
            a, b = (in_wider_dtype(each, wider).view(f"S{wider.itemsize}") for each in (a, b))
        if {a.dtype.kind, b.dtype.kind} != {"U"}:
            call = Call.of([a, b], CallOptions())
            a, b = call.arrays if call.imaged is not None else (a, b)
    except UsageError as error:
        raise UsageError(f"by: {error.what}", way_out=error.way_out) from None
    same_side([*sides, a, b])
    for name, keys, side in (("a", a, sides[0]), ("b", b, sides[1])):
        if keys.shape != side.shape:
            raise UsageError(f"by: {len(keys)} keys for the {len(side)} items of {name}", way_out="give one for each")
    return a, b
