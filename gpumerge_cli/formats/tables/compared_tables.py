"""The diff of two tables: items for it, and the way from its items to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

import pyarrow as pa

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.format import Layout, PreparedSources, Written
from gpumerge_cli.formats.tables.alike import alike, check_keys
from gpumerge_cli.formats.tables.changed_columns import ChangedRows
from gpumerge_cli.formats.tables.column_paths import found_column, is_struct, named_so, values_type
from gpumerge_cli.formats.tables.compared_rows import ComparedColumn, RowPairs
from gpumerge_cli.formats.tables.diff_gather import DiffGather
from gpumerge_cli.formats.tables.facts import SortedColumn
from gpumerge_cli.formats.tables.group_sizes import (
    SHARES_OF_READING,
    bytes_of_group,
    bytes_of_piece,
    rows_of_group,
    rows_of_piece,
)
from gpumerge_cli.formats.tables.items import Form
from gpumerge_cli.formats.tables.key_columns import KeyColumn
from gpumerge_cli.formats.tables.references import check_rows
from gpumerge_cli.formats.tables.row_sources import OpenedTable, all_items
from gpumerge_cli.formats.tables.same_values import Path
from gpumerge_cli.formats.tables.stated import keys_of_job
from gpumerge_cli.formats.tables.table_ranges import TableRanges
from gpumerge_cli.order.differences import MARKS, Diff, DiffRequest
from gpumerge_cli.order.record_joins import RecordJoin
from gpumerge_cli.order.row_joins import PayloadJoin
from gpumerge_cli.suggestions import did_you_mean_column
from gpumerge_cli.units import quoted_value


def compared_tables(
    opened: Sequence[OpenedTable], layout: Layout, request: DiffRequest, progress: Callable[[int, float], None]
) -> PreparedSources:
    """The items of the old table and of the new one, and their diff. layout: that of the old one.

    progress: see Format.prepared. Raises UsageError, and InputError if the columns of the tables differ.
    """
    tables = alike([source.table for source in opened], layout.items.schema, widens=True, counts=True)
    for source, table in zip(opened, tables, strict=True):
        source.table = table
        check_rows(table.name, table.rows)
    schema = tables[0].schema
    try:
        keys = keys_of_job(tables, layout)
    except UsageError as error:
        raise InputError(error.what, where=tables[0].name, way_out=error.way_out) from None
    check_keys(tables, [key.path for key in keys])
    columns = list(_compared(schema, keys, request.ignored))
    form = Form.of(keys, [any(table.may_have_nulls(key.path) for table in tables) for key in keys])
    count, nbytes = sum(table.rows for table in tables), sum(table.bytes_of_rows(None) for table in tables)
    purpose = layout.purpose
    rows = rows_of_group(count, nbytes, len(schema), purpose)
    piece = rows_of_piece(rows, nbytes / max(1, count), purpose)
    order = form.order(bytes_of_piece(form, piece))
    memory, item_bytes = purpose.memory // SHARES_OF_READING, order.item_bytes
    usual = takewhile(lambda key: not key.kind, keys if purpose.is_ordered else ())
    sorted_by = tuple(SortedColumn(key.path, key.reverse, key.nulls == "first") for key in usual)
    settings = replace(purpose.output, sorted_by=sorted_by, like=tables[0].file)
    pairs = RowPairs(tables, columns, memory, opened[0].file.beside, item_bytes, whole=not request.total)
    large = bytes_of_group(len(schema), purpose.memory, settings.group)
    gather = DiffGather(tables, pairs, rows, piece, memory, item_bytes, settings, large)
    orders = (order, order)
    by_key = RecordJoin(orders=orders) if form.is_fixed else PayloadJoin(request.shows, orders, b"")
    diff = Diff(
        replace(request, total=False).shows,  # rows are compared before they are counted
        orders,
        tuple(mark.encode() for mark in MARKS),
        places=by_key.tables,
        changes=request.changes,
        by_key=by_key.compared,
        changed_items=pairs.changed_items,
    )
    written = Written(rows=gather, changes=ChangedRows(pairs, keys, item_bytes).rows)
    if purpose.by_ranges:
        ranged = tuple(TableRanges(number, one, form, order) for number, one in enumerate(opened))
        return PreparedSources(ranged, order, written, is_copied=False, join=diff)
    found = all_items(opened, [form, form], order, progress, None, purpose.memory)
    return PreparedSources(tuple(found), order, written, join=diff)


def _compared(schema: pa.Schema, keys: Sequence[KeyColumn], ignored: Sequence[str]) -> Iterator[ComparedColumn]:
    """The columns that are compared. Keys that are equal have the same values, unless they are read in another way.

    Raises UsageError for a column that is not there.
    """
    paths = [_path_of(schema, word) for word in ignored]
    left_out = {number for number, path in paths if not path}
    same = [key.path[0] for key in keys if len(key.path) == 1 and key.rule is None]
    for number, name in enumerate(schema.names):
        if number not in left_out and name not in same:
            yield ComparedColumn(number, tuple(path for column, path in paths if column == number))


def _path_of(schema: pa.Schema, word: str) -> tuple[int, Path]:
    """The number of the column that a word names or counts from 1, and the names of fields in it."""
    found = found_column(schema, word)
    if found is not None:
        path, _ = found
        return schema.get_field_index(path[0]), path[1:]
    if word.isascii() and word.isdecimal() and 0 < int(word) <= len(schema):
        return int(word) - 1, ()
    if (count := named_so(schema, word)) > 1:
        what = f"--ignore {word}: {count} columns have the name {quoted_value(word)}"
        raise UsageError(what, way_out="count columns from 1, as 2")
    above, names = _fields_at(schema, word)
    way_out = did_you_mean_column(word, {name: name for name in names}, f"use {', '.join(names)}")
    fault = f"{above} has no such field" if above else "there is no such column"
    raise UsageError(f"--ignore {word}: {fault}", way_out=way_out)


def _fields_at(schema: pa.Schema, word: str) -> tuple[str, list[str]]:
    """(the longest beginning of a word that names a struct, its fields); ("", the columns) if none does."""
    above, found = word, None
    while found is None and "." in above:
        above = above.rpartition(".")[0]
        found = found_column(schema, above)
    type = None if found is None else values_type(found[1])
    if type is None or not is_struct(type):
        return "", schema.names
    return above, [f"{above}.{field.name}" for field in type]
