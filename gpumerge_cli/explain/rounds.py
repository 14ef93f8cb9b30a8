"""Rounds of kernels that stage tiles: the items in shared memory, round by round, as the files in kernels/ do it."""

from __future__ import annotations

from gpumerge_cli.backends.variants.lookup import LADDER, variant_named
from gpumerge_cli.corank import co_rank
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.explain.items import TracedRun, b_first
from gpumerge_cli.explain.path import cut_at
from gpumerge_cli.explain.shape import Shape, piece_ranges
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.results.path import Buffer, BufferSlot, Round

MOST_PLACES = 64
MOST_ROUNDS = 200


@dataclass
class _Feed:
    """Items [next - held, next) of a section are in the buffer, unread, the first of them at place `head`."""

    run: TracedRun
    next: int
    end: int
    places: list[int]
    head: int = 0
    held: int = 0

    def place(self, at: int) -> int:
        return (self.head + at) % len(self.places)

    def load(self, most: int) -> int:
        """Put up to `most` more items behind those held; returns their number."""
        count = min(most - self.held, self.end - self.next)
        for at in range(count):
            self.places[self.place(self.held + at)] = self.next + at
        self.next += count
        self.held += count
        return count

    def item(self, at: int) -> int:
        """The number of the unread item `at` places behind the first."""
        return self.places[self.place(at)]

    def show(self, loaded: int, used: int, *, keep: bool) -> Buffer:
        shown: list[BufferSlot | None] = [None] * len(self.places)
        for at in range(self.held):
            index = self.item(at)
            shown[self.place(at)] = BufferSlot(index, self.run.label(index), at >= self.held - loaded, at < used)
        rest = self.held - used
        return Buffer(tuple(shown), self.head, loaded, used, rest if keep else 0, 0 if keep else rest)

    def consume(self, used: int, *, keep: bool) -> None:
        if keep:
            self.head = self.place(used)
            self.held -= used
        else:
            self.next -= self.held - used
            self.head = self.held = 0


def rounds_of(a: TracedRun, b: TracedRun, shape: Shape) -> tuple[Round, ...]:
    """Every round of every block, as the shape's kernel works through its sections.

    Raises UsageError for a kernel that has no rounds, and for more of them than can be shown.
    """
    policy, total = shape.policy, a.size + b.size
    if variant_named(policy.kernel).rounds is None:
        others = " or ".join(f"--kernel {variant.name}" for variant in LADDER if variant.rounds)
        raise UsageError(f"--rounds: the {policy.kernel} kernel has none", way_out=f"use {others}")
    tile = policy.tile_size
    sections = piece_ranges([split for what, split in shape.splits if what in ("block", "host thread")], total)
    if tile > MOST_PLACES:
        raise UsageError(f"--rounds shows up to {MOST_PLACES} places, not {tile}", way_out="add --tile-size 4, say")
    if sum(-(-(stop - start) // tile) for start, stop in sections) > MOST_ROUNDS:
        raise UsageError(f"--rounds shows up to {MOST_ROUNDS} rounds", way_out="use smaller inputs or a larger tile")
    rounds: list[Round] = []
    for block, (start, stop) in enumerate(sections):
        rounds += _section(a, b, block, start, stop, policy)
    return tuple(rounds)


def _section(a: TracedRun, b: TracedRun, block: int, start: int, stop: int, policy: LaunchPolicy) -> list[Round]:
    """The rounds of one block, which merges the output ranks [start, stop)."""
    tile, how = policy.tile_size, variant_named(policy.kernel).rounds
    keep = how is not None and how.keeps
    low, high = cut_at(a, b, start), cut_at(a, b, stop)
    feed_a = _Feed(a, low.i, high.i, [-1] * tile)
    feed_b = _Feed(b, low.j, high.j, [-1] * tile)
    rounds: list[Round] = []
    for first in range(start, stop, tile):
        count = min(tile, stop - first)
        most_a = most_b = tile
        if policy.tile_load == "exact":
            most_a = cut_at(a, b, first + count).i - feed_a.next
            most_b = count - most_a
            feed_a.places, feed_b.places = [-1] * most_a, [-1] * most_b
        loaded = feed_a.load(most_a), feed_b.load(most_b)
        used, _ = co_rank(count, feed_a.held, feed_b.held, lambda j, i: b_first(b, feed_b.item(j), a, feed_a.item(i)))
        shown = feed_a.show(loaded[0], used, keep=keep), feed_b.show(loaded[1], count - used, keep=keep)
        rounds.append(Round(block, len(rounds), first, _merged(feed_a, used, feed_b, count - used), *shown))
        feed_a.consume(used, keep=keep)
        feed_b.consume(count - used, keep=keep)
    return rounds


def _merged(a: _Feed, a_count: int, b: _Feed, b_count: int) -> tuple[str, ...]:
    i = j = 0
    out = []
    while i < a_count or j < b_count:
        take_b = i == a_count or (j < b_count and b_first(b.run, b.item(j), a.run, a.item(i)))
        feed, at = (b, j) if take_b else (a, i)
        out.append(feed.run.label(feed.item(at)))
        i, j = (i, j + 1) if take_b else (i + 1, j)
    return tuple(out)
