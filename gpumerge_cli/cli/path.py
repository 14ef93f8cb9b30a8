"""gpumerge path: the merge path of two sorted inputs as a picture."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpumerge_cli.cli.job_parts import items_of, launch_of
from gpumerge_cli.cli.options.typed import PathOptions
from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.units import quoted_value, visible

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Resources
    from gpumerge_cli.engine.load import LoadedRuns
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.launch import LaunchRequest
    from gpumerge_cli.results.compared import CompareReport
    from gpumerge_cli.results.path import PathReport

_FIGURES = (".png", ".svg")


def run_path(options: PathOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    output, items = options.output, list(options.items)
    if options.html is not None and not options.files and not items:
        names: tuple[str, ...] = ()
    else:
        names = _inputs(list(options.files), items)
    from gpumerge_cli.backends.variants.lookup import requested_variant
    from gpumerge_cli.engine.job import Resources

    how, launch = items_of(options, names), launch_of(options)
    devices = (options.device,) if options.device else None
    on = Resources(options.backend, devices, options.threads, folders=options.temporary_directory)
    requested_variant(launch)
    if options.html is not None:
        _write_page(options, options.html, names, on)
        return
    draw_path = _drawing(output, names)
    loaded = _loaded(names, how, on) if not items else _words(items, how)
    report = _trace(loaded, on, launch, options.rank, options.rounds)
    if draw_path is not None:
        if report.rounds and not any(one.outputs for one in report.rounds):
            raise UsageError("--rounds: the tile is too large for a figure", way_out="leave --output out")
        lacking = draw_path(report)
        if lacking and sys.stderr is not None:
            message = (
                f"{visible(str(output))}: its font lacks {lacking}, which are drawn as boxes; a .svg figure shows them"
            )
            print(f"gpumerge: {message}", file=sys.stderr)
        return
    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.report.terminal_path import show_path

    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # keys may have letters that the terminal has not
    show_path(report, PlainConsole())


def _inputs(files: list[str], items: list[str]) -> tuple[str, ...]:
    """The two files, or () if items are given. Raises UsageError unless there are two inputs."""
    given = items or files
    if len(given) != 2:
        way_out = "name A and B" if not items else "use --items twice, once for A and once for B"
        raise UsageError(f"a merge path has two inputs, and {len(given) or 'none'} were given", way_out=way_out)
    return tuple(files)


def _drawing(output: str | None, inputs: tuple[str, ...]) -> Callable[[PathReport], str] | None:
    """The function that draws to `output`, which is checked before anything is read; None for the terminal."""
    if output is None:
        return None
    if os.path.splitext(output)[1].lower() not in _FIGURES:
        raise UsageError(
            f"--output: {quoted_value(output)} has no suffix of a figure",
            way_out=f"end the name in {' or '.join(_FIGURES)}",
        )
    _refuse_inputs("--output", output, inputs)
    try:
        from gpumerge_cli.report.path_figure import draw_path
    except ImportError as error:
        raise UsageError(
            f"--output: matplotlib cannot be imported ({error})",
            way_out="pip install 'gpumerge[plot]', or leave --output out",
        ) from error
    return lambda report: draw_path(report, output)


def _refuse_inputs(option: str, output: str, inputs: tuple[str, ...]) -> None:
    if os.path.realpath(output) in {os.path.realpath(name) for name in inputs if name != "-"}:
        raise UsageError(f"{option} {output} would replace an input", way_out="give it another name")
    if os.path.isdir(output):
        raise OutputError("is a directory", where=output, way_out="name a file")


def _write_page(options: PathOptions, output: str, names: tuple[str, ...], on: Resources) -> None:
    """--html. The file's name is checked before anything is read."""
    from gpumerge_cli.dataclass import replace
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.explain.items import input_pair
    from gpumerge_cli.explain.page import path_page, textbook_runs
    from gpumerge_cli.report.path_page import render
    from gpumerge_cli.report.write import suffix_of_report, text_file

    suffix_of_report(output, (".html",), "--html")
    _refuse_inputs("--html", output, names)
    with text_file(output) as write:
        how, threads = items_of(options, names), on.threads or cores()
        if names:
            loaded = _loaded(names, how, on)
        else:
            loaded = _words(list(options.items), how) if options.items else textbook_runs()
        page = path_page(input_pair(loaded), loaded.order, on, launch_of(options), threads, options.rank)
        if options.compare:
            page = replace(page, compared=_compared(loaded, on, options))
        write(render(page))


def _compared(loaded: LoadedRuns, on: Resources, options: PathOptions) -> CompareReport:
    from gpumerge_cli import __version__
    from gpumerge_cli.backends.select import select
    from gpumerge_cli.compare.contest import Effort
    from gpumerge_cli.compare.run import compare_kernels
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.launch import LaunchRequest

    backend = select(on.backend, on.device, loaded.order, None).backend
    effort = Effort(options.repeat or Effort().repeat, on.threads or cores(), version=__version__)
    return compare_kernels(loaded, backend, LaunchRequest(), effort)


def _loaded(names: tuple[str, ...], items: Items, on: Resources) -> LoadedRuns:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.engine.load import load_runs

    return load_runs(Job(names, items, resources=on))


def _words(words: list[str], items: Items) -> LoadedRuns:
    from gpumerge_cli.explain.items import runs_of_words
    from gpumerge_cli.order.kinds import Order

    return runs_of_words(words, None if items.lines is None else Order.lines(items.lines), reverse=items.reverse)


def _trace(loaded: LoadedRuns, on: Resources, launch: LaunchRequest, rank: int | None, rounds: bool) -> PathReport:
    from gpumerge_cli.engine.resources import cores
    from gpumerge_cli.explain.items import input_pair
    from gpumerge_cli.explain.path import axis_of, cut_levels, path_points, search_for
    from gpumerge_cli.explain.rounds import rounds_of
    from gpumerge_cli.explain.shape import launch_shape
    from gpumerge_cli.results.path import PathReport

    a, b = input_pair(loaded)
    search = None if rank is None else search_for(a, b, rank)
    shape = launch_shape(on, launch, loaded.order, a.size + b.size, on.threads or cores())
    axes = axis_of(a), axis_of(b)
    return PathReport(
        *axes,
        order=loaded.order.describe(),
        launch=shape.policy.describe(),
        rules=shape.rules,
        why=shape.why,
        points=path_points(a, b, axes[0].step, axes[1].step),
        levels=cut_levels(a, b, shape),
        search=search,
        rounds=rounds_of(a, b, shape) if rounds else (),
    )
