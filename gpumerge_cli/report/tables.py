"""The cells that every table of a report shows, as text: what the terminal and Markdown have in common."""

from __future__ import annotations

from itertools import groupby

from gpumerge_cli.report.model import BenchReport, BenchRow, CompareReport, Measured, MergeReport
from gpumerge_cli.report.notes import ceiling
from gpumerge_cli.units import format_bytes, format_count, format_counted, format_seconds, format_throughput, visible

_MEANINGS = {
    "spool": "copy standard input",
    "decompress": "decompress inputs",
    "csv": "take CSV apart",
    "compile": "compile kernels",
    "read": "read inputs",
    "index": "index rows",
    "upload": "to the device",
    "check": "check order",
    "sort": "sort pieces",
    "kernel": "merge kernel",
    "download": "from the device",
    "spill": "keep sorted runs",
    "compress": "compress output",
    "write": "write output",
}


def stage_name(stage: str) -> str:
    """A stage in words."""
    return _MEANINGS.get(stage, stage)


def summary(report: MergeReport) -> str:
    """What was merged or sorted, in a line."""
    done = "sorted" if report.kind == "sort" else "merged"
    inputs = "1 input" if len(report.inputs) == 1 else f"{len(report.inputs)} inputs"
    output = "standard output" if report.output == "-" else visible(report.output)
    return (
        f"{done} {inputs} into {output}: "
        f"{format_count(report.items)} items, {format_bytes(report.nbytes)}, {report.order}"
    )


def merge_cells(report: MergeReport) -> list[tuple[str, str, str, str]]:
    """Name, seconds, bytes and throughput of start-up, plan, every stage that happened, and the whole program."""
    rows = [("start-up", format_seconds(report.start_up), "", ""), ("plan", format_seconds(report.plan), "", "")]
    for stage in report.stages:
        moved = format_bytes(stage.nbytes) if stage.nbytes else ""
        rate = format_throughput(stage.nbytes, stage.seconds) if stage.nbytes else ""
        rows.append((stage_name(stage.name), format_seconds(stage.seconds), moved, rate))
    rows.append(
        (
            "whole program",
            format_seconds(report.wall),
            format_bytes(report.nbytes),
            format_throughput(report.nbytes, report.wall),
        )
    )
    return rows


def facts(report: MergeReport) -> list[tuple[str, str]]:
    """What ran where and why, and what bounded it, by name."""
    told = [
        ("backend", f"{report.backend}: {report.device}"),
        ("why", report.backend_why),
        ("launch", f"{report.launch}{f' ({report.launch_why})' if report.launch_why else ''}"),
        ("kernel share", _share(report)),
        (
            "chunks",
            f"{format_count(report.chunks)} of up to {format_bytes(report.chunk_bytes)}, {_in_flight(report)}",
        ),
        ("device memory", _shrunk(report)),
        ("dropped", _dropped(report)),
        ("order", "checked" if report.checked else "not checked"),
        ("peak memory", format_bytes(report.peak_memory) if report.peak_memory else ""),
        ("bounded by", report.bound),
    ]
    return [(name, value) for name, value in told if value]


def _shrunk(report: MergeReport) -> str:
    if not report.shrunk_to:
        return ""
    return f"ran out; chunks were cut into pieces of up to {format_bytes(report.shrunk_to)}"


def _dropped(report: MergeReport) -> str:
    if not report.unique:
        return ""
    return f"{format_count(report.dropped)} items that equal one ahead of them"


def _in_flight(report: MergeReport) -> str:
    if report.workers == 1:
        return "one at a time"
    return f"{report.workers} in flight, whose seconds are added up above"


def compare_header(report: CompareReport) -> tuple[str, ...]:
    """The names of `compare_cells`' columns."""
    ratios = ("copies", "whole") if report.command == "sort" else ("of copy", "x basic")
    return ("variant", "launch", "median", "spread", "GB/s", *ratios, "result")


def compare_cells(report: CompareReport) -> list[tuple[str, ...]]:
    """A row of text for each variant and a last one for the copy, in `compare_header`'s columns."""
    copy = ceiling(report)
    last = ("copy", "", format_seconds(copy), "", _gigabytes(report.copy_nbytes, copy), "1.00", "", "")
    return [*(_compare_row(row, report.command) for row in report.rows), last]


def _compare_row(row: Measured, command: str) -> tuple[str, ...]:
    launch = "library" if row.library else _shape(row)
    result = "wrong" if not row.right else "not run" if row.problem else "right"
    if row.median <= 0:
        return (row.name, launch, "-", "-", "-", "-", "-", result)
    if command == "sort":
        ratios = (_copies(row.copies), format_seconds(row.whole) if row.whole else "-")
    else:
        ratios = (f"{row.share_of_copy:.2f}", f"{row.speed_up:.2f}" if row.speed_up else "-")
    rate = _gigabytes(row.nbytes, row.median)
    return (row.name, launch, format_seconds(row.median), f"{row.spread:.0%}", rate, *ratios, result)


def _copies(copies: float) -> str:
    return f"{copies:.2f}" if copies < 10 else f"{copies:.0f}"


def bench_title(report: BenchReport) -> str:
    """What was run where, in a line."""
    cases = len({row.case for row in report.rows})
    return (
        f"{format_counted(cases, 'case')} on {report.backend}: {report.place}; median of {report.repeats}; "
        f"GB/s count bytes read and written; of copy: against the best copy of the same bytes"
    )


def bench_header() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of `bench_cells`' columns: those of a case, those of a row."""
    return ("items", "shape", "runs", "size"), ("variant", "median", "spread", "GB/s", "of copy", "result")


def bench_cells(report: BenchReport) -> list[tuple[tuple[str, ...], list[tuple[str, ...]]]]:
    """Each case and its rows, as text, in `bench_header`'s columns."""
    return [
        ((items, shape, str(runs), format_size(size)), list(map(_bench_row, rows)))
        for (items, shape, runs, size), rows in groupby(report.rows, key=lambda row: row.case)
    ]


def _bench_row(row: BenchRow) -> tuple[str, ...]:
    result = "wrong" if not row.right else "not run" if row.problem else "" if row.role == "copy" else "right"
    if row.median <= 0:
        return (row.name, "-", "-", "-", "-", result)
    return (
        row.name,
        format_seconds(row.median),
        f"{row.spread:.0%}",
        _gigabytes(row.nbytes, row.median),
        f"{row.share_of_copy:.2f}",
        result,
    )


def format_size(count: int) -> str:
    """Items as a power of two where they are one: "2^20", "1,000,000"."""
    return f"2^{count.bit_length() - 1}" if count >= 1024 and count & (count - 1) == 0 else format_count(count)


def _shape(row: Measured) -> str:
    """The launch shape without what the variant's name ("tiled exact") says already."""
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


def _share(report: MergeReport) -> str:
    if report.wall <= 0:
        return ""
    # Workers run at once, so a stage's seconds, added up over them, are held against as many whole programs.
    kernel = report.stage("kernel").seconds / report.workers
    each = " a worker" if report.workers > 1 else ""
    share = f"{kernel / report.wall:.1%} of the whole program"
    return f"{format_seconds(kernel)}{each} of {format_seconds(report.wall)}, {share}"
