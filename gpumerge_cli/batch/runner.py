"""Runs jobs at once, in an order that their files allow, within shared memory and threads."""

from __future__ import annotations

import heapq
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Protocol

from gpumerge_cli.batch.joblog import Standing
from gpumerge_cli.batch.spec import BatchJob, Limits, Result
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.parallel import POLL_SECONDS

if TYPE_CHECKING:
    from gpumerge_cli.results.run import JobReport


class StoppedError(Exception):
    """Raised in a job when the batch stops."""


class JobError(Exception):
    """A job failed: the message, its exit code, and the number of the signal that ended its process, 0 for none."""

    def __init__(self, message: str, exit_code: int, signal: int = 0) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.signal = signal


@dataclass(frozen=True)
class Caller:
    """The functions that a job calls while it is carried out."""

    check: Callable[[], None]
    """Raises StoppedError once the batch stops."""
    advance: Callable[[int, int], None]
    """Takes the bytes that are done, and all bytes. Raises as `check` does."""
    say: Callable[[str], None]
    """Prints a line for the user."""


class CarryOut(Protocol):
    """Does a job in this process, within so many bytes of memory. Raises JobError, or what `caller.check` raises."""

    def __call__(self, job: BatchJob, memory: int, caller: Caller) -> JobReport: ...


class Work(Protocol):
    """The work of jobs, and the listener to their results."""

    def earlier(self, job: BatchJob) -> Standing | None:
        """The still valid result of an earlier run of the job. Called when it is the job's turn."""

    def do(self, job: BatchJob, memory: int, check: Callable[[], None]) -> JobReport:
        """Do the job within so many bytes of memory and return its report. Raises JobError.

        Calls `check` from time to time, and once before its output appears. Does not catch the errors of `check`.
        """

    def report(self, result: Result) -> None:
        """Take a result. Calls come one at a time; those of jobs that ran, from threads that no signal interrupts."""


def in_order(jobs: Sequence[BatchJob]) -> list[BatchJob]:
    """The jobs in an order that they can run in one after the other, as near as possible to that of the file."""
    by_number = {job.number: job for job in jobs}
    order = TopologicalSorter({job.number: job.after for job in jobs})
    order.prepare()
    ready: list[int] = []
    found = []
    while order.is_active():
        for number in order.get_ready():
            heapq.heappush(ready, number)
        found.append(by_number[heapq.heappop(ready)])
        order.done(found[-1].number)
    return found


class Runner:
    """Runs jobs. results: the results of the jobs that have ended, by number.

    limits: all jobs share them; a job without its own limits gets an equal part. keep_going: go on after a
    failure.
    """

    def __init__(self, jobs: Sequence[BatchJob], work: Work, limits: Limits, *, keep_going: bool = False) -> None:
        self.results: dict[int, Result] = {}
        self._waiting = {job.number: job for job in in_order(jobs)}
        self._work = work
        self._limits = limits
        self._keep_going = keep_going
        self._has_failed = False
        self._stop = threading.Event()
        self._lock = threading.RLock()
        self._over: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._running: dict[int, BatchJob] = {}
        self._threads: list[threading.Thread] = []

    def run(self, patience: float = 10.0) -> None:
        """Run all jobs. An exception, such as that of a signal, stops them; then no further output appears.

        patience: seconds to wait for jobs to stop.
        """
        try:
            self._start(self._next())
            # Threads find their next jobs by themselves: waking this one for each job would take longer than some jobs.
            error = self._ending()
            if error is not None:
                raise error
        except BaseException:
            self._stop.set()
            deadline = time.monotonic() + patience
            for thread in self._threads:
                if thread.is_alive():  # a thread that is yet to start will see the event
                    thread.join(max(0.0, deadline - time.monotonic()))
            raise

    def _ending(self) -> BaseException | None:
        """Wait for the end of all jobs, or an error, which is returned."""
        while True:
            # A signal that comes as a wait begins does not end it: Python runs its handler after the wait.
            with suppress(queue.Empty):
                return self._over.get(timeout=POLL_SECONDS)

    def _next(self, ended: BatchJob | None = None) -> list[BatchJob]:
        """Settle jobs whose inputs exist, and take those that start now. None overtakes one that waits only for room.

        ended: the job whose thread asks.
        """
        found: list[BatchJob] = []
        with self._lock:
            if ended is not None:
                del self._running[ended.number]
            while job := next((job for job in self._waiting.values() if job.after <= self.results.keys()), None):
                self._check()
                settled = self._settled(job)
                if settled is None and not self._has_room(job):
                    break
                del self._waiting[job.number]
                if settled is not None:
                    self._tell(settled)
                    continue
                self._running[job.number] = job
                found.append(job)
            if not self._running:
                self._over.put(None)
        return found

    def _start(self, jobs: Sequence[BatchJob]) -> None:
        """Start a thread for each of these jobs."""
        for job in jobs:
            thread = threading.Thread(target=self._run, args=(job,), name=f"gpumerge-job-{job.number}", daemon=True)
            self._threads.append(thread)  # ahead of its start: a signal may come in between
            thread.start()

    def _settled(self, job: BatchJob) -> Result | None:
        """The result of a job that need not run; None if it must run."""
        for before in map(self.results.__getitem__, sorted(job.after)):
            if before.state == "failed":
                return Result(job, "failed", 2, f"job {before.job.name}, which makes its input, failed")
        if self._has_failed and not self._keep_going:
            return Result(job, "left")
        match self._work.earlier(job):
            case "done":
                return Result(job, "skipped")
            case "failed":
                return Result(job, "failed", 2, "it failed in an earlier run; --resume-failed runs it again")
        return None

    def _has_room(self, job: BatchJob) -> bool:
        needs = [self._need(other) for other in (*self._running.values(), job)]
        memory, threads = map(sum, zip(*needs, strict=True))
        at_once, most_memory, most_threads = self._limits.at_once, self._limits.memory, self._limits.threads or 0
        return len(needs) <= at_once and memory <= most_memory and threads <= most_threads

    def _need(self, job: BatchJob) -> tuple[int, int]:
        """The bytes of memory and the threads that a job requests, or its equal part."""

        def part(whole: int, wanted: int | None) -> int:
            return min(whole, wanted or max(1, whole // self._limits.at_once))

        memory, threads = (None, None) if job.job is None else (job.job.resources.memory, job.job.resources.threads)
        return part(self._limits.memory, memory), part(self._limits.threads or 0, threads)

    def _run(self, job: BatchJob) -> None:
        """The work of a thread: a job, and those that may start as it ends."""
        try:
            while True:
                self._carry_out(job)
                following = self._next(job)
                if not following:
                    return
                job = following[0]
                self._start(following[1:])
        except StoppedError:
            pass
        except BaseException as error:
            self._over.put(error)

    def _carry_out(self, job: BatchJob) -> None:
        """Do a job, and report its result. Raises StoppedError."""
        started, begun = time.time(), time.perf_counter()
        try:
            self._check()
            report = self._work.do(job, self._need(job)[0], self._check)
            result = _done(job, report)
        except StoppedError:
            raise
        except JobError as error:
            result = Result(job, "failed", error.exit_code, str(error), error.signal)
        except Exception as error:
            result = Result(job, "failed", 2, f"{type(error).__name__}: {error}")
        self._tell(replace(result, started=started, seconds=time.perf_counter() - begun))

    def _check(self) -> None:
        if self._stop.is_set():
            raise StoppedError

    def _tell(self, result: Result) -> None:
        with self._lock:
            self._work.report(result)
            self.results[result.job.number] = replace(result, report=None)
            self._has_failed |= result.state == "failed" and result.started > 0


def _done(job: BatchJob, report: JobReport) -> Result:
    """The result of a job that has this report, with what the log says about it."""
    from gpumerge_cli.results.run import CheckReport, MergeReport

    result = Result(job, "done", report=report)
    if isinstance(report, MergeReport):
        return replace(result, nbytes=report.nbytes, backend=report.backend, kernel=report.kernel)
    return replace(result, nbytes=report.nbytes) if isinstance(report, CheckReport) else result
