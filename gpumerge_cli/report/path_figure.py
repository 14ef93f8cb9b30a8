"""A merge path as PNG or SVG; the same path makes the same file.

Artists carry ids, which an SVG keeps: "path", "block-cut-4-2-2" for the block cut at rank 4, i 2, j 2, "search-1".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpumerge_cli.report.drawing import Figure, Patch, Polygon, rc_context
from gpumerge_cli.report.figure import save_figure
from gpumerge_cli.report.rounds_figure import COLOURS, FAINT, INK, PAPER, rounds_figure
from gpumerge_cli.results.path import CutLevel, CutSearch, InputAxis, PathCut, PathReport
from gpumerge_cli.units import format_count, format_counted, visible

_STYLE = {"svg.hashsalt": "gpumerge", "svg.fonttype": "none", "font.size": 10.0, "font.family": "sans-serif"}
_A, _B = COLOURS["A"], COLOURS["B"]
_CUTS = {"block": "#b3261e", "host thread": "#c2188f", "round": "#8a3ffc"}
_MARKS = {"host thread": "s"}
_FINEST = "#6a5d00"
_FOUND = "#0b6e4f"
_LONGEST, _WIDE, _HIGH = 6.4, 4.0, 2.2
"""Inches of the longer side of the grid, and at least to the right and down."""
_LETTER = 0.085
"""Inches that a letter of a key takes."""
_KEYS = 40
"""The most keys for which an axis shows all of them; with more keys it shows those at ticks."""
_TICKS = 9
_LABELLED = 12
"""The most cuts that have their (i, j) beside them; with fewer, there is room for other text."""


def draw_path(report: PathReport, path: str) -> str:
    """Draw the grid, or the rounds if there are any, to a .png or .svg file; see `save_figure`. Raises OutputError."""
    with rc_context(_STYLE):
        figure = rounds_figure(report.rounds, _title(report)) if report.rounds else _figure(report)
        return save_figure(figure, path)


def _figure(report: PathReport) -> Figure:
    a, b = report.a, report.b
    wide, high = _sides(a.count, b.count)
    # Room for the keys to the left of the grid and above it, where long ones stand upright.
    left, above = (_LETTER * max(map(len, axis.labels), default=0) for axis in (a, b))
    above = above if b.count > _TICKS and b.count <= _KEYS else 0.0
    size = (wide + 1.0 + left, high + 2.0 + above)
    figure = Figure(figsize=size, layout="constrained", facecolor=PAPER)
    grid = figure.subplots()
    grid.set_xlim(0, max(1, b.count))
    grid.set_ylim(max(1, a.count), 0)
    per_item = min(72 * wide / max(1, b.count), 72 * high / max(1, a.count))
    areas = _ground(grid, report, per_item)
    marks = []
    for level in reversed(report.levels):
        marks += _cuts(grid, level, report, per_item)
    if report.search is not None:
        marks += _search(grid, report.search, report)
    points = report.points
    (line,) = grid.plot(
        [j for _, j in points],
        [i for i, _ in points],
        color=INK,
        linewidth=2.8 if per_item > 4 else 1.8,
        solid_capstyle="projecting",
        solid_joinstyle="miter",
        zorder=4,
        clip_on=False,
        gid="path",
        label="merge path",
    )
    _axes(grid, a, b, per_item)
    figure.legend(
        handles=[line, *areas, *reversed(marks)], loc="outside lower left", frameon=False, fontsize=8.5,
        ncols=2 if wide > 5 else 1, handlelength=1.6, columnspacing=1.4, borderaxespad=0.3,
    )  # fmt: skip
    figure.suptitle(_title(report), fontsize=9, color=FAINT, x=0.01, ha="left", parse_math=False)
    return figure


def _sides(a: int, b: int) -> tuple[float, float]:
    """Inches to the right and down, in proportion to the counts, but never too narrow to read."""
    longer = max(1, a, b)
    return max(_WIDE, _LONGEST * b / longer), max(_HIGH, _LONGEST * a / longer)


def _title(report: PathReport) -> str:
    title = f"{report.order}; {report.launch}, by the {report.rules}'s rules"
    steps = {"A": report.a.step, "B": report.b.step}
    coarse = [f"every {format_counted(step, 'item')} of {name}" for name, step in steps.items() if step > 1]
    return f"{title}; path exact at {' and '.join(coarse)}" if coarse else title


def _ground(grid: Any, report: PathReport, per_item: float) -> list[Any]:
    """Draw the cells: on one side of the path A's item goes first, on the other B's. Returns their legend."""
    areas = []
    path = [(j, i) for i, j in report.points]
    corners = {"A": (report.b.count, 0), "B": (0, report.a.count)}
    for (name, corner), colour in zip(corners.items(), (_A, _B), strict=True):
        area = Polygon([*path, corner], closed=True, facecolor=colour, alpha=0.12, edgecolor="none", zorder=0)
        area.set_gid(f"{name}-first")
        grid.add_patch(area)
        areas.append(Patch(facecolor=colour, alpha=0.25, label=f"here the item of {name} goes first"))
    if per_item > 4:
        # These are not ticks: Matplotlib leaves out one of two ticks at the same place.
        lines = {"color": INK, "alpha": 0.13, "linewidth": 0.6, "zorder": 1}
        grid.vlines(range(1, report.b.count), 0, report.a.count, **lines)
        grid.hlines(range(1, report.a.count), 0, report.b.count, **lines)
    for spine in grid.spines.values():
        spine.set_color(FAINT)
        spine.set_linewidth(0.7)
    return areas


def _axes(grid: Any, a: InputAxis, b: InputAxis, per_item: float) -> None:
    """Keys on top and on the left, positions at the bottom and on the right."""
    top, right = grid.secondary_xaxis("top"), grid.secondary_yaxis("right")
    for side in (grid, top, right):
        side.tick_params(which="both", length=0)
    for side in (top, right):
        side.spines[:].set_visible(False)
    _keys(top.set_xticks, b, _B, per_item, turn=True)
    _keys(grid.set_yticks, a, _A, per_item, turn=False)
    grid.set_xticks(*_positions(b), color=FAINT, fontsize=7.5)
    right.set_yticks(*_positions(a), color=FAINT, fontsize=7.5)
    top.set_xlabel(f"{_name(b, 'B')}  →", color=_B, fontsize=9.5, loc="left")
    grid.set_ylabel(f"←  {_name(a, 'A')}", color=_A, fontsize=9.5, loc="top")
    grid.set_xlabel("j, items taken from B", color=FAINT, fontsize=8)
    right.set_ylabel("i, items taken from A", color=FAINT, fontsize=8)


def _name(axis: InputAxis, letter: str) -> str:
    name = "" if axis.name == letter else f" {_plain(visible(axis.name))},"
    return f"{letter}:{name} {format_counted(axis.count, 'item')}"


def _keys(set_ticks: Callable[..., object], axis: InputAxis, colour: str, per_item: float, *, turn: bool) -> None:
    """Draw an item's key between the positions before and after it, or at the position before it if some are not shown.

    turn: keys that are too long to lie beside each other stand upright.
    """
    shown = _shown(axis)
    labels = [axis.labels[at // axis.step] for at in shown]
    every = shown[1] if len(shown) > 1 else max(1, axis.count)
    size = max(6.5, min(10.0, 0.62 * per_item * every))
    width = max(map(len, labels), default=0) * size * 0.66
    whole = every == 1 or axis.count == 1
    upright = turn and whole and width > per_item
    apart = -(-width // (per_item * every)) if turn and not whole else 1
    places = [at + 0.5 * whole for at in shown][:: int(apart)]
    named = [_plain(label) for label in labels[:: int(apart)]]
    set_ticks(places, named, color=colour, fontsize=size, rotation=90 * upright)


def _positions(axis: InputAxis) -> tuple[list[int], list[str]]:
    """Labelled positions and their labels: the end, and others that have room beside it."""
    shown = _shown(axis)
    shown = shown[:: -(-len(shown) // 16) or 1]
    apart = 0.6 * shown[1] if len(shown) > 1 else 0
    named = [*(at for at in shown if axis.count - at > apart), axis.count]
    return named, [format_count(at) for at in named]


def _shown(axis: InputAxis) -> list[int]:
    """The items whose keys are shown: all, or those at round numbers."""
    if axis.step == 1 and axis.count <= _KEYS:
        return list(range(axis.count))
    every = axis.step
    for factor in (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000):
        every = axis.step * factor
        if axis.count // every < _TICKS:
            break
    return list(range(0, axis.count, every))


def _cuts(grid: Any, level: CutLevel, report: PathReport, per_item: float) -> list[Any]:
    """Draw the cuts of a level, unless they are too dense to distinguish. Returns their legend."""
    known = level.what in _CUTS
    colour, mark = _CUTS.get(level.what, _FINEST), _MARKS.get(level.what, "o")
    label = (
        f"{format_counted(level.count, f'{level.what} cut')}, pieces of up to {format_counted(level.outputs, 'output')}"
    )
    if not level.count:
        return []
    if not level.cuts or level.outputs * per_item < 5:
        return [grid.plot([], [], " ", label=f"{label}: too close to be drawn")[0]]
    labelled = known and len(level.cuts) <= _LABELLED
    for cut in level.cuts:
        _diagonal(grid, cut, report, reach=None if known else 0.7, colour=colour, style="-" if known else ":")
        grid.plot(
            cut.j, cut.i, mark, markersize=6.5 if known else 4.5, color=colour, zorder=6 if known else 5, clip_on=False,
            markerfacecolor=colour if known else PAPER, markeredgewidth=1.2,
            gid=f"{level.what.replace(' ', '-')}-cut-{cut.rank}-{cut.i}-{cut.j}",
        )  # fmt: skip
        if labelled:
            _note(grid, cut, f"{cut.rank:,} = {cut.i:,} + {cut.j:,}", colour)
    face = colour if known else PAPER
    style = {"markersize": 5, "color": colour, "markerfacecolor": face, "linewidth": 1}
    return [grid.plot([], [], mark + ("-" if known else ":"), label=label, **style)[0]]


def _diagonal(grid: Any, cut: PathCut, report: PathReport, *, reach: float | None, colour: str, style: str) -> None:
    """Draw the cross diagonal through a cut, from border to border or so many items to both sides."""
    left = float(cut.rank - min(report.a.count, cut.rank))
    right = float(min(report.b.count, cut.rank))
    if reach is not None:
        left, right = max(left, cut.j - reach), min(right, cut.j + reach)
    grid.plot(
        [left, right], [cut.rank - left, cut.rank - right], style, color=colour, linewidth=1.0,
        alpha=0.75 if reach is None else 1, zorder=3,
    )  # fmt: skip


def _note(grid: Any, cut: PathCut, text: str, colour: str) -> None:
    left = cut.j > 0.75 * grid.get_xlim()[1]
    grid.annotate(
        text, (cut.j, cut.i), (-8, -12) if left else (8, 5), textcoords="offset points", ha="right" if left else "left",
        color=colour, fontsize=8, zorder=11, annotation_clip=False,
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
    )  # fmt: skip


def _search(grid: Any, search: CutSearch, report: PathReport) -> list[Any]:
    """Draw the diagonal of the rank, a numbered point for each step, and the point that is found."""
    found = search.found
    _diagonal(grid, found, report, reach=None, colour=_FOUND, style="--")
    for number, step in enumerate(search.steps, start=1):
        grid.plot(
            step.j, step.i, "o", markersize=11, color=PAPER, markeredgecolor=_FOUND, zorder=8, clip_on=False,
            gid=f"search-{number}",
        )  # fmt: skip
        grid.annotate(
            str(number), (step.j, step.i), ha="center", va="center_baseline", fontsize=7, color=_FOUND, zorder=9
        )
    grid.plot(
        found.j, found.i, "D", markersize=7, color=_FOUND, zorder=10, clip_on=False,
        gid=f"found-{search.rank}-{found.i}-{found.j}",
    )  # fmt: skip
    label = f"co-rank of {search.rank}: i = {found.i}, j = {found.j}, {format_counted(len(search.steps), 'step')}"
    return [grid.plot([], [], "D--", color=_FOUND, markersize=5, linewidth=1, label=label)[0]]


def _plain(text: str) -> str:
    """`text` as it is, where Matplotlib would read mathematics between two dollar signs."""
    return text.replace("$", r"\$")
