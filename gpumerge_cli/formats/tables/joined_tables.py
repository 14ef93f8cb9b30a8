"""The join of two tables: items for it, and the way from joined items to rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.format import Layout, PreparedSources, Purpose, Written
from gpumerge_cli.formats.tables.asof_keys import asof_by
from gpumerge_cli.formats.tables.facts import SortedColumn
from gpumerge_cli.formats.tables.group_sizes import (
    SHARES_OF_READING,
    bytes_of_group,
    bytes_of_piece,
    rows_of_group,
    rows_of_piece,
)
from gpumerge_cli.formats.tables.items import Form
from gpumerge_cli.formats.tables.join_columns import (
    JoinedColumn,
    PickedColumns,
    joined_columns,
    joined_schema,
    places_in,
)
from gpumerge_cli.formats.tables.join_gather import JoinGather
from gpumerge_cli.formats.tables.join_keys import JoinedKeys, joined_keys
from gpumerge_cli.formats.tables.key_columns import KeyColumn
from gpumerge_cli.formats.tables.references import NO_BYTE, NO_ROW, check_rows
from gpumerge_cli.formats.tables.row_sources import OpenedTable, all_items
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.stated import is_unasked
from gpumerge_cli.formats.tables.table import StoredColumn, Table
from gpumerge_cli.formats.tables.table_ranges import TableRanges
from gpumerge_cli.order.record_joins import JoinRules, RecordJoin
from gpumerge_cli.order.row_joins import JoinRequest, PayloadJoin


def joined_tables(
    opened: Sequence[OpenedTable], layout: Layout, request: JoinRequest, progress: Callable[[int, float], None]
) -> PreparedSources:
    """The items of A and B, and their join. layout: that of A. progress: see Format.prepared. Raises InputError."""
    tables = [source.table for source in opened]
    for table in tables:
        check_rows(table.name, table.rows)
    keys = joined_keys(tables, layout)
    pairs = [zip(tables, pair, strict=True) for pair in zip(*keys, strict=True)]
    nullable = [any(table.may_have_nulls(key.path) for table, key in pair) for pair in pairs]
    forms = [replace(Form.of(its, nullable), side=side) for side, its in enumerate(keys)]
    columns = joined_columns(tables, keys, request)
    schema = joined_schema(columns, tables[max(0, request.only_one)])
    purpose = layout.purpose
    nbytes = sum(table.bytes_of_rows(None) / max(1, table.rows) for table in tables)
    rows = _rows_of_group(tables, nbytes, len(columns), purpose)
    piece = rows_of_piece(rows, nbytes, purpose)
    stated = is_unasked(layout) and not layout.items.records_of[-1].fields
    orders = tuple(replace(form.order(bytes_of_piece(form, piece)), stated=stated) for form in forms)
    settings = _settings(tables, keys, nullable, columns, request, purpose)
    join: JoinRules
    asof = None if request.asof is None else asof_by(request.asof, forms[0])
    if forms[0].is_fixed:
        join = RecordJoin(request.shows, NO_BYTE, orders, asof)
        key_bytes, sides = orders[0].width, 1 + join.has_rest
    else:
        join = PayloadJoin(request.shows, orders, NO_ROW, asof)
        key_bytes, sides = 0, 2
    picked = [PickedColumns(table, columns, side) for side, table in enumerate(tables)]
    settings = replace(settings, stored=_stored(picked, schema))
    gather = JoinGather(
        picked, schema, places_in(columns), key_bytes, sides, rows,
        bytes_of_group(len(columns), purpose.memory, settings.group), piece, purpose.memory // SHARES_OF_READING,
        settings, opened[0].file.beside,
    )  # fmt: skip
    if purpose.by_ranges:
        ranged = tuple(map(TableRanges, (0, 1), opened, forms, orders))
        return PreparedSources(ranged, orders[0], Written(rows=gather), is_copied=False, join=join)
    found = all_items(opened, forms, orders[0], progress, None, purpose.memory)
    return PreparedSources(tuple(found), orders[0], Written(rows=gather), join=join)


def _rows_of_group(tables: Sequence[Table], nbytes: float, columns: int, purpose: Purpose) -> int:
    """The rows of a group of the output, if each has so many bytes."""
    most = max(1, *(table.rows for table in tables)) ** 2
    return rows_of_group(most, int(most * nbytes), columns, purpose)


def _settings(
    tables: Sequence[Table],
    keys: JoinedKeys,
    nullable: Sequence[bool],
    columns: Sequence[JoinedColumn],
    request: JoinRequest,
    purpose: Purpose,
) -> TableSettings:
    """The settings of the output, with the columns by which it is sorted."""
    side = max(0, request.only_one)
    found = []
    is_sorted = purpose.is_ordered
    for key, may_be_null in zip(keys[side], nullable, strict=True):
        name = next((column.field.name for column in columns if _is_key(column.places[side], key, tables[side])), None)
        if not is_sorted or name is None or key.kind:
            break
        path = (name, *key.path[1:]) if request.only_one >= 0 else (name,)
        found.append(SortedColumn(path, key.reverse, key.nulls == "first"))
        # Behind it, the nulls of A go ahead of those of B.
        is_sorted = not (may_be_null and all(request.may_lack))
    return replace(purpose.output, sorted_by=tuple(found), like=tables[side])


def _is_key(place: int | KeyColumn | None, key: KeyColumn, table: Table) -> bool:
    """Whether a column of the output is a key, or the struct that has it."""
    if isinstance(place, KeyColumn):
        return place.path == key.path
    return place is not None and table.schema.field(place).name == key.path[0]


def _stored(inputs: Sequence[PickedColumns], schema: pa.Schema) -> tuple[StoredColumn, ...]:
    """The forms in which A and B store the columns of the output; () if one does not say it."""
    found = [one for table in inputs for one in table.stored_columns()]
    names = {one.path[0] for one in found}
    return tuple(found) if names.issuperset(schema.names) else ()
