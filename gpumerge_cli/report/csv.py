"""Comparisons and benches as CSV: a row for each variant, each row complete in itself."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from gpumerge_cli.results.compared import BenchReport, CompareReport
from gpumerge_cli.results.origin import Origin

COLUMNS = (
    "name", "library", "launch", "right", "problem", "median_s", "spread", "gb_per_s", "share_of_copy", "speed_up",
    "copies", "whole_s", "nbytes", "seconds", "whole_seconds", "copy_seconds", "command", "items", "order", "backend",
    "device", "version", "date", "host", "command_line",
)  # fmt: skip
"""`seconds`, `whole_seconds` and `copy_seconds` hold every repeat, separated by spaces; numbers of an untimed row are
empty."""


BENCH_COLUMNS = (
    "items", "shape", "runs", "size", "count", "name", "role", "launch", "right", "problem", "judged_by", "median_s",
    "spread", "gb_per_s", "share_of_copy", "times_cccl", "ceiling_s", "nbytes", "seconds", "seed", "threads", "backend",
    "device", "version", "date", "host", "command_line",
)  # fmt: skip
"""`ceiling_s` is the best copy of the same bytes; otherwise as in COLUMNS."""


def render(report: CompareReport | BenchReport) -> str:
    """The report as CSV with a header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if isinstance(report, BenchReport):
        writer.writerow(BENCH_COLUMNS)
        writer.writerows(_bench_rows(report))
    else:
        writer.writerow(COLUMNS)
        writer.writerows(_compare_rows(report))
    return out.getvalue()


def _compare_rows(report: CompareReport) -> Iterator[Sequence[object]]:
    for row in report.rows:
        timed = row.median > 0
        yield (
            row.name,
            str(row.library).lower(),
            row.launch,
            str(row.right).lower(),
            row.problem,
            row.median if timed else "",
            row.spread if timed else "",
            row.nbytes / row.median / 1e9 if timed else "",
            row.share_of_copy if timed else "",
            row.speed_up if timed else "",
            row.copies if timed else "",
            row.whole or "",
            row.nbytes,
            " ".join(map(repr, row.seconds)),
            " ".join(map(repr, row.whole_seconds)),
            " ".join(map(repr, report.copy_seconds)),
            report.command,
            report.items,
            report.order,
            report.backend,
            report.device,
            report.version,
            *_origin(report.origin),
        )


def _bench_rows(report: BenchReport) -> Iterator[Sequence[object]]:
    for row in report.rows:
        timed = row.median > 0
        yield (
            row.items,
            row.shape,
            row.runs,
            row.size,
            row.count,
            row.name,
            row.role,
            row.launch,
            str(row.right).lower(),
            row.problem,
            row.judged_by,
            row.median if timed else "",
            row.spread if timed else "",
            row.throughput / 1e9 if timed else "",
            row.share_of_copy if timed else "",
            row.times_cccl or "",
            row.ceiling if timed else "",
            row.nbytes,
            " ".join(map(repr, row.seconds)),
            report.seed,
            report.threads,
            report.backend,
            report.device,
            report.version,
            *_origin(report.origin),
        )


def _origin(origin: Origin) -> tuple[str, ...]:
    return origin.date, origin.host, origin.command
