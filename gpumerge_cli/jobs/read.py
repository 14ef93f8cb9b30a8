"""A job file judged as a whole, every mistake with its line, before anything runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gpumerge_cli.errors import GpumergeError, UsageError
from gpumerge_cli.jobs.blame import parsed
from gpumerge_cli.jobs.document import Entry, Mistake, Table, did_you_mean, read_document
from gpumerge_cli.jobs.expand import Folder, fields_of, with_fields, with_variables
from gpumerge_cli.jobs.files import Files
from gpumerge_cli.jobs.spec import OWN_KEYS, Command, Draft, Job, Option, quoted, words_of


def read_jobs(
    data: bytes,
    base: str,
    commands: Mapping[str, Command],
    *,
    environ: Mapping[str, str] = os.environ,
    taken: Mapping[str, str] | None = None,
    memory: int | None = None,
    threads: int | None = None,
) -> tuple[list[Job], list[Mistake]]:
    """The jobs of a job file, and everything that is wrong with it, in the order of its lines.

    base: the folder that its paths are relative to. commands: by operation. taken: files that no job may write, by
    their real path: what they are. memory, threads: bytes and host threads for all jobs at once.
    """
    reading = _Reading(base, commands, environ)
    document = read_document(data)
    reading.mistakes += document.mistakes
    drafts = reading.drafts(document.defaults, document.jobs)
    files = Files(reading.folder, taken or {}, reading.mistakes)
    for draft in drafts:
        if draft.names is not None:
            files.keeps(*draft.names, "a list of names")
        if "random-source" in draft.options:
            salt = draft.options["random-source"]
            files.keeps(str(salt.value), salt.line, "what a hash begins with")
    for draft in drafts:
        written = [(draft.output.value, draft.output.line)] if draft.output else []
        written += [(entry.value, entry.line) for key, entry in draft.options.items() if key == "report"]
        files.writes(draft.number, draft.name, written)
        reading.folder.hidden.update(map(reading.folder.real, [name for name, _ in written[bool(draft.output) :]]))
    reading.folder.hidden.update(taken or {})
    to_come = [os.path.normpath(draft.output.value) for draft in drafts if draft.output]
    for draft in drafts:
        reading.match(draft, to_come)
    jobs = []
    for draft in drafts:
        after, nbytes, found = files.reads(draft.number, draft.inputs)
        output = draft.output.value if draft.output else None
        files.judge_replaced(draft.number, [name for name, _ in draft.inputs], draft.table.line)
        words = tuple(words_of(draft, commands, reading.folder.path)) if draft.operation else ()
        absolute = words_of(
            reading.with_settings(draft), commands, lambda name: os.path.abspath(reading.folder.path(name))
        )
        jobs.append(
            Job(
                draft.number, draft.name, draft.table.line, draft.operation,
                tuple(reading.folder.path(name) for name, _ in draft.inputs),
                None if output is None else reading.folder.path(output),
                words,
                " ".join(map(quoted, ("gpumerge", draft.operation, *absolute))),
                frozenset(after), nbytes,
            )
        )  # fmt: skip
        if draft.inputs and draft.operation:
            sees_all = found and not after
            task, mistakes = parsed(draft, commands, reading.folder, sees_all=sees_all, memory=memory, threads=threads)
            jobs[-1] = replace(jobs[-1], task=task)
            reading.mistakes += mistakes
    files.judge_cycles({job.number: job.after for job in jobs}, {d.number: (d.name, d.table.line) for d in drafts})
    return jobs, sorted(dict.fromkeys(reading.mistakes), key=lambda mistake: mistake.line)


class _Reading:
    """A job file as far as it was judged."""

    def __init__(self, base: str, commands: Mapping[str, Command], environ: Mapping[str, str]) -> None:
        self.folder = Folder(base)
        self.mistakes: list[Mistake] = []
        self._commands = commands
        self._environ = environ

    def drafts(self, defaults: Table, tables: Sequence[Table]) -> list[Draft]:
        every = {key for command in self._commands.values() for key in command.options}
        shared = self._entries(defaults, every)
        if "name" in shared:
            self._wrong(shared.pop("name").line, "a name among the defaults", "name every job by itself")
        drafts = [self._draft(number, table, shared) for number, table in enumerate(tables, 1)]
        named: dict[str, Draft] = {}
        for draft in drafts:
            first = named.setdefault(draft.name, draft)
            if first is not draft:
                line = draft.table.entries.get("name", Entry("", draft.table.line)).line
                self._wrong(
                    line, f"the job of line {first.table.line} is called {draft.name} too", "rename one of them"
                )
        return drafts

    def _draft(self, number: int, table: Table, shared: Mapping[str, Entry]) -> Draft:
        draft = Draft(number, table, str(number))
        told = self._value_of(table.entries, "operation") or self._value_of(shared, "operation")
        if told is None:
            self._wrong(table.line, "the job has no operation", f"use {', '.join(self._commands)}")
        elif not isinstance(told.value, str) or told.value not in self._commands:
            way_out = did_you_mean(str(told.value), list(self._commands))
            self._wrong(told.line, f"operation {told.value!r} is none", way_out)
        else:
            draft.operation = told.value
        options = self._commands[draft.operation].options if draft.operation else {}
        known = set(options) if options else {key for command in self._commands.values() for key in command.options}
        own = self._entries(table, known)
        entries = {key: entry for key, entry in shared.items() if key in known or key in OWN_KEYS} | own
        for key, entry in entries.items():
            values = entry.value if isinstance(entry.value, list) else [entry.value]
            left = [(value, entry.line_of(at)) for at, value in enumerate(values) if value is not _UNKNOWN]
            if len(left) < len(values):
                draft.lost.add(key)
                kept = [value for value, _ in left] or _UNKNOWN
                entries[key] = replace(entry, value=kept, lines=tuple(line for _, line in left))
        name = entries.pop("name", None)
        if name is not None:
            if name.value is _UNKNOWN:
                pass
            elif isinstance(name.value, str) and name.value and name.value.isprintable():
                draft.name = name.value
            else:
                self._wrong(name.line, f"{name.value!r} is no name", "write letters, digits and spaces")
        self._inputs(draft, entries)
        self._output(draft, entries)
        for key, entry in entries.items():
            if key not in OWN_KEYS and draft.operation and entry.value is not _UNKNOWN:
                self._option(draft, key, options[key], entry)
        return draft

    def _entries(self, table: Table, known: set[str]) -> dict[str, Entry]:
        """The entries by their keys as options are called, with variables replaced."""
        found: dict[str, Entry] = {}
        for written, entry in table.entries.items():
            key = written.replace("_", "-")
            if key not in known and key not in OWN_KEYS:
                near = did_you_mean(key, sorted([*OWN_KEYS, *known]))
                self._wrong(entry.line, f"there is no {written}", near if "mean" in near else _SEE_HELP)
            elif key in found:
                self._wrong(entry.line, f"{written} is given twice", f"leave that or {key} out")
            else:
                values = entry.value if isinstance(entry.value, list) else [entry.value]
                judged = [self._known(value, entry.line_of(at)) for at, value in enumerate(values)]
                found[key] = replace(entry, value=judged if isinstance(entry.value, list) else judged[0])
        return found

    def _known(self, value: Any, line: int) -> Any:
        """`value` with its variables replaced, _UNKNOWN if one is not there."""
        with self._judging(line):
            return self._with_variables(value)
        return _UNKNOWN

    def _with_variables(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._with_variables(each) for each in value]
        if not isinstance(value, str):
            return value
        text = with_variables(value, self._environ)
        try:
            possible = b"\0" not in os.fsencode(text)
        except UnicodeEncodeError:
            possible = False
        if not possible:
            raise UsageError(f"{text!r} is no text for a command line", way_out="leave NUL and lone surrogates out")
        return text

    def _value_of(self, entries: Mapping[str, Entry], key: str) -> Entry | None:
        entry = entries.get(key)
        if entry is None:
            return None
        try:
            return replace(entry, value=self._with_variables(entry.value))
        except UsageError:
            return entry

    def _inputs(self, draft: Draft, entries: dict[str, Entry]) -> None:
        entry, listed = entries.pop("inputs", None), entries.pop("files0-from", None)
        if listed is not None and entry is not None:
            # One of them may be a default, which the job's own replaces.
            keep = draft.table.entries
            if "inputs" in keep and not {"files0-from", "files0_from"} & keep.keys():
                listed = None
            elif "inputs" not in keep:
                entry = None
            else:
                self._wrong(listed.line, "inputs are named by inputs already", "leave inputs or files0-from out")
                listed = None
        if listed is not None:
            if listed.value is not _UNKNOWN:
                self._listed(draft, listed)
            return
        if entry is None:
            draft.lost.add("inputs")
            self._wrong(draft.table.line, "the job has no inputs", "write inputs = [...], names or globs")
            return
        if entry.value is _UNKNOWN:
            return
        values = [entry.value] if isinstance(entry.value, str) else entry.value
        if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
            draft.lost.add("inputs")
            self._wrong(entry.line, "inputs is no list of names", 'write for example inputs = ["a.txt", "more/*.txt"]')
            return
        for at, value in enumerate(values):
            with self._judging(entry.line_of(at), draft, "inputs"):
                name = with_fields(value, {"job": draft.name})
                if name in _NO_INPUTS:
                    raise UsageError(f"{name!r}: a job reads files", way_out="name a file")
                draft.listed.append((name, entry.line_of(at)))

    def _listed(self, draft: Draft, entry: Entry) -> None:
        from gpumerge_cli.engine.inputs import read_names

        with self._judging(entry.line, draft, "inputs"):
            if not isinstance(entry.value, str) or entry.value == "-":
                raise UsageError("files0-from names no file", way_out="name one that holds names, each ended by NUL")
            name = with_fields(entry.value, {"job": draft.name})
            draft.names = (name, entry.line)
            names = read_names(self.folder.path(name))
            if not set(_NO_INPUTS).isdisjoint(names):
                raise UsageError(f"{name} names -, but a job reads files", way_out="name a file")
            draft.inputs = [(each, entry.line) for each in names]

    def _output(self, draft: Draft, entries: dict[str, Entry]) -> None:
        entry = entries.pop("output", None)
        if not draft.operation:
            return
        if not self._commands[draft.operation].writes:
            if entry is not None and "output" in draft.table.entries:
                self._wrong(entry.line, f"{draft.operation} writes no output", "leave output out")
            return
        if entry is None:
            draft.lost.add("output")
            self._wrong(draft.table.line, "the job has no output", "write output = FILE")
            return
        if entry.value is _UNKNOWN:
            return
        with self._judging(entry.line, draft, "output"):
            if not isinstance(entry.value, str):
                raise UsageError(f"output {entry.value!r} is no name", way_out="write the name of a file")
            draft.output = replace(entry, value=self._filled(draft, entry.value))

    def _filled(self, draft: Draft, text: str) -> str:
        """`text` with its fields, of which none may need a glob's matches: they may be others the next time."""
        first = draft.inputs[0][0] if draft.inputs else draft.first_input
        if first is not None and self.folder.is_glob(first):
            try:
                return with_fields(text, fields_of(draft.name, None))
            except UsageError:
                with_fields(text, fields_of(draft.name, first))
                raise UsageError(
                    f"{text!r} has a field of the first input, which is a glob",
                    way_out="use {job}, or name a file first",
                ) from None
        # Where the inputs are wrong, any will do: the job does not run.
        return with_fields(text, fields_of(draft.name, first or ("x" if "inputs" in draft.lost else None)))

    def _option(self, draft: Draft, key: str, option: Option, entry: Entry) -> None:
        value = entry.value
        values = value if option.kind == "list" and isinstance(value, list) else [value]
        with self._judging(entry.line, draft, key):
            if option.kind == "switch":
                if not isinstance(value, bool):
                    raise UsageError(f"{key} is true or false, not {value!r}", way_out=f"write {key} = true")
            elif any(isinstance(each, bool) or not isinstance(each, str | int | float) for each in values):
                raise UsageError(f"{key} takes a value, not {_shown(value)}", way_out="write a number or a text")
            if option.is_path:
                values = [self._filled(draft, str(each)) for each in values]
                value = values if isinstance(value, list) else values[0]
            draft.options[key] = replace(entry, value=value)

    def match(self, draft: Draft, to_come: Sequence[str]) -> None:
        """Replace globs by what they match; what is named as well is not matched."""
        named = {self.folder.place(name) for name, _ in draft.listed}
        own = os.path.normpath(draft.output.value) if draft.output else None
        for name, line in draft.listed:
            if not self.folder.is_glob(name) or os.path.normpath(name) in to_come:
                draft.inputs.append((name, line))
                continue
            found = [each for each in self.folder.matches(name, to_come, own) if self.folder.place(each) not in named]
            named.update(map(self.folder.place, found))
            draft.inputs += [(each, line) for each in found]
            if not found:
                draft.lost.add("inputs")
                self._wrong(line, f"{self.folder.path(name)} matches no file", "check the pattern")

    def with_settings(self, draft: Draft) -> Draft:
        """The job as one that says itself what settings give it, as far as they can be."""
        if not draft.operation:
            return draft
        try:
            found = self._commands[draft.operation].set(draft.options)
        except UsageError:  # which parsing tells
            return draft
        said = {key: Entry(value, draft.table.line) for key, value in found.items()}
        return replace(draft, options=said | draft.options)

    def _wrong(self, line: int, what: str, way_out: str) -> None:
        self.mistakes.append(Mistake(line, what, way_out))

    @contextmanager
    def _judging(self, line: int, draft: Draft | None = None, key: str = "") -> Iterator[None]:
        try:
            yield
        except GpumergeError as error:
            if draft is not None:
                draft.lost.add(key)
            self._wrong(line, f"{error.where}: {error.what}" if error.where else error.what, error.way_out)


_NO_INPUTS = ("", "-", "/dev/stdin")
_UNKNOWN = object()
"""The value of a key that needs a variable which is not there."""
_SEE_HELP = "see gpumerge batch --help"


def _shown(value: Any) -> str:
    return {bool: str(value).lower(), list: "a list", dict: "a table"}.get(type(value), f"{value!r}")
