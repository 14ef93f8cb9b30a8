"""Checks a job file as a whole before any job runs, and finds the line of every mistake."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter

from gpumerge_cli.batch.document import Entry, Mistake, read_document
from gpumerge_cli.batch.draft import Draft, Drafting
from gpumerge_cli.batch.expand import Folder
from gpumerge_cli.batch.files import Files
from gpumerge_cli.batch.spec import BatchJob, JobCommand, JobValue, Limits
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.job import Job
from gpumerge_cli.errors import GpumergeError, InputError, UsageError
from gpumerge_cli.shell_words import quoted
from gpumerge_cli.urls import is_url, shown

_Options = Mapping[str, Sequence[JobValue]]
"""See batch.spec.JobCommand.parse."""


def read_jobs(
    data: bytes,
    folder: Folder,
    operations: Mapping[str, JobCommand],
    limits: Limits,
    environ: Mapping[str, str] = os.environ,
) -> tuple[list[BatchJob], list[Mistake]]:
    """The jobs of a job file, and all its mistakes in the order of their lines.

    folder: the folder that its names start from. operations: by name. limits: those of a job's memory and threads. A
    job's options are read if the job has no other mistake; then the first mistake in them is reported.
    """
    files = Files(folder)
    drafting = Drafting(folder, operations, environ)
    drafts = drafting.drafts(read_document(data))
    for draft in drafts:
        for entry in draft.writes:
            with drafting.recording(draft, entry.line):
                files.write(entry.value, draft, entry.line)
        # Globs do not match reports, which a second run would find.
        folder.hidden.update(folder.real(entry.value) for entry in draft.writes if entry not in draft.outputs)
    outputs = [entry.value for draft in drafts for entry in draft.outputs]
    to_come = {folder.place(name): os.path.normpath(name) for name in outputs if not is_url(name)}
    jobs: dict[int, BatchJob] = {}
    for draft in drafts:
        draft.inputs = _matched(draft, drafting, to_come)
        jobs[draft.number] = _job(draft, drafting, files, limits)
    try:
        TopologicalSorter({number: job.after for number, job in jobs.items()}).prepare()
    except CycleError as error:
        cycle = [jobs[number] for number in error.args[1]]
        message = f"jobs wait for each other: {' -> '.join(job.name for job in cycle)}"
        line = min(job.line for job in cycle)
        drafting.mistakes.append(Mistake(line, message, "make one of them read another file"))
    return [*jobs.values()], sorted(dict.fromkeys(drafting.mistakes), key=lambda mistake: mistake.line)


def _matched(draft: Draft, drafting: Drafting, to_come: Mapping[str, str]) -> Entry:
    """The inputs with the matches of globs, except the job's own outputs and files that are named beside the globs."""
    folder = drafting.folder
    named = {folder.place(name) for name in draft.inputs.value}
    named.update(folder.place(entry.value) for entry in draft.outputs)
    names: list[str] = []
    for name in draft.inputs.value:
        found = [name]
        if draft.has_globs and folder.is_glob(name) and folder.place(name) not in to_come:
            found = [each for each in folder.matches(name, to_come) if folder.place(each) not in named]
            named.update(map(folder.place, found))
        with drafting.recording(draft, draft.inputs.line):
            if not found:
                raise UsageError(f"{folder.path(name)} matches no file", way_out="check the pattern")
        names += found
    return replace(draft.inputs, value=tuple(names))


def _job(draft: Draft, drafting: Drafting, files: Files, limits: Limits) -> BatchJob:
    """The job, once its files and its options are checked."""
    folder, operation = drafting.folder, drafting.operations[draft.operation]
    after: set[int] = set()
    nbytes = 0
    for name in draft.inputs.value:
        with drafting.recording(draft, draft.inputs.line):
            maker, size = files.read(name, draft)
            nbytes += size
            if maker is not None:
                after.add(maker)
    for entry in draft.outputs:
        with drafting.recording(draft, draft.line):
            files.refuse_replacing(entry.value, draft.inputs.value)
    options = _options(draft, operation, folder.path)
    inputs = tuple(map(folder.path, draft.inputs.value))
    parsed = partial(_parsed, operation, limits, inputs)
    job = parsed(options) if draft.sound else None
    if isinstance(job, GpumergeError):
        # Files may be missing that another job makes, but mistakes in options are mistakes now.
        if not (after and isinstance(job, InputError)):
            shared = operation.is_setting(job.where)
            line = draft.line if shared else _line_blamed(draft, options, inputs, parsed, str(job))
            with drafting.recording(draft, line, once=shared):
                raise job
        job = None
    try:
        settings = {key: Entry(value, draft.line) for key, value in operation.settings(draft.options).items()}
    except UsageError:  # reading the options reports it
        settings = {}
    merged = replace(draft, options=settings | draft.options)
    absolute = _options(merged, operation, lambda name: _absolute(folder.path(name)))
    words = ("gpumerge", draft.operation, *_words(absolute, operation), "--", *map(_absolute, inputs))
    return BatchJob(
        number=draft.number,
        name=draft.name,
        line=draft.line,
        operation=draft.operation,
        inputs=inputs,
        outputs=tuple(folder.path(entry.value) for entry in draft.results),
        options=options,
        command=" ".join(map(quoted, words)),
        after=frozenset(after),
        nbytes=nbytes,
        job=job,
    )


def _absolute(path: str) -> str:
    """The path as logs have it, which must hold no secrets."""
    return shown(path) if is_url(path) else os.path.abspath(path)


def _parsed(operation: JobCommand, limits: Limits, inputs: Sequence[str], options: _Options) -> Job | GpumergeError:
    """The job that the options describe, or the error that they cause."""
    try:
        job = operation.parse(options, inputs)
    except GpumergeError as error:
        return error
    asks = job.resources
    for what, wanted, most in (("memory", asks.memory, limits.memory), ("threads", asks.threads, limits.threads)):
        if most is not None and (wanted or 0) > most:
            return UsageError(f"it asks for more {what} than all jobs have", way_out=f"raise --{what}, or ask for less")
    return job


def _line_blamed(
    draft: Draft, options: _Options, inputs: Sequence[str], parsed: Callable[[_Options], object], error: str
) -> int:
    """The line that an error is about: that of the last option whose removal changes the error, else of a file."""
    for key in reversed(draft.options):
        if str(parsed({other: values for other, values in options.items() if other != key})) != error:
            return draft.options[key].line
    lines = dict.fromkeys(inputs, draft.inputs.line)
    if draft.output is not None:
        lines[str(options["output"][0])] = draft.output.line
    # The longest name counts, since one may begin another.
    return lines.get(max(filter(error.__contains__, lines), key=len, default=""), draft.line)


def _options(draft: Draft, operation: JobCommand, path: Callable[[str], str]) -> _Options:
    """The options with their values, the output as the last one; `path` makes paths from names."""
    found: dict[str, Sequence[JobValue]] = {}
    for key, entry in draft.options.items():
        is_path = operation.options[key].file is not None
        found[key] = [path(str(value)) for value in entry.value] if is_path else entry.value
    if draft.output is not None:
        found["output"] = [path(draft.output.value)]
    return found


def _words(options: _Options, operation: JobCommand) -> Iterator[str]:
    """The options as words of a command line."""
    for key, values in options.items():
        for value in values:
            if not isinstance(value, bool):
                yield f"--{key}={value}"
            elif value:
                yield f"--{key}"
            elif off := operation.options[key].off:
                yield f"--{off}"
