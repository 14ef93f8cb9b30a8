"""The log of a batch: a line for each job, in GNU parallel's columns and a few more, from which a batch can resume.

A job is identified by its command, with absolute paths: a changed job is a different job. A line is written whole
once its job has ended. The last line of a run that was killed may be torn; it is then removed.
"""

from __future__ import annotations

import os
import stat
from typing import Literal

from gpumerge_cli.batch.spec import BatchJob, Result
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError, input_error
from gpumerge_cli.line_file import LineFile, whole_lines

LOG_COLUMNS = (
    "Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command",
    "Bytes", "Backend", "Kernel",
)  # fmt: skip
_HEADER = "\t".join(LOG_COLUMNS)
_ROUNDING = 0.001
"""The rounding of times in the log, in seconds."""

Standing = Literal["done", "failed"]


@dataclass(frozen=True)
class LogEntry:
    """A job that ended."""

    number: int
    started: float
    """Seconds since 1970."""
    seconds: float
    """Its duration."""
    exit_code: int
    command: str
    nbytes: int = 0
    """Bytes of its inputs."""

    @classmethod
    def parse(cls, line: str) -> LogEntry:
        """The entry on a line of a log. Raises ValueError."""
        number, _, started, seconds, _, _, code, _, command, nbytes, _, _ = line.split("\t")
        return cls(int(number), float(started), float(seconds), int(code), command, int(nbytes))


class JobLog(LineFile):
    """A log at `path`. resume: continue the log that is there; otherwise it is replaced, if it is a log of jobs.

    entries: see read_log; empty without resume. Raises OutputError, and InputError for another file.
    """

    def __init__(self, path: str, *, resume: bool) -> None:
        entries = read_log(path)
        super().__init__(path, keep=resume, begins=f"{_HEADER}\n", what="log of jobs")
        self.entries = entries if resume else {}
        if not os.fstat(self._file.fileno()).st_size:
            self.write(_HEADER)

    def add(self, result: Result) -> None:
        """Add the line of a job that has ended. Raises OutputError."""
        job = result.job
        ran = f"{result.started:.3f}\t{result.seconds:10.3f}\t0\t0\t{result.exit_code}\t{result.signal}"
        self.write(f"{job.number}\t:\t{ran}\t{job.command}\t{result.nbytes}\t{result.backend}\t{result.kernel}")


def read_log(path: str) -> dict[str, LogEntry]:
    """The last entry of each command in the log at `path`; empty if there is no such file. Raises InputError."""
    found: dict[str, LogEntry] = {}
    try:
        lines = os.fsdecode(whole_lines(path)).split("\n") if os.path.isfile(path) else []
    except OSError as error:
        raise input_error(error, path) from None
    for number, line in enumerate(lines[:-1], 1):
        try:
            if number == 1 and line != _HEADER:
                raise ValueError
            if number > 1:
                entry = LogEntry.parse(line)
                found[entry.command] = entry
        except ValueError:
            where, way_out = f"{path}:{number}", "delete the line, or name another file"
            raise InputError("is not a log of jobs", where=where, way_out=way_out) from None
    return found


def standing_of(job: BatchJob, entry: LogEntry | None, *, retry_failed: bool) -> Standing | None:
    """The still valid result of an earlier run of the job; None if the job must run.

    "done": the log has it as done, no input was changed since it began, and the output is not older than any input and
    was not changed since the job ended. "failed": the log has it as failed, and failed jobs do not run again.
    """
    if entry is None:
        return None
    if entry.exit_code:
        return None if retry_failed else "failed"
    return "done" if _is_fresh(job, entry) else None


def _is_fresh(job: BatchJob, entry: LogEntry) -> bool:
    """Whether no other program has changed or replaced an input since the job began, or the output since it ended."""
    try:
        outputs = [os.stat(name) for name in job.outputs]
        ended = entry.started + entry.seconds + 2 * _ROUNDING
        if not all(stat.S_ISREG(output.st_mode) and changed_at(output) <= ended for output in outputs):
            return False
        return all(
            changed_at(one) <= entry.started + _ROUNDING
            and all(one.st_mtime_ns <= output.st_mtime_ns for output in outputs)
            for one in map(os.stat, job.inputs)
            if not any(os.path.samestat(one, output) for output in outputs)
        )
    except OSError:
        return False


def changed_at(status: os.stat_result) -> float:
    """The time of the last change of a file, or of its name, in seconds since 1970.

    Programs set the time of a write as they like: copies and archives keep an old one. They cannot set st_ctime.
    """
    return max(status.st_mtime, status.st_ctime)
