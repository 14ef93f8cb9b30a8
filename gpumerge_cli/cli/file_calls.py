"""gpumerge_cli.merge_files, sort_files and check_files: the commands as functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from gpumerge_cli.batch.draft import option_values
from gpumerge_cli.batch.spec import JobValue
from gpumerge_cli.cli.batch_jobs import commands, report_of
from gpumerge_cli.cli.perform import run_job
from gpumerge_cli.errors import GpumergeError, InputError, UsageError
from gpumerge_cli.results.run import CheckReport, InputFile, JobReport, MergeReport
from gpumerge_cli.suggestions import did_you_mean

FilePath: TypeAlias = str | os.PathLike[str]
OptionGiven: TypeAlias = JobValue | os.PathLike[str] | Iterable[JobValue | os.PathLike[str]] | None
"""The value of an option: True or False for a switch, a list for one that may be given again, None if it is not given.
"""


def merge_files(inputs: FilePath | Iterable[FilePath], output: FilePath, **options: OptionGiven) -> MergeReport:
    """Merge sorted files into one sorted file, as `gpumerge merge` does.

    >>> import gpumerge_cli, pathlib
    >>> for name, text in {"a.csv": "id,name\\n1,Ann\\n7,Bob\\n", "b.csv": "id,name\\n3,Eve\\n"}.items():
    ...     _ = pathlib.Path(name).write_text(text)
    >>> report = gpumerge_cli.merge_files(["a.csv", "b.csv"], "all.csv", field="id:n")
    >>> report.items, pathlib.Path("all.csv").read_text().split()
    (3, ['id,name', '1,Ann', '3,Eve', '7,Bob'])

    Parameters
    ----------
    inputs:
        Names or URLs of files, or one of them: of any format that the commands read, compressed ones too. Each is
        sorted, which is checked as it is read.
    output:
        The name or URL of the file to write. It appears whole or not at all, and may be one of the inputs.
    options:
        The options of `gpumerge merge` by their long names, with underscores for dashes: unique=True, memory="1G",
        field=["day", "id:nr"]. A switch takes True or False, an option that may be given again takes a list, and None
        stands for an option that is not given. Values are those of a job in a batch. Settings of the environment and
        of files do not hold here.

    Returns
    -------
    The report of the run, with `items`, `nbytes`, `wall` and the times of all stages; `report="FILE.json"` writes it.

    Raises
    ------
    UsageError: options that are unknown, wrong or contradict each other. DisorderError: a file that is not sorted.
    InputError, OutputError: a file that cannot be read or written. DeviceError, ClusterError. Each is a GpumergeError
    with one line; the output is then as it was.
    """
    report = _done("merge", inputs, output, options)
    assert isinstance(report, MergeReport)
    return report


def sort_files(inputs: FilePath | Iterable[FilePath], output: FilePath, **options: OptionGiven) -> MergeReport:
    """Sort files into one file, as `gpumerge sort` does.

    >>> import gpumerge_cli, numpy as np
    >>> np.save("mixed.npy", np.array([3, 1, 2]))
    >>> report = gpumerge_cli.sort_files("mixed.npy", "sorted.npy", reverse=True)
    >>> np.load("sorted.npy").tolist()
    [3, 2, 1]

    Parameters
    ----------
    inputs:
        Names or URLs of files, or one of them: of any format that the command reads. As in the command, a compressed
        text is decompressed, and an output of lines compressed, with compressed=True alone.
    output:
        The name or URL of the file to write. It appears whole or not at all, and may be one of the inputs.
    options:
        The options of `gpumerge sort` by their long names; see merge_files. As in the command, lines with equal keys
        are ordered by all their bytes, unless stable=True is given. memory="1G" bounds the memory.

    Returns
    -------
    The report of the run; see merge_files.

    Raises
    ------
    As merge_files, but that files may be in any order.
    """
    report = _done("sort", inputs, output, options)
    assert isinstance(report, MergeReport)
    return report


def check_files(inputs: FilePath | Iterable[FilePath], **options: OptionGiven) -> CheckReport:
    """Check that each file is sorted, as `gpumerge check` does.

    >>> import gpumerge_cli, pathlib
    >>> _ = pathlib.Path("names.txt").write_text("Ann\\nEve\\nBob\\n")
    >>> try:
    ...     gpumerge_cli.check_files(["names.txt"])
    ... except gpumerge_cli.DisorderError as error:
    ...     print(error.where)
    names.txt:3

    Parameters
    ----------
    inputs:
        Names or URLs of files, or one of them.
    options:
        The options of `gpumerge check` by their long names; see merge_files.

    Returns
    -------
    The report of the check, with the items and bytes of each file.

    Raises
    ------
    DisorderError: a file that is not in order; `where` is its place. Others as merge_files. If several files are wrong,
    it is the error of the first one, with the messages of the others as its notes.
    """
    errors: list[InputError] = []

    def keep(found: InputFile | InputError) -> None:
        if isinstance(found, InputError):
            errors.append(found)

    try:
        report = _done("check", inputs, None, options, keep)
    except GpumergeError:
        if not errors:
            raise
        for other in errors[1:]:
            errors[0].add_note(str(other))
        raise errors[0] from None
    assert isinstance(report, CheckReport)
    return report


def _done(
    operation: str,
    inputs: FilePath | Iterable[FilePath],
    output: FilePath | None,
    options: Mapping[str, OptionGiven],
    on_file: Callable[[InputFile | InputError], None] | None = None,
) -> JobReport:
    command = commands(has_settings=False)[operation]
    values: dict[str, list[JobValue]] = {}
    for name, value in options.items():
        key = name.replace("_", "-")
        if key == "files0-from":
            raise UsageError(f"{operation}_files has no option {name}", way_out="give a list of names as inputs")
        if key not in command.options:
            known = {one.replace("-", "_") for one in command.options}
            way_out = did_you_mean(name, known, f"see gpumerge {operation} --help")
            raise UsageError(f"{operation}_files has no option {name}", way_out=way_out)
        given = None if value is None else option_values(name, _plain(value), command.options[key])
        if given:
            values[key] = given
    if command.writes:
        values["output"] = [_path(output, "output")]
    files = _paths(inputs)
    return run_job(command.parse(values, files), report=report_of(values), on_file=on_file)


def _plain(value: OptionGiven) -> object:
    """The value as a job file has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_plain(one) for one in value]
    return value


def _paths(inputs: FilePath | Iterable[FilePath]) -> tuple[str, ...]:
    names = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    if not isinstance(names, Iterable):
        raise UsageError(f"inputs: {type(inputs).__name__} is not a list of names", way_out="give the names of files")
    paths = tuple(_path(name, "inputs") for name in names)
    if not paths:
        raise UsageError("inputs names no file", way_out="name at least one")
    return paths


def _path(name: FilePath | None, argument: str) -> str:
    path = os.fspath(name) if isinstance(name, str | os.PathLike) else None
    if not isinstance(path, str):
        raise UsageError(f"{argument}: {type(name).__name__} is not the name of a file", way_out="give a str or a Path")
    if path in ("", "-"):
        raise UsageError(f"{argument}: {path!r} is not the name of a file", way_out="give the name of a file")
    return path
