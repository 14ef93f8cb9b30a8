"""Threads of this process that do the tasks of a pass, all workers at once.

Workers start in threads of their own, so a device that is still starting only means that others take more. A worker
that cannot start, or fails midway, is named in the report, and its task goes to another one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.outcome import Member, WorkerLog
from gpumerge_cli.engine.task import Task, TaskResult, UnfinishedError
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.errors import DeviceError, UsageError

_LOOK = 0.2
"""Seconds between two looks of the main thread for a signal."""


class Worker(Member, Protocol):
    """Carries out tasks in threads of its own. chunk_bytes: of the chunks that suit it, known once it has started."""

    chunk_bytes: int

    def start(self) -> None:
        """Get ready, in a thread that works for it. Raises DeviceError if it cannot, UsageError for a wrong wish."""

    def do(self, task: Task) -> TaskResult:
        """Carry out a task to its last byte. Raises UnfinishedError, which tells how far it came."""

    def close(self) -> None:
        """Give all memory back. No thread works for it any more."""


@dataclass
class _Log(WorkerLog):
    """The work of a worker of this process."""

    worker: Worker


@dataclass
class _Counts:
    """Counts of threads: launched, begun, in a worker's start, and ended."""

    launched: int = 0
    begun: int = 0
    starting: int = 0
    ended: int = 0


@dataclass
class Threads:
    """Does tasks with all workers. The stopwatch of the tasks has a lane for each, under the worker's name."""

    workers: Sequence[Worker]
    tasks: Tasks
    logs: list[_Log] = field(init=False)
    _error: BaseException | None = None
    _stopped: bool = False
    _counts: _Counts = field(default_factory=_Counts)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.logs = [_Log(worker) for worker in self.workers]

    def run(self) -> None:
        """Do all tasks. Raises the first error that no other worker makes up for; all workers then stop."""
        try:
            for log in self.logs:
                if not self._launch(log, new=True):
                    break
            self._wait()
        except BaseException:
            self._stop()
            with self._changed:
                # A worker that writes to a pipe nobody reads never comes back; one that writes to a file does so soon.
                self._changed.wait_for(lambda: not self.tasks.waits or self._idle())
            raise
        finally:
            self._end()
        if self._error is not None:
            raise self._error

    def run_here(self) -> None:
        """Do all tasks in the calling thread, with the only worker."""
        (log,) = self.logs
        self.tasks.stopwatch.name_lane(log.worker.name)
        log.worker.start()
        log.started = True
        try:
            self._serve(log)
        except BaseException:
            self._stop()
            raise
        finally:
            log.worker.close()

    def _wait(self) -> None:
        counts = self._counts
        with self._changed:
            while counts.ended < counts.launched:
                if self._idle() and (self._stopped or self.tasks.is_over or self._has_finished()):
                    return  # those that are still starting are not waited for
                # A timeout, so that signals are seen: a wait without one is not interrupted on every platform.
                self._changed.wait(_LOOK)

    def _has_finished(self) -> bool:
        """Whether a healthy worker has ended. It ends only if no task is left, or if no result is wanted any more."""
        return any(log.started and log.lost is None for log in self.logs)

    def _idle(self) -> bool:
        return self._counts.begun == self._counts.ended + self._counts.starting

    def _launch(self, log: _Log, *, new: bool) -> bool:
        """Start a thread for the worker; False if the system lets no more start. Raises MemoryError if there is none.

        new: the thread starts the worker first.
        """
        thread = threading.Thread(target=self._work, args=(log, new), name=f"gpumerge {log.worker.name}", daemon=True)
        with self._changed:
            self._counts.launched += 1
        try:
            thread.start()
        except RuntimeError:  # no room for another stack, or no more threads allowed
            with self._changed:
                self._counts.launched -= 1
                if not self._counts.launched:
                    raise MemoryError from None
            return False
        return True

    def _work(self, log: _Log, new: bool) -> None:
        with self._changed:
            if self._stopped:
                self._counts.launched -= 1
                self._changed.notify_all()
                return
            self._counts.begun += 1
            self._counts.starting += new
        try:
            self.tasks.stopwatch.name_lane(log.worker.name)
            if not new or self._start(log):
                self._serve(log)
        except BaseException as error:
            with self._changed:
                self._error = self._error or error
            self._stop()
        finally:
            with self._changed:
                self._counts.ended += 1
                self._changed.notify_all()

    def _start(self, log: _Log) -> bool:
        """Start the worker, and the other threads that work for it. Returns False if it could not be started."""
        failed: DeviceError | UsageError | None = None
        try:
            log.worker.start()
        except (DeviceError, UsageError) as error:
            failed = error
        finally:
            with self._changed:
                self._counts.starting -= 1
                log.started = failed is None
                self._changed.notify_all()
        if failed is not None:
            self._lose(log, failed, "did not start")
            return False
        for _ in range(log.worker.hands - 1):
            if self._stopped or self.tasks.is_over or not self._launch(log, new=False):
                break
        return True

    def _serve(self, log: _Log) -> None:
        """Carry out task after task until there are none left."""
        while not self._stopped and log.lost is None:
            task = self.tasks.take(log.worker.chunk_bytes)
            if task is None:
                return
            self._carry_out(task, log)

    def _carry_out(self, task: Task, log: _Log) -> None:
        """Have the worker do the task. If the worker is lost over it, another one does it."""
        start = time.perf_counter()
        try:
            self._took(log, log.worker.do(task), start)
        except UnfinishedError as unfinished:
            self._took(log, unfinished.done, start)
            if self.tasks.leave(unfinished):
                return
            if not isinstance(unfinished.cause, DeviceError) or unfinished.rest is None:
                raise unfinished.cause from None
            self._lose(log, unfinished.cause, "lost")
            # All other threads may wait to write behind this task, so this thread sees it done.
            heir = self._heir(unfinished.cause)
            self.tasks.stopwatch.name_lane(heir.worker.name)
            self._carry_out(unfinished.rest, heir)

    def _heir(self, cause: BaseException) -> _Log:
        """A worker that has started; waits while any may still start. Raises `cause` if there is none."""
        with self._changed:
            while not self._stopped:
                here = [log for log in self.logs if log.started and log.lost is None]
                if here:
                    return here[0]
                if all(log.lost is not None for log in self.logs):
                    break
                self._changed.wait(_LOOK)
        raise cause

    def _lose(self, log: _Log, error: DeviceError | UsageError, how: str) -> None:
        """Take note that the worker has stopped. Raises its error if it was the last one."""
        with self._changed:
            log.lost = log.lost or error
            log.note = log.note or f"{how}: {error}"
            self._changed.notify_all()
            if all(one.lost is not None for one in self.logs):
                raise next(one.lost for one in self.logs if one.lost is not None)

    def _took(self, log: _Log, result: TaskResult, start: float) -> None:
        stopped = time.perf_counter()
        self.tasks.stopwatch.add(*result.spans)
        with self._changed:
            log.worked(start, stopped, result.nbytes)
            self.tasks.took(result)

    def _stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self.tasks.stop()

    def _end(self) -> None:
        """Close the workers that are done. One that is still starting is left alone, and will find nothing to do."""
        with self._changed:
            self._stopped = True
            idle = self._idle()
        for log in self.logs:
            if not log.started and log.lost is None:
                log.note = log.note or "had not started when the work was done"
            elif idle:
                with suppress(*([DeviceError] if log.lost is not None else [])):
                    log.worker.close()
