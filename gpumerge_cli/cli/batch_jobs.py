"""The options of jobs. They are checked as on the command line, before any file is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import Literal, TypeVar

from gpumerge_cli.batch.spec import FileUse, JobCommand, JobOption, JobValue
from gpumerge_cli.cli.options.commands import command, options_of
from gpumerge_cli.cli.options.groups import Options
from gpumerge_cli.cli.options.model import WrittenValue
from gpumerge_cli.cli.options.typed import (
    CheckOptions,
    CombineOptions,
    CompareOptions,
    DiffOptions,
    JoinOptions,
    MergeOptions,
    RankOptions,
)
from gpumerge_cli.cli.settings import NoSettings, Settings
from gpumerge_cli.cli.values import OptionValue, read_values
from gpumerge_cli.engine.job import Job
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.order.equals import SETS
from gpumerge_cli.urls import is_url

_NOT_OF_JOBS = {
    "output",
    "plan",
    "compare",
    "repeat",
    "sort-inputs",
    "verbose",
    "quiet",
    "progress",
    "debug",
    "traceback",
    "help",
    "version",
}
"""Options that jobs do not take: the batch or a key of the job file has them, or they do more than one job."""
_SHARED = {"memory", "threads", "buffer-size", "parallel"}
"""Options whose settings go to the batch, which shares them out among its jobs."""
_FILES: Mapping[str, FileUse] = {"file": "read", "folder": "place"}
"""JobOption.file by the kind of an option's value."""

_Options = TypeVar("_Options", bound=Options)
JobOf = Callable[[Sequence[OptionValue], Sequence[str], Settings], Job]


@cache
def commands(
    durable: bool = False, folders: tuple[str, ...] = (), cluster: str | None = None, *, has_settings: bool = True
) -> dict[str, JobCommand]:
    """The operations of jobs, by name. Settings are read at the first call.

    durable, folders, cluster: --fsync, --temporary-directory and --cluster of the batch, for jobs that do not set
    them. has_settings: whether settings hold for options that jobs leave out.
    """
    from gpumerge_cli.cli import check, diff, join, merge, rank, sets, sort

    kind = Settings if has_settings else NoSettings
    settings = kind(leaving_out=_NOT_OF_JOBS | _SHARED | {"report", "files0-from"})
    ahead: dict[str, list[WrittenValue]] = {
        "fsync": [True] * durable,
        "temporary-directory": list(map(os.path.abspath, folders)),
        "cluster": [] if cluster is None else [cluster],
    }
    makers: dict[str, JobOf] = {
        "merge": _of_options("merge", MergeOptions, merge.job_of),
        **{name: _of_options(name, CombineOptions, sets.set_of) for name in SETS},
        "compare": _of_options("compare", CompareOptions, sets.comparison_job),
        "diff": _of_options("diff", DiffOptions, diff.job_of),
        "join": _of_options("join", JoinOptions, join.job_of),
        "rank": _of_options("rank", RankOptions, rank.job_of),
        "sort": sort.job_of,
        "check": _of_options("check", CheckOptions, check.job_of),
    }
    return {
        name: JobCommand(
            _options(name),
            name != "check",
            partial(_parse, name, job_of, settings),
            partial(_set, settings, name),
            settings.is_place,
            frozenset(name for row in options_of(name) if row.name in _NOT_OF_JOBS for name in row.setting_names),
            {row.name: ahead[row.name] for row in options_of(name) if ahead.get(row.name)},
        )
        for name, job_of in makers.items()
    }


def _of_options(name: str, kind: type[_Options], job_of: Callable[[_Options], Job]) -> JobOf:
    def job(option_values: Sequence[OptionValue], files: Sequence[str], settings: Settings) -> Job:
        options = read_values(command(name), option_values, files, settings)
        assert isinstance(options, kind)
        return job_of(options)

    return job


def _options(operation: str) -> dict[str, JobOption]:
    """The options that jobs of the operation may give, by all their long names."""
    found: dict[str, JobOption] = {}
    # A check is an operation of its own, not an option of sort.
    left_out = _NOT_OF_JOBS | ({"check", "check-quiet"} if operation == "sort" else set())
    for row in (row for row in options_of(operation) if row.name not in left_out):
        kind: Literal["list", "value", "switch"] = "list" if row.multiple else "value" if row.takes_value else "switch"
        off = None if row.takes_value or operation == "sort" else row.off or f"no-{row.name}"
        file: FileUse | None = ("report" if row.neutral else "written") if row.written else _FILES.get(row.kind)
        if row.name == "files0-from":  # whose names are inputs
            file = None
        bare = str(row.implied) if row.value_is_optional else ""
        words = () if row.takes_value else row.choices
        found |= dict.fromkeys((row.name, *row.aliases), JobOption(kind, off, file, bare, words))
    return found


def _set(settings: Settings, name: str, given: Collection[str]) -> dict[str, list[WrittenValue]]:
    """The settings of options that a job does not name; see batch.spec.JobCommand.settings."""
    others = settings.others(name, {key.replace("-", "_") for key in given})
    return {option.name: [_absolute(one) if option.takes_path else one for one in values] for option, values in others}


def _absolute(path: WrittenValue) -> WrittenValue:
    return path if isinstance(path, bool) or is_url(path) else os.path.abspath(path)


def _parse(
    name: str, job_of: JobOf, settings: Settings, options: Mapping[str, Sequence[JobValue]], files: Sequence[str]
) -> Job:
    """See batch.spec.JobCommand.parse. A UsageError about a setting names the setting's place."""
    from gpumerge_cli.report.write import MERGE_SUFFIXES, suffix_of_report

    option_values = [
        OptionValue(command(name).option(key), value if isinstance(value, bool) else str(value), f"--{key}")
        for key, values in options.items()
        for value in values
    ]
    if {"--key", "--field"} <= {one.written for one in option_values}:
        what = "key and field: the order of these keys is not known"
        raise UsageError(what, way_out="give all keys of a job with one of them")
    settings.used.clear()  # those of the job before
    try:
        job = job_of(option_values, files, settings)
        if (report := report_of(options)) is not None:
            suffix_of_report(report, MERGE_SUFFIXES)
        return _checked(job)
    except UsageError as error:
        raise settings.placed(error) from None


def report_of(options: Mapping[str, Sequence[JobValue]]) -> str | None:
    """The file for the report of a job with these options, as JobCommand.parse takes them; None for none."""
    values = options.get("report")
    return str(values[-1]) if values else None


def _checked(job: Job) -> Job:
    """Return the job. Raises the error that its command would raise before it opens a file."""
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.engine.inputs import layout_and_order
    from gpumerge_cli.engine.output import COUNTS, output_names
    from gpumerge_cli.formats.registry import checked_suffix
    from gpumerge_cli.launch import LaunchRequest, SortRequest

    operation, on = job.operation, job.resources
    if on.backend == "gpu" and on.cluster is None and (trouble := _gpu_trouble(on.device)) is not None:
        raise trouble
    layout, order = layout_and_order(job.inputs, job.items)
    if operation.kind in ("check", "rank"):
        return job
    names = output_names(job)
    if order is None:
        return job
    for name in names:
        checked_suffix(name, layout, layout.dtype)
    if operation.margin is not None and operation.margin.file is not None:
        checked_suffix(operation.margin.file, COUNTS, COUNTS.dtype)
    launch = operation.launch
    if launch not in (LaunchRequest(), SortRequest()):
        backend = select(on.backend, on.device, order, None).backend
        if on.backend != "auto" or not backend.remote:  # which may come to be the CPU
            if isinstance(launch, SortRequest):
                backend.resolve_sort(launch, order, 0)
            else:
                backend.resolve(launch, order, len(job.inputs))
    return job


@cache
def _gpu_trouble(device: int) -> DeviceError | None:
    """The error that keeps the GPU from being used, or None."""
    from gpumerge_cli.backends.gpu import access as gpu

    try:
        gpu.create(device)
    except DeviceError as error:
        return error
    return None
