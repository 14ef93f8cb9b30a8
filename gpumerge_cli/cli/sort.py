"""gpumerge sort: GNU sort's command line, on gpumerge's engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.gnu import SortCommand, check_operands, parse_sort, sort_command
from gpumerge_cli.cli.job_parts import counts_equals, margin_of, record_options, resources, salted, sort_launch_of
from gpumerge_cli.cli.notices import notices
from gpumerge_cli.cli.perform import check_report_place, perform, progress
from gpumerge_cli.cli.said import say
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import DisorderError, GpumergeError, UsageError
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.units import visible

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings
    from gpumerge_cli.cli.values import OptionValue
    from gpumerge_cli.engine.job import Items, Job, Operation, Resources

_MOST_THREADS = 1024
_SAME_AS_C = ("", "C", "POSIX", "C.UTF-8", "C.utf8")


def sort(arguments: Sequence[str], settings: Settings | None) -> int:
    """Carry out the words behind "gpumerge sort" and return the exit code. Raises GpumergeError."""
    command = parse_sort(arguments, settings=settings)
    if command.mode in ("help", "version"):
        from gpumerge_cli.cli.help import help_text, version_text

        print(help_text("sort") if command.mode == "help" else version_text(), end="")
        return 0
    if not command.values.quiet:
        _tell_of_locale()
    for note in command.notes if sys.stderr is not None else ():
        say(note)
    if command.values.files0_from is not None and not command.files:
        from gpumerge_cli.engine.inputs import read_names

        command = replace(command, files=read_names(command.values.files0_from))
        check_operands(command, command.files)
    with notices(command.values):
        return _carry_out(_salted(command))


def _carry_out(command: SortCommand) -> int:
    if counts_equals(command.values) and (command.mode not in ("sort", "merge") or command.values.debug):
        what = "--count and --count-to are for sorts and merges alone"
        raise UsageError(what, way_out="leave -c, -C and --debug out")
    if command.values.compare:
        return _compare(command)
    if command.values.repeat is not None:
        raise UsageError("--repeat is for comparisons", way_out="add --compare, or leave it out")
    if command.mode in ("check", "check-quiet"):
        return _check(command)
    return _merge(command) if command.mode == "merge" else _perform(command)


def _items(command: SortCommand) -> Items:
    """The type and order of the items: lines, unless an option or the suffix of a file says that they are binary."""
    from gpumerge_cli.engine.job import Items
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds.lookup import holds_lines, is_binary
    from gpumerge_cli.order.rules import LineOrder

    values = command.values
    records = record_options(values)
    said = values.dtype is not None or bool(records.said)
    said = said or not (values.format is None or holds_lines(values.format))
    simple = replace(command.order, reverse=False, stable=False) == LineOrder()
    binary = any(is_binary(suffix_of(name)) for name in command.files if name != "-")
    # If options ask for lines nevertheless, or files are of both kinds, opening the files raises the error.
    if said or (values.format is None and simple and binary):
        if not simple:
            raise UsageError(
                "binary items have no fields, blanks or letters", way_out="leave all but -r, -s and -u out"
            )
        if values.header or values.csv:
            raise UsageError("binary items have no header and no CSV fields", way_out="leave --header and --csv out")
        return Items(values.format, values.dtype, reverse=command.order.reverse, records=records)
    return Items(
        values.format,
        lines=command.order,
        header_lines=values.header,
        csv=values.csv,
        csv_implied=values.csv_implied,
        plain=not values.compressed,
        shown=_underlining(command) if values.debug else None,
    )


def _underlining(command: SortCommand) -> Callable[[bytes], bytes]:
    from functools import partial

    from gpumerge_cli.cli.gnu_debug import underlined

    return partial(underlined, command.order, command.values.unique)


def _inputs(command: SortCommand) -> tuple[str, ...]:
    """The files, with standard input once, since it would be empty the second time."""
    first = command.files.index("-") if "-" in command.files else 0
    return tuple(name for at, name in enumerate(command.files) if name != "-" or at == first)


def _output(command: SortCommand) -> str:
    """The name of the output: -o - is a file for GNU sort, so it is here."""
    values = command.values
    return "-" if values.output is None else ("./-" if values.output == "-" else values.output)


def _resources(command: SortCommand) -> Resources:
    values = command.values
    threads = None if values.threads is None else min(values.threads, _MOST_THREADS)
    return replace(
        resources(values),
        threads=threads,
        memory=(values.memory or None) if command.mode == "merge" else values.memory,
        compress_program=values.compress_program,
        run_log=values.run_log,
        resume=values.resume,
    )


def _check(command: SortCommand) -> int:
    from gpumerge_cli.engine.job import Job, Operation

    try:
        operation = Operation("check", equals=Equals.of(command.values.unique))
        job = Job(_inputs(command), _items(command), operation, resources=_resources(command))
        perform(job)
    except DisorderError as error:
        if command.mode == "check":
            if error.item is None:  # of items that are no lines
                say(error)
            else:
                item = visible(error.item.decode(errors="backslashreplace"))
                say(f"{error.where}: disorder: {item}")
        return 1
    return 0


def _merge(command: SortCommand) -> int:
    if command.values.batch_size is not None and command.values.batch_size < len(command.files):
        _check_folders(command)  # GNU sort would merge in passes there
    return _perform(command)


def _perform(command: SortCommand) -> int:
    from gpumerge_cli.engine.resources import seconds_since_start

    values = command.values
    with progress(values.progress and not values.quiet) as advance:
        measured = perform(_job(command), since_start=seconds_since_start, advance=advance, settle=ignore_signals)
    if values.verbose and not values.quiet:
        from gpumerge_cli.report.terminal import show

        show(measured)
    return 0


def job_of(told: Sequence[OptionValue], files: Sequence[str], settings: Settings) -> Job:
    """The sort or merge that the options ask for. Raises GpumergeError."""
    return _job(_salted(sort_command(told, files, settings)))


def _salted(command: SortCommand) -> SortCommand:
    return replace(command, order=salted(command.order, command.values.random_source))


def _job(command: SortCommand) -> Job:
    from gpumerge_cli.engine.job import Destination, Job
    from gpumerge_cli.formats.part_names import part_names

    values = command.values
    if values.run_log is not None and (values.cluster is None or command.mode == "merge"):
        raise UsageError("--run-log is for sorts by a cluster", way_out="add --cluster, or leave --run-log out")
    if values.resume and values.run_log is None:
        raise UsageError("--resume: there is no log to go on with", way_out="name it with --run-log")
    inputs, items = _inputs(command), _items(command)
    operation = _operation(command, items)
    output = Destination(_output(command), values.parts, durable=values.fsync)
    files = (*inputs, *part_names(output.name, output.parts))
    check_report_place(values.count_to, files, "--count-to")
    files = files if values.count_to is None else (*files, values.count_to)
    check_report_place(values.report, files)
    check_report_place(values.run_log, files, "--run-log")
    return Job(inputs, items, operation, output, _resources(command), values.report)


def _operation(command: SortCommand, items: Items) -> Operation:
    from gpumerge_cli.engine.job import Operation
    from gpumerge_cli.launch import LaunchRequest

    values = command.values
    equals, margin = Equals.of(values.unique or counts_equals(values)), margin_of(values)
    if command.mode != "merge":
        return Operation("sort", equals, margin=margin, launch=sort_launch_of(values))
    lenient = items.lines is not None and not counts_equals(values)
    launch = LaunchRequest(values.kernel)  # what else is said of it is for sorts
    return Operation(equals=equals, lenient=lenient, margin=margin, launch=launch)


def _compare(command: SortCommand) -> int:
    """Compare all algorithms with the libraries', on the items in memory."""
    values = command.values
    counts = values.unique or counts_equals(values)
    if values.output is not None or command.mode != "sort" or counts or values.parts is not None:
        way_out = "leave -o, --parts, --count, --count-to, -m, -c, -C and -u out"
        raise UsageError("--compare sorts and writes no output", way_out=way_out)
    if values.cluster is not None:
        raise UsageError("--compare is for this machine", way_out="leave --cluster out, or leave --compare out")
    from gpumerge_cli import __version__
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.compare.contest import Effort
    from gpumerge_cli.compare.run import compare_sorts
    from gpumerge_cli.engine.load import load_runs
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.report.terminal import show
    from gpumerge_cli.report.write import COMPARE_SUFFIXES, report_file

    job = _job(command)
    with report_file(values.report, COMPARE_SUFFIXES) as write:
        loaded = load_runs(replace(job, operation=replace(job.operation, check=False)))
        # Start-up is not part of a comparison, so a GPU is worth it at any size.
        backend = select(values.backend, job.resources.device, loaded.order, None).backend
        effort = Effort(values.repeat or 5, job.resources.threads or cores(), version=__version__)
        measured = compare_sorts(loaded, backend, sort_launch_of(values), effort, job)
        write(measured)
    show(measured)
    wrong = [row.name for row in measured.rows if not row.right]
    if wrong:
        raise GpumergeError(f"wrong output: {', '.join(wrong)}", way_out="do not use these on this machine")
    return 0


def _check_folders(command: SortCommand) -> None:
    from gpumerge_cli.errors import OutputError

    for folder in command.values.temporary_directory:
        if not os.path.isdir(folder):
            raise OutputError("no such folder for temporary files", where=folder, way_out="make it, or name another")


def _tell_of_locale() -> None:
    """Print one line on a terminal if GNU sort would compare otherwise."""
    name = next((os.environ[key] for key in ("LC_ALL", "LC_COLLATE", "LANG") if os.environ.get(key)), "")
    if name not in _SAME_AS_C and sys.stderr is not None and sys.stderr.isatty():
        print(f"gpumerge: lines compare by their bytes, as in the C locale, not as in {name}", file=sys.stderr)
