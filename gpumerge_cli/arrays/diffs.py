"""gpumerge_cli.diff: the difference of two sorted arrays of keys, as indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.common_dtype import EMPTY_TEXTS, as_arrays
from gpumerge_cli.arrays.options import flag
from gpumerge_cli.arrays.run import run_call
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.arrays.text_key import TextKey, TextKind


class ArrayDiff(NamedTuple):
    """The difference of an old and a new array of keys: int64 indices, all ascending."""

    added: Any
    """The indices of the new items whose keys the old array lacks."""
    removed: Any
    """The indices of the old items whose keys the new array lacks."""
    changed: tuple[Any, Any]
    """The indices of items with equal keys and different values, in the old and in the new array."""
    unchanged: tuple[Any, Any]
    """The same of items with equal keys and equal values; all pairs if there are no values."""


def diff(
    a: Any,
    b: Any,
    *,
    values: Any = None,
    multi: bool = False,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    check: bool = False,
    threads: int | None = None,
) -> ArrayDiff:
    """Compare two sorted arrays of keys, an old and a new one: the items that were added, removed and changed.

    >>> import gpumerge_cli, numpy as np
    >>> old, new = np.array([1, 2, 4, 7]), np.array([2, 4, 5])
    >>> found = gpumerge_cli.diff(old, new, values=[np.array([10, 20, 40, 70]), np.array([20, 41, 50])])
    >>> found.added.tolist(), found.removed.tolist()
    ([2], [0, 3])
    >>> [each.tolist() for each in found.changed], [each.tolist() for each in found.unchanged]
    ([[2], [1]], [[1], [0]])

    Parameters
    ----------
    a, b:
        The old and the new keys: sorted 1-D arrays of one dtype that `merge` takes without `key`, in host memory or on
        one GPU. To compare tables, give their key columns, and use the indices for all columns.
    values:
        Two arrays of one dtype, of shapes (len(a), ...) and (len(b), ...), on the side of the keys: the rows that are
        compared where keys are equal. Without them no item is changed.
    multi:
        Pair items with equal keys in their order: the first one with the first one, and so on. Those that are left are
        added or removed. By default each array must have each key once.
    descending, text, check, threads:
        The same as for `join`.

    Returns
    -------
    An ArrayDiff of int64 arrays: `added` has indices into `b`, `removed` into `a`, `changed` and `unchanged` are pairs
    of arrays with indices into `a` and into `b`. NumPy arrays, or CuPy arrays for arrays on a GPU, where the call
    waits.
    Keys are equal as in `merge`: NaN equals NaN, NaT equals NaT, and -0.0 equals 0.0. Values are equal in the same way.

    Raises
    ------
    UsageError: arrays that do not match. InputError: a key that an array has twice, without `multi`; a text that its
    kind cannot read. DisorderError: see `check`. DeviceError: an unavailable GPU.
    """
    multi = flag("multi", multi)
    given = as_arrays([a, b], empty="" if text is None else EMPTY_TEXTS)
    for array in given:
        if array.dtype.names:
            raise UsageError(
                "diff does not accept records", way_out=f"give a field of each, as a[{array.dtype.names[0]!r}]"
            )
    options = CallOptions(values, descending=descending, threads=threads, check=check, text=text)
    return ArrayDiff(*run_call(given, options, lambda on: on.diff(multi=multi)))
