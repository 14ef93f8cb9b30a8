"""What jobs of a batch may say, and how each is done: by the same reading and the same work as on the command line."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cli import tasks
from gpumerge_cli.cli.options import options_of
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.jobs.runner import Outcome, Result, StoppedError
from gpumerge_cli.jobs.spec import Command, Job, Option

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings

if TYPE_CHECKING:
    from gpumerge_cli.order import Order

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
"""What a job says otherwise, or what is the batch's to say."""


_SHARED = {"memory", "threads", "buffer-size", "parallel"}
"""What settings give to the batch, which shares it out."""


@lru_cache(maxsize=1)
def commands() -> dict[str, Command]:
    """What the operations of jobs are called, and what they may say. Settings are those of the first call."""
    from gpumerge_cli.cli.application import read_task
    from gpumerge_cli.cli.places import anything_set
    from gpumerge_cli.cli.settings import Settings
    from gpumerge_cli.cli.sort import read_task as read_sort

    leaving_out = _NOT_OF_JOBS | _SHARED | {"report", "files0-from"}
    settings = Settings(leaving_out=leaving_out) if anything_set() else None
    readers: dict[str, Callable[[Sequence[str], Settings | None], tasks.Task[Any]]] = {
        "merge": partial(read_task, "merge"), "sort": read_sort, "check": partial(read_task, "check"),
    }  # fmt: skip
    return {
        name: Command(_options(name), name != "check", partial(_read, read, settings), partial(_set, name, settings))
        for name, read in readers.items()
    }


def _options(operation: str) -> dict[str, Option]:
    found: dict[str, Option] = {}
    for row in options_of(operation):
        kind: Any = "list" if row.multiple else "value" if row.takes_value else "switch"
        off = None if row.takes_value or operation == "sort" else row.off or f"no-{row.name}"
        found |= {name: Option(kind, off, row.takes_path) for name in (row.name, *row.aliases)}
    # Of sort, a check is an operation.
    left_out = _NOT_OF_JOBS | ({"check", "check-quiet"} if operation == "sort" else set())
    return {name: option for name, option in found.items() if name not in left_out}


def _set(name: str, settings: Settings | None, given: Collection[str]) -> dict[str, Any]:
    """What settings give a job of other options than it names; see jobs.spec.Command.set."""
    found = {}
    for option in () if settings is None else settings.options(name):
        setting = None if settings is None or option.name in given else settings.find(name, option)
        if setting is not None:
            value = setting[0]
            if option.takes_path:
                value = [*map(os.path.abspath, value)] if isinstance(value, list) else os.path.abspath(value)
            found[option.name] = value
    return found


def _read(
    read: Callable[[Sequence[str], Settings | None], tasks.Task[Any]], settings: Settings | None, words: Sequence[str]
) -> tasks.Task[Any]:
    try:
        return _judged(read(words, settings))
    except UsageError as error:
        raise _placed(error, settings) from None


def _placed(error: UsageError, settings: Settings | None) -> UsageError:
    """`error`, which will be told with the job's line, with the place of the setting that it speaks of."""
    placed = error if settings is None else settings.placed(error)
    return UsageError(f"{placed.where}: {placed.what}", way_out=placed.way_out) if placed is not error else error


def _judged(task: tasks.Task[Any]) -> tasks.Task[Any]:
    """The task, unless its command would refuse it before it opens a file."""
    from gpumerge_cli.engine.inputs import known_ahead
    from gpumerge_cli.engine.request import CheckRequest
    from gpumerge_cli.formats.registry import judge_suffix
    from gpumerge_cli.report.write import MERGE_SUFFIXES

    request = task.request
    format, order = known_ahead(request.inputs, request.items)
    if order is not None and not isinstance(request, CheckRequest):
        judge_suffix(request.output, format, format.dtype)
    if task.report is not None and os.path.splitext(task.report)[1].lower() not in MERGE_SUFFIXES:
        raise UsageError(
            f"--report: {task.report!r} has no suffix of a report",
            way_out=f"end the name in one of {', '.join(MERGE_SUFFIXES)}",
        )
    if request.on.backend == "gpu":
        trouble = _gpu_trouble(request.on.device)
        if trouble is not None:
            raise trouble
    if order is not None:
        _judge_launch(request, order)
    return task


def _judge_launch(request: Any, order: Order) -> None:
    """Raise UsageError for a kernel, a launch shape or an algorithm that cannot be, where the backend is known."""
    from gpumerge_cli.backends.base import LaunchRequest, SortRequest
    from gpumerge_cli.backends.select import select

    sort = getattr(request, "sort", None)
    if request.on.launch == LaunchRequest() and sort in (None, SortRequest()):
        return
    backend = select(request.on.backend, request.on.device, order, None).backend
    if request.on.backend == "auto" and backend.remote:
        return  # it may come to be the CPU
    backend.resolve(request.on.launch, order, len(request.inputs))
    if sort is not None:
        backend.resolve_sort(sort, order, 0)


REPORT_BEGINS = '{"job": '
"""How every line that `as_json` makes begins."""

_gpus: dict[int, DeviceError | None] = {}


def _gpu_trouble(device: int) -> DeviceError | None:
    """Why a GPU cannot be had, None if it can; found out once for each."""
    if device not in _gpus:
        from gpumerge_cli.backends import gpu

        try:
            gpu.create(device)
            _gpus[device] = None
        except DeviceError as error:
            _gpus[device] = error
    return _gpus[device]


def do(
    job: Job,
    memory: int,
    advance: Callable[[int, int], None],
    settle: Callable[[], None],
    *,
    threads: int | None,
    sharing: int,
    debug: bool,
) -> Outcome:
    """Do a job, see jobs.runner.Do. threads: of its own. sharing: how many jobs share the start-up."""
    from gpumerge_cli.cli.app import verdict

    try:
        task: Any = job.task or commands()[job.operation].parse(job.words)
        return Outcome(tasks.perform(task.within(memory, threads, sharing), advance=advance, settle=settle))
    except StoppedError:
        raise
    except Exception as error:
        if debug and sys.stderr is not None:
            traceback.print_exception(error)
        return Outcome(None, *verdict(error))


def as_json(result: Result) -> str:
    """A result as one line: the job's report, and its name, command, state, exit code, error, start and seconds.

    The state is "done", "failed" or, of a job that failed without having begun, "not run".
    """
    told = {} if result.report is None else asdict(result.report)
    about = {
        "job": result.job.name,
        "line": result.job.line,
        "command": result.job.command,
        "state": result.state if result.started else "not run",
        "exit": result.exit_code,
        "error": result.error,
        "started": result.started or None,
        "seconds": result.seconds,
    }
    return json.dumps(about | told)
