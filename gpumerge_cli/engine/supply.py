"""Chunks for workers, cut a stretch ahead of them while they work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk

ChunkCutter = Callable[[int], Iterator[Sequence[list[Chunk]]]]
"""Given the bytes of a chunk, gives all chunks of about that size, some at a time, in a list for each part."""


class ChunkSupply:
    """Hands out chunks, numbered from 0, to any number of threads: in output order, or in that of each part, in turn.

    spans: cuts the chunks, of the size that the first thread asks for. A thread that asks for larger ones gets
    neighbours of one part, joined. The thread that takes one while no more than `low` are left cuts the next ones
    first; the others need not wait for it. joins: whether chunks may be joined.
    """

    def __init__(self, cutter: ChunkCutter, low: int, stopwatch: Stopwatch, *, joins: bool = True) -> None:
        self._cutter = cutter
        self._chunks: Iterator[Sequence[list[Chunk]]] | None = None
        self._low = low
        self._joins = joins
        self._stopwatch = stopwatch
        self._parts: list[deque[Chunk]] = []
        self._ready = 0  # chunks
        self._last = -1  # the part that the last one was of
        self._taken = 0
        self._cutting = False
        self._over = False
        self._changed = threading.Condition()

    def take(self, nbytes: int) -> tuple[int, int, Chunk] | None:
        """(number, part, chunk) of the next chunk of up to about `nbytes`, or None once there are no more."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or not self._cutting)
                cuts = not self._cutting and not self._over and self._ready <= self._low
                self._cutting |= cuts
                if not cuts:
                    if not self._ready:
                        return None
                    self._taken += 1
                    parts = self._parts
                    # The part whose turn it is, of those with chunks that are ready.
                    turns = (at % len(parts) for at in count(self._last + 1))
                    self._last = part = next(at for at in turns if parts[at])
                    return self._taken - 1, part, self._joined(self._parts[part], nbytes)
                if self._chunks is None:
                    self._chunks = self._cutter(nbytes)
            self._cut(self._chunks)

    def _joined(self, ready: deque[Chunk], nbytes: int) -> Chunk:
        """The next chunk that is ready, and as many of those behind it as fit into `nbytes` with it."""
        before = len(ready)
        first = last = ready.popleft()
        held = first.nbytes
        while self._joins and ready and held + ready[0].nbytes <= nbytes:
            last = ready.popleft()
            held += last.nbytes
        self._ready -= before - len(ready)
        return first if first is last else first.joined(last)

    def _cut(self, cutter: Iterator[Sequence[list[Chunk]]]) -> None:
        more: Sequence[list[Chunk]] | None = None
        try:
            with self._stopwatch.span("plan"):
                more = next(cutter, None)
        finally:
            with self._changed:
                self._parts = self._parts or [deque() for _ in more or ()]
                for ready, chunks in zip(self._parts, more or (), strict=False):
                    ready.extend(chunks)
                    self._ready += len(chunks)
                self._over = more is None
                self._cutting = False
                self._changed.notify_all()

    @property
    def is_over(self) -> bool:
        """Whether all chunks were taken."""
        with self._changed:
            return self._over and not self._ready
