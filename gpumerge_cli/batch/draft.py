"""Drafts of jobs: each table of a job file, checked by itself, with defaults and variables filled in."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gpumerge_cli.batch.document import Document, Entry, JobTable, Mistake
from gpumerge_cli.batch.expand import Folder, fields_of, variables_in, with_fields, with_variables
from gpumerge_cli.batch.spec import JobCommand, JobOption, JobValue
from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.errors import GpumergeError, UsageError
from gpumerge_cli.formats.naming import read_names
from gpumerge_cli.formats.part_names import FIELD, part_names
from gpumerge_cli.secret_values import conceal
from gpumerge_cli.suggestions import did_you_mean
from gpumerge_cli.units import values_of_switch

JOB_KEYS = ("name", "operation", "inputs", "output")
_PARTS = "parts"
_INPUT_KEYS = {"inputs", "files0-from"}
_FIRST = ("name", "operation", "inputs", "files0-from", _PARTS, "output")
"""Keys that other keys depend on, in the order in which they are read."""
_NO_INPUTS = {"", "-", "/dev/stdin"}
_USUAL_NAMES = {
    **dict.fromkeys(
        ("file", "files", "in", "infile", "infiles", "input", "path", "paths", "source", "sources"), "inputs"
    ),
    **dict.fromkeys(("o", "out", "outfile", "to"), "output"),
    **dict.fromkeys(("action", "cmd", "command", "op"), "operation"),
}
"""Names that other programs have for keys of jobs, each with the key."""


@dataclass
class Draft:
    """A job as its table describes it."""

    number: int
    line: int
    name: str
    sound: bool = True
    """No mistake was found in it so far."""
    operation: str = ""
    options: dict[str, Entry] = field(default_factory=dict)
    """A list of values for each option."""
    inputs: Entry = field(default_factory=lambda: Entry((), 0))
    """Names of files."""
    has_globs: bool = True
    """Whether the names may be globs."""
    output: Entry | None = None
    """The output as a command line has it."""
    outputs: list[Entry] = field(default_factory=list)
    """The output's files, several if it has parts."""
    results: list[Entry] = field(default_factory=list)
    """`outputs`, and files of counts."""
    writes: list[Entry] = field(default_factory=list)
    """All files that the job writes, reports included."""


class Drafting:
    """Makes drafts of the tables of a job file. mistakes: the mistakes found so far."""

    def __init__(self, folder: Folder, operations: Mapping[str, JobCommand], environ: Mapping[str, str]) -> None:
        self.mistakes: list[Mistake] = []
        self.folder = folder
        self.operations = operations
        self._environ = environ
        self._elsewhere: set[str] = set()

    @contextmanager
    def recording(self, draft: Draft, line: int, *, once: bool = False) -> Iterator[None]:
        """Record an error that the body raises as a mistake of this line; then the draft is not sound.

        once: it is not about this line, so it is a mistake only of the first line that it is met at.
        """
        try:
            yield
        except GpumergeError as error:
            what = f"{error.where}: {error.what}" if error.where else error.what
            draft.sound = False
            if not once or what not in self._elsewhere:
                self.mistakes.append(Mistake(line, what, error.way_out))
            if once:
                self._elsewhere.add(what)

    def drafts(self, document: Document) -> list[Draft]:
        """The drafts of all jobs that have an operation."""
        self.mistakes += document.mistakes
        shared = Draft(0, document.defaults.line, "")
        defaults = self._entries(document.defaults, shared)
        every = {key for operation in self.operations.values() for key in operation.options}
        for key, entry in defaults.items():
            with self.recording(shared, entry.line):
                if key == "name":
                    raise UsageError("a name among the defaults", way_out="name every job by itself")
                _check_key(key, every)
        drafts = [Draft(number, table.line, str(number), shared.sound) for number, table in enumerate(document.jobs, 1)]
        named: dict[str, Draft] = {}
        for draft, table in zip(drafts, document.jobs, strict=True):
            self._fill(draft, table, defaults)
            first = named.setdefault(draft.name, draft)
            with self.recording(draft, table.entries.get("name", table).line):
                if first is not draft:
                    message = f"the job of line {first.line} is called {draft.name} too"
                    raise UsageError(message, way_out="rename one of them")
        return [draft for draft in drafts if draft.operation]

    def _entries(self, table: JobTable, draft: Draft) -> dict[str, Entry]:
        """The entries by the names of options, with variables replaced. Entries with mistakes are left out."""
        found: dict[str, Entry] = {}
        for written, entry in table.entries.items():
            key = written.replace("_", "-")
            with self.recording(draft, entry.line):
                if key in found:
                    raise UsageError(f"{written} is given twice", way_out=f"leave that or {key} out")
                found[key] = replace(entry, value=self._with_variables(entry.value))
        return found

    def _with_variables(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._with_variables(each) for each in value]
        if not isinstance(value, str):
            return value
        text = with_variables(value, self._environ)
        for name in variables_in(value):
            conceal(f"${{{name}}}", self._environ[name])
        try:
            possible = b"\0" not in os.fsencode(text)
        except UnicodeEncodeError:
            possible = False
        if not possible:
            raise UsageError(f"{text!r} cannot be text on a command line", way_out="leave NUL and lone surrogates out")
        return text

    def _fill(self, draft: Draft, table: JobTable, defaults: Mapping[str, Entry]) -> None:
        own = self._entries(table, draft)
        given = {written.replace("_", "-") for written in table.entries}
        entries = {**defaults, **own}
        # A default replaces neither a wrong value nor the other way to name inputs.
        for key in (given | _INPUT_KEYS if given & _INPUT_KEYS else given) - own.keys():
            entries.pop(key, None)
        for key in (*(key for key in _FIRST if key in entries), *(key for key in entries if key not in _FIRST)):
            with self.recording(draft, entries[key].line):
                self._take(draft, key, entries[key], is_own=key in own)
        if draft.operation:
            for key, values in self.operations[draft.operation].defaults.items():
                draft.options.setdefault(key, Entry(values, draft.line))
        with self.recording(draft, table.line):
            # A wrong value is not reported as missing, too.
            if draft.sound and not draft.operation:
                raise UsageError("the job has no operation", way_out=f"use {', '.join(self.operations)}")
            if draft.sound and not draft.inputs.value:
                raise UsageError("the job has no inputs", way_out="write inputs = [...], names or globs")
            if draft.sound and draft.output is None and self.operations[draft.operation].writes:
                raise UsageError("the job has no output", way_out="write output = FILE")

    def _take(self, draft: Draft, key: str, entry: Entry, *, is_own: bool) -> None:
        """Put a value into the draft. is_own: the job itself has it, not the defaults."""
        operation = self.operations.get(draft.operation)
        if key == "name":
            if not isinstance(entry.value, str) or not entry.value or not entry.value.isprintable():
                raise UsageError(f"{entry.value!r} is not a name", way_out="write letters, digits and spaces")
            draft.name = entry.value
        elif key == "operation":
            if not isinstance(entry.value, str) or entry.value not in self.operations:
                way_out = did_you_mean(str(entry.value), self.operations) or f"use {', '.join(self.operations)}"
                raise UsageError(f"there is no operation {entry.value!r}", way_out=way_out)
            draft.operation = entry.value
        elif key in _INPUT_KEYS:
            self._take_inputs(draft, key, entry)
        elif operation is None:
            _check_key(key, {name for each in self.operations.values() for name in each.options})
        elif key == "output" and operation.writes:
            if not isinstance(entry.value, str):
                raise UsageError(f"output {entry.value!r} is not a name", way_out="write the name of a file")
            self._take_output(draft, entry)
        elif key == "output" and is_own:
            raise UsageError(f"{draft.operation} writes no output", way_out="leave output out")
        elif key in operation.options:
            self._take_option(draft, key, entry, operation.options[key])
        elif is_own:
            _check_key(key, operation.options, operation.reserved)

    def _take_inputs(self, draft: Draft, key: str, entry: Entry) -> None:
        if draft.inputs.value:
            raise UsageError("inputs are named by inputs already", way_out="leave inputs or files0-from out")
        names = [entry.value] if isinstance(entry.value, str) else entry.value
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise UsageError(
                f"{key} is not a list of names", way_out='write for example inputs = ["a.txt", "more/*.txt"]'
            )
        names = [with_fields(name, fields_of(draft.name, None)) for name in names]
        if key == "files0-from":
            self._keep(names[0])
            names = read_names(self.folder.path(names[0]))
            draft.has_globs = False
        for name in _NO_INPUTS & {*names}:
            raise UsageError(f"{name!r} is named, but a job reads files", way_out="name a file")
        draft.inputs = replace(entry, value=tuple(names))

    def _take_output(self, draft: Draft, entry: Entry) -> None:
        parts = draft.options.get(_PARTS)
        draft.output = replace(entry, value=self._filled(draft, entry.value, part=FIELD if parts else None))
        names: Sequence[str] = ()
        if parts is None:
            names = part_names(draft.output.value, None)
        elif str(parts.value[0]).isdecimal() and int(parts.value[0]):  # reading the options reports any other
            names = part_names(draft.output.value, int(parts.value[0]))
        draft.outputs = [replace(entry, value=name) for name in names]
        draft.results += draft.outputs
        draft.writes += draft.outputs

    def _take_option(self, draft: Draft, key: str, entry: Entry, option: JobOption) -> None:
        values = option_values(key, entry.value, option)
        if values is None:
            return
        if option.file is not None:
            values = [self._filled(draft, str(each)) for each in values]
        for name in values if option.file in ("written", "report") else ():
            draft.writes.append(replace(entry, value=name))
            if option.file == "written":
                draft.results.append(replace(entry, value=name))
        for name in values if option.file == "read" else ():
            self._keep(str(name))
        draft.options[key] = replace(entry, value=values)

    def _keep(self, name: str) -> None:
        """Note that a file is read before any job runs, so that no job may write it."""
        self.folder.refuse_replaced(name)
        self.folder.taken.setdefault(self.folder.real(name), "read before any job runs")

    def _filled(self, draft: Draft, text: str, **more: str | None) -> str:
        """`text` with its fields filled in. Matches of a glob give no fields: they may be other files in the next run.

        more: further fields; a field that is None does not exist.
        """
        first = next(iter(draft.inputs.value), "x")  # any name will do if the inputs are wrong
        is_glob = draft.has_globs and self.folder.is_glob(first)
        known = {name: value for name, value in more.items() if value is not None}
        return with_fields(text, fields_of(draft.name, None if is_glob else first) | known)


def option_values(key: str, value: Any, option: JobOption) -> list[JobValue] | None:
    """The values of an option of a job; None if the value turns it off. Raises UsageError for one of another type."""
    if option.bare and isinstance(value, bool):
        if not value:
            return None
        value = option.bare
    values = value if option.kind == "list" and isinstance(value, list) else [value]
    if option.kind == "switch":
        if not isinstance(value, bool) and value not in option.words:
            what = f"{key} is {values_of_switch(option.words)}, not {_shown(value)}"
            raise UsageError(what, way_out=f"write {key} = true")
    elif any(isinstance(each, bool) or not isinstance(each, str | int | float) for each in values):
        raise UsageError(f"{key} takes a value, not {_shown(value)}", way_out="write a number or a text")
    return values


def _check_key(key: str, options: Iterable[str], reserved: Collection[str] = ()) -> None:
    if key in reserved:
        raise UsageError(
            f"{key} is not an option of jobs", way_out="leave it out; gpumerge batch has options of its own"
        )
    if key not in (*JOB_KEYS, *options):
        usual = _USUAL_NAMES.get(key.strip("-").casefold())
        near = f"did you mean {usual}?" if usual else did_you_mean(key, {*JOB_KEYS, *options})
        raise UsageError(f"there is no key {key}", way_out=near or "see gpumerge batch --help")


def _shown(value: Any) -> str:
    return {bool: str(value).lower(), list: "a list", dict: "a table"}.get(type(value), f"{value!r}")
