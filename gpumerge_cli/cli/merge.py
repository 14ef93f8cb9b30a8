"""gpumerge merge: sorted files to one sorted file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from gpumerge_cli.cli import line_options, options, tasks
from gpumerge_cli.cli.keyspec import csv_names, header_lines
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.errors import GpumergeError, UsageError

if TYPE_CHECKING:
    from gpumerge_cli.engine.request import MergeRequest

EPILOG = options.EPILOG
_REPEAT = 5


def merge(
    context: typer.Context,
    files: options.Files = None,
    files0_from: options.Files0From = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Where the merge goes; standard output by default. May be an input. Appears whole or not at all.",
        ),
    ] = None,
    dtype: options.Dtype = None,
    format: options.Format = None,
    record_size: options.RecordSize = None,
    key_offset: options.KeyOffset = None,
    key_size: options.KeySize = None,
    key: options.KeyField = None,
    ignore_leading_blanks: line_options.IgnoreLeadingBlanks = False,
    dictionary_order: line_options.DictionaryOrder = False,
    ignore_case: line_options.IgnoreCase = False,
    ignore_nonprinting: line_options.IgnoreNonprinting = False,
    general_numeric_sort: line_options.GeneralNumeric = False,
    human_numeric_sort: line_options.HumanNumeric = False,
    month_sort: line_options.MonthSort = False,
    numeric_sort: options.Numeric = False,
    version_sort: line_options.VersionSort = False,
    random_sort: line_options.RandomSort = False,
    random_source: line_options.RandomSource = None,
    sort_word: line_options.SortWord = None,
    sort_key: line_options.SortKey = None,
    field_separator: line_options.FieldSeparator = None,
    stable: line_options.Stable = False,
    zero_terminated: line_options.ZeroTerminated = False,
    header: line_options.Header = 0,
    csv: line_options.Csv = False,
    reverse: options.Reverse = False,
    unique: Annotated[
        bool, typer.Option("--unique", "-u", help="Of items that compare equal, only the first goes out.")
    ] = False,
    backend: options.Backend = "auto",
    device: options.Device = 0,
    threads: options.Threads = None,
    kernel: Annotated[
        options.Kernel,
        typer.Option("--kernel", metavar="auto|basic|tiled|circular|path", help="Which kernel merges; auto is path."),
    ] = "auto",
    block_size: Annotated[
        int | None,
        typer.Option("--block-size", metavar="N", min=1, show_default=False, help="Threads a block."),
    ] = None,
    items_per_thread: Annotated[
        int | None,
        typer.Option(
            "--items-per-thread",
            metavar="N",
            min=1,
            show_default=False,
            help="Items that a thread merges after one co-rank; 1 is the uncoarsened kernel.",
        ),
    ] = None,
    tile_size: Annotated[
        int | None,
        typer.Option(
            "--tile-size", metavar="N", min=1, show_default=False, help="Items of each input that a block stages."
        ),
    ] = None,
    tile_load: Annotated[
        options.TileLoadName | None,
        typer.Option(
            "--tile-load",
            metavar="full|exact",
            show_default=False,
            help="What the tiled kernel loads a round: --tile-size items of each input, or the slices that it needs.",
        ),
    ] = None,
    blocks: Annotated[
        int | None, typer.Option("--blocks", metavar="N", min=1, show_default=False, help="Blocks in the grid.")
    ] = None,
    fan_in: Annotated[
        int | None,
        typer.Option(
            "--fan-in",
            metavar="N",
            show_default=False,
            help="Files that one pass of the path kernel merges at most: 2, 4, 8 or 16.",
        ),
    ] = None,
    transfer: Annotated[
        options.TransferName | None,
        typer.Option(
            "--transfer",
            metavar="bulk|vector",
            show_default=False,
            help="What moves the path kernel's tiles: the bulk copy engine of newer GPUs, or the threads.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Whether the inputs are checked for order while they are merged.")
    ] = True,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            "-S",
            metavar="SIZE",
            show_default=False,
            help="Host memory for what is in flight, for example 256M or 2GiB; by default a quarter of what is free.",
        ),
    ] = None,
    device_memory: Annotated[
        str | None,
        typer.Option(
            "--device-memory",
            metavar="SIZE",
            show_default=False,
            help="Memory to take on the GPU; by default little, and less once it runs out.",
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the plan as JSON on standard output instead of merging.")
    ] = False,
    progress: Annotated[
        bool, typer.Option("--progress/--no-progress", help="Whether a terminal shows how far a long merge is.")
    ] = True,
    fsync: Annotated[
        bool, typer.Option("--fsync", help="Force the output to storage before it takes its place, and its name after.")
    ] = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Run every kernel and the library's ways on the same data in memory, check each result, then time it. "
            "Writes no output, so it does not go with -o. With --kernel, only that kernel and basic.",
        ),
    ] = False,
    repeat: Annotated[
        int | None,
        typer.Option(
            "--repeat",
            metavar="N",
            min=1,
            show_default=False,
            help=f"How often --compare times each; {_REPEAT} by default.",
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            show_default=False,
            help="Write the report to a file too: .json, .md or .html; with --compare also .csv.",
        ),
    ] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Merge sorted files into one.

    The merge is stable: items that compare equal come in the order of FILES. Text keeps its lines as they are. NaN
    sorts last and -0.0 equals 0.0, as in NumPy. A report of what took how long goes to standard error.
    """
    if compare and unique:
        raise UsageError("--compare merges all items", way_out="leave --unique out, or leave --compare out")
    if compare and output is not None and options.given(context, "output"):
        raise UsageError("--compare writes no output", way_out="leave -o out, or leave --compare out")
    if repeat is not None and not compare and options.given(context, "repeat"):
        raise UsageError("--repeat is for comparisons", way_out="add --compare or leave --repeat out")
    names = options.names_of(files, files0_from)
    tasks.check_report_place(report, (*names, output or "-"))

    if plan and (compare or options.given(context, "output") or options.given(context, "report")):
        raise UsageError("--plan only plans", way_out="leave -o, --report and --compare out, or leave --plan out")

    from gpumerge_cli.backends.base import LaunchRequest
    from gpumerge_cli.engine.request import BackendRequest, ItemRequest, MergeRequest
    from gpumerge_cli.formats.record_options import RecordRequest

    header = header_lines(header, (sort_key or ()) if csv else ())
    text = line_options.said_order(
        ignore_leading_blanks=ignore_leading_blanks,
        dictionary_order=dictionary_order,
        ignore_case=ignore_case,
        ignore_nonprinting=ignore_nonprinting,
        general_numeric_sort=general_numeric_sort,
        human_numeric_sort=human_numeric_sort,
        month_sort=month_sort,
        numeric_sort=numeric_sort,
        version_sort=version_sort,
        random_sort=random_sort,
        random_source=random_source,
        reverse=reverse,
        sort=sort_word,
        sort_key=sort_key,
        field_separator=field_separator,
        stable=stable,
        unique=unique,
        zero_terminated=zero_terminated,
        csv_names=(lambda separator: csv_names(files or (), separator, header)) if csv else None,
    )
    records = RecordRequest(record_size, key_offset, key_size, key)
    request = MergeRequest(
        inputs=names,
        output="-" if output is None else output,
        items=ItemRequest(format, dtype, text, reverse, header, csv, records=records),
        on=BackendRequest(
            backend,
            device,
            threads,
            LaunchRequest(kernel, block_size, items_per_thread, tile_size, tile_load, blocks, fan_in, transfer),
        ),
        check=check,
        durable=fsync,
        unique=unique,
        memory=options.parse_memory(memory, "--memory"),
        device_memory=options.parse_memory(device_memory, "--device-memory"),
    )
    if plan:
        _plan(request)
    elif compare:
        _compare(request, report, repeat or _REPEAT, quiet)
    elif not tasks.hand_over(context, tasks.Task(request, report)):
        _merge(tasks.Task(request, report), quiet, progress and not quiet and not _is_terminal(request.output))


def _plan(request: MergeRequest) -> None:
    import json

    from gpumerge_cli.engine.merge import plan_files

    print(json.dumps(plan_files(request).as_dict()))


def _merge(task: tasks.Task, quiet: bool, progress: bool) -> None:
    from gpumerge_cli.engine.resources import seconds_since_start

    with _progress(progress) as advance:
        measured = tasks.perform(task, since_start=seconds_since_start, advance=advance, settle=ignore_signals)
    if not quiet:
        from gpumerge_cli.report.terminal import show

        show(measured)


def _is_terminal(output: str) -> bool:
    from gpumerge_cli.formats.output import is_terminal

    return is_terminal(output)


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with (bytes done, bytes in all): a bar where a terminal shows one, None elsewhere."""
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from gpumerge_cli.cli.progress import bar

    with bar() as advance:
        yield advance


def _compare(request: MergeRequest, report: str | None, repeat: int, quiet: bool) -> None:
    from gpumerge_cli.report.write import COMPARE_SUFFIXES, report_file

    with report_file(report, COMPARE_SUFFIXES) as write:
        from gpumerge_cli import __version__
        from gpumerge_cli.backends.select import select
        from gpumerge_cli.compare.run import compare
        from gpumerge_cli.engine.load import load_runs
        from gpumerge_cli.engine.resources import cores

        loaded = load_runs(request)
        # Start-up is not part of a comparison, so a GPU is worth it at any size.
        selected = select(request.on.backend, request.on.device, loaded.order, None)
        measured = compare(
            loaded,
            selected.backend,
            request.on.launch,
            repeat=repeat,
            threads=request.on.threads or cores(),
            version=__version__,
        )
        write(measured)
    if not quiet:
        from gpumerge_cli.report.terminal import show

        show(measured)
    wrong = [row.name for row in measured.rows if not row.right]
    if wrong:
        raise GpumergeError(f"wrong output: {', '.join(wrong)}", way_out="do not use these kernels on this machine")
