"""The first or last items of a sort: candidates, of which most others are left out as they are read.

A worker reads pieces of the inputs, and keeps the items that may be among the wanted ones. Whenever its room is full,
it sorts them and keeps as many as are wanted. The last of these is a bound: all items beyond it are left out, by every
worker. Items that fill too much of the room become a run, as in any sort. Marks in such runs, which say how many items
lie between them, soon give a bound, too.
"""

from __future__ import annotations

import threading
import time
from bisect import insort
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from gpumerge_cli.backends.base import SelectingWorkspace
from gpumerge_cli.buffers import Bytes, uncleared
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.job import Operation
from gpumerge_cli.engine.steps import named_sort
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.input import changed_error
from gpumerge_cli.launch import SortPolicy
from gpumerge_cli.measure import Span
from gpumerge_cli.native.comparison import Comparison, key_by
from gpumerge_cli.native.sieves import PADDING, Sieve
from gpumerge_cli.native.specs import RECEIVED_BYTES
from gpumerge_cli.order.equals import FIRST_OF, Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import even_edges

_BLOCK = 512 << 10
"""Bytes that are read at once: they stay in a core's cache until they have been sifted."""
_LEAST_BLOCK = 4 << 10
LEAST_ROOM = 1 << 20
"""Bytes of the room for candidates, if so few are wanted that a quarter of it holds them."""
_MARKS = 32
"""Marks of a run."""
SHARE = 4
"""Candidates that are kept take one of so many shares of the room at most: the rest is for those that come."""


@dataclass(frozen=True)
class Selection:
    """The items that a sort writes."""

    count: int
    """Their number."""
    last: bool
    """They are the last items of the sort, else the first ones."""
    equals: Equals
    """ALL; or FIRST or LAST, by which items count that stand for all equal ones."""

    @classmethod
    def of(cls, operation: Operation) -> Selection | None:
        """That of a sort; None if it writes all items. Raises UsageError if a sort cannot write such items."""
        ranks, equals, margin = operation.ranks, operation.equals, operation.margin
        if ranks is None or operation.kind != "sort":
            return None
        from_end = ranks.start < 0 and ranks.stop is None
        if not from_end and (ranks.start != 0 or ranks.stop is None or ranks.stop < 0):
            raise UsageError(
                "a sort can write only its first or last items", way_out="sort to a file, then merge a range of it"
            )
        combines = margin is not None and (margin.count is not None or margin.sums_columns)
        if combines or equals not in (Equals.ALL, Equals.FIRST, Equals.LAST):
            what = "the first or last items of a sort have no counts, no sums, and no rule but --unique"
            raise UsageError(what, way_out="sort all")
        if operation.keep_order:
            raise UsageError(
                "--keep-order sorts nothing, so it has no --head and --tail", way_out="leave one of them out"
            )
        if margin is not None and not equals.keeps_all:
            what = "--source cannot be combined with --unique if only the first or last items are written"
            raise UsageError(what, way_out="leave one of them out")
        return cls(-ranks.start if from_end else ranks.stop or 0, from_end, equals)

    def range_of(self, workspace: SelectingWorkspace) -> tuple[int, int]:
        """The bytes of a sorted workspace's output that the wanted items take: start and end."""
        kept = sum(workspace.counts) - workspace.dropped
        if self.last:
            return workspace.bytes_ahead(max(0, kept - self.count)), workspace.merged_bytes
        return 0, workspace.bytes_ahead(min(kept, self.count))

    @property
    def first_counts(self) -> bool:
        """Whether of equal items the first ones are wanted rather than the later ones."""
        return bool(self.equals.value & FIRST_OF) if self.equals is not Equals.ALL else not self.last


Mark = tuple[bytes, int]
"""An item of a run, and the number of items from the mark ahead of it to this one."""


class SelectionBound:
    """The bound that all workers of a selection share: as many items as are wanted are at or ahead of it."""

    def __init__(self, order: Order, selection: Selection) -> None:
        self._compare = Comparison(order)
        self._key = key_by(order)
        self._selection = selection
        self._lock = threading.Lock()
        self._marks: list[Mark] = []
        self._marked = 0
        self.best: tuple[bytes, int | None] | None = None
        """The item, and the place where the piece begins that holds it; None for a mark, which equal items may be ahead
        of."""

    def is_nearer(self, item: bytes, other: bytes) -> bool:
        """Whether an item leaves out more than the other."""
        compared = self._compare(item, other)
        return compared > 0 if self._selection.last else compared < 0

    def offer(self, item: bytes, place: int) -> None:
        """An item that is a bound, from the piece that begins at `place`. From any thread."""
        with self._lock:
            self._take(item, place)

    def offer_marks(self, marks: Iterable[Mark]) -> None:
        """The marks of a run, whose items are in no other run. From any thread.

        Marks that too many items lie ahead of are forgotten, as in the histograms of Chronis, Do, Graefe and Peters,
        "External Merge Sort for Top-K Queries" (SIGMOD 2020).
        """
        far = 0 if self._selection.last else -1
        with self._lock:
            for mark in marks:
                insort(self._marks, mark, key=lambda one: self._key(one[0]))
                self._marked += mark[1]
            while self._marks and self._marked - self._marks[far][1] >= self._selection.count:
                self._marked -= self._marks.pop(far)[1]
            if self._marks and self._marked >= self._selection.count:
                self._take(self._marks[far][0], None)

    def _take(self, item: bytes, place: int | None) -> None:
        if self.best is None or self.is_nearer(item, self.best[0]):
            self.best = item, place


@dataclass
class CandidateRun:
    """Sorted candidates that leave the room. See writers.Merged."""

    parts: Iterable[Bytes]
    merged_bytes: int
    spans: list[Span]
    counts: list[int] = field(default_factory=list)
    dropped: int = 0

    def outputs(self) -> Iterable[Bytes]:
        return self.parts


class Candidates:
    """The candidates of one thread, which gives it one piece of the inputs after the other.

    open: a workspace of so many bytes. room: bytes that it has at first and at most. keep: takes a sorted run, and the
    place in all inputs behind its last item.
    """

    def __init__(
        self,
        order: Order,
        selection: Selection,
        bound: SelectionBound,
        open: Callable[[int], SelectingWorkspace],
        policy: SortPolicy,
        room: tuple[int, int],
        keep: Callable[[int, CandidateRun], None],
    ) -> None:
        self.spans: list[Span] = []
        self.counted = 0
        """Items that were read since `begin`."""
        self._selection = selection
        self._bound = bound
        self._policy = policy
        self._keep = keep
        self._end = len(order.end)
        least, self._most = room
        self._size = min(least, self._most)
        self._block = uncleared(max(_LEAST_BLOCK, min(_BLOCK, self._most)) + PADDING)
        self._item = max(1, order.item_bytes)
        self._sieve = Sieve(order, last=selection.last)
        self._workspace = open(self._size)
        self._room = self._workspace.staging(self._size)
        self._filled = 0
        self._is_sorted = True
        self._place = self._start = 0
        self._own: bytes | None = None
        self._seen: tuple[bytes, int | None] | None = None
        self._reading = self._sifting = 0.0

    def begin(self, place: int) -> None:
        """A piece begins at `place`, the bytes of all inputs ahead of it."""
        self._place = self._start = place
        self.counted = 0
        self._own = self._seen = None
        self._reading = self._sifting = 0.0

    def read(self, source: Source, start: int, stop: int) -> bool:
        """Read a range of whole items of the piece; False if one has an invalid key. Raises InputError, MemoryError."""
        held = 0
        while start < stop:
            limit = (len(self._block) - PADDING - held) // self._item * self._item
            if limit <= 0:
                larger = uncleared(2 * len(self._block) + self._item)
                larger[:held] = self._block[:held]
                self._block = larger
                continue
            nbytes, began = min(limit, stop - start), time.perf_counter()
            source.read_into(start, self._block[held : held + nbytes])
            self._reading += time.perf_counter() - began
            start, held = start + nbytes, held + nbytes
            taken = self._sift(held)
            if taken is None:
                return False
            if taken < held:
                self._block[: held - taken] = bytes(self._block[taken:held])
            held -= taken
        if held:  # a file that changed has lost the end of a line
            raise changed_error(source.name)
        return True

    def end(self) -> None:
        """The piece ends: its candidates become a run."""
        if not self._is_sorted:
            self._settle(at_end=True)
        self._put_out()
        nbytes = self._place - self._start
        self.spans += [Span("read", self._reading, nbytes), Span("index", self._sifting, nbytes)]

    def close(self) -> None:
        """Give the memory back."""
        self._sieve.close()
        self._workspace.close()

    def _sift(self, held: int) -> int | None:
        """Take the whole items of the block, and return their bytes; None if one has an invalid key."""
        began = time.perf_counter()
        taken: int = 0
        self._adopt()
        while True:
            found = self._sieve.sift(self._block, taken, held, self._room[self._filled :])
            taken += found.taken
            self._place += found.taken
            self.counted += found.items
            if found.made:
                self._filled += found.made
                self._is_sorted = False
            if found.fault:
                return None
            if not found.full:
                break
            if not self._is_sorted:
                self._settle()
            elif self._filled:
                self._put_out()
            else:
                self._grow(2 * self._size)  # for one item
        self._sifting += time.perf_counter() - began
        return taken

    def _adopt(self) -> None:
        """Take the bound of another piece if it leaves out more."""
        best = self._bound.best
        if best is None or best is self._seen:
            return
        self._seen = best
        item, place = best
        if self._own is None or self._bound.is_nearer(item, self._own):
            equals = place is not None and self._selection.first_counts == (self._start >= place)
            self._sieve.bound(item, equals=equals)

    def _settle(self, *, at_end: bool = False) -> None:
        """Sort the candidates, and keep those that may be wanted. at_end: no others follow."""
        workspace, selection, began = self._workspace, self._selection, time.perf_counter()
        workspace.staging(self._filled)
        workspace.upload([self._filled])
        workspace.sort(self._policy, selection.equals, by_parts=True)
        kept = sum(workspace.counts) - workspace.dropped
        low, high = selection.range_of(workspace)
        if kept >= selection.count:
            self._own = self._item_at(kept - selection.count if selection.last else selection.count - 1)
            self._sieve.bound(self._own, equals=selection.first_counts)
            self._bound.offer(self._own, self._start)
        self.spans += map(named_sort, workspace.spans)
        workspace.spans.clear()
        self._sifting -= time.perf_counter() - began
        self._filled, self._is_sorted = 0, True
        if at_end or high - low > self._most // SHARE:
            if selection.equals is Equals.ALL and kept:
                self._bound.offer_marks(self._marks(kept))
            self._keep_run(self._received(low, high), high - low)
            return
        data = [bytes(part) for part in self._received(low, high)]
        if high - low > self._size // SHARE:
            self._grow(min(self._most, SHARE * self._size))
        for part in data:
            self._room[self._filled : self._filled + len(part)] = part
            self._filled += len(part)

    def _item_at(self, number: int) -> bytes:
        """An item of the sorted ones, without its end."""
        start, stop = self._workspace.bytes_ahead(number), self._workspace.bytes_ahead(number + 1)
        return bytes(self._workspace.receive(start, stop - start - self._end))

    def _marks(self, kept: int) -> Iterator[Mark]:
        """Marks of so many sorted items, of which those that are not wanted are none."""
        count, last = min(kept, self._selection.count), self._selection.last
        for low, high in pairwise(even_edges(count, 1, min(count, _MARKS))):
            yield self._item_at(kept - high if last else high - 1), high - low

    def _received(self, low: int, high: int) -> Iterator[Bytes]:
        for at in range(low, high, RECEIVED_BYTES):
            yield self._workspace.receive(at, min(RECEIVED_BYTES, high - at))

    def _grow(self, size: int) -> None:
        """Have room for so many bytes; it loses its content."""
        self._size = max(size, self._size)
        self._room = self._workspace.staging(self._size)

    def _put_out(self) -> None:
        """Have the sorted candidates in the room become a run."""
        if self._filled:
            self._keep_run([self._room[: self._filled]], self._filled)
            self._filled = 0

    def _keep_run(self, parts: Iterable[Bytes], nbytes: int) -> None:
        if nbytes:
            self._keep(self._place, CandidateRun(parts, nbytes, self.spans))
