"""The offsets of chunks in the output, and the order in which they may take them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf

from gpumerge_cli.engine.task import Position


class OffsetAllocator:
    """Gives every piece of every chunk its offset in its part of the output.

    planned: offsets are those of the plan, so pieces are written as they come. Otherwise a piece lies behind all pieces
    before it, so chunks take turns; seekable: only to take their offsets, writing then goes on at once. ends: bytes
    that each part of the output holds already.
    """

    def __init__(self, *, planned: bool, seekable: bool, ends: Sequence[int] = (0,)) -> None:
        self._in_turns = not (planned and seekable)
        self._seekable = seekable
        self._turn = 0
        self._ends = list(ends)
        self._stopped = False
        self._end: float = inf
        self._changed = threading.Condition()

    @contextmanager
    def allocate(self, turn: int, planned: Position, nbytes: int, *, last: bool) -> Iterator[int | None]:
        """The offset of a piece of `nbytes` of chunk number `turn`, for writing inside the body; None if stopped.

        planned: the position that the plan gives it. last: whether it is the chunk's last piece. It is None,
        too, for a chunk that `end_before` excludes.
        """
        if not self._in_turns:
            yield None if self.is_over(turn) else planned.offset
            return
        with self._changed:
            self._changed.wait_for(lambda: self.is_over(turn) or self._turn == turn)
            if self.is_over(turn):
                offset = None
            else:
                offset = self._ends[planned.part]
                self._ends[planned.part] += nbytes
            if last and self._seekable:
                self._next()
        yield offset
        if last and not self._seekable:
            with self._changed:
                self._next()

    def _next(self) -> None:
        self._turn += 1
        self._changed.notify_all()

    def is_over(self, turn: int) -> bool:
        """Whether the result of chunk number `turn` is no longer wanted."""
        return self._stopped or turn >= self._end

    def end_before(self, turn: int) -> None:
        """Give offsets to the chunks ahead of number `turn`, but not to it or those behind it."""
        with self._changed:
            self._end = min(self._end, turn)
            self._changed.notify_all()

    def stop(self) -> None:
        """Give no more offsets; threads that wait come back."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
