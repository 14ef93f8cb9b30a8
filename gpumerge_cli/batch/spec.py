"""Jobs as plain values: their options, the judged jobs, and their results."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.job import Job

State = Literal["done", "skipped", "failed", "left"]


@dataclass(frozen=True)
class JobOption:
    """An option that jobs may give by its long name.

    kind: a switch without a value, an option with one value, or an option that may be given again. off: the long name
    that takes it back, if any. file: its value names a file that the job reads, writes items to or tells of its work
    in, or any place. bare: the value of an option that may be given without one, as a job gives it by `true`.
    """

    kind: Literal["switch", "value", "list"]
    off: str | None = None
    file: Literal["read", "written", "report", "place"] | None = None
    bare: str = ""


@dataclass(frozen=True)
class JobCommand:
    """An operation of jobs. writes: it has an output.

    parse: makes a job of options and inputs, with paths as they are opened. Options are lists of values by the long
    names that the job has for them, the output among them; a switch has True or False. parse raises UsageError for a
    wrong value and for options that contradict each other, InputError for files that it has to look into.
    settings: called with the options that a job names, gives the settings of other options, with absolute paths; raises
    UsageError. reserved: options that a job may not have; the batch has most of them for all of its jobs.
    defaults: values of options for jobs that do not name these, with absolute paths.
    """

    options: Mapping[str, JobOption]
    writes: bool
    parse: Callable[[Mapping[str, Sequence[Any]], Sequence[str]], Job]
    settings: Callable[[Collection[str]], Mapping[str, Any]] = lambda given: {}
    reserved: frozenset[str] = frozenset()
    defaults: Mapping[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchJob:
    """A job of a batch, which can run once the jobs that make its inputs have run.

    number: its place in the file, from 1. line: its first line there. inputs, outputs: paths as they are opened, files
    of counts among the outputs. options: as JobCommand.parse takes them. command: a command line for a shell that does
    the same, with absolute paths and settings. after: numbers of the jobs that make its inputs. nbytes: of the inputs
    that exist. job: None if making it needs a look into files that do not exist yet.
    """

    number: int
    name: str
    line: int
    operation: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    options: Mapping[str, Sequence[Any]]
    command: str
    after: frozenset[int] = frozenset()
    nbytes: int = 0
    job: Job | None = None


@dataclass(frozen=True)
class Result:
    """The result of a job.

    state: "skipped" if an earlier run had done it; "left" if it never began because another job failed. exit_code,
    error: those that the job's command line would have ended with. started: seconds since 1970, 0 if it did not run.
    seconds: its duration. nbytes: of its inputs, 0 if it failed or did not run. backend, kernel: those used, "-" for
    none. report: None if it failed or did not run, and after it was told.
    """

    job: BatchJob
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
class Limits:
    """The limits of all jobs together: jobs at a time, bytes of memory, host threads (None for no limit)."""

    at_once: int
    memory: int
    threads: int | None = None


def quoted(word: str) -> str:
    """`word` for a shell, on one line and without tabs."""
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(letter: str) -> str:
    if letter.isprintable() and letter not in "'\\":
        return letter
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))
