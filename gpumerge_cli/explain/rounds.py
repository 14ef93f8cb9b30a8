"""Rounds of kernels that stage tiles: the items in shared memory, round by round, as the files in kernels/ do it."""

from __future__ import annotations

from collections.abc import Callable

from gpumerge_cli.backends.variants.lookup import LADDER, variant_named
from gpumerge_cli.corank import co_rank
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.explain.items import TracedRun, b_first, b_first_or_equal
from gpumerge_cli.explain.shape import Shape, piece_ranges
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.results.path import Buffer, BufferSlot, BugName, Round

MOST_PLACES = 64
"""The most places of a buffer whose items are told one by one. Of a longer one only the counts are."""
MOST_ROUNDS = 200
NOTHING = -1
Compare = Callable[[TracedRun, int, TracedRun, int], bool]


@dataclass
class _Feed:
    """Items [first, first + held) of a section are in the buffer, unread, the first of them at place `head`."""

    run: TracedRun
    first: int
    end: int
    size: int
    """The number of places."""
    places: list[int]
    """The item at each place, read or not; NOTHING where none was loaded. Empty if only counts are wanted."""
    head: int = 0
    held: int = 0

    def place(self, at: int) -> int:
        return (self.head + at) % self.size

    def load(self, most: int, *, again: bool = False) -> int:
        """Put up to `most` more items behind those held; returns their number. again: those held are loaded again."""
        start = self.first if again else self.first + self.held
        count = max(0, min(most - self.held, self.end - start))
        for at in range(count if self.places else 0):
            self.places[self.place(self.held + at)] = start + at
        self.held = max(0, min(most, self.end - self.first))
        return count

    def item(self, at: int) -> int:
        """The number of the unread item `at` places behind the first."""
        return self.places[self.place(at)] if self.places else self.first + at

    def show(self, loaded: int, used: int, *, keep: bool) -> Buffer:
        shown: list[BufferSlot | None] = [None] * len(self.places)
        for at in range(self.held if self.places else 0):
            index = self.item(at)
            shown[self.place(at)] = BufferSlot(index, self.run.label(index), at >= self.held - loaded, at < used)
        rest = max(0, self.held - used)
        return Buffer(tuple(shown), self.head, loaded, used, rest if keep else 0, 0 if keep else rest)

    def consume(self, used: int, *, keep: bool) -> None:
        self.first += used
        self.head = self.place(used) if keep else 0
        self.held = max(0, self.held - used) if keep else 0


def rounds_of(a: TracedRun, b: TracedRun, shape: Shape, bug: BugName | None = None) -> tuple[Round, ...]:
    """Every round of every block, as the shape's kernel works through its sections, or as one with a bug would.

    Rounds of buffers with more than MOST_PLACES places have counts, but no items; they cannot have a bug.
    Raises UsageError for a kernel that has no rounds, and for more of them than can be shown.
    """
    policy, total = shape.policy, a.size + b.size
    if variant_named(policy.kernel).rounds is None:
        others = " or ".join(f"--kernel {variant.name}" for variant in LADDER if variant.rounds)
        raise UsageError(f"--rounds: the {policy.kernel} kernel has none", way_out=f"use {others}")
    tile = policy.tile_size
    sections = piece_ranges([split for what, split in shape.splits if what in ("block", "host thread")], total)
    if sum(-(-(stop - start) // tile) for start, stop in sections) > MOST_ROUNDS:
        raise UsageError(f"--rounds shows up to {MOST_ROUNDS} rounds", way_out="use smaller inputs or a larger tile")
    rounds: list[Round] = []
    for block, (start, stop) in enumerate(sections):
        rounds += _section(a, b, block, start, stop, policy, bug)
    return tuple(rounds)


def bugs_of(policy: LaunchPolicy) -> tuple[BugName, ...]:
    """The bugs that the kernel of a policy can have."""
    if policy.kernel == "circular":
        return "refill", "count", "ties"
    return ("ties",) if policy.tile_load == "exact" else ("count", "ties")


def _section(
    a: TracedRun, b: TracedRun, block: int, start: int, stop: int, policy: LaunchPolicy, bug: BugName | None
) -> list[Round]:
    """The rounds of one block, which merges the output ranks [start, stop)."""
    tile, how = policy.tile_size, variant_named(policy.kernel).rounds
    keep = how is not None and how.keeps
    itemwise = tile <= MOST_PLACES
    goes_first = b_first_or_equal if bug == "ties" else b_first
    low, high = (co_rank(at, a.size, b.size, lambda j, i: goes_first(b, j, a, i))[0] for at in (start, stop))
    empty = [NOTHING] * tile if itemwise else []
    feed_a = _Feed(a, low, high, tile, empty.copy())
    feed_b = _Feed(b, start - low, stop - high, tile, empty.copy())
    rounds: list[Round] = []
    for first in range(start, stop, tile):
        count = min(tile, stop - first)
        most_a = most_b = tile
        if policy.tile_load == "exact":
            cut, _ = co_rank(first + count, a.size, b.size, lambda j, i: goes_first(b, j, a, i))
            most_a = cut - feed_a.first
            most_b = count - most_a
            for feed, most in ((feed_a, most_a), (feed_b, most_b)):
                feed.size, feed.places = most, [NOTHING] * most if itemwise else []
        loaded = tuple(feed.load(most, again=bug == "refill") for feed, most in ((feed_a, most_a), (feed_b, most_b)))
        if itemwise:
            origins, used = _merged(feed_a, feed_b, count, policy.items_per_thread, goes_first)
        else:
            origins, used = (), _used_of_a(feed_a, feed_b, count, goes_first)
        if bug == "count":
            used = _stale_count(feed_a, feed_b, count)
        shown = feed_a.show(loaded[0], used, keep=keep), feed_b.show(loaded[1], count - used, keep=keep)
        outputs = tuple(_label(a, b, origin) for origin in origins)
        rounds.append(Round(block, len(rounds), first, count, outputs, *shown, origins))
        feed_a.consume(used, keep=keep)
        feed_b.consume(count - used, keep=keep)
    return rounds


def _merged(a: _Feed, b: _Feed, count: int, each: int, goes_first: Compare) -> tuple[tuple[int | None, ...], int]:
    """The items that threads write, `each` at a time, and the number of items of A ahead of the last thread's end."""
    origins: list[int | None] = []
    i = 0
    for rank in range(0, count, each or count):
        i, _ = co_rank(rank, a.held, b.held, lambda j, i: goes_first(b.run, b.item(j), a.run, a.item(i)))
        j = rank - i
        last = None
        for _ in range(min(each or count, count - rank)):
            if j < b.held and (i >= a.held or b_first(b.run, b.item(j), a.run, a.item(i))):
                origins.append(-1 - b.item(j))
                j += 1
            else:
                last = a.item(i) if i < a.held else last
                origins.append(last)
                i += 1
    return tuple(origins), i


def _used_of_a(a: _Feed, b: _Feed, count: int, goes_first: Compare) -> int:
    """The number of items of A among the next `count` outputs."""
    return co_rank(count, a.held, b.held, lambda j, i: goes_first(b.run, b.item(j), a.run, a.item(i)))[0]


def _stale_count(a: _Feed, b: _Feed, count: int) -> int:
    """A co-rank in whole buffers, as if every place held an unread item. Memory without an item counts as greatest."""

    def goes_first(j: int, i: int) -> bool:
        x, y = a.item(i), b.item(j)
        return y != NOTHING and (x == NOTHING or b_first(b.run, y, a.run, x))

    return co_rank(count, len(a.places), len(b.places), goes_first)[0]


def _label(a: TracedRun, b: TracedRun, origin: int | None) -> str:
    if origin is None:
        return "?"
    return a.label(origin) if origin >= 0 else b.label(-1 - origin)
