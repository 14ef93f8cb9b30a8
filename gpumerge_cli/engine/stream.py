"""A merge in chunks: makes the tasks, has all workers do them at once, and counts their outcomes.

Chunks are independent, so the stages of different chunks overlap: while one worker reads, another merges and a third
writes. Nothing waits in a queue; memory is a workspace a worker. A chunk that a device has no memory for is cut in two,
and so are all that it takes after it.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from functools import partial
from math import inf

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.executor import Executor, Tasks, WorkerLog
from gpumerge_cli.engine.hiring import Hired
from gpumerge_cli.engine.outlet import Outlet
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.steps import FoundDisorderError
from gpumerge_cli.engine.supply import Spans, Supply
from gpumerge_cli.engine.task import ChunkTask, Place, TaskResult, UnfinishedError
from gpumerge_cli.engine.workers import CpuWorker
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk

Advance = Callable[[int, int], None]
_LEAST_AHEAD = 64
"""Chunks to hold ready for several kinds of workers: some take many at once."""


@dataclass
class Filled:
    """Items of a part of the output, and their bytes as they were written."""

    items: int = 0
    nbytes: int = 0


@dataclass
class Outcome:
    """The outcome of a run. counts: items that each source gave. dropped: those left out. written: bytes of the output.

    chunks, largest: how many chunks there were, and bytes of the largest. workers: how many threads worked on them.
    logs: the work of each worker. parts: the outcome of each part of the output, if it has several. began: the time of
    the first chunk, in seconds of time.perf_counter; 0 if there was none. rest: the ranges that a lenient run has left
    because it met disorder, and their offset in the output.
    """

    counts: list[int]
    dropped: int = 0
    written: int = 0
    chunks: int = 0
    largest: int = 0
    workers: int = 1
    logs: list[WorkerLog] = field(default_factory=list)
    parts: dict[int, Filled] = field(default_factory=dict)
    began: float = 0.0
    rest: Chunk | None = None


@dataclass
class _Count:
    """Counts the outcomes of tasks. total: bytes that all of them read."""

    outcome: Outcome
    outlet: Outlet
    lenient: bool
    total: int
    advance: Advance | None
    done: int = 0
    left: float = inf  # the first task that is not in order
    lock: threading.Lock = field(default_factory=threading.Lock)

    def took(self, result: TaskResult) -> None:
        with self.lock:
            outcome = self.outcome
            outcome.counts[:] = map(operator.add, outcome.counts, result.counts)
            outcome.dropped += result.dropped
            outcome.written += result.written
            part = outcome.parts.setdefault(result.part, Filled())
            part.items += sum(result.counts) - result.dropped
            part.nbytes += result.written
            outcome.largest = max(outcome.largest, result.largest)
            self.done += result.nbytes
            if result.nbytes:
                outcome.chunks += 1
                if self.advance is not None:
                    self.advance(self.done, self.total)

    def leave(self, unfinished: UnfinishedError) -> bool:
        """Take note of disorder, if the run is lenient."""
        rest = unfinished.rest
        if not self.lenient or not isinstance(unfinished.cause, FoundDisorderError) or rest is None:
            return False
        at = self.outlet.leave(rest.turn, rest.place)
        with self.lock:
            if at is not None and rest.turn < self.left:
                self.left = rest.turn
                self.outcome.rest = Chunk(rest.ranges, at)
        return True


def merge(site: Site, hired: Hired, stopwatch: Stopwatch, advance: Advance | None = None, *, waits: bool) -> Outcome:
    """Merge every chunk of the site's sources into its outlet.

    advance: see run. waits: see Tasks. Raises the first error that no other worker makes up for; all workers then stop.
    """
    spans = hired.spans or partial(site.planner.spans, parts=site.parts)
    return carry_out(site, hired, spans, stopwatch, advance, waits=waits)


def carry_out(
    site: Site,
    hired: Hired,
    spans: Spans,
    stopwatch: Stopwatch,
    advance: Advance | None = None,
    *,
    waits: bool = True,
) -> Outcome:
    """Have the workers carry out the site's work on all chunks that `spans` gives. The other arguments are merge's."""
    workers = hired.workers
    outcome = Outcome([0] * len(site.sources), workers=len(workers))
    count = _Count(outcome, site.outlet, site.lenient, site.nbytes, advance)
    kinds = {worker.backend for worker in workers}
    low = 2 * len(workers) if len(kinds) == 1 else max(_LEAST_AHEAD, 2 * len(workers))
    runs = site.work.action == "sort"
    starts = [part.offset for part in site.parts] or [0]

    def task(turn: int, part: int, chunk: Chunk) -> ChunkTask:
        return ChunkTask(site.work, turn, chunk.ranges, Place(turn if runs else part, chunk.offset - starts[part]))

    job = Tasks(
        Supply(spans, low, stopwatch),
        task,
        site.outlet.is_over,
        count.took,
        site.outlet.stop,
        count.leave,
        waits,
    )
    crew = hired.executor(job, stopwatch)
    # Signals come to the main thread. Where compiled code calls Python to read, they would be lost on its way back.
    alone = len(workers) == 1 and isinstance(workers[0], CpuWorker) and not runs
    if isinstance(crew, Executor) and alone and all(source.extent is not None for source in site.sources):
        crew.run_here()
    else:
        crew.run()
    outcome.logs, outcome.began = list(crew.logs), crew.began
    outcome.workers = max(1, sum(log.worker.hands for log in crew.logs if log.started))
    return outcome
