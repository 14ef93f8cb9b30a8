"""gpumerge bench: every kernel and library baseline over synthetic cases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gpumerge_cli.cli.options.typed import BenchOptions
from gpumerge_cli.cli.parse import parse_counts, parse_words
from gpumerge_cli.errors import GpumergeError, Interrupted, UsageError, input_error
from gpumerge_cli.units import quoted_value, visible

if TYPE_CHECKING:
    from gpumerge_cli.backends.compared import ComparedBackend
    from gpumerge_cli.compare.bench_cases import Case, Preset
    from gpumerge_cli.launch import KernelName
    from gpumerge_cli.results.compared import BenchReport, BenchRow, Report


def run_bench(options: BenchOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    from gpumerge_cli.report.write import BENCH_SUFFIXES, report_file

    outputs = list(dict.fromkeys(options.output))
    with ExitStack() as stack:
        writers = [stack.enter_context(report_file(path, BENCH_SUFFIXES, "--output")) for path in outputs]
        draw = _drawing(options.figures)
        reports = _read(options.results) if options.render else [_measure(options)]
        _deliver(reports, writers, draw, options.quiet)
    if options.verbose and not options.quiet and sys.stderr is not None and (outputs or draw is not None):
        from gpumerge_cli.report.terminal import show_report

        for report in reports:
            show_report(report)
    stopped = next((report.stopped for report in reports if report.stopped), 0)
    if stopped and not options.render:
        raise Interrupted(stopped, way_out="the results so far are delivered")
    wrong = sorted({row.name for report in reports for row in report.wrong})
    if wrong:
        raise GpumergeError(f"wrong output: {', '.join(wrong)}", way_out="do not use these on this machine")


def _measure(options: BenchOptions) -> BenchReport:
    from gpumerge_cli import __version__
    from gpumerge_cli.backends.ladder import KERNELS
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.compare.bench import measure_cases
    from gpumerge_cli.compare.bench_cases import preset
    from gpumerge_cli.compare.contest import Effort
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.order.kinds import Order

    words = KERNELS if options.kernels is None else parse_words(options.kernels, "--kernels")
    for word in words:
        if word not in KERNELS:
            raise UsageError(f"--kernels: unknown kernel {quoted_value(word)}", way_out=f"use {', '.join(KERNELS)}")
    # Start-up is not part of a bench, so a GPU is worth it at any size.
    selected = select(options.backend, options.device, Order.of("int32"), None)
    chosen = selected.backend
    found = preset(chosen.name, quick=options.quick)
    cases = _cases(options, found)
    if options.backend == "auto" and not options.quiet:
        _say(f"on {chosen.name}: {selected.why}")
    if options.kernels is not None and not options.quiet:
        for line in _kernels_replaced(words, cases, chosen):
            _say(line)
    effort = Effort(options.repeat or found.repeat, options.threads or cores(), options.seed, __version__)
    return measure_cases(cases, chosen, effort, kernels=words, on_case=_silent if options.quiet else _tell)


def _kernels_replaced(kernels: Sequence[KernelName], cases: Sequence[Case], backend: ComparedBackend) -> list[str]:
    """A line for each kind of items that the backend merges by another kernel than one that was named, with the reason.

    The rows of a bench have the names of the kernels that ran.
    """
    from gpumerge_cli.launch import LaunchRequest

    found = []
    for case in cases:
        for kernel in () if case.sorts else kernels:
            policy = backend.resolve(LaunchRequest(kernel), case.items.order, case.runs)
            if policy.kernel != kernel:
                found.append(f"{case.items.name}: {policy.why.removeprefix('asked for; ')}")
    return list(dict.fromkeys(found))


def _cases(options: BenchOptions, found: Preset) -> list[Case]:
    """The preset's cases, or all combinations of the values named. Raises UsageError for a value that names no case."""
    from gpumerge_cli.compare.bench_cases import items_named
    from gpumerge_cli.dataclass import replace

    axes = found.middle
    if options.dtypes is not None:
        axes = replace(axes, items=parse_words(options.dtypes, "--dtypes"))
    if options.sizes is not None:
        axes = replace(axes, sizes=parse_counts(options.sizes, "--sizes"))
    if options.shapes is not None:
        axes = replace(axes, shapes=parse_words(options.shapes, "--shapes"))
    if options.runs is not None:
        axes = replace(axes, runs=parse_counts(options.runs, "--runs"))
    for name in axes.items:
        try:
            items_named(name)
        except UsageError as error:
            raise UsageError(f"--dtypes: {error.what}", way_out=error.way_out) from None
    return found.cases() if axes is found.middle else axes.cases()


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
        print(visible(line), file=sys.stderr, flush=True)


def _silent(done: int, total: int, case: Case, rows: Sequence[BenchRow]) -> None:
    pass


def _read(paths: Sequence[str]) -> list[BenchReport]:
    from gpumerge_cli.report.combine import combine_reports
    from gpumerge_cli.report.json import parse_bench

    reports = []
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                reports.append(parse_bench(file.read(), path))
        except OSError as error:
            raise input_error(error, path) from error
    return combine_reports(reports)


def _drawing(folder: str | None) -> Callable[[Sequence[BenchReport]], list[str]] | None:
    """The function that draws figures into `folder`, which is checked before any measurement; None for no folder."""
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
            "-o: RESULTS are from several devices or numbers of threads",
            way_out="render the results of one device and one number of threads",
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
        state = "the results are written" if written == len(writers) else "not all results are written"
        notes = [state] if writers else []
        notes += ["not all figures are drawn"] if draw is not None else []
        raise Interrupted(error.signal_number, way_out=", ".join(notes)) from error
    if not writers and draw is None:
        from gpumerge_cli.report.terminal import PlainConsole, show_report

        for report in reports:
            show_report(report, PlainConsole())
