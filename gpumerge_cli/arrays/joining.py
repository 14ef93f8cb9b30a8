"""gpumerge_cli.join: the pairs of equal items of two sorted arrays, as indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.common_dtype import EMPTY_TEXTS, as_arrays
from gpumerge_cli.arrays.equal_pairs import HOWS, How
from gpumerge_cli.arrays.options import short_repr
from gpumerge_cli.arrays.run import run_call
from gpumerge_cli.arrays.signatures import Host, Indices
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.arrays.text_key import TextKey, TextKind


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
    DisorderError: see `check`. DeviceError: an unavailable GPU.
    """
    if not isinstance(how, str) or how not in HOWS:
        raise UsageError(f"how={short_repr(how)} is not a kind of join", way_out=f"use {', '.join(HOWS)}")
    given = as_arrays([a, b], empty="" if text is None else EMPTY_TEXTS)
    for array in given:
        if array.dtype.names:
            raise UsageError(
                "join does not accept records", way_out=f"give a field of each, as a[{array.dtype.names[0]!r}]"
            )
    options = CallOptions(descending=descending, threads=threads, check=check, text=text)
    return run_call(given, options, lambda on: on.join(how))
