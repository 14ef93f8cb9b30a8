"""The plain twin of kernels/cpu/cuts.cpp: the same pivots, each placed by a search through all items of every run."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

NEAR, GUESSED, MOST_PIVOTS = 16, 3, 100
Row = list[int]


@dataclass(frozen=True)
class SortedRun:
    """A sorted run. keys: of its items. edges: byte positions at which items start, then the size."""

    keys: Sequence[Any]
    edges: Sequence[int]


class PlainCutter:
    """Cuts of runs in order. Keys compare by `<` and `==`."""

    def __init__(self, runs: Sequence[SortedRun]) -> None:
        self._runs = runs
        self._drawn = 1
        self._item: tuple[Row, Row] | None = None  # the cuts around the item that the last search ended in

    def cut(self, targets: Sequence[int]) -> list[Row]:
        """A cut for each target, in order."""
        low, high = [0] * len(self._runs), [run.edges[-1] for run in self._runs]
        rows: list[Row] = [[]] * len(targets)
        self._cut(list(targets), rows, (0, len(targets)), (low, high), [0, *targets, sum(high)])
        return rows

    def _cut(
        self, targets: list[int], rows: list[Row], span: tuple[int, int], ends: tuple[Row, Row], edges: list[int]
    ) -> None:
        first, last = span
        if first >= last:
            return
        middle = (first + last) // 2
        gap = min(edges[middle + 1] - edges[middle], edges[middle + 2] - edges[middle + 1])
        rows[middle] = self._search(targets[middle], max(0, gap) // NEAR, *ends)
        self._cut(targets, rows, (first, middle), (ends[0], rows[middle]), edges)
        self._cut(targets, rows, (middle + 1, last), (rows[middle], ends[1]), edges)

    def _search(self, target: int, near: int, low: Row, high: Row) -> Row:
        item = self._item
        if item is None or not self._holds(item, target, low, high):
            item, self._item = (low, high), None
            for turn in range(MOST_PIVOTS):
                if sum(item[0]) + near >= target or target + near >= sum(item[1]):
                    break
                run, number = self._choose(turn, target, *item)
                at = [self._place(other, run, number) for other in range(len(self._runs))]
                behind = [*at[:run], self._runs[run].edges[number + 1], *at[run + 1 :]]
                if sum(at) > target:
                    item = item[0], at
                elif target - sum(at) <= near:
                    item = at, item[1]
                    break
                elif sum(behind) > target:
                    item = self._item = at, behind
                    break
                else:
                    item = behind, item[1]
        return item[0] if target - sum(item[0]) <= sum(item[1]) - target else item[1]

    @staticmethod
    def _holds(item: tuple[Row, Row], target: int, low: Row, high: Row) -> bool:
        if not sum(item[0]) <= target <= sum(item[1]):
            return False
        inside = all(x >= y for x, y in zip(item[0], low, strict=True))
        return inside and all(x <= y for x, y in zip(item[1], high, strict=True))

    def _choose(self, turn: int, target: int, low: Row, high: Row) -> tuple[int, int]:
        """The run and the number of the pivot."""
        lengths = [y - x for x, y in zip(low, high, strict=True)]
        if turn < GUESSED:
            run = lengths.index(max(lengths))
            fraction = (target - sum(low)) / sum(lengths)
        else:
            self._drawn = (self._drawn * 6364136223846793005 + 1442695040888963407) % 2**64
            place, run = (self._drawn >> 11) % sum(lengths), 0
            while place >= lengths[run]:
                place -= lengths[run]
                run += 1
            fraction = place / lengths[run]
        edges = self._runs[run].edges
        number = bisect.bisect_left(edges, low[run] + int(fraction * lengths[run]))
        return run, number if edges[number] < high[run] else bisect.bisect_left(edges, high[run]) - 1

    def _place(self, other: int, run: int, number: int) -> int:
        """The bytes of run `other` ahead of the pivot."""
        if other == run:
            return self._runs[run].edges[number]
        find = bisect.bisect_right if other < run else bisect.bisect_left
        return self._runs[other].edges[find(self._runs[other].keys, self._runs[run].keys[number])]
