"""Figures of bench results, as PNG and SVG; the same results make the same files.

Each figure shows the rows along one axis, with all else fixed as in most rows.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Any

from gpumerge_cli.errors import UsageError, output_error
from gpumerge_cli.replacement import replacing
from gpumerge_cli.report.drawing import Figure, rc_context
from gpumerge_cli.report.series import (
    BY_RUNS,
    BY_SHAPE,
    BY_SIZE,
    Slice,
    kernels,
    ladder,
    slices,
    types,
)
from gpumerge_cli.report.tables import format_rate, format_size
from gpumerge_cli.results.compared import BenchReport, BenchRow

_WIDE, _HIGH = 8.0, 4.4
_DPI = 150
_LACKS = re.compile(r"Glyph (\d+) .*missing from")
_METADATA: dict[str, dict[str, None]] = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}
"""By suffix: metadata left out of a file, so that the same figure makes the same file."""
_STYLE = {
    "svg.hashsalt": "gpumerge",
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
}
_COLOURS = {
    "cccl": "#3056a0",
    "cupy.sort": "#7d7d9c",
    "numpy stable sort": "#7d7d9c",
    "polars merge_sorted": "#3056a0",
    "copy": "#555555",
}
_OTHER = "#a05195"
_KERNELS = (
    ("#0b6e4f", "o"), ("#6a8d2f", "v"), ("#e0c46c", "D"), ("#d9a404", "s"), ("#b04a2f", "^"), ("#7a3b1e", "P"),
)  # fmt: skip
"""Colours and marks of kernels: those of the best one first. Further kernels begin anew."""
_Drawn = tuple[Figure, int]
"""A figure, and the number of panels that the results would fill, which may be more than it has."""
_PANELS = 2
"""Panels in a figure: more would be unreadable at the width of a page."""


def draw(reports: Sequence[BenchReport], folder: str) -> list[str]:
    """Draw every figure of every report into `folder`, which must exist; returns a line about each figure.

    A figure's name says its subject and the backend: "ladder-gpu.svg". Raises UsageError for two
    reports of one backend, whose figures would replace each other, OutputError for a file that cannot be written.
    """
    backends = [report.backend for report in reports]
    twice = next((name for name in backends if backends.count(name) > 1), None)
    if twice is not None:
        places = "; ".join(report.place for report in reports if report.backend == twice)
        raise UsageError(
            f"figures: results of several devices or numbers of threads ({places})",
            way_out="draw each in a folder of its own",
        )
    lines: list[str] = []
    with rc_context(_STYLE):
        for report in reports:
            for name, make in _FIGURES.items():
                drawn = make(report)
                stem = f"{name}-{report.backend}"
                if drawn is None:
                    lines.append(f"{stem}: not drawn: the results hold {_NEEDS[name]}")
                    continue
                figure, of = drawn
                shown = len(figure.axes)
                figure.supxlabel(_caption(report), fontsize=8, color="#555555", x=0.01, ha="left", parse_math=False)
                left_out = f"; shows {shown} of {of} parts, {of - shown} left out" if of > shown else ""
                lines.append(f"{stem}: {', '.join(_save(figure, folder, stem))}{left_out}")
    return lines


def _save(figure: Figure, folder: str, stem: str) -> list[str]:
    paths = [os.path.join(folder, stem + suffix) for suffix in _METADATA]
    for path in paths:
        save_figure(figure, path)
    return paths


def save_figure(figure: Figure, path: str) -> str:
    """Write a figure to a .png or .svg file, whole or not at all. Raises OutputError.

    Returns the letters that a .png shows as boxes because its font lacks them. An .svg keeps words as words.
    """
    suffix = os.path.splitext(path)[1].lower()
    try:
        with replacing(path) as file, _lacking() as lacking:
            figure.savefig(file, format=suffix[1:], dpi=_DPI, metadata=_METADATA[suffix])
    except OSError as error:
        raise output_error(error, path) from error
    return "".join(lacking) if suffix == ".png" else ""


@contextmanager
def _lacking() -> Iterator[list[str]]:
    """Collect the letters that the font lacks, each once, instead of Matplotlib's warnings."""
    letters: dict[str, None] = {}
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", _LACKS.pattern)
        yield found
    for one in caught:
        if match := _LACKS.match(str(one.message)):
            letters[chr(int(match[1]))] = None
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    found += letters


def _caption(report: BenchReport) -> str:
    return (
        f"{report.place} ({report.backend}), gpumerge {report.version}; medians of {report.repeats}; "
        "copy: the best of the same bytes on the device"
    )


def _figure(panels: int) -> tuple[Figure, list[Any]]:
    """Panels side by side that share one y axis: a limit or label of one is that of all."""
    figure = Figure(figsize=(_WIDE, _HIGH), layout="constrained")
    return figure, list(figure.subplots(1, panels, sharey=True, squeeze=False)[0])


def _stacked(rows: Sequence[int]) -> tuple[Figure, list[Any]]:
    """Panels one above the other, each with axes of its own, as high as its number of `rows` needs."""
    figure = Figure(figsize=(_WIDE, 0.26 * sum(rows) + 0.8 * len(rows) + 0.3), layout="constrained")
    return figure, list(figure.subplots(len(rows), 1, squeeze=False, height_ratios=rows)[:, 0])


def _throughput(report: BenchReport) -> _Drawn | None:
    """Lines of GB/s over the size, a panel for each type of items."""
    found = slices(report.rows, BY_SIZE)
    if not found:
        return None
    styles = _Styles(report)
    figure, panels = _figure(min(len(found), _PANELS))
    for panel, part in zip(panels, found, strict=False):
        _lines(panel, part, lambda row: row.throughput / 1e9, styles)
        best = sorted({(row.count, row.nbytes / row.ceiling / 1e9) for row in part.rows if row.ceiling > 0})
        panel.plot(
            [size for size, _ in best],
            [rate for _, rate in best],
            "--",
            color=_COLOURS["copy"],
            label="best copy",
            linewidth=1.2,
        )
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_xlabel("items of output")
        panel.set_title(_raised(part.title), fontsize=10.5)
    panels[0].set_ylabel("GB/s, read and written")
    _legend(figure, panels)
    return figure, len(found)


def _over_runs(report: BenchReport) -> _Drawn | None:
    """Lines of the share of the copy over the number of runs."""
    found = slices(report.rows, BY_RUNS)
    if not found:
        return None
    styles = _Styles(report)
    figure, panels = _figure(min(len(found), _PANELS))
    for panel, part in zip(panels, found, strict=False):
        _lines(panel, part, lambda row: row.share_of_copy, styles)
        panel.set_xscale("log", base=2)
        panel.set_xticks(part.places, [str(place) for place in part.places])
        panel.minorticks_off()
        panel.set_xlabel("runs merged (k)")
        panel.set_title(_raised(part.title), fontsize=10.5)
    # This comes last, since a limit that was set is not fitted to later panels.
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel("throughput, as a share of a copy")
    _legend(figure, panels)
    return figure, len(found)


class _Styles:
    """The colour, mark and width of each contestant: the same in all figures of a report."""

    def __init__(self, report: BenchReport) -> None:
        ordered = kernels(report.rows)
        self.best = ordered[-1] if ordered else ""
        """The kernel on the ladder's last rung."""
        self._kernels = dict(zip(reversed(ordered), cycle(_KERNELS), strict=False))

    def colour(self, name: str) -> str:
        return self._kernels.get(name, (_COLOURS.get(name, _OTHER), ""))[0]

    def mark(self, name: str) -> str:
        return self._kernels.get(name, ("", "x"))[1]


def _lines(panel: Any, part: Slice, value: Callable[[BenchRow], float], styles: _Styles) -> None:
    for name in part.names:
        points = [(part.axis.of(row), value(row)) for row in part.of(name)]
        panel.plot(
            *zip(*points, strict=True),
            color=styles.colour(name),
            marker=styles.mark(name),
            markersize=4.5,
            linewidth=2.4 if name == styles.best else 1.4,
            label=_plain(name),
        )


def _bars_over(find: Callable[[Sequence[BenchRow]], list[Slice]], what: str) -> Callable[[BenchReport], _Drawn | None]:
    """Groups of bars, one for each place on the axis: the share of the copy of the best kernel and the libraries."""

    def make(report: BenchReport) -> _Drawn | None:
        styles = _Styles(report)
        rows = [row for row in report.rows if row.role == "library" or row.name == styles.best]
        found = find(rows)
        if not found:
            return None
        part = found[0]
        figure, (panel,) = _figure(1)
        width = 0.8 / len(part.names)
        for number, name in enumerate(part.names):
            places = [part.places.index(part.axis.of(row)) + (number + 0.5) * width - 0.4 for row in part.of(name)]
            shares = [row.share_of_copy for row in part.of(name)]
            bars = panel.bar(places, shares, width * 0.92, color=styles.colour(name), label=_plain(name))
            # An upright number is no wider than its bar.
            panel.bar_label(bars, fmt="%.2f", fontsize=7, padding=2, rotation=90)
        panel.margins(y=0.12)
        panel.set_xticks(range(len(part.places)), [_raised(place) for place in part.places])
        panel.grid(axis="x", visible=False)
        panel.set_xlabel(what)
        panel.set_ylabel("throughput, as a share of a copy")
        panel.set_title(_raised(part.title), fontsize=10.5)
        _legend(figure, [panel])
        return figure, len(found)

    return make


def _ladder(report: BenchReport) -> _Drawn | None:
    """Bars from the first rung to the last, then the libraries; each with its share of the copy."""
    found = ladder(report.rows)
    if not found:
        return None
    styles = _Styles(report)
    figure, panels = _stacked([len(rows) for rows in found[:_PANELS]])
    for panel, rows in zip(panels, found, strict=False):
        names = [row.name for row in rows]
        bars = panel.barh(
            range(len(rows)),
            [row.throughput / 1e9 for row in rows],
            0.72,
            color=[styles.colour(name) for name in names],
        )
        labels = [f" {format_rate(row.throughput)} ({row.share_of_copy:.2f})" for row in rows]
        panel.bar_label(bars, labels, fontsize=8.5)
        panel.set_yticks(range(len(rows)), map(_plain, names))
        panel.grid(axis="y", visible=False)
        panel.set_xlim(right=max(row.throughput for row in rows) / 1e9 * 1.28)
        panel.invert_yaxis()
        first = rows[0]
        panel.set_title(_raised(f"{first.items}, {first.shape}, {format_size(first.size)} items"), fontsize=10.5)
    panels[-1].set_xlabel("GB/s, read and written (share of a copy)")
    return figure, len(found)


def _legend(figure: Figure, panels: Sequence[Any]) -> None:
    """A legend with an entry for each series that any of the panels shows."""
    series: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            series.setdefault(label, handle)
    figure.legend(list(series.values()), list(series), loc="outside right upper")


def _raised(title: str) -> str:
    """`title` with the exponents of powers of two set high."""
    return re.sub(r"2\^(\d+)", r"$2^{\1}$", _plain(title))


def _plain(name: str) -> str:
    """`name` as it is, where Matplotlib would read mathematics between two dollar signs."""
    return name.replace("$", r"\$")


_FIGURES: dict[str, Callable[[BenchReport], _Drawn | None]] = {
    "throughput": _throughput,
    "dtypes": _bars_over(types, "items"),
    "shapes": _bars_over(lambda rows: slices(rows, BY_SHAPE), "how the keys of the runs interleave"),
    "ladder": _ladder,
    "runs": _over_runs,
}
_NEEDS = {
    "throughput": "one size only",
    "dtypes": "one dtype only",
    "shapes": "one shape only",
    "ladder": "one kernel only",
    "runs": "one number of runs only",
}
