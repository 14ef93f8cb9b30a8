"""Chunks for workers, cut a stretch ahead of them while they work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator

from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk

Spans = Callable[[int], Iterator[list[Chunk]]]
"""Given bytes of a chunk, all chunks of about that size, some at a time."""


class Supply:
    """Hands out chunks in output order, numbered from 0, to any number of threads.

    spans: cuts the chunks, of the size that the first thread asks for. A thread that asks for larger ones gets
    neighbours, joined. The thread that takes one while no more than `low` are left cuts the next ones first; the others
    need not wait for it.
    """

    def __init__(self, spans: Spans, low: int, stopwatch: Stopwatch) -> None:
        self._cutter = spans
        self._spans: Iterator[list[Chunk]] | None = None
        self._low = low
        self._stopwatch = stopwatch
        self._ready: deque[Chunk] = deque()
        self._taken = 0
        self._cutting = False
        self._over = False
        self._changed = threading.Condition()

    def take(self, nbytes: int) -> tuple[int, Chunk] | None:
        """(number, chunk) of the next chunk of up to about `nbytes`, or None once there are no more."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or not self._cutting)
                cuts = not self._cutting and not self._over and len(self._ready) <= self._low
                self._cutting |= cuts
                if not cuts:
                    if not self._ready:
                        return None
                    self._taken += 1
                    return self._taken - 1, self._joined(nbytes)
                if self._spans is None:
                    self._spans = self._cutter(nbytes)
            self._cut(self._spans)

    def _joined(self, nbytes: int) -> Chunk:
        """The next chunk that is ready, and as many of those behind it as fit into `nbytes` with it."""
        first = last = self._ready.popleft()
        held = first.nbytes
        while self._ready and held + self._ready[0].nbytes <= nbytes:
            last = self._ready.popleft()
            held += last.nbytes
        return first if first is last else first.joined(last)

    def _cut(self, spans: Iterator[list[Chunk]]) -> None:
        more: list[Chunk] | None = None
        try:
            with self._stopwatch.span("plan"):
                more = next(spans, None)
        finally:
            with self._changed:
                self._ready.extend(more or ())
                self._over = more is None
                self._cutting = False
                self._changed.notify_all()

    @property
    def is_over(self) -> bool:
        """Whether all chunks were taken."""
        with self._changed:
            return self._over and not self._ready
