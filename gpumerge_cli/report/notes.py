"""Notes for the reader of a comparison: wrong outputs, unstable timings, differences without significance."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from gpumerge_cli.results.compared import BenchReport, BenchRow, CompareReport, Measured
from gpumerge_cli.units import format_counted

UNSTABLE = 0.2
"""A spread above this share of the median is called unstable."""

CHANCE = 0.1
"""A difference that occurs by chance more often than this does not count. Three timings each are the least."""


def compare_notes(report: CompareReport) -> tuple[str, ...]:
    """Sentences without a full stop, the most important first."""
    notes = [f"{row.name}: wrong: {row.problem}" for row in report.rows if not row.right]
    notes += [f"{row.name}: not run: {row.problem}" for row in report.rows if row.right and row.problem]
    notes += _left_out(report)
    fastest, library = _fastest(report, library=False), _fastest(report, library=True)
    if fastest and library:
        notes.append(_difference(fastest, library))
    shaky = [row.name for row in report.rows if row.spread > UNSTABLE]
    if shaky:
        notes.append(f"{', '.join(shaky)}: spread above {UNSTABLE:.0%}, may be unstable; raise --repeat")
    if report.command == "sort":
        notes.append("median: the sort alone, of items in memory; copies: how many copies of them take as long")
        repeats = max((len(row.whole_seconds) for row in report.rows), default=0)
        notes.append(
            f"whole: reading, sorting and writing files, start-up aside; median of {repeats}"
            if repeats
            else "whole: not timed, as standard input is read once"
        )
    return tuple(notes)


def bench_notes(report: BenchReport) -> tuple[str, ...]:
    """Sentences without a full stop on rows that are missing, wrong, not run (with the reason), or unstable."""
    notes = ["stopped early: not all cases were run"] if report.stopped else []
    notes += [f"results of several runs, with {report.merged}"] if report.merged else []
    notes += [f"{_place(row)}: wrong: {row.problem}" for row in report.wrong]
    notes += [f"{_place(row)}: not run: {row.problem}" for row in report.rows if row.right and row.problem]
    notes += _left_out(report)
    shaky = sum(row.spread > UNSTABLE for row in report.rows)
    if shaky:
        notes.append(
            f"{shaky} of {len(report.rows)} rows: spread above {UNSTABLE:.0%}, may be unstable; raise --repeat"
        )
    return tuple(notes)


def _left_out(report: BenchReport | CompareReport) -> list[str]:
    """The libraries that a report is without, each with the reason."""
    return [f"{name}: {value}" for name, value in report.environment.items() if value.startswith("left out: ")]


def _place(row: BenchRow) -> str:
    of = f"{format_counted(row.runs, 'run')}, {format_counted(row.size, 'item')}"
    return f"{row.name}, {row.items} {row.shape}, {of}"


def ceiling(report: CompareReport) -> float:
    """Median seconds of the copy; 0 if none was timed."""
    ordered = sorted(report.copy_seconds)
    if not ordered:
        return 0.0
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _fastest(report: CompareReport, *, library: bool) -> Measured | None:
    timed = [row for row in report.rows if row.library is library and row.seconds]
    return min(timed, key=lambda row: row.median, default=None)


def differ(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two series of timings differ: every time of one is below every time of the other, and there are enough
    timings for that to mean something (`chance` is at most CHANCE)."""
    if not one or not other or chance(len(one), len(other)) > CHANCE:
        return False
    return max(one) < min(other) or max(other) < min(one)


def chance(one: int, other: int) -> float:
    """The chance that the timings of two equally fast programs, so many of each, lie apart completely.

    It is that of the most extreme U of Mann and Whitney's test (1947): two of all orders of the timings.
    """
    return min(1.0, 2 / comb(one + other, one))


def rule(one: int, other: int) -> str:
    """The rule of `differ` in words, for so many timings each."""
    if chance(one, other) > CHANCE:
        return "there are too few timings to tell a difference by; raise --repeat"
    return (
        "a difference is significant if every timing of the one is below every timing of the other; of two equally "
        f"fast ones with {one} timings and {other}, a share of {chance(one, other):.2g} look so by chance "
        "(Mann-Whitney test, U = 0)"
    )


def _difference(kernel: Measured, library: Measured) -> str:
    if not differ(kernel.seconds, library.seconds):
        return f"{kernel.name} against {library.name}: the difference is not significant"
    first, last = (kernel, library) if kernel.median < library.median else (library, kernel)
    return f"{first.name} is {last.median / first.median:.2f} x as fast as {last.name}"
