"""The accesses to memory of each thread of a merge kernel, in the order of its source.

They follow kernels/gpu line by line. A test records the accesses of those files, run on the CPU, and compares.
Not counted: the kernel's arguments, the shared variables beside the tiles, and texts of lines behind their prefixes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from gpumerge_cli.backends.splits import ceil_div
from gpumerge_cli.corank import co_rank
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.results.page import MemorySpace, Phase

TRACED = ("basic", "tiled full", "tiled exact", "circular")
"""The rungs whose accesses are known here."""

SourcePlace = tuple[int, ...]
"""The place of an access in the run of a kernel: numbers of loops and statements, the outermost first. Threads of a
warp that access memory at the same place do so in one step."""
Codes = Sequence[int]
"""The keys of a run as numbers in their order."""


@dataclass(frozen=True)
class Access:
    """One load or store of a thread."""

    place: SourcePlace
    phase: Phase
    memory: MemorySpace
    at: int
    """The place in the array, or in shared memory, in units."""
    store: bool = False
    unit: int = 0
    """The bytes of the access; 0: those of an item."""


Threads = list[list[Access]]
"""The accesses of each thread of a block."""


@dataclass(frozen=True)
class _View:
    """A sequence that a kernel reads: items `first`, first + 1, ... of a run, wherever they lie."""

    memory: MemorySpace
    codes: Codes
    first: int
    at: Callable[[int], int]

    def code(self, index: int) -> int:
        return self.codes[self.first + index]


_Views = tuple[_View, _View]


def _behind(places: int) -> Callable[[int], int]:
    return lambda index: places + index


def _in_global(memory: MemorySpace, codes: Codes, first: int = 0) -> _View:
    return _View(memory, codes, first, _behind(first))


def block_accesses(a: Codes, b: Codes, policy: LaunchPolicy) -> Iterator[Threads]:
    """The accesses of the threads of each block. Precondition: policy.rung is in TRACED, by the GPU's rules."""
    total = len(a) + len(b)
    blocks = policy.blocks or ceil_div(total, policy.block_size * policy.items_per_thread)
    for block in range(blocks):
        threads: Threads = [[] for _ in range(policy.block_size)]
        if policy.kernel == "basic":
            _basic(a, b, policy, block, threads)
        else:
            _Section(a, b, policy, threads).run(block, ceil_div(total, blocks))
        yield threads


def _basic(a: Codes, b: Codes, policy: LaunchPolicy, block: int, threads: Threads) -> None:
    """merge_basic.cu"""
    total, items = len(a) + len(b), policy.items_per_thread
    views = _in_global("A", a), _in_global("B", b)
    for thread, accesses in enumerate(threads):
        first = (block * policy.block_size + thread) * items
        if first < total:
            i = _search(accesses, (0,), first, views, (len(a), len(b)))
            _merge(accesses, (1,), views, (len(a), len(b)), i, first, min(items, total - first), first)


def _search(accesses: list[Access], place: SourcePlace, rank: int, views: _Views, sizes: tuple[int, int]) -> int:
    """co_rank of corank.cuh"""
    a, b = views
    found, probes = co_rank(rank, *sizes, lambda j, i: b.code(j) < a.code(i))
    for turn, probe in enumerate(probes):
        for statement, (view, index) in enumerate(((b, rank - 1 - probe.i), (a, probe.i))):
            accesses.append(Access((*place, turn, statement), "search", view.memory, view.at(index)))
    return found


def _merge(
    accesses: list[Access], place: SourcePlace, views: _Views, sizes: tuple[int, int], i: int, rank: int,
    outputs: int, to: int,
) -> int:  # fmt: skip
    """merge_sequential of corank.cuh: `outputs` items from (i, rank - i) on, to out[to]. Returns the i behind them."""
    (a, b), (m, n) = views, sizes
    j = rank - i

    def add(turn: int, statement: int, view: _View | None, index: int) -> None:
        where: MemorySpace = "out" if view is None else view.memory
        at = index if view is None else view.at(index)
        accesses.append(Access((*place, turn, statement), "merge", where, at, view is None))

    if i < m:
        add(0, 0, a, i)
    if j < n:
        add(0, 1, b, j)
    for k in range(outputs):
        if j < n and (i >= m or b.code(j) < a.code(i)):
            add(k + 1, 0, None, to + k)
            j += 1
            if j < n:
                add(k + 1, 1, b, j)
        else:
            add(k + 1, 2, None, to + k)
            i += 1
            if i < m:
                add(k + 1, 3, a, i)
    return i


class _Section:
    """A block of merge_tiled.cu or merge_circular.cu, with its section of the output; see tile.cuh."""

    def __init__(self, a: Codes, b: Codes, policy: LaunchPolicy, threads: Threads) -> None:
        self._a, self._b = a, b
        self._policy, self._threads = policy, threads
        self._tile = policy.tile_size

    def run(self, block: int, each: int) -> None:
        """Add all accesses. each: the outputs of a block."""
        total = len(self._a) + len(self._b)
        start, stop = min(each * block, total), min(each * (block + 1), total)
        if start >= stop:
            return
        cuts = self._cuts(start, stop)
        rounds = {"tiled full": self._full, "tiled exact": self._exact, "circular": self._circular}
        rounds[self._policy.rung](start, stop, *cuts)

    def _cuts(self, start: int, stop: int) -> tuple[int, int]:
        """block_section: threads 0 and 1 find a cut each, or thread 0 both."""
        views, sizes = (_in_global("A", self._a), _in_global("B", self._b)), (len(self._a), len(self._b))
        found = []
        for edge, rank in enumerate((start, stop)):
            turn, thread = divmod(edge, len(self._threads))
            found.append(_search(self._threads[thread], (0, turn), rank, views, sizes))
        return found[0], found[1]

    def _stage(self, place: SourcePlace, view: _View, outputs: int, start: int, at: Callable[[int], int]) -> None:
        """Copies items from global memory, one a thread in turn."""
        size = len(self._threads)
        for index in range(outputs):
            turn, thread = divmod(index, size)
            self._threads[thread] += (
                Access((*place, turn, 0), "stage", view.memory, start + index),
                Access((*place, turn, 1), "stage", "shared", at(index), store=True),
            )

    def _round(self, place: SourcePlace, views: _Views, sizes: tuple[int, int], outputs: int, to: int) -> int:
        """merge_round; returns a_used."""
        items, size = self._policy.items_per_thread, len(self._threads)
        used = 0
        for number, k in enumerate(range(0, outputs, items)):
            turn, thread = divmod(number, size)
            accesses = self._threads[thread]
            i = _search(accesses, (*place, turn, 0), k, views, sizes)
            used = _merge(accesses, (*place, turn, 1), views, sizes, i, k, min(items, outputs - k), to + k)
        return used

    def _full(self, start: int, stop: int, i: int, i_end: int) -> None:
        tile, done = self._tile, start
        j, j_end = start - i, stop - i_end
        for number in count(1):
            if done == stop:
                return
            held = min(tile, i_end - i), min(tile, j_end - j)
            self._stage((number, 0), _in_global("A", self._a), held[0], i, _behind(0))
            self._stage((number, 1), _in_global("B", self._b), held[1], j, _behind(tile))
            views = (
                _View("shared", self._a, i, _behind(0)),
                _View("shared", self._b, j, _behind(tile)),
            )
            outputs = min(tile, stop - done)
            used = self._round((number, 2), views, held, outputs, done)
            i, j, done = i + used, j + outputs - used, done + outputs

    def _exact(self, start: int, stop: int, i: int, i_end: int) -> None:
        done, j, j_end = start, start - i, stop - i_end
        for number in count(1):
            if done == stop:
                return
            outputs = min(self._tile, stop - done)
            whole = _in_global("A", self._a, i), _in_global("B", self._b, j)
            mine = _search(self._threads[0], (number, 0), outputs, whole, (i_end - i, j_end - j))
            a_count, b_count = mine, outputs - mine
            self._stage((number, 1), whole[0], a_count, i, _behind(0))
            self._stage((number, 2), whole[1], b_count, j, _behind(a_count))
            views = (
                _View("shared", self._a, i, _behind(0)),
                _View("shared", self._b, j, _behind(a_count)),
            )
            self._round((number, 3), views, (a_count, b_count), outputs, done)
            i, j, done = i + a_count, j + b_count, done + outputs

    def _circular(self, start: int, stop: int, i: int, i_end: int) -> None:
        feeds = (
            _Ring("A", self._a, i, i_end, self._tile, 0),
            _Ring("B", self._b, start - i, stop - i_end, self._tile, 1),
        )
        done = start
        for number in count(1):
            if done == stop:
                return
            for which, feed in enumerate(feeds):
                held, loaded = feed.held, min(feed.size - feed.held, feed.end - feed.next)
                view = _in_global(feed.memory, feed.codes)
                self._stage((number, which), view, loaded, feed.next, feed.behind(held))
                feed.next += loaded
                feed.held += loaded
            views = feeds[0].view(), feeds[1].view()
            outputs = min(self._tile, stop - done)
            used = self._round((number, 2), views, (feeds[0].held, feeds[1].held), outputs, done)
            feeds[0].consume(used)
            feeds[1].consume(outputs - used)
            done += outputs


class _Ring:
    """A Feed of merge_circular.cu. number: of the ring in shared memory."""

    def __init__(self, memory: MemorySpace, codes: Codes, first: int, end: int, size: int, number: int) -> None:
        self.memory, self.codes, self.size, self.number = memory, codes, size, number
        self.next, self.end = first, end
        self.held = self.head = 0

    def at(self, index: int) -> int:
        """The place in shared memory of the item `index` behind the first unread one."""
        return self.number * self.size + (self.head + index) % self.size

    def behind(self, places: int) -> Callable[[int], int]:
        """The places of the items behind that many unread ones."""
        return lambda index: self.at(places + index)

    def view(self) -> _View:
        """The unread items."""
        return _View("shared", self.codes, self.next - self.held, self.at)

    def consume(self, used: int) -> None:
        """Take `used` items out."""
        self.head = (self.head + used) % self.size
        self.held -= used
