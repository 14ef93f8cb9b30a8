"""gpumerge_cli.topk and argtopk: the first items of a sort, without the sort."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.options import short_repr
from gpumerge_cli.arrays.run import run_call
from gpumerge_cli.arrays.signatures import Host, Indices, K, Strings, V
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.arrays.key_parts import ArrayKey
    from gpumerge_cli.arrays.keys import Array
    from gpumerge_cli.arrays.sort_signatures import ValueArray
    from gpumerge_cli.arrays.text_key import TextKey, TextKind


class _Keywords(TypedDict, total=False):
    key: ArrayKey | None
    descending: bool
    text: TextKey | TextKind | None
    threads: int | None


@overload
def topk(array: NDArray[K], n: int, *, values: None = None, **options: Unpack[_Keywords]) -> NDArray[K]: ...
@overload
def topk(
    array: NDArray[K], n: int, *, values: NDArray[V], **options: Unpack[_Keywords]
) -> tuple[NDArray[K], NDArray[V]]: ...
@overload
def topk(
    array: NDArray[K], n: int, *, values: Strings, **options: Unpack[_Keywords]
) -> tuple[NDArray[K], NDArray[np.str_]]: ...
@overload
def topk(array: Host, n: int, *, values: None = None, **options: Unpack[_Keywords]) -> Array: ...
@overload
def topk(array: Any, n: int, *, values: None = None, **options: Unpack[_Keywords]) -> Any: ...
@overload
def topk(array: Any, n: int, *, values: ValueArray, **options: Unpack[_Keywords]) -> tuple[Any, Any]: ...
def topk(
    array: Any,
    n: int,
    *,
    values: Any = None,
    key: ArrayKey | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    threads: int | None = None,
) -> Any:
    """The first n items of a sort of a 1-D array: `sort(array)[:n]`, without sorting the others.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.topk(np.array([5, 1, 4, 1, 3]), 3)
    array([1, 1, 3])
    >>> prices, rows = gpumerge_cli.topk(np.array([2.5, 9.0, 4.0]), 2, descending=True, values=np.arange(3))
    >>> prices.tolist(), rows.tolist()
    ([9.0, 4.0], [1, 2])

    Parameters
    ----------
    array:
        An array that `sort` takes, in any order.
    n:
        The number of items, 0 or more. If the array has fewer, the result is the whole sorted array.
    values:
        An array as long as `array` and on its side, of any dtype: the rows of the items that are returned.
    key, descending, text:
        The same as for `sort`. With descending=True these are the largest items, and NaN counts as the largest one.
    threads:
        Threads of the host for an array in its memory; all cores by default.

    Returns
    -------
    The items in order, of the array's dtype and shape (min(n, len(array)),); or (items, values) if values are given.
    Equal items are in the order of the array; if not all of them are returned, the first ones are. An array in host
    memory gives NumPy arrays. One on a GPU gives CuPy arrays, and the call waits for it.

    Raises
    ------
    UsageError: an invalid n, an array and options that do not match, nulls, a masked array. InputError: a text that its
    kind cannot read. DeviceError: an unavailable GPU.
    """
    n = _count(n)
    rows = None if values is None else (values,)
    options = CallOptions(rows, key, descending, threads=threads, listed=False, text=text)
    return run_call((array,), options, lambda on: on.topk(n))


@overload
def argtopk(array: Host, n: int, **options: Unpack[_Keywords]) -> Indices: ...
@overload
def argtopk(array: Any, n: int, **options: Unpack[_Keywords]) -> Any: ...
def argtopk(
    array: Any,
    n: int,
    *,
    key: ArrayKey | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    threads: int | None = None,
) -> Any:
    """The places of the first n items of a sort of a 1-D array: `argsort(array)[:n]`, without sorting the others.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.argtopk(np.array([5, 1, 4, 1, 3]), 3)
    array([1, 3, 4])

    Parameters
    ----------
    array, n, key, descending, text, threads:
        The same as for `topk`.

    Returns
    -------
    An array of int64 of shape (min(n, len(array)),), on the side of the array. A call on a GPU waits.

    Raises
    ------
    As `topk`.
    """
    n = _count(n)
    options = CallOptions(key=key, descending=descending, threads=threads, text=text)
    return run_call((array,), options, lambda on: on.argtopk(n))


def _count(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise UsageError(f"n={short_repr(n)} is not a number of items", way_out="give a whole number, 0 or more")
    return int(n)
