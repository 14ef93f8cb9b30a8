"""The correct output of a set, computed independently of the code under test: by counting equal items of each run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.compare.sum_oracle import ItemBytes
from gpumerge_cli.native.comparison import key_by
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import KeyOrder, Order, RecordOrder

Numbers = NDArray[np.int64]


class SetOracle:
    """See compare.oracle.Oracle. It knows a set of a few sorted runs, and keeps no reference to them."""

    how = "counts of equals"

    def __init__(self, runs: Sequence[ItemBytes], order: Order, equals: Equals) -> None:
        self._order = order
        self._set = _expected(runs, order, equals)
        self.nbytes = self._set.nbytes

    def exact(self, merged: ItemBytes) -> bool:
        """See Oracle."""
        return np.array_equal(merged, self._set)

    def equal_by_key(self, merged: ItemBytes) -> bool:
        """See Oracle."""
        if not isinstance(self._order, KeyOrder) or merged.size != self._set.size:
            return self.exact(merged)
        found, expected = (self._order.image(self._order.keys(each)) for each in (merged, self._set))
        return np.array_equal(found, expected)


def _expected(runs: Sequence[ItemBytes], order: Order, equals: Equals) -> ItemBytes:
    """The bytes of the set."""
    if isinstance(order, KeyOrder | RecordOrder):
        items: list[NDArray[Any]] = [run.reshape(-1, order.item_bytes) for run in runs]
        groups = _groups_of_images([order.image(order.keys(run)) for run in runs])
    else:
        split = [run.tobytes().split(order.end)[:-1] for run in runs]
        groups = _groups_of_lines(split, order)
        items = [
            np.array([None, *lines], object)[1:] for lines in split
        ]  # else a single item would be an array of bytes
    kept = _kept(groups, equals)
    numbers = np.concatenate([group[keep] for group, keep in zip(groups, kept, strict=True)])
    found = np.concatenate([item[keep] for item, keep in zip(items, kept, strict=True)])
    found = found[np.argsort(numbers, kind="stable")]
    if found.dtype != object:
        return np.ascontiguousarray(found).reshape(-1)
    return np.frombuffer(b"".join(line + order.end for line in found), np.uint8)


def _kept(groups: Sequence[Numbers], equals: Equals) -> list[NDArray[np.bool_]]:
    """For each run the items of the set. groups: the number of each item's group of equals, ascending."""
    most = 1 + max((int(group[-1]) for group in groups if len(group)), default=-1)
    counts = [np.bincount(group, minlength=most) for group in groups]
    low, high = _ranges(counts, equals)
    kept = []
    for run, (group, count) in enumerate(zip(groups, counts, strict=True)):
        place = np.arange(len(group)) - (np.cumsum(count) - count)[group]
        kept.append((low[run][group] <= place) & (place < high[run][group]))
    return kept


def _ranges(counts: Sequence[Numbers], equals: Equals) -> tuple[Numbers, Numbers]:
    """The ranges of items that belong to the set, as begins and ends: a row for each run.

    counts: for each run, how many items of each group it has. Groups with the same counts share a
    result of the rule.
    """
    case = np.zeros(len(counts[0]), np.int64)
    for count in counts:
        case = np.unique(case * (int(count.max(initial=0)) + 1) + count, return_inverse=True)[1]
    first = np.unique(case, return_index=True)[1]
    ranges = [equals.kept([int(count[at]) for count in counts]) for at in first]
    table = np.array(ranges, np.int64).reshape(-1, len(counts), 2)[case]
    return table[:, :, 0].T, table[:, :, 1].T


def _groups_of_images(images: Sequence[NDArray[Any]]) -> list[Numbers]:
    numbers = np.unique(np.concatenate(images), return_inverse=True)[1]
    ends = np.cumsum([0, *map(len, images)])
    return [numbers[start:stop] for start, stop in pairwise(ends)]


def _groups_of_lines(runs: Sequence[Sequence[bytes]], order: Order) -> list[Numbers]:
    key = key_by(order)
    keys = [key(line) for run in runs for line in run]
    ranks = sorted(range(len(keys)), key=keys.__getitem__)
    numbers = np.zeros(len(keys), np.int64)
    for before, rank in pairwise(ranks):
        numbers[rank] = numbers[before] + (keys[before] != keys[rank])
    ends = np.cumsum([0, *map(len, runs)])
    return [numbers[start:stop] for start, stop in pairwise(ends)]
