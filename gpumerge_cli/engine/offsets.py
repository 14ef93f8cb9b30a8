"""The places of chunks in the output, and the order in which they may take them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf

from gpumerge_cli.engine.task import Position


class OffsetAllocator:
    """Gives every piece of every chunk its place in the output.

    planned: places are those of the plan, so pieces go out as they come. Otherwise a piece's place is behind those of
    all before it, so chunks take turns; seekable: only to take their places, writing then goes on at once. ends:
    bytes that each part of the output holds already; it has places of its own.
    """

    def __init__(self, *, planned: bool, seekable: bool, ends: Sequence[int] = (0,)) -> None:
        self._in_turns = not (planned and seekable)
        self._seekable = seekable
        self._turn = 0
        self._ends = list(ends)
        self._stopped = False
        self._first_left: float = inf
        self._changed = threading.Condition()

    @contextmanager
    def place(self, turn: int, planned: Position, nbytes: int, *, last: bool) -> Iterator[int | None]:
        """The place of a piece of `nbytes` of chunk number `turn`, for writing inside the body; None if stopped.

        planned: the place that the plan gives it, in its part. last: whether it is the chunk's last piece. It is None,
        too, for a chunk that `leave` has left.
        """
        if not self._in_turns:
            yield None if self.is_over(turn) else planned.offset
            return
        with self._changed:
            self._changed.wait_for(lambda: self.is_over(turn) or self._turn == turn)
            if self.is_over(turn):
                place = None
            else:
                place = self._ends[planned.part]
                self._ends[planned.part] += nbytes
            if last and self._seekable:
                self._next()
        yield place
        if last and not self._seekable:
            with self._changed:
                self._next()

    def _next(self) -> None:
        self._turn += 1
        self._changed.notify_all()

    def is_over(self, turn: int) -> bool:
        """Whether the result of chunk number `turn` is no longer wanted."""
        return self._stopped or turn >= self._first_left

    def leave(self, turn: int) -> None:
        """Give places to the chunks ahead of number `turn`, but not to it or those behind it."""
        with self._changed:
            self._first_left = min(self._first_left, turn)
            self._changed.notify_all()

    def stop(self) -> None:
        """Give no more places; threads that wait come back."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
