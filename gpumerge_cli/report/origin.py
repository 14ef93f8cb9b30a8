"""The origin of a report, as rows of names and texts."""

from __future__ import annotations

from gpumerge_cli.results.compared import Report


def origin_rows(report: Report) -> list[tuple[str, str]]:
    """The date, the host, the version of gpumerge and the command line, as far as they are known."""
    origin = report.origin
    rows = [
        ("date", origin.date),
        ("host", origin.host),
        ("gpumerge", report.version),
        ("command line", origin.command),
    ]
    return [(name, value) for name, value in rows if value]
