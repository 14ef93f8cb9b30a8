"""Results of several runs as one: a report for each device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpumerge_cli.report.model import BenchReport, BenchRow


def combined(reports: Sequence[BenchReport]) -> list[BenchReport]:
    """The reports of each backend and device as one, in the order in which they come first.

    Where a row was measured more than once, the last counts. What the reports differ in otherwise (version, repeats)
    is that of the last, versions are named all.
    """
    devices: dict[tuple[str, str], list[BenchReport]] = {}
    for report in reports:
        devices.setdefault((report.backend, report.device), []).append(report)
    return [_one(group) for group in devices.values()]


def _one(reports: Sequence[BenchReport]) -> BenchReport:
    rows: dict[tuple[tuple[str, str, int, int], str], BenchRow] = {}
    for report in reports:
        rows |= {(row.case, row.name): row for row in report.rows}
    cases = dict.fromkeys(case for case, _ in rows)
    in_order = [row for case in cases for (of, _), row in rows.items() if of == case]
    versions = dict.fromkeys(report.version for report in reports)
    return replace(reports[-1], rows=tuple(in_order), version=", ".join(versions))
