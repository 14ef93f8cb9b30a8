"""Reports as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gpumerge_cli.report.merge_tables import (
    CLOCK_HEADER,
    PARTS_HEADER,
    busy_cells,
    busy_header,
    clock_cells,
    facts,
    input_cells,
    part_cells,
    summary,
)
from gpumerge_cli.report.notes import bench_notes, compare_notes
from gpumerge_cli.report.origin import origin_rows
from gpumerge_cli.report.tables import (
    bench_cells,
    bench_header,
    bench_title,
    compare_cells,
    compare_header,
)
from gpumerge_cli.results.compared import BenchReport, CompareReport, Report
from gpumerge_cli.results.run import MergeReport
from gpumerge_cli.units import format_count, format_counted, visible


def render(report: Report) -> str:
    """The report as a Markdown section."""
    if isinstance(report, BenchReport):
        return _bench(report)
    return _compare(report) if isinstance(report, CompareReport) else _merge(report)


def _merge(report: MergeReport) -> str:
    lines = [f"# gpumerge {report.kind}", "", _escape(summary(report)), ""]
    lines += [*_table(CLOCK_HEADER, clock_cells(report), right=range(1, 5)), ""]
    lines += _table(busy_header(report), busy_cells(report), right=range(1, 5))
    lines += ["", *_listed([*facts(report), *origin_rows(report)])]
    lines += ["", *_table(*input_cells(report.inputs), right=(1, 2))]
    if report.parts:
        lines += ["", *_table(PARTS_HEADER, part_cells(report), right=(1, 2))]
    return "\n".join(lines) + "\n"


def _compare(report: CompareReport) -> str:
    lines = [
        f"# gpumerge {report.command} --compare",
        "",
        _escape(
            f"{format_count(report.items)} items ({report.order}) in {format_counted(len(report.inputs), 'input')}, "
            f"{report.backend}: {report.device}; median of {report.repeat}; GB/s count bytes read and written"
        ),
        "",
        *_table(compare_header(report), compare_cells(report), right=range(2, len(compare_header(report)) - 1)),
        "",
        *(f"- {_escape(note)}" for note in compare_notes(report)),
        "",
        *_table(*input_cells(report.inputs), right=(1, 2)),
        "",
        *_listed([*report.environment.items(), *origin_rows(report)]),
    ]
    return "\n".join(lines) + "\n"


def _bench(report: BenchReport) -> str:
    of_case, of_row = bench_header(report)
    rows = [
        (*(case if number == 0 else ("",) * len(case)), *row)
        for case, variants in bench_cells(report)
        for number, row in enumerate(variants)
    ]
    lines = [
        "# gpumerge bench",
        "",
        _escape(bench_title(report)),
        "",
        *_table((*of_case, *of_row), rows, right=(2, 3, *range(5, len(of_case) + len(of_row) - 1))),
        "",
        *(f"- {_escape(note)}" for note in bench_notes(report)),
        *_listed(
            [
                *report.environment.items(),
                ("seed", str(report.seed)),
                ("host threads", str(report.threads)),
                *origin_rows(report),
            ]
        ),
    ]
    return "\n".join(lines) + "\n"


def _listed(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"- {_escape(name)}: {_escape(value)}" for name, value in rows]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int]) -> list[str]:
    to_the_right = set(right)
    rules = ("---:" if column in to_the_right else "---" for column in range(len(header)))
    cells = [header, *([_escape(cell) for cell in row] for row in rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], f"| {' | '.join(rules)} |", *lines[1:]]


_MARKUP = re.compile(r"[\\`*_|<>\[\]!&~$]")
"""Characters that may begin markup anywhere in a line, also in the dialects that have formulas and footnotes."""
_LINK = re.compile(r"(?i)(https?|ftp|mailto|xmpp)(?=:)|(www)(?=\.)|(?<=\w)@(?=\w)")
"""Text that some readers of Markdown make a link of without any markup."""


def _escape(text: str) -> str:
    """Text that every reader of Markdown shows as it is, without a link, an image or a reference."""
    text = _MARKUP.sub(r"\\\g<0>", visible(text.replace("\n", " ")))
    # A reference of a character ends what would be an address, and is shown as the character.
    return _LINK.sub(lambda found: f"{found[0][:-1]}&#{ord(found[0][-1])};", text)
