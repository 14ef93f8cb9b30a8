"""gpumerge path: the merge path of two sorted inputs as a picture."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from gpumerge_cli.cli import line_options, options
from gpumerge_cli.cli.keyspec import csv_names, header_lines
from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.units import visible

if TYPE_CHECKING:
    from gpumerge_cli.engine.load import LoadedRuns
    from gpumerge_cli.engine.request import BackendRequest, ItemRequest
    from gpumerge_cli.lines import LineOrder
    from gpumerge_cli.report.path_model import PathReport

_FIGURES = (".png", ".svg")

EPILOG = f"""\b
The grid has A from the top down and B from left to right. The path goes down
where the merge takes an item of A and right where it takes one of B; where it
crosses the cross diagonal of rank k, i items of A and j of B are merged,
i + j = k. That is the one place where the work can be cut.

\b
Examples:
  gpumerge path --items "1 3 5" --items "2 3 4" --tile-size 2 --block-size 2
  gpumerge path A B --rank 1000 -o path.svg
  gpumerge path A B --kernel circular --tile-size 4 --rounds

{options.SUFFIXES}"""


def path(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B", show_default=False, help="Two sorted files; - is standard input."),
    ] = None,
    items: Annotated[
        list[str] | None,
        typer.Option(
            "--items",
            metavar="LIST",
            show_default=False,
            help="Instead of files, given twice: items with blanks or commas between, as in --items '1 3 5'. "
            "Numbers if all are, else lines.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Draw a figure: .svg or .png. Needs gpumerge[plot]. In the terminal if not said.",
        ),
    ] = None,
    rank: Annotated[
        int | None,
        typer.Option(
            "--rank", metavar="K", min=0, show_default=False, help="Show how co-rank finds the cut after K outputs."
        ),
    ] = None,
    rounds: Annotated[
        bool,
        typer.Option(
            "--rounds",
            help="Show what the circular or the tiled kernel holds in shared memory, round by round. "
            "With -o, the figure shows that instead of the path.",
        ),
    ] = False,
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
    kernel: Annotated[
        options.Kernel,
        typer.Option("--kernel", metavar="auto|basic|tiled|circular|path", help="Whose cuts to show; auto is path."),
    ] = "auto",
    block_size: Annotated[
        int | None,
        typer.Option("--block-size", metavar="N", min=1, show_default=False, help="Threads a block."),
    ] = None,
    items_per_thread: Annotated[
        int | None,
        typer.Option("--items-per-thread", metavar="N", min=1, show_default=False, help="Items that a thread merges."),
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
            "--tile-load", metavar="full|exact", show_default=False, help="What the tiled kernel loads a round."
        ),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            "--blocks",
            metavar="N",
            min=1,
            show_default=False,
            help="Blocks in the grid of the tiled and the circular kernel; 1 where the launch's other sizes are given.",
        ),
    ] = None,
    backend: Annotated[
        options.BackendName,
        typer.Option(
            "--backend",
            metavar="auto|gpu|cpu",
            help="Whose cuts. auto: where launch sizes are given, what the GPU's rules make of them, GPU or not; else "
            "those of the backend that is there.",
        ),
    ] = "auto",
    device: options.Device = 0,
    threads: options.Threads = None,
    debug: options.Debug = False,
) -> None:
    """Draw the merge path of two sorted inputs.

    Shows where blocks and threads cut the merge: by the sizes that merge would launch its kernel with, or those that
    are given. Inputs that are too large to be drawn item by item are drawn to a scale, which is said.
    """
    from gpumerge_cli.backends.base import LaunchRequest
    from gpumerge_cli.engine.request import BackendRequest, ItemRequest
    from gpumerge_cli.formats.record_options import RecordRequest

    names = _inputs(files or [], items)
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
        unique=False,
        zero_terminated=zero_terminated,
        csv_names=(lambda separator: csv_names(files or (), separator, header)) if csv else None,
    )
    launch = LaunchRequest(kernel, block_size, items_per_thread, tile_size, tile_load, blocks)
    launch.decided_kernel()
    on = BackendRequest(backend, device, threads, launch)
    records = RecordRequest(record_size, key_offset, key_size, key)
    how = ItemRequest(format, dtype, text, reverse, header, csv, records=records)
    draw = _drawing(output, names)
    loaded = _loaded(names, how, on) if items is None else _words(items, text, how)
    report = _trace(loaded, on, rank, rounds)
    if draw is not None:
        lacking = draw(report)
        if lacking and sys.stderr is not None:
            said = (
                f"{visible(str(output))}: its font lacks {lacking}, drawn as boxes; a figure that ends in .svg has them"
            )
            print(f"gpumerge: {said}", file=sys.stderr)
        return
    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.report.terminal_path import show_path

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # keys may have letters that the terminal has not
    show_path(report, PlainConsole())


def _inputs(files: list[str], items: list[str] | None) -> tuple[str, ...]:
    """The two files, or none if items are given. Raises UsageError for anything but two inputs."""
    if items is not None and files:
        raise UsageError(f"{files[0]}: the inputs are given by --items already", way_out="use files or --items")
    given = files if items is None else items
    if len(given) != 2:
        way_out = "name A and B" if items is None else "give --items twice, once for A and once for B"
        raise UsageError(f"a merge path has two inputs, and {len(given) or 'none'} were given", way_out=way_out)
    return tuple(files)


def _drawing(output: str | None, inputs: tuple[str, ...]) -> Callable[[PathReport], str] | None:
    """What draws to `output`, judged before anything is read."""
    if output is None:
        return None
    if os.path.splitext(output)[1].lower() not in _FIGURES:
        raise UsageError(
            f"--output: {output!r} has no suffix of a figure", way_out=f"end the name in {' or '.join(_FIGURES)}"
        )
    if os.path.realpath(output) in {os.path.realpath(name) for name in inputs if name != "-"}:
        raise UsageError(f"--output {output} would replace an input", way_out="give it another name")
    if os.path.isdir(output):
        raise OutputError("is a directory", where=output, way_out="name a file")
    try:
        from gpumerge_cli.report.path_figure import draw
    except ImportError as error:
        raise UsageError(
            f"--output: matplotlib cannot be imported ({error})",
            way_out="pip install 'gpumerge[plot]', or leave --output out",
        ) from error
    return lambda report: draw(report, output)


def _loaded(names: tuple[str, ...], items: ItemRequest, on: BackendRequest) -> LoadedRuns:
    from dataclasses import replace

    from gpumerge_cli.backends.base import LaunchRequest
    from gpumerge_cli.engine.load import load_runs
    from gpumerge_cli.engine.request import MergeRequest

    return load_runs(MergeRequest(names, items=items, on=replace(on, launch=LaunchRequest())))


def _words(words: list[str], text: LineOrder | None, items: ItemRequest) -> LoadedRuns:
    from dataclasses import replace

    from gpumerge_cli.engine.request import ItemRequest
    from gpumerge_cli.order import Order
    from gpumerge_cli.trace.items import runs_of_words

    if replace(items, lines=None, reverse=False) != ItemRequest():
        raise UsageError(
            "--items are numbers or lines", way_out="leave --dtype, --format and what is said of files out"
        )
    return runs_of_words(words, None if text is None else Order.lines(text), reverse=items.reverse)


def _trace(loaded: LoadedRuns, on: BackendRequest, rank: int | None, rounds: bool) -> PathReport:
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.report.path_model import PathReport
    from gpumerge_cli.trace.items import two
    from gpumerge_cli.trace.path import axis_of, levels_of, path_points, search_for
    from gpumerge_cli.trace.rounds import rounds_of
    from gpumerge_cli.trace.shape import shape_of

    a, b = two(loaded)
    search = None if rank is None else search_for(a, b, rank)
    shape = shape_of(on, loaded.order, a.size + b.size, on.threads or cores())
    axes = axis_of(a), axis_of(b)
    return PathReport(
        *axes,
        order=loaded.order.describe(),
        launch=shape.policy.describe(),
        rules=shape.rules,
        why=shape.why,
        points=path_points(a, b, axes[0].step, axes[1].step),
        levels=levels_of(a, b, shape),
        search=search,
        rounds=rounds_of(a, b, shape) if rounds else (),
    )
