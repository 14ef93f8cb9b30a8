"""Whole commands, timed in turns, and tables of the times. The measurements of joins, sets, text and ranks use it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measured_on import commit

ROOT = Path(__file__).resolve().parents[2]


class Took(NamedTuple):
    """The seconds of a command: by the clock, and of all processors."""

    wall: float
    processors: float


class Series(NamedTuple):
    """The seconds of several runs of a command. processors: the median."""

    median: float
    fastest: float
    slowest: float
    processors: float

    @classmethod
    def of(cls, turns: Sequence[Took]) -> Series:
        """The times of several runs."""
        walls = [turn.wall for turn in turns]
        return cls(median(walls), min(walls), max(walls), median(turn.processors for turn in turns))


def environment() -> dict[str, str]:
    """The variables of commands: the C locale, the program of this checkout, and compiled modules, as if installed."""
    found = os.environ | {"LC_ALL": "C", "PYTHONPATH": str(ROOT)}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def run(command: Sequence[str] | str, out: Path | None = None) -> Took:
    """Run a command, with its output in the file `out` or nowhere. A single word is a line for the shell."""
    start = time.perf_counter()
    with open(out or os.devnull, "wb") as file:
        process = subprocess.Popen(command, shell=isinstance(command, str), env=environment(), stdout=file)
        _, status, used = os.wait4(process.pid, 0)
    took = Took(time.perf_counter() - start, used.ru_utime + used.ru_stime)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{command}: exit {process.returncode}")
    return took


def in_turns(
    commands: Mapping[str, Sequence[str] | str], repeat: int, outs: Mapping[str, Path] | None = None
) -> dict[str, Series]:
    """The times of commands by name, in turns. The first turn, for the page cache, does not count.

    outs: the files for their standard outputs, by name.
    """
    found: dict[str, list[Took]] = {name: [] for name in commands}
    for turn in range(repeat + 1):
        for name, command in commands.items():
            took = run(command, (outs or {}).get(name))
            if turn:
                found[name].append(took)
    return {name: Series.of(turns) for name, turns in found.items()}


def write_table(out: Path, about: str, columns: str, rows: Sequence[str]) -> None:
    """Write a table below a paragraph, which names the commit. columns: the heads, as a row of the table."""
    edges = "|---" * columns.count(" | ") + "|---|"
    out.write_text("\n".join([f"{about} Commit {commit()}.", "", columns, edges, *rows]) + "\n", encoding="utf-8")
