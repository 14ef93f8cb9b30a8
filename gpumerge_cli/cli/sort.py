"""gpumerge sort: GNU sort's command line, on gpumerge's engine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cli import tasks
from gpumerge_cli.cli.gnu import SortCommand, check_operands, parse_sort
from gpumerge_cli.cli.gnu_options import LONG
from gpumerge_cli.cli.keyspec import is_random
from gpumerge_cli.cli.salt import read_salt
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.errors import DisorderError, GpumergeError, UsageError

if TYPE_CHECKING:
    from gpumerge_cli.cli.settings import Settings
    from gpumerge_cli.engine.request import BackendRequest, ItemRequest, MergeRequest, SortFilesRequest

_SAME_AS_C = ("", "C", "POSIX", "C.UTF-8", "C.utf8")


def read_command(arguments: Sequence[str], settings: Settings | None) -> SortCommand:
    """What the command line behind "gpumerge sort" asks for, and where it says nothing, the settings."""

    def defaults(given: Set[str]) -> Iterator[tuple[str, str]]:
        if settings is None:
            return
        for option in settings.options("sort"):
            letter = LONG.get(option.name, option.name)
            if letter not in given:
                yield from ((letter, value) for value in settings.arguments("sort", option))

    return parse_sort(arguments, defaults=defaults)


def sort(arguments: Sequence[str], settings: Settings | None) -> int:
    """Do what the command line behind "gpumerge sort" says; the exit code. Raises GpumergeError."""
    command = read_command(arguments, settings)
    if command.mode == "help":
        from gpumerge_cli.cli.gnu_help import HELP

        print(HELP, end="")
        return 0
    if command.mode == "version":
        from gpumerge_cli import __version__

        print(f"gpumerge {__version__}")
        return 0
    _tell_of_locale()
    for note in command.notes if sys.stderr is not None else ():
        print(f"gpumerge: {note}", file=sys.stderr)
    if command.files0_from is not None:
        from gpumerge_cli.engine.inputs import read_names

        command = replace(command, files=read_names(command.files0_from))
        check_operands(command, command.files)
    command = _salted(command)
    if command.compare:
        return _compare(command)
    if command.repeat is not None:
        raise UsageError("--repeat is for comparisons", way_out="add --compare, or leave it out")
    if command.mode in ("check", "check-quiet"):
        return _check(command)
    return _merge(command) if command.mode == "merge" else _perform(command)


def _items(command: SortCommand) -> ItemRequest:
    """Lines, unless an option or the suffix of a file says that the items are binary."""
    from gpumerge_cli.engine.request import ItemRequest
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds import is_binary
    from gpumerge_cli.formats.record_options import RecordRequest
    from gpumerge_cli.lines import LineOrder

    records = RecordRequest(command.record_size, command.key_offset, command.key_size, command.key_field)
    said = command.format not in (None, "text") or command.dtype is not None or records.said
    simple = replace(command.order, reverse=False, stable=False) == LineOrder()
    binary = any(is_binary(suffix_of(name)) for name in command.files if name != "-")
    # Where lines are asked for all the same, or files of both kinds are named, opening them tells.
    if said or (command.format is None and simple and binary):
        if not simple:
            raise UsageError(
                "binary items have no fields, blanks or letters", way_out="leave all but -r, -s and -u out"
            )
        if command.header or command.csv:
            raise UsageError("binary items have no header and no CSV fields", way_out="leave --header and --csv out")
        return ItemRequest(command.format, command.dtype, reverse=command.order.reverse, records=records)
    return ItemRequest(
        command.format,
        lines=command.order,
        header_lines=command.header,
        csv=command.csv,
        plain=not command.compressed,
        shown=_underlining(command) if command.debug else None,
    )


def _underlining(command: SortCommand) -> Callable[[bytes], bytes]:
    from functools import partial

    from gpumerge_cli.cli.gnu_debug import underlined

    return partial(underlined, command.order, command.unique)


def _inputs(command: SortCommand) -> tuple[str, ...]:
    """The files: standard input once, since it is empty the second time."""
    first = command.files.index("-") if "-" in command.files else 0
    return tuple(name for at, name in enumerate(command.files) if name != "-" or at == first)


def _output(command: SortCommand) -> str:
    """Where lines go: to GNU sort "-" is the name of a file."""
    return "-" if command.output is None else ("./-" if command.output == "-" else command.output)


def _on(command: SortCommand) -> BackendRequest:
    from gpumerge_cli.backends.base import LaunchRequest
    from gpumerge_cli.engine.request import BackendRequest

    threads = None if command.threads is None else min(command.threads, 1024)
    return BackendRequest(command.backend, command.device, threads, LaunchRequest(command.kernel))


def _check(command: SortCommand) -> int:
    from gpumerge_cli.engine.check import check_files

    try:
        check_files(_inputs(command), _items(command), _on(command), unique=command.unique)
    except DisorderError as error:
        if command.mode == "check":
            if error.item is None:  # of items that are no lines
                text = os.fsencode(f"gpumerge: {error}\n")
            else:
                end = bytes([command.order.terminator])
                text = os.fsencode(f"gpumerge: {error.where}: disorder: ") + error.item + end
            if sys.stderr is not None:
                sys.stderr.flush()
                sys.stderr.buffer.write(text)
                sys.stderr.buffer.flush()
        return 1
    return 0


def _merge(command: SortCommand) -> int:
    if command.batch_size is not None and command.batch_size < len(command.files):
        _check_folders(command)  # GNU sort would merge in passes there
    return _perform(command)


def _perform(command: SortCommand) -> int:
    from gpumerge_cli.engine.resources import seconds_since_start

    with _progress(command) as advance:
        tasks.perform(_task(command), since_start=seconds_since_start, advance=advance, settle=ignore_signals)
    return 0


def read_task(arguments: Sequence[str], settings: Settings | None = None) -> tasks.Task:
    """What `arguments`, which sort or merge, ask for. Raises GpumergeError."""
    return _task(_salted(read_command(arguments, settings)))


def _salted(command: SortCommand) -> SortCommand:
    if not is_random(command.order):
        return command
    return replace(command, order=replace(command.order, salt=read_salt(command.random_source)))


def _task(command: SortCommand) -> tasks.Task:
    request = _runs(command) if command.mode == "merge" else _files(command)
    tasks.check_report_place(command.report, (*request.inputs, request.output))
    return tasks.Task(request, command.report)


def _compare(command: SortCommand) -> int:
    """Every algorithm beside the library's, on the items in memory."""
    if command.output is not None or command.mode != "sort" or command.unique:
        raise UsageError("--compare sorts and writes no output", way_out="leave -o, -m, -c, -C and -u out")
    if command.repeat == 0:
        raise UsageError("--repeat 0 times nothing", way_out="say 1 or more")
    from gpumerge_cli import __version__
    from gpumerge_cli.backends.base import LaunchRequest, SortRequest
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.compare.run import compare_sorts
    from gpumerge_cli.engine.load import load_runs
    from gpumerge_cli.engine.request import MergeRequest
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.report.terminal import show
    from gpumerge_cli.report.write import COMPARE_SUFFIXES, report_file

    algorithm: Any = command.algorithm or "auto"
    request = SortRequest(algorithm, LaunchRequest(command.kernel, fan_in=command.fan_in))
    with report_file(command.report, COMPARE_SUFFIXES) as write:
        loaded = load_runs(MergeRequest(_inputs(command), items=_items(command), check=False))
        # Start-up is not part of a comparison, so a GPU is worth it at any size.
        backend = select(command.backend, command.device, loaded.order, None).backend
        threads = _on(command).threads or cores()
        measured = compare_sorts(
            loaded,
            backend,
            request,
            files=_files(command),
            repeat=command.repeat or 5,
            threads=threads,
            version=__version__,
        )
        write(measured)
    show(measured)
    wrong = [row.name for row in measured.rows if not row.right]
    if wrong:
        raise GpumergeError(f"wrong output: {', '.join(wrong)}", way_out="do not use these on this machine")
    return 0


def _files(command: SortCommand) -> SortFilesRequest:
    from gpumerge_cli.backends.base import LaunchRequest, SortRequest
    from gpumerge_cli.engine.request import SortFilesRequest

    algorithm: Any = command.algorithm or "auto"
    return SortFilesRequest(
        inputs=_inputs(command),
        output=_output(command),
        items=_items(command),
        on=_on(command),
        sort=SortRequest(algorithm, LaunchRequest(command.kernel, fan_in=command.fan_in)),
        unique=command.unique,
        memory=command.memory,
        folders=command.temporary_folders,
        compress_program=command.compress_program,
    )


def _runs(command: SortCommand) -> MergeRequest:
    from gpumerge_cli.engine.request import MergeRequest

    items = _items(command)
    return MergeRequest(
        inputs=_inputs(command),
        output=_output(command),
        items=items,
        on=_on(command),
        unique=command.unique,
        memory=command.memory or None,
        lenient=items.lines is not None,
    )


@contextmanager
def _progress(command: SortCommand) -> Iterator[Callable[[int, int], None] | None]:
    """What is told of progress."""
    if not command.progress or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from gpumerge_cli.cli.progress import bar

    with bar() as advance:
        yield advance


def _check_folders(command: SortCommand) -> None:
    from gpumerge_cli.errors import OutputError

    for folder in command.temporary_folders:
        if not os.path.isdir(folder):
            raise OutputError("no such folder for temporary files", where=folder, way_out="make it, or name another")


def _tell_of_locale() -> None:
    """One line on a terminal where GNU sort would compare otherwise."""
    name = next((os.environ[key] for key in ("LC_ALL", "LC_COLLATE", "LANG") if os.environ.get(key)), "")
    if name not in _SAME_AS_C and sys.stderr is not None and sys.stderr.isatty():
        print(f"gpumerge: lines compare by their bytes, as in the C locale, not as in {name}", file=sys.stderr)
