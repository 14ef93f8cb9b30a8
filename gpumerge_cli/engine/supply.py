"""Chunks for workers, cut a stretch ahead of them while they work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator

from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk


class Supply:
    """Hands out chunks in output order, numbered from 0, to any number of threads.

    spans: gives the chunks, some at a time. Whoever takes one while no more than `low` are left cuts the next ones
    first; the others need not wait for it.
    """

    def __init__(self, spans: Iterator[list[Chunk]], low: int, stopwatch: Stopwatch) -> None:
        self._spans = spans
        self._low = low
        self._stopwatch = stopwatch
        self._ready: deque[Chunk] = deque()
        self._taken = 0
        self._cutting = False
        self._over = False
        self._changed = threading.Condition()

    def take(self) -> tuple[int, Chunk] | None:
        """(number, chunk) of the next chunk, or None once there are no more."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or not self._cutting)
                cuts = not self._cutting and not self._over and len(self._ready) <= self._low
                self._cutting |= cuts
                if not cuts:
                    if not self._ready:
                        return None
                    self._taken += 1
                    return self._taken - 1, self._ready.popleft()
            self._cut()

    def _cut(self) -> None:
        more: list[Chunk] | None = None
        try:
            with self._stopwatch.span("plan"):
                more = next(self._spans, None)
        finally:
            with self._changed:
                self._ready.extend(more or ())
                self._over = more is None
                self._cutting = False
                self._changed.notify_all()

    @property
    def handed_out(self) -> int:
        """How many chunks were taken so far."""
        return self._taken
