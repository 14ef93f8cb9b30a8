"""Ranks of a merge that is not done: the cut ahead of the item of a rank, and the items ahead of a cut.

A cut is a row of byte positions, one in each source, as in plan.py. Items of one size have their ranks in their
positions, so a search that reads O(k log n) items finds a cut. Lines have to be counted. Their ends are counted from
the start of the merge, or from its end, up to a cut that lies a little beyond the rank; then the cuts come nearer.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.line_source import EndedSource
from gpumerge_cli.formats.ranges import RangedSource
from gpumerge_cli.native.calls import Readable
from gpumerge_cli.native.comparison import key_by
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk, cuts_of

RankArray = NDArray[np.int64]

_TURNS = 8
"""Times that a cut is searched again, each time between nearer cuts. Sources in order hardly ever need a second one."""
_OUT_OF_ORDER = "look with gpumerge check whether all files are in order"
_FEW = 256
"""Lines that are merged one by one rather than cut again."""
_BEYOND, _LEAST_BEYOND = 1.05, 1 << 12
"""The first cut beyond a rank lies so many times as far as lines of the length seen so far reach, and so many bytes."""
_BLOCK = 1 << 16
"""Bytes that are counted at once: they stay in the cache between being read and being counted."""
_PIECE = 1 << 22
"""Bytes that one thread counts before it takes more. The counts of such pieces are kept."""


class RankCut(NamedTuple):
    """A cut, and the number of items in each source ahead of it. Shapes (sources,), int64."""

    positions: RankArray
    counts: RankArray

    @property
    def rank(self) -> int:
        """The number of items ahead of it."""
        return int(self.counts.sum())


class Ranks(Protocol):
    """The ranks of a merge of sources, from 0 to the number of its items. Raises InputError, MemoryError."""

    def all(self) -> RankCut:
        """The cut behind all items. Lines are counted by reading them."""

    def cut(self, rank: int) -> RankCut:
        """The cut behind the first `rank` items, or behind all if there are fewer."""

    def from_end(self, count: int) -> RankArray:
        """The positions ahead of the last `count` items, or ahead of all if there are fewer."""

    def counted(self, positions: Sequence[int], since: RankCut | None = None) -> RankCut:
        """The cut at the starts of these items. since: a cut that does not lie behind it."""

    def chunk(self, start: int, stop: int | None) -> Chunk:
        """The items that a RankRange names."""


class _Cutter(ABC):
    """The part of Ranks that does not depend on the items."""

    def __init__(self, sources: Sequence[Readable], order: Order) -> None:
        self._cuts = cuts_of(sources, order)
        self._sizes: RankArray = np.array(self._cuts.sizes, np.int64)
        self._zeros = np.zeros_like(self._sizes)

    @abstractmethod
    def cut(self, rank: int) -> RankCut:
        """See Ranks."""

    @abstractmethod
    def from_end(self, count: int) -> RankArray:
        """See Ranks."""

    def chunk(self, start: int, stop: int | None) -> Chunk:
        low = self._edge(start)
        high = self._sizes if stop is None else self._edge(stop)
        if high.sum() < low.sum():
            high = low
        return Chunk(tuple(zip(low.tolist(), high.tolist(), strict=True)), int(low.sum()))

    def _near(
        self, targets: RankArray | Sequence[int], low: RankArray | None = None, high: RankArray | None = None
    ) -> NDArray[np.int64]:
        """Cuts, a row each. See Cuts.at."""
        wanted = array("q", np.asarray(targets, np.int64).tobytes())
        return np.array(self._cuts.at(wanted, low, high)).reshape(-1, len(self._sizes))

    def _edge(self, rank: int) -> RankArray:
        return self.cut(rank).positions if rank >= 0 else self.from_end(-rank)


class FixedRanks(_Cutter):
    """The ranks of items of one size. See Ranks."""

    def __init__(self, sources: Sequence[Readable], order: Order, item_bytes: int = 0) -> None:
        super().__init__(sources, order)
        self._item = item_bytes or order.item_bytes

    def all(self) -> RankCut:
        return self._at(self._sizes)

    def cut(self, rank: int) -> RankCut:
        (positions,) = self.cuts(np.array([min(rank, self.all().rank)], np.int64))
        return self._at(positions)

    def cuts(self, ranks: RankArray) -> NDArray[np.int64]:
        """The positions behind so many items, ascending; int64, shape (ranks, sources)."""
        targets = ranks * self._item
        cuts = self._near(targets)
        for number in np.flatnonzero(cuts.sum(axis=1) != targets).tolist():
            cuts[number] = self._nearer(int(targets[number]), cuts[number])
        return cuts

    def _nearer(self, target: int, cut: RankArray) -> RankArray:
        """The cut of the target, given one at which a search ended."""
        low, high = self._zeros, self._sizes
        for _ in range(_TURNS):
            found = int(cut.sum())
            if found == target:
                return cut
            low, high = (cut, high) if found < target else (low, cut)
            (cut,) = self._near([target], low, high)
        raise InputError(f"the item of rank {target // self._item} was not found", way_out=_OUT_OF_ORDER)

    def from_end(self, count: int) -> RankArray:
        return self.cut(max(0, self.all().rank - count)).positions

    def counted(self, positions: Sequence[int], since: RankCut | None = None) -> RankCut:
        return self._at(np.array(positions, np.int64))

    def _at(self, positions: RankArray) -> RankCut:
        return RankCut(positions, positions // self._item)


class _Bracket:
    """Two cuts that the one of a rank lies between.

    first, last: the lines of each source ahead of `low` and ahead of `high`, None if they were not counted. They are
    counted from the end of the merge, and so negative, if `last` is known first.
    """

    def __init__(
        self, low: RankArray, high: RankArray, first: RankArray | None, last: RankArray | None, line_bytes: float
    ) -> None:
        self.low, self.high = low, high
        self.first, self.last = first, last
        self.line_bytes = line_bytes

    @property
    def nbytes(self) -> int:
        """Bytes between the cuts."""
        return int(self.high.sum() - self.low.sum())

    def guess(self, rank: int) -> int:
        """A guess at the bytes of the merge ahead of the rank's cut; if one end is open, a bit beyond."""
        base = int(self.low.sum())
        if self.first is not None and self.last is not None:
            first, last = int(self.first.sum()), int(self.last.sum())
            return base + (rank - first) * self.nbytes // (last - first)
        lines = rank - int(self.first.sum()) if self.first is not None else int(self.counted.sum()) - rank
        step = min(self.nbytes, int(lines * self.line_bytes * _BEYOND) + _LEAST_BEYOND)
        return base + (step if self.first is not None else self.nbytes - step)

    @property
    def counted(self) -> RankArray:
        """`last`, if it is known that it was counted."""
        assert self.last is not None
        return self.last


class LineRanks(_Cutter):
    """The ranks of lines. See Ranks. threads: how many count."""

    def __init__(self, inputs: Inputs, threads: int) -> None:
        super().__init__(inputs.sources, inputs.order)
        self._sources = inputs.sources
        self._key = key_by(inputs.order)
        self._end = first.terminator if isinstance(first := inputs.sources[0], EndedSource) else inputs.order.end[0]
        self._threads = threads
        self._line_bytes = inputs.mean_bytes
        self._counted: dict[tuple[int, int, int], int] = {}
        self._known = [RankCut(self._zeros, self._zeros)]  # in the order of the merge

    def all(self) -> RankCut:
        last = self._known[-1]
        if (last.positions < self._sizes).any():
            self._keep(RankCut(self._sizes, last.counts + self._lines(last.positions, self._sizes)))
        return self._known[-1]

    def cut(self, rank: int) -> RankCut:
        rank = min(rank, int(self._sizes.sum()))  # no more lines than bytes
        low = max((cut for cut in self._known if cut.rank <= rank), key=lambda cut: cut.rank)
        high = min((cut for cut in self._known if cut.rank > rank), key=lambda cut: cut.rank, default=None)
        if high is None:
            bracket = _Bracket(low.positions, self._sizes, low.counts, None, self._line_bytes)
        else:
            bracket = _Bracket(low.positions, high.positions, low.counts, high.counts, self._line_bytes)
        found = self._found(bracket, rank)
        self._keep(found)
        return found

    def from_end(self, count: int) -> RankArray:
        count = min(count, int(self._sizes.sum()))
        bracket = _Bracket(self._zeros, self._sizes, None, self._zeros, self._line_bytes)
        return self._found(bracket, -count).positions

    def counted(self, positions: Sequence[int], since: RankCut | None = None) -> RankCut:
        row, start = np.array(positions, np.int64), since or self._known[0]
        return RankCut(row, start.counts + self._lines(start.positions, row))

    def _keep(self, cut: RankCut) -> None:
        self._known = sorted([*self._known, cut], key=lambda one: int(one.positions.sum()))

    def _found(self, at: _Bracket, rank: int) -> RankCut:
        """The cut of the rank, or the nearest end of the bracket if it does not lie in it."""
        while True:
            if not at.nbytes:
                return RankCut(at.low, at.first if at.first is not None else at.counted)
            if at.first is not None and rank <= at.first.sum():
                return RankCut(at.low, at.first)
            if at.last is not None and rank >= at.last.sum():
                return RankCut(at.high, at.last)
            if at.first is not None and rank - at.first.sum() <= _FEW:
                return self._walked(at, rank - int(at.first.sum()))
            middle = self._middle(at, rank)
            if middle is None:
                continue
            low_side = int(middle.sum() - at.low.sum())
            if at.last is None or (at.first is not None and 2 * low_side <= at.nbytes):
                assert at.first is not None
                lines = self._lines(at.low, middle)
                counts = at.first + lines
                at.line_bytes = max(1.0, low_side / max(1, int(lines.sum())))
            else:
                lines = self._lines(middle, at.high)
                counts = at.last - lines
                at.line_bytes = max(1.0, (at.nbytes - low_side) / max(1, int(lines.sum())))
            if counts.sum() <= rank:
                at.low, at.first = middle, counts
            else:
                at.high, at.last = middle, counts

    def _middle(self, at: _Bracket, rank: int) -> RankArray | None:
        """A cut inside the bracket, or its open end; None if it takes another guess."""
        target = at.guess(rank)
        (middle,) = self._near([target], at.low, at.high)
        inside = bool((middle > at.low).any() and (middle < at.high).any())
        if inside:
            return np.asarray(middle)
        if at.last is None or at.first is None:
            reached = (middle == (at.high if at.last is None else at.low)).all()
            at.line_bytes *= 2
            return np.asarray(middle) if reached else None
        # A line as long as most of the bracket lies there. Its ends are cuts, and lie near those of the bracket.
        base, behind, steps = int(at.low.sum()), int(at.high.sum()), range(1, at.nbytes.bit_length())
        targets = sorted({one for step in steps for one in (base + (at.nbytes >> step), behind - (at.nbytes >> step))})
        cuts = self._near(targets, at.low, at.high)
        within = cuts[(cuts > at.low).any(axis=1) & (cuts < at.high).any(axis=1)]
        if not len(within):
            raise InputError(f"the line of rank {rank} was not found", way_out=_OUT_OF_ORDER)
        return np.asarray(within[len(within) // 2])

    def _walked(self, at: _Bracket, lines: int) -> RankCut:
        """The cut that lies so many lines behind `at.low`, or the end of the bracket: a merge of the next lines."""
        assert at.first is not None
        positions, counts = at.low.copy(), at.first.copy()
        heads = [self._head(number, at) for number in np.flatnonzero(at.low < at.high).tolist()]
        heapq.heapify(heads)
        while lines and heads:
            _, number = heads[0]
            positions[number] = self._sources[number].item_end(int(positions[number]))
            counts[number] += 1
            lines -= 1
            if positions[number] < at.high[number]:
                line = self._sources[number].item_at(int(positions[number]))
                heapq.heapreplace(heads, (self._key(line), number))
            else:
                heapq.heappop(heads)
        return RankCut(positions, counts)

    def _head(self, number: int, at: _Bracket) -> tuple[object, int]:
        return self._key(self._sources[number].item_at(int(at.low[number]))), number

    def _lines(self, low: RankArray, high: RankArray) -> RankArray:
        """The number of lines between two cuts, in each source."""
        counts = np.zeros_like(low)
        pieces = [
            (number, max(at, start), min(at + _PIECE, stop))
            for number, (start, stop) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
            for at in range(start // _PIECE * _PIECE, stop, _PIECE)
        ]
        found = [0] * len(pieces)

        def count(at: int) -> None:
            found[at] = self._count(*pieces[at])

        few = sum(stop - start for _, start, stop in pieces) < _PIECE
        for_each(range(len(pieces)), count, 1 if few else min(self._threads, len(pieces)))
        for (number, _, _), lines in zip(pieces, found, strict=True):
            counts[number] += lines
        return counts

    def _count(self, number: int, start: int, stop: int) -> int:
        """The lines that end in a piece, or a part of one."""
        if (number, start, stop) in self._counted:
            return self._counted[number, start, stop]
        lines = ends_in(self._sources[number], start, stop, self._end)
        if stop - start == _PIECE:
            self._counted[number, start, stop] = lines
        return lines


def merge_ranks(inputs: Inputs, threads: int | None = None) -> Ranks:
    """The ranks of the merge of inputs. threads: how many count lines; None for one a core."""
    if isinstance(inputs.sources[0], RangedSource) and not isinstance(inputs.sources[0], EndedSource):
        return FixedRanks(inputs.sources, inputs.order, 1)  # positions are numbers of items
    if inputs.order.item_bytes:
        return FixedRanks(inputs.sources, inputs.order)
    return LineRanks(inputs, threads or cores())


def ends_in(source: Source, start: int, stop: int, end: int) -> int:
    """The number of bytes `end` among those of a source from `start` on, up to `stop`."""
    room, lines = np.empty(min(_BLOCK, stop - start), np.uint8), 0
    for at in range(start, stop, _BLOCK):
        block = room[: stop - at]
        source.read_into(at, block)
        lines += int(np.count_nonzero(block == end))
    return lines
