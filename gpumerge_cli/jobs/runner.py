"""Jobs at once, in the order that their files ask for, within one memory."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, Literal

from gpumerge_cli.jobs.joblog import Standing
from gpumerge_cli.jobs.spec import Job

_TOLD = ("nbytes", "backend", "kernel")
"""What a result has of its report."""
State = Literal["done", "skipped", "failed", "left"]


class StoppedError(Exception):
    """What ends a job that the batch is not to wait for."""


@dataclass(frozen=True)
class Result:
    """What became of a job.

    state: "skipped" where an earlier run had done it; "left" where it never began, since another failed. exit_code,
    error: as the job alone would have ended, and said. started: seconds since 1970, 0 if it did not run. seconds: that
    it took. nbytes: of its inputs, 0 if it failed or did not run. backend, kernel: that did it, "-" if none did.
    report: of what it did; None if it failed or did not run, and once it was told.
    """

    job: Job
    state: State
    exit_code: int = 0
    error: str = ""
    started: float = 0.0
    seconds: float = 0.0
    nbytes: int = 0
    backend: str = "-"
    kernel: str = "-"
    report: Any = None


@dataclass(frozen=True)
class Outcome:
    """How a job ended: its report, or what it said and its exit code."""

    report: Any = None
    error: str = ""
    exit_code: int = 0


Advance = Callable[[int, int], None]
Do = Callable[[Job, int, Advance, Callable[[], None]], Outcome]
"""Does a job within so many bytes of memory. Calls the third from time to time with (bytes done, bytes in all), the
fourth once before its output appears; lets through what they raise."""


def in_order(jobs: Sequence[Job]) -> list[Job]:
    """The jobs in an order that they can run in, one after the other: that of the file, as far as it goes."""
    by_number = {job.number: job for job in jobs}
    order = TopologicalSorter({job.number: job.after for job in jobs})
    order.prepare()
    ready: list[int] = list(order.get_ready())
    heapq.heapify(ready)
    found = []
    while ready:
        number = heapq.heappop(ready)
        found.append(by_number[number])
        order.done(number)
        for other in order.get_ready():
            heapq.heappush(ready, other)
    return found


class Runner:
    """Runs jobs. results: of those that have ended, by number.

    at_once: jobs that run at a time. memory: bytes for all of them; a job that asks for none gets an equal part.
    threads: host threads for all of them, in the same way; None for no limit. earlier: what an earlier run has made of
    a job, asked when its turn has come. told: given every result, one at a time; those of jobs that ran in the job's
    thread, which no signal interrupts. advance: given (job, bytes done, bytes in all) from any thread.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        do: Do,
        *,
        at_once: int,
        memory: int,
        threads: int | None = None,
        keep_going: bool = False,
        earlier: Callable[[Job], Standing | None] = lambda job: None,
        told: Callable[[Result], None] = lambda result: None,
        advance: Callable[[Job, int, int], None] | None = None,
    ) -> None:
        self.results: dict[int, Result] = {}
        self._jobs = {job.number: job for job in jobs}
        self._do = do
        self._at_once = at_once
        self._memory = self._free = memory
        self._threads = self._free_threads = threads or 0
        self._keep_going = keep_going
        self._earlier = earlier
        self._told = told
        self._advance = advance
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._ended: queue.SimpleQueue[Job | BaseException] = queue.SimpleQueue()
        self._running: set[int] = set()
        self._active = 0  # as the jobs' threads know it: a signal may come before the running ones are noted
        self._changed = threading.Condition()
        self._order = TopologicalSorter({number: job.after for number, job in self._jobs.items()})
        self._ready: list[int] = []
        self._has_failed = False

    def run(self, patience: float = 10.0) -> None:
        """Run all jobs. What else is raised, as by a signal, stops them: then no further output appears.

        patience: seconds to wait for jobs to notice that.
        """
        self._order.prepare()
        pool = ThreadPoolExecutor(self._at_once, thread_name_prefix="gpumerge-job")
        try:
            self._find_ready()
            self._start(pool)
            while self._running:
                ended = self._ended.get()
                if isinstance(ended, BaseException):
                    raise ended
                self._give_back(ended)
                self._start(pool)
            self._leave()
        except BaseException:
            self._stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            with self._changed:
                self._changed.wait_for(lambda: self._active == 0, timeout=patience)
            raise
        pool.shutdown()

    def _start(self, pool: ThreadPoolExecutor) -> None:
        """Start what may start now, in the order of the file."""
        while self._ready and len(self._running) < self._at_once and (self._keep_going or not self._has_failed):
            job = self._jobs[self._ready[0]]
            settled = self._settled(job)
            need = self._need(job)
            threads = self._threads_of(job)
            if settled is None and (need > self._free or threads > self._free_threads):
                return
            heapq.heappop(self._ready)
            if settled is not None:
                self._settle(settled)
                continue
            self._free -= need
            self._free_threads -= threads
            self._running.add(job.number)
            pool.submit(self._work, job, need)

    def _settled(self, job: Job) -> Result | None:
        """What is known of a job without running it."""
        for number in sorted(job.after):
            if self.results[number].state == "failed":
                return Result(job, "failed", 2, f"job {self._jobs[number].name}, which makes its input, failed")
        match self._earlier(job):
            case "done":
                return Result(job, "skipped")
            case "failed":
                return Result(job, "failed", 2, "it failed in an earlier run; --resume-failed runs it again")
        return None

    def _need(self, job: Job) -> int:
        asked = None if job.task is None else job.task.memory
        return min(self._memory, asked or max(1, self._memory // self._at_once))

    def _threads_of(self, job: Job) -> int:
        asked = None if job.task is None else job.task.threads
        return min(self._threads, asked or max(1, self._threads // self._at_once))

    def _work(self, job: Job, memory: int) -> None:
        with self._changed:
            self._active += 1
        try:
            self._run(job, memory)
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify_all()

    def _run(self, job: Job, memory: int) -> None:
        started, begun = time.time(), time.perf_counter()

        def advance(done: int, total: int) -> None:
            self._check()
            if self._advance is not None:
                self._advance(job, done, total)

        try:
            self._check()
            outcome = self._do(job, memory, advance, self._check)
        except StoppedError:
            return
        except Exception as error:
            outcome = Outcome(None, f"{type(error).__name__}: {error}", 2)
        seconds = time.perf_counter() - begun
        state: State = "failed" if outcome.exit_code else "done"
        found = {name: getattr(outcome.report, name) for name in _TOLD if hasattr(outcome.report, name)}
        result = Result(job, state, outcome.exit_code, outcome.error, started, seconds, report=outcome.report, **found)
        try:
            self._record(result)
        except BaseException as error:
            self._ended.put(error)
        else:
            self._ended.put(job)

    def _check(self) -> None:
        if self._stop.is_set():
            raise StoppedError

    def _record(self, result: Result) -> None:
        with self._lock:
            self.results[result.job.number] = replace(result, report=None)
            self._told(result)

    def _give_back(self, job: Job) -> None:
        """The job has run: others may take its place."""
        self._running.remove(job.number)
        self._free += self._need(job)
        self._free_threads += self._threads_of(job)
        self._has_failed |= self.results[job.number].state == "failed"
        self._order.done(job.number)
        self._find_ready()

    def _settle(self, result: Result) -> None:
        """The job does not run."""
        self._record(result)
        self._order.done(result.job.number)
        self._find_ready()

    def _find_ready(self) -> None:
        for number in self._order.get_ready():
            heapq.heappush(self._ready, number)

    def _leave(self) -> None:
        """Tell of the jobs that never began."""
        while self._ready:
            job = self._jobs[heapq.heappop(self._ready)]
            lost = any(self.results[number].state == "failed" for number in job.after)
            settled = self._settled(job) if lost else None
            self._settle(settled or Result(job, "left"))
