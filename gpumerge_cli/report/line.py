"""A merge in one line: the report that a run prints by default."""

from __future__ import annotations

import os
from typing import IO

from gpumerge_cli.report.merge_tables import bound_name, done
from gpumerge_cli.results.run import MergeReport
from gpumerge_cli.units import format_bytes, format_count, format_counted, format_seconds, format_throughput


def summary_line(report: MergeReport, width: int | None = None) -> str:
    """Items, bytes of input, seconds of the whole program, throughput, the backend, and the bound; no newline.

    width: columns of the terminal; a longer line is broken between two of its parts. None: the line is never broken.
    """
    rate = format_throughput(report.nbytes, report.wall)
    parts = [
        f"{done(report)} {format_counted(report.items, 'item')}{_joined(report)}",
        f"{format_bytes(report.nbytes)} in {format_seconds(report.wall)}",
        *([rate] if report.nbytes else []),
        *([f"{format_count(report.dropped)} dropped"] if report.dropped else []),
        report.backend,
        f"bounded by {bound_name(report)}",
    ]
    return ", ".join(parts) if width is None else _folded(parts, width)


def _joined(report: MergeReport) -> str:
    return "" if report.joined is None else f" to {format_count(report.joined)}"


def columns(stream: IO[str]) -> int | None:
    """Columns of the terminal that `stream` goes to; None if it goes elsewhere."""
    if not stream.isatty():
        return None
    wide = os.environ.get("COLUMNS", "")
    return int(wide) if wide.isdecimal() and int(wide) else os.get_terminal_size(stream.fileno()).columns or None


def _folded(parts: list[str], width: int) -> str:
    rows = [""]
    for part in [*(f"{part}, " for part in parts[:-1]), parts[-1]]:
        if rows[-1] and len(rows[-1]) + len(part.rstrip()) > width:
            rows.append("  ")
        rows[-1] += part
    return "\n".join(row.rstrip() for row in rows)
