"""The correct output, computed independently of the code under test: by NumPy's and Python's stable sorts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from gpumerge_cli.compare.set_oracle import SetOracle
from gpumerge_cli.compare.sum_oracle import ItemBytes, SumOracle
from gpumerge_cli.native.comparison import key_by
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import KeyOrder, Order, RecordOrder

SORTED = 1 << 24
"""The most keys that are sorted to check their merge."""


class Oracle(Protocol):
    """Knows the stable merge, or a set, of a few runs."""

    how: str
    """The method: "stable sort", "order and sums" (see sum_oracle) or "counts of equals" (see set_oracle)."""
    nbytes: int
    """ItemBytes of the correct output."""

    def exact(self, merged: ItemBytes) -> bool:
        """Whether `merged` is the correct output, byte for byte."""

    def equal_by_key(self, merged: ItemBytes) -> bool:
        """Whether `merged` has the correct key at every rank; items that compare equal may be permuted."""


def oracle(runs: Sequence[ItemBytes], order: Order, equals: Equals = Equals.ALL, *, threads: int = 1) -> Oracle:
    """The oracle of `runs`: bytes of whole keys, records or lines. It keeps no reference to them.

    equals: the set that is made of them, ALL for their merge. threads: host threads that check more than SORTED keys.
    """
    if equals.is_set:
        return SetOracle(runs, order, equals)
    if isinstance(order, KeyOrder):
        many = sum(run.size for run in runs) > SORTED * order.width
        return SumOracle(runs, order, threads) if many else _Keys(runs, order)
    return _Records(runs, order) if isinstance(order, RecordOrder) else _Lines(runs, order)


class _Keys:
    """An oracle of keys. Keys with equal images have equal bytes, except for zeros and NaNs of floats."""

    how = "stable sort"

    def __init__(self, runs: Sequence[ItemBytes], order: KeyOrder) -> None:
        keys = np.concatenate([order.keys(run) for run in runs])
        images = order.image(keys)
        self._order = order
        self.nbytes = images.nbytes
        self._images = np.sort(images, kind="stable")
        # A stable merge keeps these in input order, so the bytes at their ranks are those of the inputs, in order.
        self._same: list[tuple[slice, ItemBytes]] = []
        for image in order.image(order.alike):
            first, last = (int(np.searchsorted(self._images, image, side)) for side in ("left", "right"))
            if first < last:
                ranks = slice(first * order.width, last * order.width)
                self._same.append((ranks, keys[images == image].view(np.uint8)))

    def exact(self, merged: ItemBytes) -> bool:
        return self.equal_by_key(merged) and all(np.array_equal(merged[ranks], same) for ranks, same in self._same)

    def equal_by_key(self, merged: ItemBytes) -> bool:
        if merged.size != self.nbytes:
            return False
        return np.array_equal(self._order.image(self._order.keys(merged)), self._images)


class _Lines:
    """An oracle of lines: their stable sort is the only correct output."""

    how = "stable sort"

    def __init__(self, runs: Sequence[ItemBytes], order: Order) -> None:
        end = order.end
        lines = [line for run in runs for line in run.tobytes().split(end)[:-1]]
        lines.sort(key=key_by(order))
        self._merged = b"".join(line + end for line in lines)
        self.nbytes = len(self._merged)

    def exact(self, merged: ItemBytes) -> bool:
        return merged.tobytes() == self._merged

    def equal_by_key(self, merged: ItemBytes) -> bool:
        return self.exact(merged)


class _Records:
    """An oracle of records. It keeps all of them, since records with equal keys may differ."""

    how = "stable sort"

    def __init__(self, runs: Sequence[ItemBytes], order: Order) -> None:
        records = np.concatenate(runs)
        images = order.image(order.keys(records))
        ranks = np.argsort(images, kind="stable")
        self._order = order
        self._images = images[ranks]
        self._merged = records.reshape(-1, order.item_bytes)[ranks].reshape(-1)
        self.nbytes = self._merged.nbytes

    def exact(self, merged: ItemBytes) -> bool:
        return np.array_equal(merged, self._merged)

    def equal_by_key(self, merged: ItemBytes) -> bool:
        if merged.size != self.nbytes:
            return False
        return np.array_equal(self._order.image(self._order.keys(merged)), self._images)
