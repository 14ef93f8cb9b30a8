"""gpumerge sort: GNU sort's command line, on gpumerge's engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.chosen_format import are_binary, chosen_format
from gpumerge_cli.cli.comparing import run_comparison
from gpumerge_cli.cli.fields import header_prefix
from gpumerge_cli.cli.gnu import SortCommand, check_operands, parse_sort, sort_command
from gpumerge_cli.cli.job_parts import (
    head_or_tail,
    job_to_output,
    kinds_of_columns,
    margin_of,
    nulls_of_columns,
    options_of_lines,
    record_options,
    resources,
    rule_of,
)
from gpumerge_cli.cli.key_sources import with_parameters
from gpumerge_cli.cli.messages import print_message, tell_of_suffix
from gpumerge_cli.cli.notices import notices
from gpumerge_cli.cli.options.groups import FORMAT_SWITCHES
from gpumerge_cli.cli.perform import progress_bar, run_job, wants_bar
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.locale_names import OF_ENVIRONMENT, locale_named
from gpumerge_cli.units import visible

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings
    from gpumerge_cli.cli.values import OptionValue
    from gpumerge_cli.engine.job import Job, Operation, Resources
    from gpumerge_cli.formats.items import Items

_MOST_THREADS = 1024


def run_sort(arguments: Sequence[str], settings: Settings | None) -> int:
    """Carry out the words behind "gpumerge sort" and return the exit code. Raises GpumergeError."""
    command = parse_sort(arguments, settings=settings)
    if command.mode in ("help", "version"):
        from gpumerge_cli.cli.help import WHOLE_HELP, help_text, version_text

        print(help_text("sort", whole=WHOLE_HELP in arguments) if command.mode == "help" else version_text(), end="")
        return 0
    if not command.options.quiet and command.options.locale is None:
        _tell_of_locale()
    for note in command.notes if sys.stderr is not None else ():
        print_message(note)
    if command.options.files0_from is not None and not command.files:
        from gpumerge_cli.formats.naming import read_names

        command = replace(command, files=read_names(command.options.files0_from))
        check_operands(command, command.files)
    with notices(quiet=command.options.quiet):
        return _carry_out(_filled(command))


def _carry_out(command: SortCommand) -> int:
    if command.options.compare:
        run_comparison(_job(command), command.options)
        return 0
    if command.mode in ("check", "check-quiet"):
        return _check(command)
    return _merge(command) if command.mode == "merge" else _perform(command)


def _items(command: SortCommand) -> Items:
    """The type and order of the items: lines, unless an option or the suffix of a file means binary items."""
    from gpumerge_cli.formats.items import Items

    options = command.options
    records = record_options(options, command.keys.fields)
    simple = not command.order.asks_for_text
    of_lines = bool(options.record_start or options.line_ends or options.has_header)
    has_columns = command.keys.header > 0 or of_lines or command.keys.columns.name is not None
    of_text = not command.keys.fields and (has_columns or not simple)
    # If options ask for lines nevertheless, or files are of both kinds, opening the files raises the error.
    if options.names_binary or are_binary(options, command.files, of_text=of_text):
        if not simple:
            raise UsageError(
                "binary items have no fields, blanks or letters", way_out="leave all but -r, -s and -u out"
            )
        if has_columns:
            what = "binary items have no header and no columns of lines"
            raise UsageError(what, way_out=f"leave {' and '.join(_options_of_columns(command))} out")
        return Items(
            options.format,
            options.dtype,
            command.order if command.order.locale else None,
            command.order.reverse,
            records=records,
            nulls=nulls_of_columns(options, command.keys),
            kinds=kinds_of_columns(options, command.keys, command.files),
            schema=command.schema,
            counted=options.counted,
        )
    chosen = chosen_format(options.format, command.files, command.keys.columns)
    return Items(
        chosen.name,
        lines=command.order,
        header_lines=command.keys.header,
        header_prefix=header_prefix(options),
        by_name=command.keys.by_name,
        headers=options.headers,
        schema=command.schema,
        certainty=chosen.certainty,
        plain=not options.compressed,
        line_ends=options.line_ends or "",
        record_start=options.record_start or "",
        shown=_underlining(command) if options.debug else None,
        counted=options.counted,
    )


def _options_of_columns(command: SortCommand) -> list[str]:
    """The given options by which files have a header, columns, or lines and records of other ends."""
    names = ["header", "header-prefix", "line-ends", "record-start", "schema", *FORMAT_SWITCHES]
    names += ["format"] * (command.keys.columns.name is not None)
    return [f"--{name}" for name in names if name.replace("-", "_") in command.options.given]


def _underlining(command: SortCommand) -> Callable[[bytes], bytes]:
    from functools import partial

    from gpumerge_cli.cli.gnu_debug import underlined

    return partial(underlined, command.order, bool(command.options.unique))


def _inputs(command: SortCommand) -> tuple[str, ...]:
    """The files, with standard input once, since it would be empty the second time."""
    first = command.files.index("-") if "-" in command.files else 0
    return tuple(name for at, name in enumerate(command.files) if name != "-" or at == first)


def _output(command: SortCommand) -> str:
    """The name of the output: -o - is a file for GNU sort, so it is here."""
    options = command.options
    return "-" if options.output is None else ("./-" if options.output == "-" else options.output)


def _resources(command: SortCommand) -> Resources:
    options = command.options
    threads = None if options.threads is None else min(options.threads, _MOST_THREADS)
    return replace(
        resources(options),
        threads=threads,
        memory=options.memory if command.mode == "sort" else options.memory or None,
        compress_program=options.compress_program,
        run_log=options.run_log,
        resume=options.resume,
    )


def _check(command: SortCommand) -> int:
    from gpumerge_cli.engine.job import Job, Operation

    try:
        operation = Operation("check", equals=Equals.of(bool(command.options.unique)))
        job = Job(_inputs(command), _items(command), operation, resources=_resources(command))
        run_job(job)
    except DisorderError as error:
        if command.mode == "check":
            if error.item is None:  # of items that are not lines
                print_message(error)
            else:
                item = visible(error.item.decode(errors="backslashreplace"))
                print_message(f"{error.where}: disorder: {item}")
        return 1
    return 0


def _merge(command: SortCommand) -> int:
    if command.options.batch_size is not None and command.options.batch_size < len(command.files):
        _check_folders(command)  # GNU sort would merge in passes there
    return _perform(command)


def _perform(command: SortCommand) -> int:
    from gpumerge_cli.engine.resources import seconds_since_start

    options, job = command.options, _job(command)
    with progress_bar(wants_bar(job, options)) as progress:
        measured = run_job(
            job,
            report=options.report,
            since_start=seconds_since_start,
            progress=progress,
            settle=ignore_signals,
        )
    tell_of_suffix(job)
    if options.verbose and not options.quiet:
        from gpumerge_cli.report.terminal import show_report
        from gpumerge_cli.results.run import MergeReport

        assert isinstance(measured, MergeReport)

        show_report(measured)
    return 0


def job_of(option_values: Sequence[OptionValue], files: Sequence[str], settings: Settings) -> Job:
    """The sort or merge that the options ask for. Raises GpumergeError."""
    return _job(_filled(sort_command(option_values, files, settings)))


def _filled(command: SortCommand) -> SortCommand:
    options = options_of_lines(command.options, command.keys)
    return replace(command, order=with_parameters(command.order, options, command.files))


def _job(command: SortCommand) -> Job:
    items = _items(command)
    operation, output = _operation(command, items), _output(command)
    return job_to_output(_inputs(command), items, operation, output, _resources(command), command.options)


def _operation(command: SortCommand, items: Items) -> Operation:
    from gpumerge_cli.engine.job import Operation
    from gpumerge_cli.launch import LaunchRequest, SortRequest

    options = command.options
    equals, margin = rule_of(options), margin_of(options)
    if command.mode != "merge":
        sort = SortRequest(options.algorithm or "auto", LaunchRequest(options.kernel, fan_in=options.fan_in))
        ranks = head_or_tail(options)
        return Operation("sort", equals, ranks=ranks, margin=margin, launch=sort, keep_order=options.keep_order)
    lenient = items.lines is not None and margin is None and equals in (Equals.ALL, Equals.FIRST)
    launch = LaunchRequest(options.kernel)  # the other launch options are for sorts
    return Operation(equals=equals, lenient=lenient, margin=margin, launch=launch)


def _check_folders(command: SortCommand) -> None:
    from gpumerge_cli.errors import OutputError

    for folder in command.options.temporary_directory:
        if not os.path.isdir(folder):
            raise OutputError("no such folder for temporary files", where=folder, way_out="make it, or name another")


def _tell_of_locale() -> None:
    """Print one line on a terminal if GNU sort would compare otherwise."""
    name = locale_named(OF_ENVIRONMENT)
    if name and sys.stderr is not None and sys.stderr.isatty():
        what = f"lines compare by their bytes, as in the C locale; --locale env compares them as in {name}"
        print(f"gpumerge: {what}", file=sys.stderr)
