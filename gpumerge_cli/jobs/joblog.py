"""The log of a batch: a line a job, in GNU parallel's columns and a few more, and what an earlier one says is done.

Jobs are known again by their commands, with absolute paths: a job that was changed is another one. A line is written
whole once its job has ended; the last one of a run that was killed may be torn, and is then cut off.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gpumerge_cli.errors import InputError, OutputError, input_error, output_error
from gpumerge_cli.jobs.spec import Job

if TYPE_CHECKING:
    from gpumerge_cli.jobs.runner import Result

COLUMNS = (
    "Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command",
    "Bytes", "Backend", "Kernel",
)  # fmt: skip
_HEADER = "\t".join(COLUMNS)
_LOCAL = ":"


@dataclass(frozen=True)
class LogEntry:
    """A job that ended. started: seconds since 1970. seconds: that it took. nbytes: of its inputs."""

    number: int
    started: float
    seconds: float
    exit_code: int
    command: str
    nbytes: int = 0
    backend: str = "-"
    kernel: str = "-"

    def line(self) -> str:
        """The entry as a line without its end."""
        return (
            f"{self.number}\t{_LOCAL}\t{self.started:.3f}\t{self.seconds:10.3f}\t0\t0\t{self.exit_code}\t0\t{self.command}"
            f"\t{self.nbytes}\t{self.backend}\t{self.kernel}"
        )

    @classmethod
    def parse(cls, line: str) -> LogEntry:
        """The entry that `line` writes. Raises ValueError."""
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            raise ValueError(f"it has {len(fields)} columns, not {len(COLUMNS)}")
        number, _, started, seconds, _, _, code, _, command, nbytes, backend, kernel = fields
        return cls(int(number), float(started), float(seconds), int(code), command, int(nbytes), backend, kernel)


class LineFile:
    """A file that lines are added to, each whole, by one process at a time.

    path: of a regular file, or of a device or pipe. keep: go on with the lines that are there; otherwise they go.
    begins, what: how such a file begins, and what it is called: what begins otherwise is neither replaced nor gone on
    with. judge: raises InputError for lines, all but a torn last one, for which the same holds.
    Raises OutputError, and InputError for a file that holds something else.
    """

    def __init__(
        self,
        path: str,
        *,
        keep: bool,
        begins: str,
        what: str,
        judge: Callable[[list[str]], None] = lambda lines: None,
    ) -> None:
        self.path = path
        self._begins, self._what = begins.encode(), what
        self.lines: list[str] = []
        """What was there, without a torn last line."""
        flags = os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            regular = not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode)
            self._descriptor = os.open(path, flags | (os.O_RDWR if regular else os.O_WRONLY), 0o666)
        except OSError as error:
            raise output_error(error, path) from None
        try:
            if regular:
                self._take_over(keep, judge)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise output_error(error, path) from None
            raise

    def _take_over(self, keep: bool, judge: Callable[[list[str]], None]) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                "another run writes it", where=self.path, way_out="wait for it, or name another"
            ) from None
        with open(self._descriptor, "rb", closefd=False) as file:
            data = file.read()
        if not (data.startswith(self._begins) or self._begins.startswith(data)):
            raise InputError(f"is no {self._what}", where=f"{self.path}:1", way_out="name another file, or delete it")
        self.lines = _whole_lines(data)
        judge(self.lines)
        os.ftruncate(self._descriptor, data.rfind(b"\n") + 1 if keep else 0)

    def write(self, line: str) -> None:
        """Add a line, given without its end. Raises OutputError; the file then ends with the line before."""
        data = os.fsencode(line) + b"\n"
        left = data
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            if len(left) < len(data):
                size = os.fstat(self._descriptor).st_size
                os.ftruncate(self._descriptor, max(0, size - (len(data) - len(left))))
            raise output_error(error, self.path) from None

    def close(self) -> None:
        """Give the file free; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class JobLog:
    """A log at `path`. resume: go on with the one that is there; otherwise it is replaced, if it is a log of jobs.

    entries: of an earlier run, the last of each command. Raises OutputError, and InputError for a file that is no such
    log.
    """

    def __init__(self, path: str, *, resume: bool) -> None:
        self.entries: dict[str, LogEntry] = {}
        self._file = LineFile(
            path,
            keep=resume,
            begins=f"{_HEADER}\n",
            what="log of jobs",
            judge=lambda lines: self.entries.update(_entries(lines, path)),
        )
        if not resume or not self._file.lines:
            self.entries.clear()
            self._file.write(_HEADER)

    def add(self, result: Result) -> None:
        """Write down that a job has ended. Raises OutputError."""
        entry = LogEntry(
            result.job.number,
            result.started,
            result.seconds,
            result.exit_code,
            result.job.command,
            result.nbytes,
            result.backend,
            result.kernel,
        )
        self._file.write(entry.line())

    def close(self) -> None:
        """Give the file free."""
        self._file.close()


def read_log(path: str) -> dict[str, LogEntry]:
    """The last entry of each command in the log at `path`, which is left as it is; none if there is no such file."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise input_error(error, path) from None
    return _entries(_whole_lines(data), path)


def _whole_lines(data: bytes) -> list[str]:
    """The lines of `data` that have their ends."""
    return [os.fsdecode(line) for line in data.split(b"\n")[:-1]]


def _entries(lines: list[str], path: str) -> dict[str, LogEntry]:
    if lines and lines[0] != _HEADER:
        raise InputError("is no log of jobs", where=f"{path}:1", way_out="name another file, or delete it")
    found = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            entry = LogEntry.parse(line)
        except ValueError as error:
            raise InputError(
                f"is no line of a log of jobs: {error}",
                where=f"{path}:{number}",
                way_out="delete the line, or the file",
            ) from None
        found[entry.command] = entry
    return found


Standing = Literal["done", "failed"]


def standing_of(job: Job, entry: LogEntry | None, *, retry_failed: bool) -> Standing | None:
    """What is still true of an earlier run of the job; None if it is to run.

    Done is a job that is logged as done if no input was written since it began, the output is not older than any, and
    nobody wrote that since it ended. Failed is one that is logged as failed, unless those are to run again.
    """
    if entry is None:
        return None
    if entry.exit_code:
        return None if retry_failed else "failed"
    return "done" if _is_fresh(job, entry) else None


_ROUNDING = 0.001
"""Seconds that a time in the log may be off: it has milliseconds."""


def _is_fresh(job: Job, entry: LogEntry) -> bool:
    """Whether nobody has written an input since the job began, but itself, nor the output since it ended."""
    try:
        output = None if job.output is None else os.stat(job.output)
        if output is not None:
            ended = entry.started + entry.seconds + 2 * _ROUNDING
            if not stat.S_ISREG(output.st_mode) or output.st_mtime > ended:
                return False
        return all(
            one.st_mtime <= entry.started + _ROUNDING and (output is None or one.st_mtime_ns <= output.st_mtime_ns)
            for one in map(os.stat, job.inputs)
            if output is None or not os.path.samestat(one, output)
        )
    except OSError:
        return False
