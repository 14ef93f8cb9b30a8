"""Cuts of merges of sources whose items are made one at a time. They are those of Cuts, found with few items."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cmp_to_key
from typing import Protocol

from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.order.kinds import Order

_SLACK = 8
"""A cut of several may miss its target by one of so many shares of the way to the next one."""


class OneByOne(Protocol):
    """A source that makes an item at a time. See formats.base.RangedSource."""

    size: int

    def item_at(self, start: int) -> bytes: ...

    def item_start(self, position: int) -> int: ...

    def item_end(self, start: int) -> int: ...

    def start_before(self, position: int) -> int: ...


class ItemCuts:
    """Makes cuts of the merge of sources. groups: no cut lies between items that compare equal."""

    def __init__(self, sources: Sequence[OneByOne], order: Order, *, groups: bool = False) -> None:
        self._sources = sources
        self._groups = groups
        self._compare = Comparison(order)
        self.sizes: tuple[int, ...] = tuple(source.size for source in sources)

    def between(self, low: Iterable[int], high: Iterable[int], targets: Sequence[int]) -> array[int]:
        """See Cuts."""
        first, last = list(low), list(high)
        return self._all(first, last, targets, (sum(last) - sum(first)) // (len(targets) + 1) // _SLACK)

    def at(
        self, targets: Sequence[int], low: Iterable[int] | None = None, high: Iterable[int] | None = None
    ) -> array[int]:
        """See Cuts."""
        first = [0] * len(self.sizes) if low is None else list(low)
        return self._all(first, list(self.sizes if high is None else high), targets, 0)

    def bounds(self, item: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """See Cuts."""
        ahead, behind = (
            tuple(self._bound(number, 0, size, item, behind=is_behind) for number, size in enumerate(self.sizes))
            for is_behind in (False, True)
        )
        return ahead, behind

    def is_cut(self, positions: Sequence[int]) -> bool:
        """See Cuts."""
        pairs = list(zip(self._sources, positions, strict=True))
        ahead = [one.item_at(one.start_before(at)) for one, at in pairs if at > 0]
        behind = [one.item_at(at) for one, at in pairs if at < one.size]
        return all(self._compare(one, other) <= 0 for one in ahead for other in behind)

    def _all(self, low: list[int], high: list[int], targets: Sequence[int], slack: int) -> array[int]:
        """The cuts for ascending targets: that in the middle is found first, and bounds the others."""
        if not targets:
            return array("q")
        middle = len(targets) // 2
        cut = self._cut(low, high, targets[middle], slack)
        ahead = self._all(low, cut, targets[:middle], slack)
        return ahead + array("q", cut) + self._all(cut, high, targets[middle + 1 :], slack)

    def _cut(self, low: list[int], high: list[int], target: int, slack: int) -> list[int]:
        """The cut between two others whose sum is nearest to a target, or misses it by less than `slack`."""
        while True:
            if target - sum(low) <= slack:
                return low
            if sum(high) - target <= slack:
                return high
            found = self._pivot(low, high)
            if found is None:
                return self._last_step(low, high, target)
            if sum(found) <= target:
                low = found
            else:
                high = found

    def _pivot(self, low: list[int], high: list[int]) -> list[int] | None:
        """A cut that lies strictly between two others; None if they are too near to each other for a search."""
        for number in sorted(range(len(low)), key=lambda one: low[one] - high[one]):
            first, last = low[number], high[number]
            if first >= last:
                return None
            source = self._sources[number]
            at = source.item_start((first + last) // 2)
            if at >= last:
                at = source.start_before(last)
            if at <= first:  # a single item
                continue
            item = source.item_at(at)
            if not self._groups:
                return [
                    at if one == number else self._bound(one, low[one], high[one], item, behind=one < number)
                    for one in range(len(low))
                ]
            for behind in (False, True):
                found = [self._bound(one, low[one], high[one], item, behind=behind) for one in range(len(low))]
                if low != found != high:
                    return found
        return None

    def _bound(self, number: int, low: int, high: int, item: bytes, *, behind: bool) -> int:
        """The place of an item among those of a source in low:high. behind: those that equal it."""
        source, top = self._sources[number], high  # no item before `high` begins at `top` or later
        while low < top:
            middle = (low + top) // 2
            at = source.item_start(middle)
            if at >= high:
                top = middle
                continue
            compared = self._compare(source.item_at(at), item)
            if compared < 0 or (behind and compared == 0):
                low = source.item_end(at)
            else:
                high, top = at, middle
        return high

    def _last_step(self, low: list[int], high: list[int], target: int) -> list[int]:
        """The cut nearest to a target, where each source has one item at most between two cuts, or all are equal."""
        if self._groups:
            return low if target - sum(low) <= sum(high) - target else high
        left = [number for number in range(len(low)) if low[number] < high[number]]
        items = {number: self._sources[number].item_at(low[number]) for number in left}
        key = cmp_to_key(self._compare)
        best = cut = low
        for number in sorted(left, key=lambda one: key(items[one])):
            cut = list(cut)
            cut[number] = high[number]
            if abs(sum(cut) - target) < abs(sum(best) - target):
                best = cut
        return best
