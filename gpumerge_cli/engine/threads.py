"""Threads of this process that do the tasks of a pass, all workers at once.

Workers start in threads of their own, so a device that is still starting only means that others take more. A worker
that cannot start, or fails midway, is named in the report, and its task goes to another one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.outcome import Member, WorkerLog
from gpumerge_cli.engine.parallel import POLL_SECONDS, ThreadGroup
from gpumerge_cli.engine.task import Task, TaskResult, UnfinishedError
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.errors import DeviceError, UsageError


class Worker(Member, Protocol):
    """Carries out tasks in threads of its own."""

    chunk_bytes: int
    """The bytes of the chunks that suit it, known once it has started."""

    def start(self) -> None:
        """Get ready, in a thread that works for it. Raises DeviceError; UsageError for an impossible request."""

    def do(self, task: Task) -> TaskResult:
        """Carry out a task to its last byte. Raises UnfinishedError, which tells how far it came."""

    def close(self) -> None:
        """Give all memory back. No thread works for it any more."""


@dataclass
class _WorkerLog(WorkerLog):
    """The work of a worker of this process."""

    worker: Worker

    @property
    def name(self) -> str:
        """The name of its threads."""
        return f"gpumerge {self.worker.name}"


class WorkerThreads:
    """Does tasks with all workers. The stopwatch of the tasks has a lane for each, under the worker's name."""

    def __init__(self, workers: Sequence[Worker], tasks: Tasks) -> None:
        self.tasks = tasks
        self.logs = [_WorkerLog(worker) for worker in workers]
        self._group = ThreadGroup(tasks.stop, waits=tasks.waits)

    def run(self) -> None:
        """Do all tasks. Raises the first error that no other worker makes up for; all workers then stop."""
        try:
            self._group.run([(log.name, partial(self._work, log, new=True)) for log in self.logs], self._is_over)
        finally:
            self._end()

    def run_here(self) -> None:
        """Do all tasks in the calling thread, with the only worker."""
        (log,) = self.logs
        self.tasks.stopwatch.name_lane(log.worker.name)
        log.worker.start()
        log.started = True
        try:
            self._serve(log)
        except BaseException:
            self.tasks.stop()
            raise
        finally:
            log.worker.close()

    def _is_over(self) -> bool:
        """Whether no task is left. A healthy worker ends only then, or if no result is wanted any more."""
        return self.tasks.is_over or any(log.started and log.lost is None for log in self.logs)

    def _work(self, log: _WorkerLog, *, new: bool) -> None:
        """The life of a thread. new: it starts the worker first."""
        self.tasks.stopwatch.name_lane(log.worker.name)
        if not new or self._start(log):
            self._serve(log)

    def _start(self, log: _WorkerLog) -> bool:
        """Start the worker, and the other threads that work for it. Returns False if it could not be started."""
        try:
            with self._group.apart():
                log.worker.start()
        except (DeviceError, UsageError) as error:
            self._lose(log, error, "did not start")
            return False
        with self._group.changed:
            log.started = True
            self._group.changed.notify_all()
        for _ in range(log.worker.threads - 1):
            if self._group.stopped or self.tasks.is_over:
                break
            if not self._group.launch(log.name, partial(self._work, log, new=False)):
                break
        return True

    def _serve(self, log: _WorkerLog) -> None:
        """Carry out task after task until there are none left."""
        while not self._group.stopped and log.lost is None:
            task = self.tasks.take(log.worker.chunk_bytes)
            if task is None:
                return
            self._carry_out(task, log)

    def _carry_out(self, task: Task, log: _WorkerLog) -> None:
        """Have the worker do the task. If the worker is lost over it, another one does it."""
        start = time.perf_counter()
        try:
            self._record(log, log.worker.do(task), start)
        except UnfinishedError as unfinished:
            self._record(log, unfinished.done, start)
            if self.tasks.note_disorder(unfinished):
                return
            if not isinstance(unfinished.cause, DeviceError) or unfinished.rest is None:
                raise unfinished.cause from None
            self._lose(log, unfinished.cause, "lost")
            # All other threads may wait to write behind this task, so this thread sees it done.
            heir = self._heir(unfinished.cause)
            self.tasks.stopwatch.name_lane(heir.worker.name)
            self._carry_out(unfinished.rest, heir)

    def _heir(self, cause: BaseException) -> _WorkerLog:
        """A worker that has started; waits while any may still start. Raises `cause` if there is none."""
        with self._group.changed:
            while not self._group.stopped:
                here = [log for log in self.logs if log.started and log.lost is None]
                if here:
                    return here[0]
                if all(log.lost is not None for log in self.logs):
                    break
                self._group.changed.wait(POLL_SECONDS)
        raise cause

    def _lose(self, log: _WorkerLog, error: DeviceError | UsageError, how: str) -> None:
        """Record that the worker has stopped. Raises its error if it was the last one."""
        with self._group.changed:
            log.lost = log.lost or error
            log.report.note = log.report.note or f"{how}: {error}"
            self._group.changed.notify_all()
            if all(one.lost is not None for one in self.logs):
                raise next(one.lost for one in self.logs if one.lost is not None)

    def _record(self, log: _WorkerLog, result: TaskResult, start: float) -> None:
        stopwatch, stopped = self.tasks.stopwatch, time.perf_counter()
        stopwatch.add(*result.spans)
        with self._group.changed:
            log.add_task(start - stopwatch.origin, stopped - stopwatch.origin, result.nbytes)
            self.tasks.record(result)

    def _end(self) -> None:
        """Close the workers that are done. One that is still starting is left alone, and will find nothing to do."""
        self._group.stop()
        with self._group.changed:
            idle = self._group.idle
        for log in self.logs:
            if not log.started and log.lost is None:
                log.report.note = log.report.note or "had not started when the work was done"
            elif idle:
                with suppress(*([DeviceError] if log.lost is not None else [])):
                    log.worker.close()
