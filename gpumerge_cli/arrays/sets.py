"""gpumerge_cli.union, intersect, difference and symmetric."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.options import flag, wants_counts
from gpumerge_cli.arrays.prepared_calls import run_prepared_set
from gpumerge_cli.arrays.run import prepared_result, run_call
from gpumerge_cli.arrays.signatures import SetFunction, as_set
from gpumerge_cli.engine.job import BackendChoice
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Equals

if TYPE_CHECKING:
    from gpumerge_cli.arrays.key_parts import ArrayKey
    from gpumerge_cli.arrays.text_key import TextKey, TextKind


def _set_of(equals: Equals) -> Callable[[Callable[[], None]], SetFunction]:
    """Makes the public function of a set of one that has its name and its docstring."""

    def made(described: Callable[[], None]) -> SetFunction:
        def combined(
            *arrays: Any,
            distinct: bool = False,
            counts: bool = False,
            values: Iterable[Any] | None = None,
            key: ArrayKey | None = None,
            descending: bool = False,
            text: TextKey | TextKind | None = None,
            check: bool = False,
            out: Any = None,
            backend: BackendChoice = "auto",
            device: int = 0,
            threads: int | None = None,
        ) -> Any:
            if not arrays:
                raise UsageError(f"no arrays for {equals.name_of_set}", way_out="give at least one")
            wanted = Equals.of_sets(equals.name_of_set, distinct=flag("distinct", distinct))
            counts = wants_counts(counts, distinct=distinct, out=out)
            usual = partial(run_prepared_set, wanted)
            found = prepared_result(usual, arrays, values, key, descending, out, backend, threads, check, text, counts)
            if found is not None:
                return found
            return run_call(
                arrays,
                CallOptions(values, key, descending, out, backend, device, threads, check, text=text),
                lambda on: on.combine(wanted),
                counts=counts,
                equals=wanted,
            )

        combined.__name__ = described.__name__
        combined.__qualname__ = described.__qualname__
        combined.__doc__ = described.__doc__
        return as_set(combined)

    return made


@_set_of(Equals.UNION)
def union() -> None:
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
        there.
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
    key, descending, text, check, threads:
        See merge.

    Returns
    -------
    The keys as a new array of the arrays' dtype, or as a view of the first items of `out`; or (keys, values) if values
    are given; with counts, an array of int64 comes last. NumPy arrays, or CuPy arrays for arrays on a GPU. A call on a
    GPU waits for the number of items, so a graph cannot capture it.

    Raises
    ------
    UsageError: arrays that do not match. InputError: a text that its kind cannot read. DisorderError: `check` found an
    array out of order. DeviceError: an unavailable GPU.
    """


@_set_of(Equals.INTERSECT)
def intersect() -> None:
    """Combine sorted arrays to the items that all of them hold.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.intersect(np.array([1, 2, 2]), np.array([2, 5]))
    array([2])

    The result holds an item as often as the array that holds fewest of it. All items are taken from the first array:
    the first ones of several equal items. Parameters, results and errors are those of union.
    """


@_set_of(Equals.DIFFERENCE)
def difference() -> None:
    """Remove from a sorted array the items that other sorted arrays hold.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.difference(np.array([1, 2, 2]), np.array([2, 5]))
    array([1, 2])

    Each item of another array removes one equal item of the first array. The last ones of several equal items stay.
    Parameters, results and errors are those of union.
    """


@_set_of(Equals.SYMMETRIC)
def symmetric() -> None:
    """Combine two sorted arrays to the items that only one of them holds.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.symmetric(np.array([1, 2, 2]), np.array([2, 5]))
    array([1, 2, 5])

    An item that one array holds three times and the other once occurs twice in the result. With more than two arrays,
    the result of the first two is combined with the third in the same way, and so on. Parameters, results and errors
    are those of union.
    """
