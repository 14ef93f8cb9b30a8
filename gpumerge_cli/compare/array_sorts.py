"""Sorts of keys in memory by gpumerge_cli.sort and by numpy.sort, measured on this machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpumerge_cli.arrays.sorting import sort
from gpumerge_cli.dataclass import dataclass

OURS, NUMPYS = "gpumerge_cli.sort", "numpy.sort"
"""The names of the functions."""
_SORTS: Mapping[str, Callable[[Any], Any]] = {OURS: lambda keys: sort(keys, backend="cpu"), NUMPYS: np.sort}
_NBYTES = 8 << 20
_PATIENCE = 0.2
"""Seconds after which no function begins another sort of the same keys."""


@dataclass(frozen=True)
class ArraySorts:
    """The times of sorts of one array of random keys, on the CPU."""

    dtype: str
    count: int
    seconds: Mapping[str, float]
    """The best time of each function, by its name."""

    def describe(self) -> str:
        """A sentence that says which function is faster."""
        fast, slow = sorted(self.seconds, key=lambda name: self.seconds[name])
        ratio = self.seconds[slow] / self.seconds[fast]
        return f"{self.count:,} {self.dtype} in memory: {fast} is {ratio:.1f} times as fast as {slow}"


def measure_array_sorts() -> list[ArraySorts]:
    """Measure sorts of 8 MiB of int32 and of float64. It takes about a second."""
    random = np.random.default_rng(1)
    whole = random.integers(-(1 << 31), 1 << 31, _NBYTES // 4).astype(np.int32)
    return [_measured(keys) for keys in (whole, random.normal(size=_NBYTES // 8))]


def _measured(keys: Any) -> ArraySorts:
    return ArraySorts(str(keys.dtype), len(keys), {name: _best(call, keys) for name, call in _SORTS.items()})


def _best(call: Callable[[Any], Any], keys: Any) -> float:
    begun, best = time.perf_counter(), math.inf
    while best == math.inf or time.perf_counter() - begun < _PATIENCE:
        start = time.perf_counter()
        call(keys)
        best = min(best, time.perf_counter() - start)
    return best
