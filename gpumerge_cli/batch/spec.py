"""Jobs as plain values: their options, the checked jobs, and their results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.job import Job

if TYPE_CHECKING:
    from gpumerge_cli.results.run import JobReport

FileUse = Literal["read", "written", "report", "place"]
JobValue = str | bool | int | float
"""A value of an option as a job file has it, or a setting; only a switch has True or False."""
JobState = Literal["done", "skipped", "failed", "left"]


@dataclass(frozen=True)
class JobOption:
    """An option that jobs may give by its long name."""

    kind: Literal["switch", "value", "list"]
    """A switch without a value, an option with one value, or an option that may be given again."""
    off: str | None = None
    """The long name of the option that turns it off, if there is one."""
    file: FileUse | None = None
    """Whether its value names a file: one that the job reads, one that it writes items to, one for a report of its
    work, or any path."""
    bare: str = ""
    """The value of an option that may be given without one, as a job gives it by `true`."""
    words: tuple[str, ...] = ()
    """The words that a switch takes in place of `true`."""


@dataclass(frozen=True)
class JobCommand:
    """An operation of jobs."""

    options: Mapping[str, JobOption]
    writes: bool
    """Whether it has an output."""
    parse: Callable[[Mapping[str, Sequence[JobValue]], Sequence[str]], Job]
    """Makes a job of options and inputs, with paths as they are opened. Options are lists of values by the long names
    that the job has for them, the output among them. Raises UsageError for a wrong value and for options that
    contradict each other, InputError for files that it has to read."""
    settings: Callable[[Collection[str]], Mapping[str, Sequence[JobValue]]] = lambda given: {}
    """Takes the options that a job names, and gives the settings of other options, with absolute paths. Raises
    UsageError."""
    is_setting: Callable[[str], bool] = lambda where: False
    """Whether the place of an error is that of a setting, which holds for other jobs, too."""
    reserved: frozenset[str] = frozenset()
    """Options that a job may not have; the batch has most of them for all of its jobs."""
    defaults: Mapping[str, Sequence[JobValue]] = field(default_factory=dict)
    """Values of options for jobs that do not name these, with absolute paths."""


@dataclass(frozen=True)
class BatchJob:
    """A job of a batch, which can run once the jobs that make its inputs have run."""

    number: int
    """Its position in the file, from 1."""
    name: str
    line: int
    """Its first line in the file."""
    operation: str
    inputs: tuple[str, ...]
    """Paths as they are opened."""
    outputs: tuple[str, ...]
    """Paths as they are opened, files of counts included."""
    options: Mapping[str, Sequence[JobValue]]
    """As JobCommand.parse takes them."""
    command: str
    """A command line for a shell that does the same, with absolute paths and settings."""
    after: frozenset[int] = frozenset()
    """Numbers of the jobs that make its inputs."""
    nbytes: int = 0
    """Bytes of the inputs that exist."""
    job: Job | None = None
    """None if making it needs files that do not exist yet."""


@dataclass(frozen=True)
class Result:
    """The result of a job."""

    job: BatchJob
    state: JobState
    """"skipped" if an earlier run had done it; "left" if it never began because another job failed."""
    exit_code: int = 0
    """The exit code of the job's command line."""
    error: str = ""
    """The message of the job's command line."""
    signal: int = 0
    """The number of the signal that ended the job's process; 0 for none."""
    started: float = 0.0
    """Seconds since 1970; 0 if it did not run."""
    seconds: float = 0.0
    """Its duration."""
    nbytes: int = 0
    """Bytes of its inputs; 0 if it failed or did not run."""
    backend: str = "-"
    """The backend that was used; "-" for none."""
    kernel: str = "-"
    """The kernel that was used; "-" for none."""
    report: JobReport | None = None
    """None if the job failed or did not run, and once the result was reported."""


@dataclass(frozen=True)
class Limits:
    """The limits of all jobs together: jobs at a time, bytes of memory, host threads (None for no limit)."""

    at_once: int
    memory: int
    threads: int | None = None
