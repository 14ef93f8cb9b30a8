"""Verdicts on a reader's puzzles in a terminal: a line for each, and the first problem as a small picture."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from gpumerge_cli.results.puzzles import PictureRow, Verdict
from gpumerge_cli.shell_words import quoted
from gpumerge_cli.units import visible, visible_lines

_WRONG, _GOOD, _FAINT, _CUT = "bold red", "bold green", "bright_black", "bold magenta"
_STYLES = {"solved": _GOOD, "wrong": _WRONG, "not compiled": _WRONG}


def show_written(folder: str, rows: Sequence[tuple[str, bool, str]], console: Console) -> None:
    """The files of a folder: (name, whether it was written now, what it is). Others are as the reader left them."""
    wide = max((len(file) for file, _, _ in rows), default=0)
    for file, written, about in rows:
        line = Text(f"{'wrote' if written else 'kept '}  {file:<{wide}}  ")
        line.append(about, _FAINT)
        console.print(line, soft_wrap=True)
    first = rows[0][0].partition(".")[0]
    console.print(Text(f"Fill in a file, then: gpumerge learn {quoted(folder)} {first} --check"), soft_wrap=True)


def show_verdicts(verdicts: Sequence[Verdict], console: Console) -> None:
    """A line for each verdict, in two columns."""
    wide = max((len(one.name) for one in verdicts), default=0)
    for one in verdicts:
        line = Text(f"{one.name:<{wide}}  ")
        line.append(one.state, _STYLES.get(one.state, _FAINT))
        if one.state == "solved":
            on = f" on {' and '.join(one.checked_on)}" if one.checked_on else ""
            line.append(f": {one.cases} {'cases' if one.checked_on else 'answers'}{on}")
            line.append("; only the CPU shows races" if one.checked_on == ("gpu",) else "")
        console.print(line, soft_wrap=True)


def show_problem(verdict: Verdict, console: Console) -> None:
    """The first problem of a puzzle: the case, the picture, and the reason."""
    console.print()
    console.print(Text(f"{visible(verdict.file)}:"), soft_wrap=True)
    if verdict.compiler:
        console.print(Text(visible_lines(verdict.compiler)), soft_wrap=True)
        return
    if verdict.case:
        console.print(Text(f"{verdict.case}:"))
    console.print(Text(visible(verdict.problem), _WRONG))
    if verdict.picture:
        console.print()
        _draw(verdict.picture, console)
    if verdict.lines:
        console.print()
        wide = len(str(verdict.lines[-1][0]))
        for number, text in verdict.lines:
            console.print(Text(f"  {number:>{wide}}  {visible(text.expandtabs())}"), soft_wrap=True)
    if verdict.lesson:
        console.print()
        console.print(Text(f"{verdict.lesson[:1].upper()}{verdict.lesson[1:]}."))


def _draw(rows: Sequence[PictureRow], console: Console) -> None:
    """The rows, with a caret below each wrong cell."""
    label = max(len(row.label) for row in rows)
    aligned = max((len(cell) for row in rows if row.aligned for cell in row.cells), default=1)
    for row in rows:
        wide = aligned if row.aligned else max((len(cell) for cell in row.cells), default=1)
        line = Text(f"  {row.label:>{label}}  ")
        caret = -1
        for number, cell in enumerate(row.cells):
            line.append("|" if number == row.cut else " ", _CUT)
            if number == row.marked:
                caret = line.cell_len + wide - 1
            line.append(f"{visible(cell):>{wide}}", _WRONG if number == row.marked else "")
        if row.cut == len(row.cells):
            line.append("|", _CUT)
        console.print(line, soft_wrap=True)
        if caret >= 0 and (row is rows[-1] or row.cut >= 0 or not rows[rows.index(row) + 1].marked >= 0):
            console.print(Text(" " * caret + "^", _WRONG), soft_wrap=True)
