"""What jobs of a batch may say, and how it is judged: as on the command line, and ahead of opening a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cli import tasks
from gpumerge_cli.cli.options import off_names
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.jobs.spec import JobOption, Operation

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings

_NOT_OF_JOBS = {"output", "plan", "compare", "repeat", "quiet", "progress", "debug", "traceback", "help", "version"}
"""What a job says otherwise, or what is the batch's to say."""
_SHARED = {"memory", "threads", "buffer-size", "parallel"}
"""What settings give to the batch, which shares it out."""
_FILES: dict[str, Any] = {"report": "written", "random-source": "read", "temporary-directory": "place"}

Parse = Callable[[Sequence[str]], tasks.Task]


@cache
def commands() -> dict[str, Operation]:
    """The operations of jobs by name. Settings are those of the first call."""
    import typer

    from gpumerge_cli.cli.application import all_commands, application
    from gpumerge_cli.cli.gnu_options import LONG, OWN, takes_value
    from gpumerge_cli.cli.settings import Settings
    from gpumerge_cli.cli.sort import read_task

    settings = Settings(all_commands, leaving_out=_NOT_OF_JOBS | _SHARED | {"report", "files0-from"})
    group: Any = typer.main.get_command(application(("merge", "check")))

    def operation(name: str, options: dict[str, JobOption], read: Parse) -> Operation:
        known = {key: option for key, option in options.items() if key not in _NOT_OF_JOBS}
        return Operation(known, name != "check", partial(_parse, read, settings), partial(_set, settings, name))

    def of_typer(name: str) -> Operation:
        command = group.commands[name]
        options = dict(filter(None, map(_option, command.params)))
        return operation(name, options, lambda words: tasks.read(command, name, list(words), settings.of(name)))

    of_sort = {
        name: _job_option(name, takes_value(name), name in ("key", "temporary-directory"))
        for name in (*LONG, *OWN)
        if name != "check"  # which is an operation
    }
    return {
        "merge": of_typer("merge"),
        "sort": operation("sort", of_sort, lambda words: read_task(words, settings)),
        "check": of_typer("check"),
    }


def _option(option: Any) -> tuple[str, JobOption] | None:
    """An option of Typer's by its long name; None for what has none."""
    name = next((name[2:] for name in option.opts if name.startswith("--")), None)
    if name is None or option.param_type_name != "option":
        return None
    off = next((other[2:] for other in off_names(option)), None)
    return name, _job_option(name, not option.is_flag, option.multiple, off)


def _job_option(name: str, takes_value: bool, multiple: bool, off: str | None = None) -> JobOption:
    return JobOption("list" if multiple else "value" if takes_value else "switch", off, _FILES.get(name))


def _set(settings: Settings, name: str, given: Collection[str]) -> dict[str, Any]:
    """What settings give a job of other options than it names; see jobs.spec.Operation.settings."""
    found = {}
    for option in settings.options(name):
        setting = None if option.name in given else settings.find(name, option)
        if setting is not None:
            values = setting[0] if isinstance(setting[0], list) else [setting[0]]
            found[option.name] = [os.path.abspath(value) if option.takes_path else value for value in values]
    return found


def _parse(read: Parse, settings: Settings, words: Sequence[str]) -> tasks.Task:
    """The task of `words`. Raises UsageError with the place of the setting that it speaks of, if it is one's."""
    from gpumerge_cli.cli.application import CLICK_ERROR, usage_error

    try:
        return _judged(read(words))
    except (UsageError, CLICK_ERROR) as error:
        told = error if isinstance(error, UsageError) else usage_error(error)
        raise settings.placed(told) from None


def _judged(task: tasks.Task) -> tasks.Task:
    """The task, unless its command would refuse it before it opens a file."""
    from gpumerge_cli.backends.base import LaunchRequest, SortRequest
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.engine.inputs import known_ahead
    from gpumerge_cli.engine.request import CheckRequest
    from gpumerge_cli.formats.registry import judge_suffix
    from gpumerge_cli.report.write import MERGE_SUFFIXES

    request: Any = task.request
    if task.report is not None and os.path.splitext(task.report)[1].lower() not in MERGE_SUFFIXES:
        way_out = f"end the name in one of {', '.join(MERGE_SUFFIXES)}"
        raise UsageError(f"--report: {task.report!r} has no suffix of a report", way_out=way_out)
    if request.on.backend == "gpu" and (trouble := _gpu_trouble(request.on.device)) is not None:
        raise trouble
    format, order = known_ahead(request.inputs, request.items)
    if order is None or isinstance(request, CheckRequest):
        return task
    judge_suffix(request.output, format, format.dtype)
    sort = getattr(request, "sort", None)
    if request.on.launch != LaunchRequest() or sort not in (None, SortRequest()):
        backend = select(request.on.backend, request.on.device, order, None).backend
        if request.on.backend != "auto" or backend.name != "gpu":  # which may come to be the CPU
            backend.resolve(request.on.launch, order, len(request.inputs))
            if sort is not None:
                backend.resolve_sort(sort, order, 0)
    return task


@cache
def _gpu_trouble(device: int) -> DeviceError | None:
    """Why a GPU cannot be had, None if it can."""
    from gpumerge_cli.backends import gpu

    try:
        gpu.create(device)
    except DeviceError as error:
        return error
    return None
