"""Whole commands, timed in turns, and tables of the times."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measured_on import commit

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = f"{sys.executable} -m gpumerge_cli"
"""The command gpumerge in a line for the shell."""


class Took(NamedTuple):
    """The seconds of a command: by the clock, and of all processors. memory: the most megabytes that it held."""

    wall: float
    processors: float
    memory: float


class Series(NamedTuple):
    """The seconds of several runs of a command. processors: the median. memory: the most megabytes of any."""

    median: float
    fastest: float
    slowest: float
    processors: float
    memory: float

    @classmethod
    def of(cls, turns: Sequence[Took]) -> Series:
        """The times of several runs."""
        walls = [turn.wall for turn in turns]
        processors, memory = median(turn.processors for turn in turns), max(turn.memory for turn in turns)
        return cls(median(walls), min(walls), max(walls), processors, memory)

    def beside(self, first: Series) -> tuple[str, str]:
        """The medians by the clock and of all processors as texts, each with its ratio to that of `first`."""
        pairs = ((self.median, first.median), (self.processors, first.processors))
        clock, processors = (f"{own:.2f} s ({own / other:.2f})" for own, other in pairs)
        return clock, processors


def parser_of(about: str | None, *, megabytes: int, turns: int) -> argparse.ArgumentParser:
    """A parser of --megabytes and --turns, with these defaults, and of --folder. about: the script's docstring."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=megabytes)
    parser.add_argument("--turns", type=int, default=turns)
    parser.add_argument("--folder")
    return parser


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
    took = Took(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)
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


def print_rows(kind: str, took: Mapping[str, Series]) -> None:
    """Print a table of the medians of commands, and of their ratios to those of the first one. kind: the first head."""
    first = next(iter(took.values()))
    print(f"| {kind} | seconds | of all cores | by the clock | of all cores |\n|---|---|---|---|---|")
    for name, its in took.items():
        ratios = f"{its.median / first.median:.2f} | {its.processors / first.processors:.2f}"
        print(f"| {name} | {its.median:.2f} | {its.processors:.2f} | {ratios} |")


def write_table(out: Path, about: str, columns: str, rows: Sequence[str]) -> None:
    """Write a table below a paragraph, which names the commit. columns: the heads, as a row of the table."""
    edges = "|---" * columns.count(" | ") + "|---|"
    out.write_text("\n".join([f"{about} Commit {commit()}.", "", columns, edges, *rows]) + "\n", encoding="utf-8")
