"""Merges, sorts and sets of libraries in host memory: NumPy's, and polars' merge_sorted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order.equals import EQUAL, ONLY_A, ONLY_B, Equals
from gpumerge_cli.order.kinds import Order

KeyArray = NDArray[Any]
_OF_TWO: dict[str, Callable[[KeyArray, KeyArray], KeyArray]] = {
    "union": np.union1d,
    "intersect": np.intersect1d,
    "difference": np.setdiff1d,
    "symmetric": np.setxor1d,
}


def baselines(runs: Sequence[KeyArray], order: Order) -> Mapping[str, Callable[[], KeyArray]]:
    """Functions that return the merge of `runs`, arrays of the order's dtype, by name.

    polars is among them if it is installed, knows the dtype, there are several runs, and the order is ascending.
    """
    found: dict[str, Callable[[], KeyArray]] = {"numpy stable sort": lambda: _sorted(runs, order)}
    knows = order.is_number and not order.descending
    if len(runs) > 1 and knows and find_spec("polars") and _polars_knows(order.dtype):
        found["polars merge_sorted"] = _Polars(runs).merged
    return found


def versions() -> dict[str, str]:
    """See ComparedBackend. The version of polars, if it is installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes long, and a merge does not need it

    try:
        return {"polars": version("polars")}
    except PackageNotFoundError:
        return {}


def sorts(keys: KeyArray, order: Order) -> Mapping[str, Callable[[], KeyArray]]:
    """Functions that return sorted copies of `keys`, an array of the order's dtype, by name."""
    return {
        "numpy stable sort": lambda: _sorted([keys], order),
        "numpy sort": lambda: np.sort(keys)[:: -1 if order.descending else 1],
    }


def sets(runs: Sequence[KeyArray], order: Order, equals: Equals) -> Mapping[str, Callable[[], KeyArray]]:
    """Functions that return the set `equals` of `runs`, arrays of the order's dtype, by name.

    NumPy has not all distinct sets. They raise DeviceError for NaNs if NumPy's function takes NaNs for unequal.
    """
    turn = -1 if order.descending else 1
    if not equals.is_distinct:
        return {"numpy unique, counts": lambda: _by_counts(runs, equals)[::turn]}
    function = _OF_TWO.get(equals.name_of_set)
    if function is None:
        return {}

    def combined() -> KeyArray:
        if equals is not Equals.DISTINCT_UNION and any(map(_has_nan, runs)):
            raise DeviceError(f"there are NaNs among the keys, and numpy.{function.__name__} treats them as unequal")
        found = reduce(function, runs) if len(runs) > 1 else np.unique(runs[0])
        return np.asarray(found[::turn])

    return {f"numpy {function.__name__}": combined}


def _has_nan(run: KeyArray) -> bool:
    return bool(len(run)) and bool(run[0] != run[0] or run[-1] != run[-1])  # it is sorted


def _by_counts(runs: Sequence[KeyArray], equals: Equals) -> KeyArray:
    """The multiset of runs, by the counts of their distinct keys."""
    found = [np.unique(run, return_counts=True) for run in runs]
    keys = np.unique(np.concatenate([values for values, _ in found]))
    counts = np.zeros((len(runs), len(keys)), np.int64)
    for row, (values, count) in zip(counts, found, strict=True):
        row[np.searchsorted(keys, values)] = count
    return np.repeat(keys, reduce(partial(_count_in_set, equals), counts))


def _count_in_set(equals: Equals, a: KeyArray, b: KeyArray) -> KeyArray:
    """The count of each key in the set of two runs, from its counts in both."""
    pairs, found = np.minimum(a, b), np.zeros_like(a)
    for bit, count in ((EQUAL, pairs), (ONLY_A, a - pairs), (ONLY_B, b - pairs)):
        if equals.value & bit:
            found += count
    return found


def _polars_knows(dtype: np.dtype[Any]) -> bool:
    import polars

    try:
        return bool(polars.Series(np.zeros(1, dtype)).to_numpy().dtype == dtype)
    except (TypeError, ValueError, polars.exceptions.PolarsError):
        return False


def _sorted(runs: Sequence[KeyArray], order: Order) -> KeyArray:
    items = np.sort(np.concatenate(runs), kind="stable")
    return items[::-1] if order.descending else items


class _Polars:
    """Merges pairs, level by level, as polars merges two frames. The first call makes the frames; it is not timed."""

    def __init__(self, runs: Sequence[KeyArray]) -> None:
        self._runs = runs
        self._frames: list[Any] = []

    def merged(self) -> KeyArray:
        import polars

        if not self._frames:
            self._frames = [polars.DataFrame({"key": run}) for run in self._runs]
        frames = self._frames
        while len(frames) > 1:
            odd = frames[-1:] if len(frames) % 2 else []
            pairs = zip(frames[::2], frames[1::2], strict=False)
            frames = [a.merge_sorted(b, key="key") for a, b in pairs] + odd
        merged: KeyArray = frames[0]["key"].to_numpy()
        return merged
