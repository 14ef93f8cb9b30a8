"""gpumerge bench: every kernel and library baseline over synthetic cases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpumerge_cli.cli import options
from gpumerge_cli.errors import GpumergeError, Interrupted, UsageError, input_error

if TYPE_CHECKING:
    from gpumerge_cli.compare.bench import Case, Preset
    from gpumerge_cli.report.model import BenchReport, BenchRow, Report

EPILOG = """\b
Shapes: those of gpumerge generate, and
  tiny       uniform keys, all runs but the first a thousandth of the whole

What is not named is varied one at a time about a middle case: dtypes, sizes,
shapes, runs. Where any is named, all combinations are run."""


_MEASURING = (
    "kernels", "dtypes", "sizes", "shapes", "runs", "repeat", "quick", "seed", "backend", "device", "threads",
)  # fmt: skip
"""Options that --render has no use for."""


def bench(
    context: typer.Context,
    results: Annotated[
        list[str] | None,
        typer.Argument(metavar="RESULTS", show_default=False, help="With --render: .json files of earlier runs."),
    ] = None,
    render: Annotated[
        bool, typer.Option("--render", help="Run nothing: make tables and figures from RESULTS. Needs no device.")
    ] = False,
    kernels: Annotated[
        str | None,
        typer.Option(
            "--kernels", metavar="LIST", show_default=False, help="Of basic,tiled,circular,path; all if not said."
        ),
    ] = None,
    dtypes: Annotated[
        str | None,
        typer.Option(
            "--dtypes",
            metavar="LIST",
            show_default=False,
            help="Such as int32,int64,float16; int32+4 is a key with a payload of 4 bytes.",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="LIST",
            show_default=False,
            help="Items of output in all, rounded down to whole runs: 1e6,2^20; 2^10:2^28:4 goes by factors of 4.",
        ),
    ] = None,
    shapes: Annotated[
        str | None,
        typer.Option(
            "--shapes",
            metavar="LIST",
            show_default=False,
            help="Of uniform,few,equal,disjoint,blocky,one-sided,tiny.",
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option("--runs", metavar="LIST", show_default=False, help="How many runs are merged: 2,4,8,16."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller cases: about a minute.")] = False,
    repeat: Annotated[
        int | None,
        typer.Option(
            "--repeat", metavar="N", min=1, show_default=False, help="Timings of each; 7 if not said, 3 with --quick."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="The same seed makes the same runs.")] = 0,
    backend: options.Backend = "auto",
    device: options.Device = 0,
    threads: options.Threads = None,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Write the results: .json, .csv, .md or .html; may be given more than once. A table on standard "
            "output if neither this nor --figures is given.",
        ),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(
            "--figures",
            metavar="FOLDER",
            show_default=False,
            help="Draw figures, PNG and SVG, in this folder. Needs gpumerge[plot].",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress on standard error.")] = False,
    debug: options.Debug = False,
) -> None:
    """Time every kernel and library on synthetic runs.

    Runs are made in memory and merged by every kernel, and by the libraries' ways where there are any: cupy.sort and
    CUB on the GPU; NumPy's stable sort and, if it is installed, polars on the CPU. Every output is checked before
    anything is timed. Times are of the merge alone, and held against the best copy of the same bytes in the same run.
    Ctrl-C and SIGTERM end the run with the results so far.
    """
    if not render and results:
        raise UsageError(f"{results[0]}: bench makes its own data", way_out="leave it out, or add --render")
    if render and not results:
        raise UsageError("--render: no results were named", way_out="name the .json files of earlier runs")
    for name in _MEASURING:
        if render and options.given(context, name):
            raise UsageError(f"--{name} is for measuring", way_out=f"leave --{name} or --render out")

    from gpumerge_cli.report.write import BENCH_SUFFIXES, report_file

    outputs = list(dict.fromkeys(output or []))
    with ExitStack() as stack:
        writers = [stack.enter_context(report_file(path, BENCH_SUFFIXES, "--output")) for path in outputs]
        draw = _drawing(figures)
        if render:
            reports = _read(results or [])
        else:
            axes = {"items": dtypes, "sizes": sizes, "shapes": shapes, "runs": runs}
            reports = [_measure(axes, kernels, quick, repeat, seed, (backend, device, threads), quiet)]
        _deliver(reports, writers, draw, quiet)
    stopped = next((report.stopped for report in reports if report.stopped), 0)
    if stopped and not render:
        raise Interrupted(stopped, way_out="the results so far are delivered")
    wrong = sorted({row.name for report in reports for row in report.wrong})
    if wrong:
        raise GpumergeError(f"wrong output: {', '.join(wrong)}", way_out="do not use these on this machine")


def _measure(
    axes: dict[str, str | None],
    kernels: str | None,
    quick: bool,
    repeat: int | None,
    seed: int,
    on: tuple[options.BackendName, int, int | None],
    quiet: bool,
) -> BenchReport:
    from gpumerge_cli import __version__
    from gpumerge_cli.backends.base import KERNELS
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.compare.bench import bench as run_bench
    from gpumerge_cli.compare.bench import preset
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.order import Order

    words = KERNELS if kernels is None else options.parse_words(kernels, "--kernels")
    for word in words:
        if word not in KERNELS:
            raise UsageError(f"--kernels: {word!r} is no kernel", way_out=f"use {', '.join(KERNELS)}")
    name, device, threads = on
    # Start-up is not part of a bench, so a GPU is worth it at any size.
    selected = select(name, device, Order.of("int32"), None)
    chosen = selected.backend
    found = preset(chosen.name, quick=quick)
    cases = _cases(axes, found)
    if name == "auto" and not quiet:
        _say(f"on {chosen.name}: {selected.why}")
    return run_bench(
        cases,
        chosen,
        kernels=words,
        repeat=repeat or found.repeat,
        seed=seed,
        threads=threads or cores(),
        version=__version__,
        told=_silent if quiet else _tell,
    )


def _cases(axes: dict[str, str | None], found: Preset) -> list[Case]:
    """The preset's cases, or all combinations of what was named. Raises UsageError for what names no case."""
    from dataclasses import replace

    from gpumerge_cli.compare.bench import items_named

    named: dict[str, Any] = {}
    for axis, text in axes.items():
        option = "--dtypes" if axis == "items" else f"--{axis}"
        if text is not None:
            parse = options.parse_counts if axis in ("sizes", "runs") else options.parse_words
            named[axis] = parse(text, option)
    for name in named.get("items", ()):
        try:
            items_named(name)
        except UsageError as error:
            raise UsageError(f"--dtypes: {error.what}", way_out=error.way_out) from None
    return replace(found.middle, **named).cases() if named else found.cases()


def _tell(done: int, total: int, case: Case, rows: Sequence[BenchRow]) -> None:
    timed = [row for row in rows if row.role == "kernel" and row.median > 0]
    best = min(timed, key=lambda row: row.median, default=None)
    result = (
        "not run" if best is None else f"{best.name} {best.throughput / 1e9:.3g} GB/s, {best.share_of_copy:.2f} of copy"
    )
    wrong = [row.name for row in rows if not row.right]
    result += f"; wrong: {', '.join(wrong)}" if wrong else ""
    _say(f"[{done}/{total}] {case.describe()}: {result}")


def _say(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)


def _silent(done: int, total: int, case: Case, rows: Sequence[BenchRow]) -> None:
    pass


def _read(paths: Sequence[str]) -> list[BenchReport]:
    from gpumerge_cli.report.combine import combined
    from gpumerge_cli.report.json import parse_bench

    reports = []
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                reports.append(parse_bench(file.read(), path))
        except OSError as error:
            raise input_error(error, path) from error
    return combined(reports)


def _drawing(folder: str | None) -> Callable[[Sequence[BenchReport]], list[str]] | None:
    """What draws into `folder`, judged before anything is measured."""
    if folder is None:
        return None
    import os

    from gpumerge_cli.errors import output_error

    try:
        from gpumerge_cli.report.figure import draw
    except ImportError as error:
        raise UsageError(
            f"--figures: matplotlib cannot be imported ({error})",
            way_out="pip install 'gpumerge[plot]', or leave --figures out",
        ) from error
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise output_error(error, folder) from error
    return lambda reports: draw(reports, folder)


def _deliver(
    reports: Sequence[BenchReport],
    writers: Sequence[Callable[[Report], None]],
    draw: Callable[[Sequence[BenchReport]], list[str]] | None,
    quiet: bool,
) -> None:
    if writers and len(reports) > 1:
        raise UsageError(
            "-o: RESULTS of several devices or numbers of threads make no single report",
            way_out="render one at a time",
        )
    written = 0
    try:
        for write in writers:
            write(reports[0])
            written += 1
        for line in draw(reports) if draw is not None else ():
            if not quiet:
                _say(line)
    except Interrupted as error:
        told = ["the results are written" if written == len(writers) else "not all results are written"][: len(writers)]
        told += ["not all figures are drawn"] if draw is not None else []
        raise Interrupted(error.signal_number, way_out=", ".join(told)) from error
    if not writers and draw is None:
        from gpumerge_cli.report.terminal import PlainConsole, show

        for report in reports:
            show(report, PlainConsole())
