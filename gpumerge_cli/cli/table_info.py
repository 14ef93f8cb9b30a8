"""gpumerge info FILE...: the schema and the row groups of tables, and where the keys of several files overlap."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from gpumerge_cli.cli.options.typed import InfoOptions
from gpumerge_cli.errors import UsageError
from gpumerge_cli.json_text import dumps
from gpumerge_cli.units import format_bytes, format_count, format_counted, visible
from gpumerge_cli.urls import shown

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.facts import TableFacts, TablesFacts

_MOST_GROUPS = 20
"""The most row groups of a file that are listed; JSON has all."""


def run_table_info(options: InfoOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    found = _facts(options)
    if options.json:
        from dataclasses import asdict

        print(dumps(asdict(found), indent=2))
        return
    for table in found.tables:
        _show(table, found.key)
    if found.key and len(found.tables) > 1:
        print(_overlap(found))


def _facts(options: InfoOptions) -> TablesFacts:
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.kinds.lookup import format_of_suffix
    from gpumerge_cli.formats.record_options import RecordRequest
    from gpumerge_cli.formats.registry import layout_of
    from gpumerge_cli.formats.rows import RowFormat

    items = Items(records=RecordRequest(fields=options.field), nulls=options.nulls or "last")
    layouts = []
    for number, name in enumerate(options.files):
        one = format_of_suffix(suffix_of(name))
        if one is None or one.holds == "rows":
            layouts.append(layout_of(name, items, number))
            one = layouts[-1].format
        if one.holds != "rows":
            what = f"{shown(name)} is not a table: it has no schema and no row groups"
            raise UsageError(what, way_out="name a .parquet or .arrow file; gpumerge check reads other files")
    first = layouts[0].format
    assert isinstance(first, RowFormat), "of tables"
    with ExitStack() as stack:
        return first.facts(options.files, layouts, stack)


def _show(table: TableFacts, key: str) -> None:
    from gpumerge_cli.cli.info import new_table
    from gpumerge_cli.report.terminal import PlainConsole

    console = PlainConsole()
    groups = format_counted(len(table.groups), "row group")
    by = f", written by {visible(table.created_by)}" if table.created_by else ""
    order = f"sorted by {', '.join(map(visible, table.sorted_by))}" if table.sorted_by else "states no order"
    order += ", nulls first" * table.nulls_first + ", which its statistics contradict" * table.contradicted
    rows = format_counted(table.rows, "row")
    print(f"{visible(shown(table.name))}: {rows} in {groups}, {format_bytes(table.nbytes)}{by}; {order}")
    columns = new_table("column", "type", "compression", "encoding")
    for column in table.columns:
        columns.add_row(visible(column.name), visible(column.type), column.compression, column.encoding)
    console.print(columns)
    listed = new_table("row group", "rows", "bytes", *((f"least {key}", f"greatest {key}", "merge") if key else ()))
    for number, group in enumerate(table.groups[:_MOST_GROUPS]):
        merge = {True: "apart", False: "overlaps", None: ""}[group.apart]
        keys = (visible(group.least), visible(group.greatest), merge) if key else ()
        listed.add_row(str(number), format_count(group.rows), format_bytes(group.nbytes), *keys)
    console.print(listed)
    if len(table.groups) > _MOST_GROUPS:
        print(f"and {format_counted(len(table.groups) - _MOST_GROUPS, 'row group')} more, which --json lists")


def _overlap(found: TablesFacts) -> str:
    """A sentence about the groups that a merge has to decode."""
    if found.differ:
        return f"A merge refuses these files. {visible(found.differ)}"
    groups = [group for table in found.tables for group in table.groups]
    decoded = [group for group in groups if not group.apart]
    rows, of = sum(group.rows for group in decoded), sum(group.rows for group in groups)
    text = (
        f"A merge by {visible(found.key)} decodes {format_count(len(decoded))} of "
        f"{format_counted(len(groups), 'row group')}, with {format_count(rows)} of {format_counted(of, 'row')}."
    )
    more = " It can copy the others, if they are large enough: no rows of other files lie among theirs."
    return text + more * (len(decoded) < len(groups))
