"""Reports as tables on standard error, for 80 columns and up; colours only where the terminal has them."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from gpumerge_cli.report.merge_tables import (
    CLOCK_HEADER,
    TableRow,
    busy_cells,
    busy_header,
    clock_cells,
    facts,
    first_times,
    summary,
)
from gpumerge_cli.report.notes import bench_notes, compare_notes
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

_FOLDED = ("variant", "launch", "job")
"""Columns whose cells are folded where the terminal is narrow."""
_LONGEST_WORD = 16
_RESULT_STYLES = {"wrong": "bold red", "not run": "yellow"}


class PlainConsole(Console):
    """A console that shows names as they are, without markup, and leaves a closed pipe to its caller."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Called by Rich, which would exit with code 1 otherwise."""
        raise BrokenPipeError


def show_report(report: Report, console: Console | None = None) -> None:
    """Print the report, on standard error unless a console is given."""
    console = console or PlainConsole(stderr=True)
    if isinstance(report, BenchReport):
        _show_bench(report, console)
    elif isinstance(report, CompareReport):
        _show_compare(report, console)
    else:
        _show_merge(report, console)


def _show_merge(report: MergeReport, console: Console) -> None:
    console.print(Text(summary(report)))
    console.print()
    times = first_times(report.inputs)
    if times:
        console.print(_pairs(times, folded=True))
        console.print()
    clock, busy = (CLOCK_HEADER, clock_cells(report)), (busy_header(report), busy_cells(report))
    widths = [max(map(len, column)) for column in zip(clock[0], *clock[1], busy[0], *busy[1], strict=True)]
    for header, rows in (clock, busy):
        console.print(_stage_table(header, rows, widths))
        console.print()
    console.print(_pairs(facts(report)))


def _pairs(rows: list[tuple[str, str]], *, folded: bool = False) -> Table:
    """Names with a text beside each. folded: whether long names are folded."""
    about = Table.grid(padding=(0, 2))
    about.add_column(no_wrap=not folded, overflow="fold")
    about.add_column(overflow="fold")
    for name, value in rows:
        about.add_row(Text(f" {visible(name)}"), Text(visible(value)), style="bold" if name == "bounded by" else "")
    return about


def _stage_table(header: TableRow, rows: list[TableRow], widths: list[int]) -> Table:
    """A table of stages whose columns have these least widths, so that several stand below each other."""
    table = plain_table(*header, left=1)
    for column, width in zip(table.columns, widths, strict=True):
        column.min_width = width
    bold = {"merge kernel", rows[-1][0]}
    for row in rows:
        table.add_row(*row, style="bold" if row[0] in bold else "")
    return table


def _show_compare(report: CompareReport, console: Console) -> None:
    console.print(
        Text(
            f"{format_count(report.items)} items in {format_counted(len(report.inputs), 'input')}, {report.order}, "
            f"on {report.backend}: {report.device}; median of {report.repeat}"
        )
    )
    table = plain_table(*compare_header(report), left=2)
    *variants, copy = compare_cells(report)
    for row in variants:
        table.add_row(*map(Text, row), style=_RESULT_STYLES.get(row[-1], ""))
    table.add_section()
    table.add_row(*copy)
    console.print(fitted(table, console, "launch", "spread", *compare_header(report)[-2:-4:-1]))
    for note in compare_notes(report):
        console.print(Text(f" {visible(note)}"))


def _show_bench(report: BenchReport, console: Console) -> None:
    console.print(Text(bench_title(report)))
    table = plain_table(*bench_header(report)[1], left=1)
    for (items, shape, runs, size), rows in bench_cells(report):
        table.add_row(Text(f"{items}, {shape}, {runs} run{'' if runs == '1' else 's'}, {size} items"), style="bold")
        for name, *row in rows:
            table.add_row(Text(f"  {name}"), *map(Text, row), style=_RESULT_STYLES.get(row[-1], ""))
    console.print(fitted(table, console, "spread", "of copy"))
    for note in bench_notes(report):
        console.print(Text(f" {visible(note)}"))


def plain_table(*names: str, left: int) -> Table:
    """A table whose first `left` columns, and a last one called "result", are set to the left."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for number, name in enumerate(names):
        justify = "left" if number < left or name == "result" else "right"
        table.add_column(name, justify=justify, no_wrap=name not in _FOLDED, overflow="fold")  # type: ignore[arg-type]
    return table


def fitted(table: Table, console: Console, *spare: str) -> Table:
    """The table with as few of its columns `spare` left out, the first ones first, as fits the console."""
    for name in spare:
        # There is a blank on each side of a cell, and another one between columns.
        if sum(map(_least_width, table.columns)) + 2 * len(table.columns) - 1 <= console.width:
            break
        table = _without(table, name)
    return table


def _least_width(column: Column) -> int:
    """The width that a column's cells need, or, if they may be folded, their words."""
    texts = [str(cell) for cell in (column.header, *column.cells)]
    if column.no_wrap:
        return max(map(cell_len, texts))
    words = [word for text in texts for word in text.split()]
    return min(_LONGEST_WORD, max(map(cell_len, words), default=0))


def _without(table: Table, name: str) -> Table:
    columns = [column for column in table.columns if column.header != name]
    narrower = plain_table(left=0)
    for column in columns:
        narrower.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap, overflow=column.overflow)
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        narrower.add_row(*cells, style=row.style, end_section=row.end_section)
    return narrower
