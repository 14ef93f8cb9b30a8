"""Jobs: what they may say, and what they are once they were judged."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

State = Literal["done", "skipped", "failed", "left"]


class Task(Protocol):
    """A command line, parsed. memory, threads: bytes and host threads that it asks for, None if the batch says."""

    @property
    def memory(self) -> int | None: ...
    @property
    def threads(self) -> int | None: ...


@dataclass(frozen=True)
class JobOption:
    """An option that jobs may give by its long name.

    kind: whether it is only said, takes a value, or takes one each time it is given. off: the long name that takes it
    back, if there is one. file: what its value names: a file that the job reads or writes, or any place.
    """

    kind: Literal["switch", "value", "list"]
    off: str | None = None
    file: Literal["read", "written", "place"] | None = None


@dataclass(frozen=True)
class Operation:
    """What a job may do. writes: it has an output. parse: the task of the words behind the operation's name.

    reserved: options of the operation that a job may not say; the batch says most of them for all of its jobs.
    settings: given the options that a job names, the values of others that settings give it; paths are absolute. Raises
    UsageError. parse raises it for words that do not go together, InputError for files that it has to look into.
    """

    options: Mapping[str, JobOption]
    writes: bool
    parse: Callable[[Sequence[str]], Task]
    settings: Callable[[Collection[str]], Mapping[str, Any]] = lambda given: {}
    reserved: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Job:
    """A job that can run once those it comes after have.

    number: its place in the file, from 1. line: where it begins there. inputs, output: paths as they are opened.
    words: what stands behind "gpumerge OPERATION" on a command line that does the same. command: that line for a shell,
    with absolute paths and what settings add. after: numbers of the jobs that make its inputs. nbytes: of its inputs,
    as far as they are there. task: None if making it needs a look into files that are not there yet.
    """

    number: int
    name: str
    line: int
    operation: str
    inputs: tuple[str, ...]
    output: str | None
    words: tuple[str, ...]
    command: str
    after: frozenset[int] = frozenset()
    nbytes: int = 0
    task: Task | None = None


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
class Limits:
    """What all jobs may have together: jobs that run at a time, bytes of memory, host threads (None for no limit)."""

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
