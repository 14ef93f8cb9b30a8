"""Merges and sorts of libraries in host memory: NumPy's stable sort of everything, and polars' merge_sorted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.order import Order

Keys = NDArray[Any]


def baselines(runs: Sequence[Keys], order: Order) -> Mapping[str, Callable[[], Keys]]:
    """Functions that return the merge of `runs`, arrays of the order's dtype, by name.

    polars is among them if it is installed, knows the dtype, there are several runs, and the order is ascending.
    """
    found: dict[str, Callable[[], Keys]] = {"numpy stable sort": lambda: _sorted(runs, order)}
    if len(runs) > 1 and find_spec("polars") and not order.descending and _polars_knows(order.dtype):
        found["polars merge_sorted"] = _Polars(runs).merged
    return found


def versions() -> dict[str, str]:
    """See ComparedBackend. The version of polars, if it is installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes long, and a merge does not need it

    try:
        return {"polars": version("polars")}
    except PackageNotFoundError:
        return {}


def sorts(keys: Keys, order: Order) -> Mapping[str, Callable[[], Keys]]:
    """Functions that return sorted copies of `keys`, an array of the order's dtype, by name."""
    return {
        "numpy stable sort": lambda: _sorted([keys], order),
        "numpy sort": lambda: np.sort(keys)[:: -1 if order.descending else 1],
    }


def _polars_knows(dtype: np.dtype[Any]) -> bool:
    import polars

    try:
        return bool(polars.Series(np.zeros(1, dtype)).to_numpy().dtype == dtype)
    except (TypeError, ValueError, polars.exceptions.PolarsError):
        return False


def _sorted(runs: Sequence[Keys], order: Order) -> Keys:
    items = np.sort(np.concatenate(runs), kind="stable")
    return items[::-1] if order.descending else items


class _Polars:
    """Merges pairs, level by level, as polars merges two frames. The first call makes the frames; it is not timed."""

    def __init__(self, runs: Sequence[Keys]) -> None:
        self._runs = runs
        self._frames: list[Any] = []

    def merged(self) -> Keys:
        import polars

        if not self._frames:
            self._frames = [polars.DataFrame({"key": run}) for run in self._runs]
        frames = self._frames
        while len(frames) > 1:
            odd = frames[-1:] if len(frames) % 2 else []
            pairs = zip(frames[::2], frames[1::2], strict=False)
            frames = [a.merge_sorted(b, key="key") for a, b in pairs] + odd
        merged: Keys = frames[0]["key"].to_numpy()
        return merged
