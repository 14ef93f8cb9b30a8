"""Which option of a job its command refuses: found by leaving options out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpumerge_cli.errors import GpumergeError, InputError
from gpumerge_cli.jobs.document import Entry, Mistake
from gpumerge_cli.jobs.expand import Folder
from gpumerge_cli.jobs.spec import Command, Draft, Task, words_of


def parsed(
    draft: Draft,
    commands: Mapping[str, Command],
    folder: Folder,
    *,
    sees_all: bool,
    memory: int | None,
    threads: int | None = None,
) -> tuple[Task | None, list[Mistake]]:
    """The task of a job, None if anything is wrong with it, and every option that its command refuses.

    sees_all: all inputs are there; otherwise there is no task where one has to be looked into. memory,
    threads: what it may ask for at most, None if there is no limit.
    """
    mistakes: list[Mistake] = []
    kept = dict(draft.options)
    dropped = sorted(draft.lost)
    while True:
        trouble = _trouble(draft, kept, commands, folder)
        if not isinstance(trouble, GpumergeError):
            break
        if isinstance(trouble, InputError) and not sees_all:
            return None, mistakes
        blamed = _blamed(draft, kept, commands, folder, str(trouble))
        # An option that misses one which was dropped is not wrong itself.
        if not any(f"--{key}" in str(trouble) for key in dropped):
            line = kept[blamed].line if blamed else _line_of_file(draft, folder, str(trouble))
            what = f"{trouble.where}: {trouble.what}" if trouble.where else trouble.what
            mistakes.append(Mistake(line, what, trouble.way_out))
        if blamed is None:
            return None, mistakes
        dropped.append(blamed)
        del kept[blamed]
    for what, asked, limit, keys in (
        ("memory", trouble.memory, memory, ("memory", "buffer-size")),
        ("threads", trouble.threads, threads, ("threads", "parallel")),
    ):
        if limit is not None and (asked or 0) > limit:
            line = next((entry.line for key, entry in kept.items() if key in keys), draft.table.line)
            told = f"it asks for more {what} than all jobs have"
            mistakes.append(Mistake(line, told, f"raise --{what}, or ask for less"))
    return None if dropped else trouble, mistakes


def _line_of_file(draft: Draft, folder: Folder, told: str) -> int:
    """The line of the file that an error tells of; that of the job if it is none."""
    files = [(draft.output.value, draft.output.line)] if draft.output else []
    told_of = [(name, line) for name, line in [*files, *draft.inputs] if folder.path(name) in told]
    # One name may begin another.
    return max(told_of, key=lambda file: len(file[0]), default=("", draft.table.line))[1]


def _trouble(
    draft: Draft, options: dict[str, Entry], commands: Mapping[str, Command], folder: Folder
) -> Task | GpumergeError:
    try:
        words = words_of(replace(draft, options=options), commands, folder.path)
        return commands[draft.operation].parse(words)
    except GpumergeError as error:
        return error


def _blamed(
    draft: Draft, options: dict[str, Entry], commands: Mapping[str, Command], folder: Folder, told: str
) -> str | None:
    """The last option without which the trouble would be another one, or none."""
    for key in reversed(options):
        others = {other: entry for other, entry in options.items() if other != key}
        if str(_trouble(draft, others, commands, folder)) != told:
            return key
    return None
