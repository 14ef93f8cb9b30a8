"""The division of a sort among devices: shares of the input, exact cuts of sorted runs, segments to fetch.

It is pure: runs are read through a function, so everything is tested without a device. A run is a sorted part of one
device's share; runs are numbered in the order of the input, so ties go by run, then by position in the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.dataclass import dataclass

Range = tuple[int, int]
"""Items from the first number up to, but not including, the second."""
RunSlice = tuple[int, int, int, int]
"""Items `start`, `start + step`, ... below `stop` of run number `run`: (run, start, stop, step)."""
ReadSlices = Callable[[Sequence[RunSlice]], Sequence[NDArray[Any]]]
"""Gives the key images of all slices in one go: reading a thousand keys of a device takes as long as reading one."""

_SAMPLES = 2048
"""Keys that a round of a search reads of each run."""


def fair(total: int, weights: Sequence[float], unit: int = 1) -> list[Range]:
    """`total` items as one contiguous range for each weight, in proportion to the weights; some may be empty.

    Ranges begin at multiples of `unit`.
    """
    parts = [end / sum(weights) for end in accumulate(weights)]
    edges = [min(total, round(total * part / unit) * unit) for part in parts[:-1]]
    return list(pairwise([0, *edges, total]))


def exact_cuts(read: ReadSlices, counts: Sequence[int], rank: int) -> list[int]:
    """The number of items of each sorted run that are among the first `rank` of all: by key, then run, then position.

    Each round reads samples of the windows in which the cuts lie, and narrows the windows.
    """
    low, high = [0] * len(counts), list(counts)
    while True:
        left = rank - sum(low)
        if left == 0:
            return low
        if left == sum(high) - sum(low):
            return high
        windows = [(run, *window) for run, window in enumerate(zip(low, high, strict=True)) if window[0] < window[1]]
        found = _samples(read, [(*window, -(-(window[2] - window[1]) // _SAMPLES)) for window in windows])
        _narrow(found, left, low, high)


@dataclass(frozen=True)
class _Samples:
    """Sampled items in their order."""

    runs: NDArray[np.int64]
    """The run of each item."""
    positions: NDArray[np.int64]
    """The position of each item in its run."""
    of: dict[int, NDArray[np.int64]]
    """The sampled positions of each run, ascending."""


def _samples(read: ReadSlices, slices: Sequence[RunSlice]) -> _Samples:
    """Read samples. slices: by run, so that ties go by run and position."""
    of = {run: np.arange(start, stop, step, dtype=np.int64) for run, start, stop, step in slices}
    order = np.argsort(np.concatenate(read(slices)), kind="stable")
    runs = np.concatenate([np.full(len(positions), run, np.int64) for run, positions in of.items()])
    return _Samples(runs[order], np.concatenate(list(of.values()))[order], of)


def _narrow(samples: _Samples, left: int, low: list[int], high: list[int]) -> None:
    """Move `low` and `high` of all runs to the samples next to the cut. left: items to take from within the windows.

    A run's samples on both sides of another run's sample bound the number of its items ahead of that one.
    """
    least = np.zeros(len(samples.runs), np.int64)
    most = np.zeros(len(samples.runs), np.int64)
    for run, positions in samples.of.items():
        start, stop = low[run], high[run]
        of_run = samples.runs == run
        ahead = np.cumsum(of_run) - of_run
        least += np.where(of_run, samples.positions - start, np.concatenate(([0], positions + 1 - start))[ahead])
        most += np.where(of_run, samples.positions - start, np.concatenate((positions, [stop]))[ahead] - start)
    taken, kept = most < left, least >= left
    for run in samples.of:
        of_run = samples.runs == run
        if (of_run & taken).any():
            low[run] = int(samples.positions[of_run & taken].max()) + 1
        if (of_run & kept).any():
            high[run] = int(samples.positions[of_run & kept].min())


def estimates(samples: Sequence[NDArray[Any]], step: int, counts: Sequence[int], rank: int) -> list[int]:
    """Estimates of `cuts` before the runs are sorted, from every `step`-th key image of each run."""
    keys = np.concatenate(samples)
    runs = np.concatenate([np.full(len(sample), run, np.int64) for run, sample in enumerate(samples)])
    first = runs[np.argsort(keys, kind="stable")[: round(rank / step)]]
    found = np.bincount(first, minlength=len(counts)) * step
    return [min(int(cut), count) for cut, count in zip(found, counts, strict=True)]


def slack(step: int, counts: Sequence[int]) -> int:
    """The items by which estimates may be off: five standard deviations of a random sample."""
    return step * (3 + int(2.5 * np.sqrt(sum(counts) / step)))


@dataclass(frozen=True)
class Landing:
    """Memory on one device for a part of a run of another device."""

    room: Range
    """The items that it can hold."""
    sent: Range
    """The items that were sent early."""

    def missing(self, wanted: Range) -> list[Range] | None:
        """The items still to be sent, so that the `wanted` ones are complete; None if the memory cannot hold these."""
        start, stop = wanted
        if start == stop:
            return []
        if start < self.room[0] or stop > self.room[1]:
            return None
        low, high = self.sent
        if high <= start or stop <= low or low == high:
            return [wanted]
        return [(a, b) for a, b in ((start, low), (high, stop)) if a < b]


def landing(cuts: Range, slack: int, count: int) -> Landing:
    """Room for the items between two estimated cuts of a run of `count` items, with `slack` more on both sides."""
    low, high = min(cuts), max(cuts)
    return Landing((max(0, low - slack), min(count, high + slack)), (low, high))


def located(ends: Sequence[int], start: int, stop: int) -> list[tuple[int, int, int]]:
    """Bytes `start` to `stop` of data spread over several devices: (device, first byte, count), none of them empty.

    ends: the end of each device's part, in order.
    """
    found = []
    for device, (low, high) in enumerate(pairwise([0, *ends])):
        first, last = max(start, low), min(stop, high)
        if first < last:
            found.append((device, first - low, last - first))
    return found
