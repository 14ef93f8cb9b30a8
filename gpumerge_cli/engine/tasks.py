"""The tasks of a pass: workers take them, and their outcomes are added.

Tasks are independent, so the stages of different ones overlap: while one worker reads, another merges and a third
writes. Nothing waits in a queue; memory is a workspace a worker.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from math import inf

from gpumerge_cli.engine.outcome import Outcome
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.steps import FoundDisorderError
from gpumerge_cli.engine.supply import ChunkCutter, ChunkSupply
from gpumerge_cli.engine.task import Position, Task, TaskResult, UnfinishedError
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk


class Tasks:
    """The tasks of a pass, for any number of threads. outcome: that of the tasks done so far.

    spans: cuts the pass; None if its planner does. low: see ChunkSupply. waits: whether threads that have begun a task
    come back soon, even if nobody reads their output.
    """

    def __init__(
        self, work: Pass, spans: ChunkCutter | None, low: int, stopwatch: Stopwatch, *, waits: bool = True
    ) -> None:
        self.work = work
        self.stopwatch = stopwatch
        self.waits = waits
        self.outcome = Outcome(counts=[0] * len(work.sources))
        pieces = work.pieces
        if pieces is not None:
            cut: ChunkCutter = lambda nbytes: iter([[list(pieces)]])  # noqa: E731
        else:
            cut = spans or partial(work.planner.spans, parts=work.parts)
        self._supply = ChunkSupply(cut, low, stopwatch, joins=pieces is None)
        self._starts = [part.offset for part in work.parts] or [0]
        self._each_a_part = work.action in ("sort", "unpack")
        self._first_disorder = inf  # the first task that is not in order
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> Task | None:
        """The next task, of up to about `nbytes`; None if there is none, or no result is wanted any more."""
        taken = self._supply.take(nbytes)
        if taken is None:
            return None
        turn, part, chunk = taken
        disorder = self.outcome.disorder
        if self.work.writer.is_over(turn) or (disorder is not None and disorder <= chunk.ranges[0][0]):
            return None
        if not self.outcome.began:
            self.outcome.began = time.perf_counter()
        position = Position(turn if self._each_a_part else part, chunk.offset - self._starts[part])
        return Task(turn, chunk, position)

    @property
    def is_over(self) -> bool:
        """Whether all tasks were taken."""
        return self._supply.is_over

    def record(self, result: TaskResult) -> None:
        """Count the outcome of a task."""
        with self._lock:
            self.outcome.add(result)
            if result.nbytes and self.work.advance is not None:
                self.work.advance(self.outcome.nbytes, self.work.nbytes)

    def note_disorder(self, unfinished: UnfinishedError) -> bool:
        """Record disorder; whether the pass is lenient, so that it is not an error."""
        rest = unfinished.rest
        if not self.work.lenient or not isinstance(unfinished.cause, FoundDisorderError) or rest is None:
            return False
        at = self.work.writer.finish_before(rest.turn, rest.position)
        with self._lock:
            if at is not None and rest.turn < self._first_disorder:
                self._first_disorder = rest.turn
                self.outcome.rest = Chunk(rest.chunk.ranges, at)
        return True

    def stop(self) -> None:
        """Make threads that wait for their turn come back; no result is wanted any more."""
        self.work.writer.stop()
