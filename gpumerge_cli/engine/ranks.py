"""Ranks of a merge that is not done: the cut ahead of the item of a rank, and the items ahead of a cut.

A cut is a row of byte positions, one in each source, as in plan.py. Items of one size have their ranks in their
positions, so a search that reads O(k log n) items finds a cut. Lines have to be counted. Their ends are counted from
the start of the merge, or from its end, up to a cut that lies a little beyond the rank; then the cuts come nearer.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from operator import add, sub
from typing import NamedTuple, Protocol

from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.line_source import EndedSource
from gpumerge_cli.formats.ranges import RangedSource
from gpumerge_cli.native.calls import Readable
from gpumerge_cli.native.comparison import key_by
from gpumerge_cli.native.cuts import Cut
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk, cuts_of

Counts = tuple[int, ...]
"""A number of items for each source."""

_TURNS = 8
"""Times that a cut is searched again, each time between nearer cuts. Sources in order hardly ever need a second one."""
_OUT_OF_ORDER = "look with gpumerge check whether all files are in order"
_FEW = 256
"""Lines that are merged one by one rather than cut again."""
_BEYOND, _LEAST_BEYOND = 1.05, 1 << 12
"""The first cut beyond a rank lies so many times as far as lines of the length seen so far reach, and so many bytes."""
_BLOCK = 1 << 16
"""Bytes that are counted at once: they stay in the cache between being read and being counted."""
_SMALL = 1 << 18
"""Bytes that Python counts by itself: NumPy counts them faster, but it takes longer to import."""
_PIECE = 1 << 22
"""Bytes that one thread counts before it takes more. The counts of such pieces are kept."""


class RankCut(NamedTuple):
    """A cut, and the number of items in each source ahead of it."""

    positions: Cut
    counts: Counts

    @property
    def rank(self) -> int:
        """The number of items ahead of it."""
        return sum(self.counts)


class Ranks(Protocol):
    """The ranks of a merge of sources, from 0 to the number of its items. Raises InputError, MemoryError."""

    def all(self) -> RankCut:
        """The cut behind all items. Lines are counted by reading them."""

    def cut(self, rank: int) -> RankCut:
        """The cut behind the first `rank` items, or behind all if there are fewer."""

    def from_end(self, count: int) -> Cut:
        """The positions ahead of the last `count` items, or ahead of all if there are fewer."""

    def counted(self, positions: Cut, since: RankCut | None = None) -> RankCut:
        """The cut at the starts of these items. since: a cut that does not lie behind it."""

    def chunk(self, start: int, stop: int | None) -> Chunk:
        """The items that a RankRange names."""


class _Cutter(ABC):
    """The part of Ranks that does not depend on the items."""

    def __init__(self, sources: Sequence[Readable], order: Order) -> None:
        self._cuts = cuts_of(sources, order)
        self._sizes: Cut = self._cuts.sizes
        self._zeros: Cut = (0,) * len(self._sizes)

    @abstractmethod
    def cut(self, rank: int) -> RankCut:
        """See Ranks."""

    @abstractmethod
    def from_end(self, count: int) -> Cut:
        """See Ranks."""

    def chunk(self, start: int, stop: int | None) -> Chunk:
        low = self._edge(start)
        high = self._sizes if stop is None else self._edge(stop)
        if sum(high) < sum(low):
            high = low
        return Chunk(tuple(zip(low, high, strict=True)), sum(low))

    def _near(self, targets: Sequence[int], low: Cut | None = None, high: Cut | None = None) -> Iterator[Cut]:
        """A cut near each target. See Cuts.at."""
        found, number = self._cuts.at(targets, low, high).tolist(), len(self._sizes)
        return (tuple(found[at : at + number]) for at in range(0, len(found), number))

    def _edge(self, rank: int) -> Cut:
        return self.cut(rank).positions if rank >= 0 else self.from_end(-rank)


class FixedRanks(_Cutter):
    """The ranks of items of one size. See Ranks."""

    def __init__(self, sources: Sequence[Readable], order: Order, item_bytes: int = 0) -> None:
        super().__init__(sources, order)
        self._item = item_bytes or order.item_bytes

    def all(self) -> RankCut:
        return self._at(self._sizes)

    def cut(self, rank: int) -> RankCut:
        target = min(rank, self.all().rank) * self._item
        (positions,) = self._near([target])
        return self._at(self.exact(target, positions))

    def near(self, ranks: Sequence[int]) -> array[int]:
        """The positions of a cut near each rank, ascending, cut after cut. For most ranks it is the exact one."""
        return self._cuts.at([rank * self._item for rank in ranks])

    def exact(self, target: int, cut: Cut) -> Cut:
        """The cut behind so many bytes, given one at which a search ended."""
        low, high = self._zeros, self._sizes
        for _ in range(_TURNS):
            found = sum(cut)
            if found == target:
                return cut
            low, high = (cut, high) if found < target else (low, cut)
            (cut,) = self._near([target], low, high)
        raise InputError(f"the item of rank {target // self._item} was not found", way_out=_OUT_OF_ORDER)

    def from_end(self, count: int) -> Cut:
        return self.cut(max(0, self.all().rank - count)).positions

    def counted(self, positions: Cut, since: RankCut | None = None) -> RankCut:
        return self._at(positions)

    def _at(self, positions: Cut) -> RankCut:
        return RankCut(positions, tuple(place // self._item for place in positions))


class _Bracket:
    """Two cuts that the one of a rank lies between.

    first, last: the lines of each source ahead of `low` and ahead of `high`, None if they were not counted. They are
    counted from the end of the merge, and so negative, if `last` is known first.
    """

    def __init__(self, low: Cut, high: Cut, first: Counts | None, last: Counts | None, line_bytes: float) -> None:
        self.low, self.high = low, high
        self.first, self.last = first, last
        self.line_bytes = line_bytes

    @property
    def nbytes(self) -> int:
        """Bytes between the cuts."""
        return sum(self.high) - sum(self.low)

    def guess(self, rank: int) -> int:
        """A guess at the bytes of the merge ahead of the rank's cut; if one end is open, a bit beyond."""
        base = sum(self.low)
        if self.first is not None and self.last is not None:
            first, last = sum(self.first), sum(self.last)
            return base + (rank - first) * self.nbytes // (last - first)
        lines = rank - sum(self.first) if self.first is not None else sum(self.counted) - rank
        step = min(self.nbytes, int(lines * self.line_bytes * _BEYOND) + _LEAST_BEYOND)
        return base + (step if self.first is not None else self.nbytes - step)

    @property
    def counted(self) -> Counts:
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
        if last.positions != self._sizes:
            self._keep(self.counted(self._sizes, last))
        return self._known[-1]

    def cut(self, rank: int) -> RankCut:
        rank = min(rank, sum(self._sizes))  # no more lines than bytes
        low = max((cut for cut in self._known if cut.rank <= rank), key=lambda cut: cut.rank)
        high = min((cut for cut in self._known if cut.rank > rank), key=lambda cut: cut.rank, default=None)
        if high is None:
            bracket = _Bracket(low.positions, self._sizes, low.counts, None, self._line_bytes)
        else:
            bracket = _Bracket(low.positions, high.positions, low.counts, high.counts, self._line_bytes)
        found = self._found(bracket, rank)
        self._keep(found)
        return found

    def from_end(self, count: int) -> Cut:
        count = min(count, sum(self._sizes))
        bracket = _Bracket(self._zeros, self._sizes, None, self._zeros, self._line_bytes)
        return self._found(bracket, -count).positions

    def counted(self, positions: Cut, since: RankCut | None = None) -> RankCut:
        start = since or self._known[0]
        return RankCut(positions, _sums(start.counts, self._lines(start.positions, positions)))

    def _keep(self, cut: RankCut) -> None:
        self._known = sorted([*self._known, cut], key=lambda one: sum(one.positions))

    def _found(self, at: _Bracket, rank: int) -> RankCut:
        """The cut of the rank, or the nearest end of the bracket if it does not lie in it."""
        while True:
            if not at.nbytes:
                return RankCut(at.low, at.first if at.first is not None else at.counted)
            if at.first is not None and rank <= sum(at.first):
                return RankCut(at.low, at.first)
            if at.last is not None and rank >= sum(at.last):
                return RankCut(at.high, at.last)
            if at.first is not None and rank - sum(at.first) <= _FEW:
                return self._walked(at, rank - sum(at.first))
            middle = self._middle(at, rank)
            if middle is None:
                continue
            low_side = sum(middle) - sum(at.low)
            if at.last is None or (at.first is not None and 2 * low_side <= at.nbytes):
                assert at.first is not None
                lines = self._lines(at.low, middle)
                counts = _sums(at.first, lines)
                at.line_bytes = max(1.0, low_side / max(1, sum(lines)))
            else:
                lines = self._lines(middle, at.high)
                counts = tuple(map(sub, at.last, lines))
                at.line_bytes = max(1.0, (at.nbytes - low_side) / max(1, sum(lines)))
            if sum(counts) <= rank:
                at.low, at.first = middle, counts
            else:
                at.high, at.last = middle, counts

    def _middle(self, at: _Bracket, rank: int) -> Cut | None:
        """A cut inside the bracket, or its open end; None if it takes another guess."""
        target = at.guess(rank)
        (middle,) = self._near([target], at.low, at.high)
        if middle not in (at.low, at.high):
            return middle
        if at.last is None or at.first is None:
            at.line_bytes *= 2
            return middle if middle == (at.high if at.last is None else at.low) else None
        # A line as long as most of the bracket lies there. Its ends are cuts, and lie near those of the bracket.
        base, behind, steps = sum(at.low), sum(at.high), range(1, at.nbytes.bit_length())
        targets = sorted({one for step in steps for one in (base + (at.nbytes >> step), behind - (at.nbytes >> step))})
        within = [cut for cut in self._near(targets, at.low, at.high) if cut not in (at.low, at.high)]
        if not within:
            raise InputError(f"the line of rank {rank} was not found", way_out=_OUT_OF_ORDER)
        return within[len(within) // 2]

    def _walked(self, at: _Bracket, lines: int) -> RankCut:
        """The cut that lies so many lines behind `at.low`, or the end of the bracket: a merge of the next lines."""
        assert at.first is not None
        positions, counts = list(at.low), list(at.first)
        heads = [self._head(number, at) for number in range(len(at.low)) if at.low[number] < at.high[number]]
        heapq.heapify(heads)
        while lines and heads:
            _, number = heads[0]
            positions[number] = self._sources[number].item_end(positions[number])
            counts[number] += 1
            lines -= 1
            if positions[number] < at.high[number]:
                line = self._sources[number].item_at(positions[number])
                heapq.heapreplace(heads, (self._key(line), number))
            else:
                heapq.heappop(heads)
        return RankCut(tuple(positions), tuple(counts))

    def _head(self, number: int, at: _Bracket) -> tuple[object, int]:
        return self._key(self._sources[number].item_at(at.low[number])), number

    def _lines(self, low: Cut, high: Cut) -> Counts:
        """The number of lines between two cuts, in each source."""
        pieces = [
            (number, max(at, start), min(at + _PIECE, stop))
            for number, (start, stop) in enumerate(zip(low, high, strict=True))
            for at in range(start // _PIECE * _PIECE, stop, _PIECE)
        ]
        found = [0] * len(pieces)

        def count(at: int) -> None:
            found[at] = self._count(*pieces[at])

        few = sum(stop - start for _, start, stop in pieces) < _PIECE
        for_each(range(len(pieces)), count, 1 if few else min(self._threads, len(pieces)))
        counts = [0] * len(low)
        for (number, _, _), lines in zip(pieces, found, strict=True):
            counts[number] += lines
        return tuple(counts)

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
    if stop - start <= _SMALL:
        room = bytearray(stop - start)
        source.read_into(start, room)
        return room.count(end)
    import numpy as np

    block, lines = np.empty(_BLOCK, np.uint8), 0
    for at in range(start, stop, _BLOCK):
        part = block[: stop - at]
        source.read_into(at, part)
        lines += int(np.count_nonzero(part == end))
    return lines


def _sums(counts: Counts, more: Counts) -> Counts:
    return tuple(map(add, counts, more))
