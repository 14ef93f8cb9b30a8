"""The cells of comparisons' and benches' tables, as text, for the terminal, Markdown and HTML."""

from __future__ import annotations

from itertools import groupby

from gpumerge_cli.report.notes import ceiling
from gpumerge_cli.results.compared import CCCL, BenchReport, BenchRow, CompareReport, Measured
from gpumerge_cli.units import format_count, format_counted, format_seconds

X_CCCL = "x cccl"
"""The column of a row's speed, CCCL's being 1."""


def compare_header(report: CompareReport) -> tuple[str, ...]:
    """The names of `compare_cells`' columns."""
    return ("variant", "launch", "median", "spread", "GB/s", *_ratios(report.command), "result")


def _ratios(command: str) -> tuple[str, ...]:
    """The names of a command's last columns but one. Sets have no basic kernel."""
    return {"sort": ("copies", "whole"), "merge": ("of copy", "x basic")}.get(command, ("of copy",))


def compare_cells(report: CompareReport) -> list[tuple[str, ...]]:
    """A row of text for each variant and a last one for the copy, in `compare_header`'s columns."""
    copy = ceiling(report)
    last = ("copy", "", format_seconds(copy), "", _gigabytes(report.copy_nbytes, copy), "1.00")
    spare = [""] * (len(compare_header(report)) - len(last))
    return [*(_compare_row(row, report.command) for row in report.rows), (*last, *spare)]


def _compare_row(row: Measured, command: str) -> tuple[str, ...]:
    launch = "library" if row.library else _shape(row)
    result = "wrong" if not row.right else "not run" if row.problem else "correct"
    if row.median <= 0:
        return (row.name, launch, *["-"] * (3 + len(_ratios(command))), result)
    shown = {
        "copies": _copies(row.copies),
        "whole": format_seconds(row.whole) if row.whole else "-",
        "of copy": f"{row.share_of_copy:.2f}",
        "x basic": f"{row.speed_up:.2f}" if row.speed_up else "-",
    }
    ratios = (shown[name] for name in _ratios(command))
    rate = _gigabytes(row.nbytes, row.median)
    return (row.name, launch, format_seconds(row.median), f"{row.spread:.0%}", rate, *ratios, result)


def _copies(copies: float) -> str:
    return f"{copies:.2f}" if copies < 10 else f"{copies:.0f}"


def bench_title(report: BenchReport) -> str:
    """The device and the work of a report, in one line."""
    cases = len({row.case for row in report.rows})
    against = f"; {X_CCCL}: against CCCL {report.environment.get(CCCL.upper(), '')}".rstrip()
    return (
        f"{format_counted(cases, 'case')} on {report.backend}: {report.place}; median of {report.repeats}; "
        f"GB/s count bytes read and written; of copy: against the best copy of the same bytes"
        f"{against if _has_cccl(report) else ''}"
    )


def _has_cccl(report: BenchReport) -> bool:
    return any(row.times_cccl for row in report.rows)


def bench_header(report: BenchReport) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of `bench_cells`' columns, for a case and for a row."""
    ratios = ("of copy", X_CCCL) if _has_cccl(report) else ("of copy",)
    return ("items", "shape", "runs", "size"), ("variant", "median", "spread", "GB/s", *ratios, "result")


def bench_cells(report: BenchReport) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Each case and its rows, as text, in `bench_header`'s columns."""
    beside = _has_cccl(report)
    return [
        ((items, shape, str(runs), format_size(size)), [_bench_row(row, beside=beside) for row in rows])
        for (items, shape, runs, size), rows in groupby(report.rows, key=lambda row: row.case)
    ]


def _bench_row(row: BenchRow, *, beside: bool) -> tuple[str, ...]:
    result = "wrong" if not row.right else "not run" if row.problem else "" if row.role == "copy" else "correct"
    if row.median <= 0:
        return (row.name, *["-"] * (5 if beside else 4), result)
    times = (f"{row.times_cccl:.2f}" if row.times_cccl else "-",) if beside else ()
    return (
        row.name,
        format_seconds(row.median),
        f"{row.spread:.0%}",
        _gigabytes(row.nbytes, row.median),
        f"{row.share_of_copy:.2f}",
        *times,
        result,
    )


def format_size(count: int) -> str:
    """A number of items, as a power of two if it is one: "2^20", "1,000,000"."""
    return f"2^{count.bit_length() - 1}" if count >= 1024 and count & (count - 1) == 0 else format_count(count)


def _shape(row: Measured) -> str:
    """The launch shape without the words that are in the variant's name already."""
    kernel, *load = row.name.split()
    shape = row.launch.removeprefix(f"{kernel} ")
    return shape.replace(f" {load[0]}", "", 1) if load else shape


def _gigabytes(nbytes: int, seconds: float) -> str:
    """GB/s as a number of about three digits."""
    if seconds <= 0:
        return "-"
    return format_rate(nbytes / seconds)


def format_rate(rate: float) -> str:
    """Bytes a second as GB/s with about three digits: "4712", "0.25"."""
    return f"{rate / 1e9:.0f}" if rate >= 100e9 else f"{rate / 1e9:.3g}"
