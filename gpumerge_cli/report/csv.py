"""Comparisons as CSV: a row for each variant, each row complete in itself."""

from __future__ import annotations

import csv
import io

from gpumerge_cli.report.model import CompareReport

COLUMNS = (
    "name", "library", "launch", "right", "problem", "median_s", "spread", "gb_per_s", "share_of_copy", "speed_up",
    "nbytes", "seconds", "copy_seconds", "items", "order", "backend", "device", "version",
)  # fmt: skip
"""`seconds` and `copy_seconds` hold every repeat, separated by spaces; numbers of an untimed row are empty."""


def render(report: CompareReport) -> str:
    """The report as CSV with a header line."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in report.rows:
        timed = row.median > 0
        writer.writerow(
            (
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
                row.nbytes,
                " ".join(map(repr, row.seconds)),
                " ".join(map(repr, report.copy_seconds)),
                report.items,
                report.order,
                report.backend,
                report.device,
                report.version,
            )
        )
    return out.getvalue()
