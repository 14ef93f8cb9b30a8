"""The result of checking a reader's answer to a puzzle, as plain values. Renderers see only this module."""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass

VerdictState = Literal["solved", "not begun", "missing", "not compiled", "wrong"]
"""The state of a reader's file. not begun: it is as it was written. missing: there is no such file."""


@dataclass(frozen=True)
class PictureRow:
    """A row of a picture: cells in a line."""

    label: str
    cells: tuple[str, ...]
    marked: int = -1
    """The number of the cell that is wrong; -1 for none."""
    cut: int = -1
    """A cut lies ahead of the cell of this number, which may be the number of cells; -1 for no cut."""
    aligned: bool = False
    """Cells stand below those of other aligned rows."""


@dataclass(frozen=True)
class Verdict:
    """The result of checking one puzzle."""

    name: str
    file: str
    """The reader's file, as it is shown."""
    state: VerdictState
    checked_on: tuple[str, ...] = ()
    """The processors that ran it: "cpu", "gpu"."""
    cases: int = 0
    """The cases that were run on each processor, or the answers that were compared."""
    problem: str = ""
    """One sentence: the first thing that is wrong; "" if nothing is."""
    case: str = ""
    """The case that shows it, in words."""
    picture: tuple[PictureRow, ...] = ()
    lines: tuple[tuple[int, str], ...] = ()
    """The lines of the file where it happens, by their numbers from 1."""
    lesson: str = ""
    """The reason why such a case fails, or a hint."""
    compiler: str = ""
    """The compiler's own words."""
