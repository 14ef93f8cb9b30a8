"""Results of several runs as one: a report for each device, and each number of threads that merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpumerge_cli.report.compared import CCCL, BenchReport, BenchRow


def combined(reports: Sequence[BenchReport]) -> list[BenchReport]:
    """The reports of each backend and place (`BenchReport.place`) as one, in the order in which they come first.

    The last measurement of a row counts. Repeats and seed are those of the last report; `merged` says if they differ
    among the reports. All versions are named.
    """
    places: dict[tuple[str, str], list[BenchReport]] = {}
    for report in reports:
        places.setdefault((report.backend, report.place), []).append(report)
    return [_one(group) for group in places.values()]


def _one(reports: Sequence[BenchReport]) -> BenchReport:
    rows: dict[tuple[tuple[str, str, int, int], str], BenchRow] = {}
    for report in reports:
        rows |= {(row.case, row.name): row for row in report.rows}
    cases = dict.fromkeys(case for case, _ in rows)
    in_order = [row for case in cases for (of, _), row in rows.items() if of == case]
    versions = dict.fromkeys(report.version for report in reports)
    return replace(
        reports[-1], rows=tuple(in_order), version=", ".join(versions), merged="; ".join(_differences(reports))
    )


def _differences(reports: Sequence[BenchReport]) -> list[str]:
    """Sentences on the differences between the reports, after those that the reports bring along."""
    told = list(dict.fromkeys(report.merged for report in reports if report.merged))
    for name, values in (
        ("repeats", [report.repeat for report in reports]),
        ("seeds", [report.seed for report in reports]),
        ("CCCL", [report.environment.get(CCCL.upper(), "not timed") for report in reports]),
    ):
        if len(set(values)) > 1:
            told.append(f"{name} {', '.join(map(str, dict.fromkeys(values)))}")
    return told
