"""Processes that carry out the jobs of a batch side by side, since the threads of one share Python's lock."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection, Pipe
from typing import TYPE_CHECKING, NoReturn

from gpumerge_cli.backends.gpu import presence
from gpumerge_cli.batch.runner import Caller, CarryOut, JobError, StoppedError
from gpumerge_cli.cli.batch_jobs import report_of
from gpumerge_cli.errors import Interrupted
from gpumerge_cli.temporary_files import remove_leftovers, remove_temporaries
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from gpumerge_cli.batch.spec import BatchJob
    from gpumerge_cli.results.run import JobReport

_LOOKS = 0.1
"""Seconds after which a thread that waits for a process looks whether the batch has stopped."""
_GROUP_SIGNALS = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that a terminal sends to all processes of a command. The first process stops the others."""


def may_fork(jobs: Iterable[BatchJob]) -> bool:
    """Whether processes can carry out the jobs: no job may use a GPU or a cluster, and only one thread runs.

    A fork copies only the thread that calls it, and locks that other threads hold would stay locked.
    """
    gpus = presence.is_present()
    for job in jobs:
        given = None if job.job is None else job.job.resources
        if gpus and (given is None or given.backend != "cpu"):
            return False
        if given is not None and given.cluster is not None:
            return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


class Processes:
    """Forked processes, each of which does one job at a time. They end once `close` was called, or with this process.

    A job whose process is killed fails, and its temporary files are removed. Its place does further jobs in this
    process.
    """

    def __init__(self, jobs: Sequence[BatchJob], count: int, carry_out: CarryOut) -> None:
        self._carry_out = carry_out
        self._idle: queue.SimpleQueue[_Process | None] = queue.SimpleQueue()
        self._all: list[_Process] = []
        by_number = {job.number: job for job in jobs}
        for _ in range(count):
            here, there = Pipe()
            number = os.fork()
            if number == 0:
                for other in self._all:
                    other.connection.close()
                here.close()
                _serve(there, by_number, carry_out)
            there.close()
            process = _Process(number, here)
            self._all.append(process)
            self._idle.put(process)

    def do(self, job: BatchJob, memory: int, caller: Caller) -> JobReport:
        """Let an idle process do the job; there is one for each thread that calls. See CarryOut."""
        process = self._idle.get()
        if process is None:
            try:
                return self._carry_out(job, memory, caller)
            finally:
                self._idle.put(None)
        left: _Process | None = None
        try:
            done = process.done(job, memory, caller)
            left = process
            return done
        except JobError:
            left = None if process.connection.closed else process
            raise
        finally:
            self._idle.put(left)

    def close(self) -> None:
        """End the processes, and wait for them. All jobs have ended or were stopped."""
        for process in self._all:
            process.end()


class _Process:
    """A process as the first one sees it."""

    def __init__(self, number: int, connection: Connection) -> None:
        self.connection = connection
        self._number = number
        self._ended = False

    def done(self, job: BatchJob, memory: int, caller: Caller) -> JobReport:
        """The report of a job that the process does. Raises as CarryOut does; then the process may have ended."""
        try:
            self.connection.send((job.number, memory))
            while True:
                while not self.connection.poll(_LOOKS):
                    caller.check()
                kind, *about = self.connection.recv()
                if kind == "advance":
                    caller.advance(*about)
                elif kind == "say":
                    caller.say(*about)
                elif kind == "check":
                    caller.check()
                    self.connection.send(True)
                elif kind == "failed":
                    raise JobError(*about)
                else:
                    report: JobReport = about[0]
                    return report
        except (EOFError, OSError):
            code = self.end()
            remove_leftovers(_files_of(job))  # the process held them locked, and is gone
            why = (
                f"signal {-code} ended its process; if memory was short, run fewer --jobs"
                if code < 0
                else f"its process ended with exit code {code}"
            )
            raise JobError(why, 2, max(0, -code)) from None
        except StoppedError:
            self.end()
            raise

    def end(self) -> int:
        """Close the connection, which stops a job of the process, and wait for the process. Returns its exit code."""
        self.connection.close()
        if self._ended:
            return 0
        self._ended = True
        return os.waitstatus_to_exitcode(os.waitpid(self._number, 0)[1])


def _files_of(job: BatchJob) -> list[str]:
    """The files that the job writes, its report among them."""
    report = report_of(job.options)
    return [name for name in (*job.outputs, *([] if report is None else [report])) if not is_url(name)]


def _serve(connection: Connection, jobs: dict[int, BatchJob], carry_out: CarryOut) -> NoReturn:
    """The whole life of a process: do jobs as they come, until the first process closes the connection or ends."""

    def check() -> None:
        _ask(connection)

    def advance(done: int, total: int) -> None:
        if connection.poll():  # nothing is sent meanwhile, so it was closed
            raise StoppedError
        _tell(connection, "advance", done, total)

    caller = Caller(check, advance, lambda text: _tell(connection, "say", text))
    code = ended_by = 0
    try:
        for number in _GROUP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        while True:
            number, memory = connection.recv()
            try:
                _tell(connection, "done", carry_out(jobs[number], memory, caller))
            except JobError as error:
                _tell(connection, "failed", str(error), error.exit_code)
    except (EOFError, StoppedError):
        pass
    except Interrupted as stopped:
        ended_by = stopped.signal_number
    except BaseException:
        code = 2
    finally:
        remove_temporaries()
        if ended_by:  # the first process reads the signal from the way in which this one ends
            signal.signal(ended_by, signal.SIG_DFL)
            os.kill(os.getpid(), ended_by)
        os._exit(code)


def _tell(connection: Connection, *message: object) -> None:
    """Send a message. Raises StoppedError if the first process has closed the connection."""
    try:
        connection.send(message)
    except OSError:
        raise StoppedError from None


def _ask(connection: Connection) -> None:
    """Return once the first process lets the job go on. Raises StoppedError if the batch has stopped."""
    _tell(connection, "check")
    try:
        connection.recv()
    except (EOFError, OSError):
        raise StoppedError from None
