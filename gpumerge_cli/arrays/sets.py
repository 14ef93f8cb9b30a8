"""gpumerge_cli.union, intersect, difference and symmetric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.counting import counted, judge_counts
from gpumerge_cli.arrays.device import Device
from gpumerge_cli.arrays.host import Host, numbered
from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.options import flag, host_threads, judge_out, same_side
from gpumerge_cli.arrays.payload import gathered, payload
from gpumerge_cli.arrays.taking import taken
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Equals

Array = NDArray[Any]


class SetOptions(TypedDict, total=False):
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


def union(*arrays: Any, **options: Unpack[SetOptions]) -> Any:
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
        Keep the first of several equal keys, and say how many the result has. It goes neither with distinct nor with
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
    UsageError: arrays that do not fit. DeviceError: a GPU that cannot be had.
    """
    return _counted(Equals.UNION, arrays, options)


def intersect(*arrays: Any, **options: Unpack[SetOptions]) -> Any:
    """Combine sorted arrays to the items that all of them hold.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.intersect(np.array([1, 2, 2]), np.array([2, 5]))
    array([2])

    The result holds an item as often as the array that holds fewest of it. All items are taken from the first array:
    the first ones of several equal items. Parameters, results and errors are those of union.
    """
    return _counted(Equals.INTERSECT, arrays, options)


def difference(*arrays: Any, **options: Unpack[SetOptions]) -> Any:
    """Remove from a sorted array the items that other sorted arrays hold.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.difference(np.array([1, 2, 2]), np.array([2, 5]))
    array([1, 2])

    Each item of another array removes one equal item of the first array. The last ones of several equal items stay.
    Parameters, results and errors are those of union.
    """
    return _counted(Equals.DIFFERENCE, arrays, options)


def symmetric(*arrays: Any, **options: Unpack[SetOptions]) -> Any:
    """Combine two sorted arrays to the items that only one of them holds.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.symmetric(np.array([1, 2, 2]), np.array([2, 5]))
    array([1, 2, 5])

    An item that one array holds three times and the other once occurs twice in the result. With more than two arrays,
    the result of the first two is combined with the third in the same way, and so on. Parameters, results and errors
    are those of union.
    """
    return _counted(Equals.SYMMETRIC, arrays, options)


def _counted(equals: Equals, arrays: Sequence[Any], options: SetOptions) -> Any:
    """The set, with the counts of its keys if they are asked for."""
    if not flag("counts", options.get("counts", False)):
        return _combined(equals, arrays, options)
    judge_counts(distinct=options.get("distinct"), out=options.get("out"))
    found = _combined(equals, arrays, options)
    return counted(found, options.get("key"), moved=options.get("values") is not None)


def _combined(equals: Equals, arrays: Sequence[Any], options: SetOptions) -> Any:
    name = equals.name_of_set
    for option in options:
        if option not in SetOptions.__annotations__:
            raise TypeError(f"{name}() got an unexpected keyword argument {option!r}")
    if not arrays:
        raise UsageError(f"no arrays for {name}", way_out="give at least one")
    given = [taken(array) for array in arrays]
    keys = ArrayKeys.of(given, options.get("key"), options.get("descending", False))
    on_device = same_side(given)
    threads = host_threads(options.get("threads"))
    values = options.get("values")
    rows = None if values is None else payload(values, given)
    equals = Equals.of_sets(name, distinct=flag("distinct", options.get("distinct", False)))
    out = options.get("out")
    if out is not None:
        judge_out(out, keys.dtype, equals.most(list(map(len, given))), [*given, *(rows or ())], longer=True)
    if on_device:
        device = Device(given, keys, options.get("backend", "auto"))
        with device.current():
            combined, moved = device.combined(given, equals, rows, out)
        return combined if rows is None else (combined, moved)
    runs = [keys.run(array) for array in given]
    nats = [keys.nats(run) for run in runs]
    # NaTs are kept out, and values are gathered, by the indices of the items.
    items, of_items = (runs, keys) if rows is None and not any(nats) else numbered(runs, keys)
    backend = options.get("backend", "auto")
    chosen = "cpu" if backend == "auto" else backend  # as for sets of files
    nbytes = sum(each.nbytes for each in items)
    host = Host.of(chosen, options.get("device", 0), of_items.order, nbytes, threads)
    if items is runs:
        return host.combined(runs, keys, equals, None if out is None else out.view(keys.items)).view(keys.dtype)
    ranks = _ranks(host, items, of_items, equals, nats)
    found = gathered(runs, ranks).view(keys.dtype)
    if out is not None:
        out[: len(found)] = found
        found = out[: len(found)]
    return found if rows is None else (found, gathered(rows, ranks))


def _ranks(
    host: Host, items: Sequence[Array], of_items: ArrayKeys, equals: Equals, nats: Sequence[int]
) -> NDArray[np.int64]:
    """The indices of the items that go out, into the arrays laid one behind the other.

    items, of_items: as numbered has them. nats: the number of NaTs in each array.
    """
    parts = [of_items.split(each, count) for each, count in zip(items, nats, strict=True)]
    kept = [nat[low:high] for (_, nat), (low, high) in zip(parts, equals.kept(nats), strict=True)]
    found = [host.combined([dates for dates, _ in parts], of_items, equals), *kept]
    if of_items.order.descending:
        found = [*kept, found[0]]
    return np.concatenate([np.ascontiguousarray(part["place"]) for part in found])
