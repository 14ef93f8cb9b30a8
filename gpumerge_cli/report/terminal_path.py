"""A merge path in a terminal, as wide as it: A goes down, B to the right. Without Unicode it is drawn in ASCII."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.results.path import Buffer, CutLevel, CutSearch, InputAxis, PathCut, PathReport, Round
from gpumerge_cli.units import format_counted, visible

_PATH, _AXIS, _FAINT, _SEARCH = "bold green", "cyan", "bright_black", "bold magenta"
_LEVELS = {"block": "bold red", "host thread": "bold blue", "round": "bold yellow"}
_FINEST = "yellow"
_MOST_ROWS = 42
_MOST_LISTED = 40
_ROOMY = 12
_TALLEST = 4
_MOST_LONG = 6
_REACH = 2
_NUMBERS = "123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class _Glyphs:
    """The characters of a drawing."""

    dot: str
    right: str
    """A step of the path to the right."""
    down: str
    """A step of the path down."""
    turn_right: str
    """The path turns from down to right."""
    turn_down: str
    """The path turns from right to down."""
    diagonal: str
    coarse: str
    """A cut of a coarse level."""
    fine: str
    """A cut of a fine level."""
    found: str
    """The result of the search."""
    mark: str
    """Stands below a key."""


_UNICODE = _Glyphs("·", "━", "┃", "┗", "┓", "╱", "●", "○", "◆", "╷")
_ASCII = _Glyphs(".", "-", "|", "+", "+", "/", "@", "o", "#", "|")


@dataclass(frozen=True)
class _Grid:
    """The places of nodes."""

    a: int
    """Items of A to a row."""
    b: int
    """Items of B to a column."""
    wide: int
    """Characters from one node to the next in a row."""
    high: int
    """Lines from one node to the next in a column."""

    def at(self, i: float, j: float) -> tuple[int, int]:
        """Line and column of the node at a point of the path, or of the last one before it."""
        return int(i // self.a) * self.high, int(j // self.b) * self.wide


class _Canvas:
    def __init__(self, high: int, wide: int) -> None:
        self.letters = [[" "] * wide for _ in range(high)]
        self.styles = [[""] * wide for _ in range(high)]

    def put(self, line: int, column: int, letter: str, style: str) -> None:
        self.letters[line][column] = letter
        self.styles[line][column] = style

    def line(self, number: int) -> Text:
        text = Text(no_wrap=True)
        for letter, style in zip(self.letters[number], self.styles[number], strict=True):
            text.append(letter, style)
        text.rstrip()
        return text


def show_path(report: PathReport, console: Console) -> None:
    """Print the grid, its cuts, and the search and the rounds if there are any."""
    a, b = report.a, report.b
    for axis, way in ((a, "A, down"), (b, "B, right")):
        name = "" if axis.name == way[0] else f"{visible(axis.name)}, "
        console.print(Text(f"{way}: {name}{format_counted(axis.count, 'item')}, {report.order}", _AXIS))
    glyphs = _ASCII if console.options.ascii_only else _UNICODE
    margin = _widest(a) + 2
    grid = _finest_grid(report, console.width - margin)
    if grid.a > 1 or grid.b > 1:
        console.print(Text(f"scale: a row is {format_counted(grid.a, 'item')} of A, a column {grid.b:,} of B", _AXIS))
    console.print()
    canvas = _Canvas(a.count // grid.a * grid.high + 1, b.count // grid.b * grid.wide + 1)
    drawn = _draw(canvas, report, grid, glyphs)
    for line in _header(b, grid, glyphs):
        console.print(Text(" " * margin + line, _AXIS, no_wrap=True), soft_wrap=True)
    labels = _rows(a, grid)
    for number in range(len(canvas.letters)):
        label = labels.get(number, "")
        text = Text(" " * (margin - 2 - cell_len(label)) + label + "  ", _AXIS, no_wrap=True)
        console.print(text.append_text(canvas.line(number)), soft_wrap=True)
    console.print()
    for level in report.levels:
        if level.count:
            console.print(_level_line(level, level.what in drawn, glyphs))
    if none := [f"no {level.what} cuts" for level in report.levels if not level.count]:
        console.print(Text(", ".join(none)))
    if len(none) == len(report.levels):
        console.print(Text("one thread merges all of it; --block-size 2 --items-per-thread 2 would show cuts"))
    console.print(Text(f"launch: {report.launch}, by the {report.rules}'s rules: {report.why}"))
    if report.search is not None:
        _show_search(report.search, glyphs, console)
    if report.rounds:
        show_rounds(report.rounds, console)


def _finest_grid(report: PathReport, room: int) -> _Grid:
    """The finest grid that fits, with space between the lines where there is little to draw."""
    a, b = report.a, report.b
    for wide in (max(4, _widest(b) + 1), 4):
        if a.count <= _ROOMY and wide <= 8 and b.count * wide < room:
            return _Grid(1, 1, wide, 2)
    return _Grid(_coarser(a, _MOST_ROWS), _coarser(b, max(1, (room - 1) // 2)), 2, 1)


def _widest(axis: InputAxis) -> int:
    return max(map(cell_len, axis.labels), default=0)


def _coarser(axis: InputAxis, most: int) -> int:
    """Items to a step, a multiple of the axis's own, so that there are at most `most` steps."""
    return axis.step * max(1, -(-axis.count // (axis.step * most)))


def _header(b: InputAxis, grid: _Grid, glyphs: _Glyphs) -> Iterator[str]:
    """The lines of B's keys: side by side if they fit, else downwards if short, else at some columns, with marks."""
    labels = b.labels[:: grid.b // b.step]
    longest = max(map(cell_len, labels), default=0)
    if longest < grid.wide:
        indented = (" " * ((grid.wide + 1 - cell_len(label)) // 2) + label for label in labels)
        yield "".join(set_cell_size(label, grid.wide) for label in indented).rstrip()
    elif longest <= _TALLEST and all(len(label) == cell_len(label) for label in labels):
        for row in range(longest):
            yield "".join(f" {label[row] if row < len(label) else ' '}" for label in labels).rstrip()
    else:
        every = -(-(longest + 2) // grid.wide)
        yield "".join(set_cell_size(label, every * grid.wide) for label in labels[::every]).rstrip()
        yield "".join(f"{glyphs.mark:<{every * grid.wide}}" for _ in labels[::every]).rstrip()


def _rows(a: InputAxis, grid: _Grid) -> dict[int, str]:
    """The keys of A by line: between two nodes if there is a line between them, else at the upper one."""
    shown = a.labels[:: grid.a // a.step]
    return {row * grid.high + grid.high // 2: label for row, label in enumerate(shown)}


def _draw(canvas: _Canvas, report: PathReport, grid: _Grid, glyphs: _Glyphs) -> set[str]:
    """Draw all, where later parts cover earlier ones. Returns the levels whose cuts were drawn."""
    high, wide = len(canvas.letters), len(canvas.letters[0])
    for line in range(0, high, grid.high):
        for column in range(0, wide, grid.wide):
            canvas.put(line, column, glyphs.dot, _FAINT)
    steps = high // grid.high + wide // grid.wide
    drawn = [level for level in report.levels if level.cuts and (grid.high > 1 or 2 * len(level.cuts) <= steps)]
    for level in reversed(drawn):
        style = _LEVELS.get(level.what, _FINEST)
        reach = None if len(level.cuts) <= _MOST_LONG else _REACH * grid.high
        for cut in level.cuts:
            _diagonal(canvas, grid, cut, reach if level.what in _LEVELS else grid.high, glyphs.diagonal, style)
    if report.search is not None:
        _diagonal(canvas, grid, report.search.found, None, glyphs.diagonal, _SEARCH)
    _staircase(canvas, report, grid, glyphs)
    for level in reversed(drawn):
        for cut in level.cuts:
            glyph = glyphs.coarse if level.what in _LEVELS else glyphs.fine
            canvas.put(*grid.at(cut.i, cut.j), glyph, _LEVELS.get(level.what, _FINEST))
    if report.search is not None:
        for number, step in zip(_NUMBERS, report.search.steps, strict=False):
            canvas.put(*grid.at(step.i, step.j), number, _SEARCH)
        canvas.put(*grid.at(report.search.found.i, report.search.found.j), glyphs.found, _SEARCH)
    return {level.what for level in drawn}


def _diagonal(canvas: _Canvas, grid: _Grid, cut: PathCut, reach: int | None, glyph: str, style: str) -> None:
    """Draw the cross diagonal through a cut: up to `reach` lines above and below it, or all of it for None."""
    at, column = grid.at(cut.i, cut.j)
    high, wide = len(canvas.letters), len(canvas.letters[0])
    for line in range(high):
        # A cross diagonal goes left by this many columns a line, whatever the scale.
        place = round(column - (line - at) / grid.high * grid.a / grid.b * grid.wide)
        if 0 <= place < wide and (reach is None or abs(line - at) <= reach):
            canvas.put(line, place, glyph, style)


def _staircase(canvas: _Canvas, report: PathReport, grid: _Grid, glyphs: _Glyphs) -> None:
    """Draw the path: along rows where it takes from B, down columns where it takes from A."""
    nodes = list(dict.fromkeys(grid.at(i, j) for i, j in report.points))
    before = ""
    for (line, column), (line_after, column_after) in pairwise(nodes):
        way = glyphs.right if line_after == line else glyphs.down
        turn = glyphs.turn_right if way == glyphs.right else glyphs.turn_down
        canvas.put(line, column, way if before in ("", way) else turn, _PATH)
        for between in range(column + 1, column_after):
            canvas.put(line, between, way, _PATH)
        for between in range(line + 1, line_after):
            canvas.put(between, column, way, _PATH)
        before = way
    canvas.put(*nodes[-1], before or glyphs.coarse, _PATH)


def _level_line(level: CutLevel, drawn: bool, glyphs: _Glyphs) -> Text:
    pieces = f"pieces of up to {format_counted(level.outputs, 'output')}"
    text = f"{format_counted(level.count, f'{level.what} cut')}, {pieces}"
    if not drawn:
        return Text(f"{text}; not drawn: closer together than the grid shows")
    if len(level.cuts) <= _MOST_LISTED:
        text += ": " + ", ".join(f"{cut.rank} = {cut.i}+{cut.j}" for cut in level.cuts)
    known = level.what in _LEVELS
    return Text(f"{glyphs.coarse if known else glyphs.fine} {text}", _LEVELS.get(level.what, _FINEST))


def _show_search(search: CutSearch, glyphs: _Glyphs, console: Console) -> None:
    found = search.found
    console.print()
    console.print(Text(f"co-rank of rank {search.rank}: i + j = {search.rank}", _SEARCH))
    if search.steps:
        console.print(_steps(search, console.width))
    least = "" if search.steps else " without a step: low is high from the start"
    console.print(Text(f"{glyphs.found} found{least}: i = {found.i}, j = {found.j}", _SEARCH))


def _steps(search: CutSearch, width: int) -> Table:
    """The table of a search: a row for each step. A narrow table leaves out facts that the next row repeats."""
    names = ("step", "low", "high", "i", "j", "B[j-1]", "A[i]", "B first?")
    rows = []
    for number, step in enumerate(search.steps, start=1):
        text = f"yes, high = {step.i}" if step.b_first else f"no, low = {step.i + 1}"
        rows.append((*map(str, (number, step.low, step.high, step.i, step.j)), step.b, step.a, text))
    if _wide(names, rows) > width:
        rows = [(*row[:-1], row[-1].partition(",")[0]) for row in rows]
    # If there is still too little room, keys are cut, not numbers.
    room = max(6, (width - _wide((*names[:5], "", "", names[-1]), [(*row[:5], "", "", row[-1]) for row in rows])) // 2)
    table = _table(*names[:5], left=0)
    for name in names[5:7]:
        table.add_column(name, justify="right", no_wrap=True, overflow="ellipsis", max_width=room)
    table.add_column(names[-1], no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _wide(names: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """The width of a table."""
    return sum(max(map(cell_len, column)) + 2 for column in zip(names, *rows, strict=True)) - 1


def show_rounds(rounds: Sequence[Round], console: Console) -> None:
    """The table of rounds: a row for each buffer in each round. + marks items that it loads, * items that it merges.

    Of buffers too long to show, a row for each round has the counts of both.
    """
    console.print()
    if not any(one.outputs for one in rounds):
        _show_counts(rounds, console)
        return
    console.print(Text("round by round: + loaded, * merged, . nothing that will be read"))
    blocks = len({one.block for one in rounds})
    rings = all(not one.a.dropped and not one.b.dropped for one in rounds)
    left = "stay" if rings else "dropped"
    table = _table("round", "of", "load", "use", left, left=0)
    table.add_column("places from 0", overflow="fold")
    for one in rounds:
        name = f"{one.block}.{one.number}" if blocks > 1 else str(one.number)
        for which, buffer, title in (("A", one.a, name), ("B", one.b, "")):
            rest = buffer.stay if rings else buffer.dropped
            cells = (title, which, str(buffer.loaded), str(buffer.used), str(rest), _places(buffer))
            table.add_row(*map(Text, cells))
        table.add_row(
            *map(Text, ("", "", "", "", "", f"out[{one.first}:{one.first + one.count}]: {' '.join(one.outputs)}")),
            style=_PATH,
        )
    console.print(table)


def _show_counts(rounds: Sequence[Round], console: Console) -> None:
    rings = all(not one.a.dropped and not one.b.dropped for one in rounds)
    left = "stay" if rings else "dropped"
    columns = ("load", "use", left, *(("start",) if rings else ()))
    what = "; start is the place of the first unread item" if rings else ""
    console.print(Text(f"round by round, from rank on: items of A and B that are loaded and merged{what}"))
    table = _table("round", "rank", *(f"{which} {column}" for which in "AB" for column in columns), left=1)
    for one in rounds:
        cells = [f"{one.block}.{one.number}", str(one.first)]
        for buffer in (one.a, one.b):
            rest = (buffer.stay, buffer.head) if rings else (buffer.dropped,)
            cells += map(str, (buffer.loaded, buffer.used, *rest))
        table.add_row(*map(Text, cells))
    console.print(table)
    loaded = sum(buffer.loaded for one in rounds for buffer in (one.a, one.b))
    merged = sum(one.count for one in rounds)
    console.print(Text(f"{format_counted(len(rounds), 'round')}: {loaded:,} loaded, {merged:,} merged"))


def _places(buffer: Buffer) -> str:
    shown = []
    wide = max((len(place.label) for place in buffer.places if place is not None), default=1)
    for place in buffer.places:
        label = "." if place is None else place.label
        fresh, used = (place.fresh, place.used) if place is not None else (False, False)
        shown.append(f"{'+' if fresh else ' '}{label:>{wide}}{'*' if used else ' '}")
    return " ".join(shown).rstrip()


def _table(*names: str, left: int) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for number, name in enumerate(names):
        table.add_column(name, justify="left" if number < left else "right", no_wrap=True)
    return table
