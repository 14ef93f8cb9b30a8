"""Jobs: what they may say, and what they are once they were judged."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from gpumerge_cli.jobs.document import Entry, Table

OWN_KEYS = ("name", "operation", "inputs", "output")


class Task(Protocol):
    """A command line, parsed. memory, threads: bytes and host threads that it asks for, None if the batch says."""

    @property
    def memory(self) -> int | None: ...
    @property
    def threads(self) -> int | None: ...


@dataclass(frozen=True)
class Option:
    """An option that jobs may give by its long name.

    kind: whether it is only said, takes a value, or takes one each time it is given. off: the long name that takes it
    back, if there is one. is_path: its value is the name of a file or folder.
    """

    kind: Literal["switch", "value", "list"]
    off: str | None = None
    is_path: bool = False


@dataclass(frozen=True)
class Command:
    """What a job may do. writes: it has an output. parse: what becomes of the words behind its name.

    set: given the options that a job names, the values of others that settings give it; paths are absolute. Raises
    UsageError. parse raises it for words that do not go together, InputError for files that it has to look into.
    """

    options: Mapping[str, Option]
    writes: bool
    parse: Callable[[Sequence[str]], Task]
    set: Callable[[Collection[str]], Mapping[str, Any]] = lambda given: {}


@dataclass(frozen=True)
class Job:
    """A job that can run once those it comes after have.

    number: its place in the file, from 1. line: where it begins there. inputs, output: paths as they are opened.
    words: what stands behind "gpumerge OPERATION" on a command line that does the same. command: that line for a shell,
    with absolute paths and what settings add. after: numbers of the jobs that make its inputs. nbytes: of its inputs,
    as far as they are there. task: None where that needs a look into files that are not there yet.
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


@dataclass
class Draft:
    """A job on its way. options: with variables and fields replaced. listed: inputs as written, and their lines.
    names: the file that names its inputs, and its line. lost: keys whose values are wrong, in whole or in
    part, and left out."""

    number: int
    table: Table
    name: str
    operation: str = ""
    options: dict[str, Entry] = field(default_factory=dict)
    listed: list[tuple[str, int]] = field(default_factory=list)
    inputs: list[tuple[str, int]] = field(default_factory=list)
    names: tuple[str, int] | None = None
    output: Entry | None = None
    lost: set[str] = field(default_factory=set)

    @property
    def first_input(self) -> str | None:
        return self.listed[0][0] if self.listed else None


def quoted(word: str) -> str:
    """`word` for a shell, on one line and without tabs."""
    if word.isprintable():
        return shlex.quote(word)
    return f"$'{''.join(map(_escaped, word))}'"


def _escaped(letter: str) -> str:
    if letter.isprintable() and letter not in "'\\":
        return letter
    # A surrogate stands for a byte of a name, or else cannot be in one.
    how = "surrogateescape" if "\udc80" <= letter <= "\udcff" else "surrogatepass"
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", how))


def words_of(draft: Draft, commands: Mapping[str, Command], path: Callable[[str], str]) -> list[str]:
    """What stands behind the operation on the command line; `path` makes paths of names."""
    options = commands[draft.operation].options if draft.operation else {}
    words = []
    for key, entry in draft.options.items():
        option = options[key]
        if option.kind == "switch":
            words += [f"--{key}"] if entry.value else [f"--{option.off}"] if option.off else []
        else:
            values = entry.value if isinstance(entry.value, list) else [entry.value]
            words += [f"--{key}={path(str(value)) if option.is_path else value}" for value in values]
    if draft.output is not None:
        words.append(f"--output={path(draft.output.value)}")
    return [*words, "--", *(path(name) for name, _ in draft.inputs)]
