"""The options of jobs. They are judged as on the command line, before any file is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from itertools import takewhile
from typing import Any

from gpumerge_cli.cli import tasks
from gpumerge_cli.cli.options import options_of
from gpumerge_cli.cli.settings import Settings
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.jobs.spec import JobOption, Operation
from gpumerge_cli.order.equals import SETS
from gpumerge_cli.urls import is_url

_NOT_OF_JOBS = {
    "output",
    "plan",
    "compare",
    "repeat",
    "verbose",
    "quiet",
    "progress",
    "debug",
    "traceback",
    "help",
    "version",
}
"""Options that jobs do not take: the batch has them, or a key of the job file stands for them."""
_SHARED = {"memory", "threads", "buffer-size", "parallel"}
"""Options whose settings go to the batch, which shares them out among its jobs."""
_FILES = {"file": "read", "folder": "place"}
"""JobOption.file by the kind of an option's value."""

Parse = Callable[[Sequence[str], Settings], tasks.Task[Any]]


@cache
def commands(durable: bool = False, folders: tuple[str, ...] = (), cluster: str | None = None) -> dict[str, Operation]:
    """The operations of jobs, by name. Settings are read at the first call.

    durable, folders, cluster: --fsync, --temporary-directory and --cluster of the batch, for jobs that do not say
    otherwise.
    """
    from gpumerge_cli.cli import check, join, merge, rank, sets
    from gpumerge_cli.cli.application import read_task
    from gpumerge_cli.cli.sort import read_task as read_sort

    settings = Settings(leaving_out=_NOT_OF_JOBS | _SHARED | {"report", "files0-from"})
    ahead: dict[str, list[Any]] = {
        "fsync": [True] * durable,
        "temporary-directory": list(map(os.path.abspath, folders)),
        "cluster": [] if cluster is None else [cluster],
    }
    readers: dict[str, Parse] = {
        "merge": partial(read_task, "merge", merge.job_of),
        **{name: partial(read_task, name, merge.task_of) for name in SETS},
        "compare": partial(read_task, "compare", sets.columns_of),
        "join": partial(read_task, "join", join.task_of),
        "rank": partial(read_task, "rank", rank.task_of),
        "sort": read_sort,
        "check": partial(read_task, "check", check.task_of),
    }
    return {
        name: Operation(
            _options(name),
            name != "check",
            partial(_parse, read, settings),
            partial(_set, settings, name),
            frozenset(name for row in options_of(name) if row.name in _NOT_OF_JOBS for name in row.setting_names),
            {row.name: ahead[row.name] for row in options_of(name) if ahead.get(row.name)},
        )
        for name, read in readers.items()
    }


def _options(operation: str) -> dict[str, JobOption]:
    """The options that jobs of the operation may give, by all their long names."""
    found: dict[str, JobOption] = {}
    # A check is an operation of its own, not an option of sort.
    left_out = _NOT_OF_JOBS | ({"check", "check-quiet"} if operation == "sort" else set())
    for row in (row for row in options_of(operation) if row.name not in left_out):
        kind: Any = "list" if row.multiple else "value" if row.takes_value else "switch"
        off = None if row.takes_value or operation == "sort" else row.off or f"no-{row.name}"
        file: Any = ("told" if row.neutral else "written") if row.written else _FILES.get(row.kind)
        bare = row.choices[0] if row.value_is_optional else ""
        option = JobOption(kind, off, None if row.name == "files0-from" else file, bare)  # whose names are inputs
        found |= dict.fromkeys((row.name, *row.aliases), option)
    return found


def _set(settings: Settings, name: str, given: Collection[str]) -> dict[str, Any]:
    """The settings of options that a job does not name; see jobs.spec.Operation.settings."""
    found = {}
    for option in settings.options(name):
        setting = None if option.name in given else settings.find(name, option)
        if setting is not None:
            values = setting[0] if isinstance(setting[0], list) else [setting[0]]
            found[option.name] = [
                os.path.abspath(value) if option.takes_path and not is_url(value) else value for value in values
            ]
    return found


def _parse(read: Parse, settings: Settings, words: Sequence[str]) -> tasks.Task[Any]:
    """The task of `words`. A UsageError about a setting names the setting's place."""
    options = {word.partition("=")[0] for word in takewhile(lambda word: word != "--", words)}
    if {"--key", "--field"} <= options:
        what = "key and field: which of them goes first is not known"
        raise UsageError(what, way_out="give all keys of a job with one of them")
    settings.used.clear()  # those of the job before
    try:
        return _judged(read(words, settings))
    except UsageError as error:
        raise settings.placed(error) from None


def _judged(task: tasks.Task[Any]) -> tasks.Task[Any]:
    """Return the task. Raises the error that its command would raise before it opens a file."""
    from gpumerge_cli.backends.base import LaunchRequest, SortRequest
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.engine.inputs import known_ahead
    from gpumerge_cli.engine.output import COUNTS, output_names
    from gpumerge_cli.engine.request import CheckRequest, RankRequest
    from gpumerge_cli.formats.registry import judge_suffix
    from gpumerge_cli.report.write import MERGE_SUFFIXES

    request: Any = task.request
    if task.report is not None and os.path.splitext(task.report)[1].lower() not in MERGE_SUFFIXES:
        way_out = f"end the name in one of {', '.join(MERGE_SUFFIXES)}"
        raise UsageError(f"--report: {task.report!r} has no suffix of a report", way_out=way_out)
    if (
        request.on.backend == "gpu"
        and request.on.cluster is None
        and (trouble := _gpu_trouble(request.on.device)) is not None
    ):
        raise trouble
    if isinstance(request, CheckRequest | RankRequest):
        known_ahead(request.inputs, request.items)
        return task
    names = output_names(request.output, request.parts)
    format, order = known_ahead(request.inputs, request.items)
    if order is None:
        return task
    for name in names:
        judge_suffix(name, format, format.dtype)
    if getattr(request, "margin", None) is not None and request.margin.file is not None:
        judge_suffix(request.margin.file, COUNTS, COUNTS.dtype)
    sort = getattr(request, "sort", None)
    if request.on.launch != LaunchRequest() or sort not in (None, SortRequest()):
        backend = select(request.on.backend, request.on.device, order, None).backend
        if request.on.backend != "auto" or not backend.remote:  # which may come to be the CPU
            backend.resolve(request.on.launch, order, len(request.inputs))
            if sort is not None:
                backend.resolve_sort(sort, order, 0)
    return task


@cache
def _gpu_trouble(device: int) -> DeviceError | None:
    """The error that keeps the GPU from being used, or None."""
    from gpumerge_cli.backends import gpu

    try:
        gpu.create(device)
    except DeviceError as error:
        return error
    return None
