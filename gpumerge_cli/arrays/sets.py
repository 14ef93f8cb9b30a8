"""gpumerge_cli.union, intersect, difference and symmetric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.options import flag, wants_counts
from gpumerge_cli.arrays.run import run_call
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Equals


class SetKeywords(TypedDict, total=False):
    """The options of all sets. See union."""

    distinct: bool
    counts: bool
    values: Iterable[Any] | None
    key: str | None
    descending: bool
    out: Any
    backend: str
    device: int
    threads: int | None


def union(*arrays: Any, **options: Unpack[SetKeywords]) -> Any:
    """Combine sorted arrays to the items that any of them holds.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.union(np.array([1, 2, 2]), np.array([2, 5]))
    array([1, 2, 2, 5])

    The result holds an item as often as the array that holds most of it: an item that occurs twice in one array and
    once in another occurs twice. The items of the first array come ahead of equal items of the others.

    Parameters
    ----------
    arrays:
        One or more sorted 1-D arrays of one dtype, of any lengths: all that `merge` takes. Arrays on a GPU are combined
        there. Their order is not checked (see is_sorted).
    distinct:
        Treat equal items of one array as one item. Then each item occurs at most once in the result.
    counts:
        Keep the first of several equal keys, and give the number of equal keys. It cannot be combined with distinct or
        out.
    values:
        One array for each of `arrays`, of the same length. Its rows stay beside their keys.
    out:
        Array for the keys, as of merge, but with room for the most items that the result can have, or for more: as many
        as all arrays have; for intersect as many as the shortest one has, for difference as many as the first one. What
        lies behind the result is not defined.
    backend, device:
        "auto", "cpu" or "gpu", and the GPU's number, for arrays in host memory. "auto" is the CPU.
    key, descending, threads:
        See merge.

    Returns
    -------
    The keys as a new array of the arrays' dtype, or as a view of the first items of `out`; or (keys, values) if values
    are given; with counts, an array of int64 comes last. NumPy arrays, or CuPy arrays for arrays on a GPU. A call on a
    GPU waits for the number of items, so a graph cannot capture it.

    Raises
    ------
    UsageError: arrays that do not match. DeviceError: an unavailable GPU.
    """
    return _combined(Equals.UNION, arrays, **options)


def intersect(*arrays: Any, **options: Unpack[SetKeywords]) -> Any:
    """Combine sorted arrays to the items that all of them hold.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.intersect(np.array([1, 2, 2]), np.array([2, 5]))
    array([2])

    The result holds an item as often as the array that holds fewest of it. All items are taken from the first array:
    the first ones of several equal items. Parameters, results and errors are those of union.
    """
    return _combined(Equals.INTERSECT, arrays, **options)


def difference(*arrays: Any, **options: Unpack[SetKeywords]) -> Any:
    """Remove from a sorted array the items that other sorted arrays hold.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.difference(np.array([1, 2, 2]), np.array([2, 5]))
    array([1, 2])

    Each item of another array removes one equal item of the first array. The last ones of several equal items stay.
    Parameters, results and errors are those of union.
    """
    return _combined(Equals.DIFFERENCE, arrays, **options)


def symmetric(*arrays: Any, **options: Unpack[SetKeywords]) -> Any:
    """Combine two sorted arrays to the items that only one of them holds.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.symmetric(np.array([1, 2, 2]), np.array([2, 5]))
    array([1, 2, 5])

    An item that one array holds three times and the other once occurs twice in the result. With more than two arrays,
    the result of the first two is combined with the third in the same way, and so on. Parameters, results and errors
    are those of union.
    """
    return _combined(Equals.SYMMETRIC, arrays, **options)


def _combined(
    equals: Equals, arrays: Sequence[Any], *, distinct: bool = False, counts: bool = False, **options: Any
) -> Any:
    name = equals.name_of_set
    for option in options:
        if option not in SetKeywords.__annotations__:
            raise TypeError(f"{name}() got an unexpected keyword argument {option!r}")
    if not arrays:
        raise UsageError(f"no arrays for {name}", way_out="give at least one")
    distinct = flag("distinct", distinct)
    with_counts = wants_counts(counts, distinct=distinct, out=options.get("out"))
    equals = Equals.of_sets(name, distinct=distinct)
    given = CallOptions(**options)
    return run_call(arrays, given, lambda on: on.combine(equals), usual=None, counts=with_counts, equals=equals)
