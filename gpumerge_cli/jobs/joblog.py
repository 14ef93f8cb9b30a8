"""The log of a batch: a line for each job, in GNU parallel's columns and a few more, from which a batch can resume.

A job is identified by its command, with absolute paths: a job that was changed is another one. A line is written whole
once its job has ended. The last line of a run that was killed may be torn; it is then cut off.
"""

from __future__ import annotations

import fcntl
import os
import stat
from dataclasses import dataclass
from typing import Literal

from gpumerge_cli.errors import InputError, OutputError, input_error, output_error
from gpumerge_cli.jobs.spec import Job, Result

COLUMNS = (
    "Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command",
    "Bytes", "Backend", "Kernel",
)  # fmt: skip
_HEADER = "\t".join(COLUMNS)
_ROUNDING = 0.001
"""The rounding of times in the log, in seconds."""

Standing = Literal["done", "failed"]


@dataclass(frozen=True)
class LogEntry:
    """A job that ended. started: seconds since 1970. seconds: its duration. nbytes: of its inputs."""

    number: int
    started: float
    seconds: float
    exit_code: int
    command: str
    nbytes: int = 0

    @classmethod
    def parse(cls, line: str) -> LogEntry:
        """The entry on a line of a log. Raises ValueError."""
        number, _, started, seconds, _, _, code, _, command, nbytes, _, _ = line.split("\t")
        return cls(int(number), float(started), float(seconds), int(code), command, int(nbytes))


class LineFile:
    """A file that lines are added to, each whole, by one process at a time.

    path: a regular file, device or pipe. keep: keep the whole lines of the file; otherwise they are removed. begins,
    what: the beginning of such a file, and its name in messages; a file that begins otherwise is left alone. Raises
    OutputError, and InputError for a file that holds something else.
    """

    def __init__(self, path: str, *, keep: bool, begins: str, what: str) -> None:
        self.path = path
        try:
            self._file = open(path, "ab", buffering=0)  # noqa: SIM115 - close() closes it
            try:
                if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    with open(path, "rb") as file:
                        beginning = file.read(len(os.fsencode(begins)))
                    if not os.fsencode(begins).startswith(beginning):
                        way_out = "name another file, or delete it"
                        raise InputError(f"is no {what}", where=f"{path}:1", way_out=way_out)
                    self._file.truncate(len(_whole_lines(path)) if keep else 0)
            except BaseException:
                self.close()
                raise
        except BlockingIOError:
            raise OutputError("another run writes it", where=path, way_out="wait for it, or name another") from None
        except OSError as error:
            raise output_error(error, path) from None

    def write(self, line: str) -> None:
        """Add a line, given without its end. Raises OutputError."""
        left = os.fsencode(line) + b"\n"
        try:
            while left:
                left = left[self._file.write(left) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise output_error(error, self.path) from None

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


class JobLog(LineFile):
    """A log at `path`. resume: continue the log that is there; otherwise it is replaced, if it is a log of jobs.

    entries: see read_log; empty without resume. Raises OutputError, and InputError for a file that is no such log.
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
        ran = f"{result.started:.3f}\t{result.seconds:10.3f}\t0\t0\t{result.exit_code}\t0"
        self.write(f"{job.number}\t:\t{ran}\t{job.command}\t{result.nbytes}\t{result.backend}\t{result.kernel}")


def read_log(path: str) -> dict[str, LogEntry]:
    """The last entry of each command in the log at `path`; empty if there is no such file. Raises InputError."""
    found: dict[str, LogEntry] = {}
    try:
        lines = os.fsdecode(_whole_lines(path)).split("\n") if os.path.isfile(path) else []
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
            raise InputError("is no log of jobs", where=where, way_out=way_out) from None
    return found


def _whole_lines(path: str) -> bytes:
    """The whole lines of a file, without a torn last one. Raises OSError."""
    with open(path, "rb") as file:
        data = file.read()
    return data[: data.rfind(b"\n") + 1]


def standing_of(job: Job, entry: LogEntry | None, *, retry_failed: bool) -> Standing | None:
    """The result of an earlier run of the job that still holds; None if the job is to run.

    "done": the log has it as done, no input was written since it began, and the output is not older than any input and
    was not written since the job ended. "failed": the log has it as failed, and failed jobs are not to run again.
    """
    if entry is None:
        return None
    if entry.exit_code:
        return None if retry_failed else "failed"
    return "done" if _is_fresh(job, entry) else None


def _is_fresh(job: Job, entry: LogEntry) -> bool:
    """Tell if no other program has written an input since the job began, or the output since it ended."""
    try:
        outputs = [os.stat(name) for name in job.outputs]
        ended = entry.started + entry.seconds + 2 * _ROUNDING
        if not all(stat.S_ISREG(output.st_mode) and output.st_mtime <= ended for output in outputs):
            return False
        return all(
            one.st_mtime <= entry.started + _ROUNDING
            and all(one.st_mtime_ns <= output.st_mtime_ns for output in outputs)
            for one in map(os.stat, job.inputs)
            if not any(os.path.samestat(one, output) for output in outputs)
        )
    except OSError:
        return False
