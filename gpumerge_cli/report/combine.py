"""Results of several runs as one: a report for each device, and each number of threads that merged."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.dataclass import replace
from gpumerge_cli.results.compared import CCCL, BenchReport, BenchRow


def combine_reports(reports: Sequence[BenchReport]) -> list[BenchReport]:
    """The reports of each backend and place (`BenchReport.place`) as one, in the order in which they come first.

    The last measurement of a row counts. Repeats, seed and origin are those of the last report; `merged` says if
    repeats or seeds differ among the reports. All versions are named.
    """
    places: dict[tuple[str, str], list[BenchReport]] = {}
    for report in reports:
        places.setdefault((report.backend, report.place), []).append(report)
    return [_one(group) for group in places.values()]


def _one(reports: Sequence[BenchReport]) -> BenchReport:
    cases: dict[tuple[str, str, int, int], dict[str, BenchRow]] = {}
    for report in reports:
        found: dict[tuple[str, str, int, int], dict[str, BenchRow]] = {}
        for row in report.rows:
            found.setdefault(row.case, {})[row.name] = row
        for case, rows in found.items():
            both = cases.get(case, {}) | rows
            cases[case] = {name: both[name] for name in _in_order(list(cases.get(case, {})), list(rows))}
    versions = dict.fromkeys(report.version for report in reports)
    return replace(
        reports[-1],
        rows=tuple(row for rows in cases.values() for row in rows.values()),
        version=", ".join(versions),
        merged="; ".join(_differences(reports)),
    )


def _in_order(names: list[str], others: Sequence[str]) -> list[str]:
    """All names, each of `others` ahead of those that it is ahead of: contestants stay in the ladder's order."""
    at = len(names)
    for name in reversed(others):
        if name in names:
            at = names.index(name)
        else:
            names.insert(at, name)
    return names


def _differences(reports: Sequence[BenchReport]) -> list[str]:
    """Sentences on the differences between the reports, after those that the reports bring along."""
    differences = list(dict.fromkeys(report.merged for report in reports if report.merged))
    for name, values in (
        ("repeats", [report.repeat for report in reports]),
        ("seeds", [report.seed for report in reports]),
        ("CCCL", [report.environment.get(CCCL.upper(), "not timed") for report in reports]),
    ):
        if len(set(values)) > 1:
            differences.append(f"{name} {', '.join(map(str, dict.fromkeys(values)))}")
    return differences
