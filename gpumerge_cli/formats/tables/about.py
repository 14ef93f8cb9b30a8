"""The facts of tables that files state, and the groups of several files that a merge would decode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.tables.alike import alike
from gpumerge_cli.formats.tables.apart import Apart, KeyRange, groups_apart, key_range
from gpumerge_cli.formats.tables.facts import ColumnFacts, SortedColumn, TableFacts, TableGroup, TablesFacts
from gpumerge_cli.formats.tables.items import Form
from gpumerge_cli.formats.tables.key_columns import KeyColumn, key_columns, named_columns
from gpumerge_cli.formats.tables.stated import stated_keys
from gpumerge_cli.formats.tables.table import Table


def about_tables(tables: Sequence[Table], layout: Layout) -> TablesFacts:
    """The facts of tables. layout: of the first one. Raises InputError for a key that is not a column."""
    keys = _keys(tables, layout)
    spans: list[list[KeyRange | None]] = [[None] * len(table.group_rows) for table in tables]
    apart: list[Apart] | None = None
    form = None
    same, differ = _alike(tables) if keys else (None, "")
    if same is not None:
        form = Form.of(keys, [any(table.may_have_nulls(key.path) for table in same) for key in keys])
        spans = [[key_range(table, group, form) for group in range(len(table.group_rows))] for table in same]
        apart = groups_apart(same, form, lambda table, group: True)
    found = []
    for number, table in enumerate(tables):
        stored, groups = table.stored, []
        for group, (rows, span) in enumerate(zip(table.group_rows, spans[number], strict=True)):
            least, greatest = (_shown(form, image) for image in _in_order(form, span))
            nbytes = stored.group_bytes[group] if len(stored.group_bytes) == len(table.group_rows) else 0
            is_apart = None if apart is None else group in apart[number].groups
            groups.append(TableGroup(rows, nbytes, least, greatest, is_apart))
        columns = tuple(ColumnFacts(field.name, str(field.type), *_stored(table, field.name)) for field in table.schema)
        sorted_by = tuple(map(_option, stored.sorted_by))
        nulls_first = bool(stored.sorted_by) and stored.sorted_by[0].nulls_first
        of_order = sorted_by, nulls_first, _is_contradicted(table)
        facts = TableFacts(table.name, table.rows, stored.nbytes, stored.created_by, columns, *of_order, tuple(groups))
        found.append(facts)
    return TablesFacts(keys[0].option_text if keys else "", tuple(found), differ)


def _alike(tables: Sequence[Table]) -> tuple[list[Table] | None, str]:
    """(the tables with columns of one schema, "") or (None, the reason why they have none)."""
    try:
        return alike(tables), ""
    except InputError as error:
        return None, str(error)


def _is_contradicted(table: Table) -> bool:
    """Whether statistics show that the rows of a table are not in the order that it states."""
    keys = stated_keys(table)[:1]
    if not keys:
        return False
    form = Form.of(keys, [True])
    groups = [number for number, rows in enumerate(table.group_rows) if rows]
    spans = [_in_order(form, key_range(table, group, form)) for group in groups]
    turned = keys[0].reverse and not form.is_fixed
    return any(
        there and (here > there if not turned else here < there) for (_, here), (there, _) in pairwise(spans) if here
    )


def _in_order(form: Form | None, span: KeyRange | None) -> KeyRange:
    """The first and the last image in the order of the key."""
    if form is None or span is None:
        return b"", b""
    return span[::-1] if form.keys[0].reverse and not form.is_fixed else span


def _shown(form: Form | None, image: bytes) -> str:
    return form.keys[0].shown(image).decode(errors="backslashreplace") if form is not None and image else ""


def _keys(tables: Sequence[Table], layout: Layout) -> tuple[KeyColumn, ...]:
    """The keys of --field, else the columns by which the first file says that it is sorted."""
    first = tables[0]
    try:
        if layout.key is not None:
            return key_columns(first.schema, layout)
        return tuple(
            key
            for one in first.stored.sorted_by[:1]
            for key in named_columns(
                first.schema, [_option(one)], "--field", nulls="first" if one.nulls_first else "last"
            )
        )
    except UsageError as error:
        if layout.key is None:
            return ()
        raise InputError(error.what, where=first.name, way_out=error.way_out) from None


def _option(column: SortedColumn) -> str:
    """The column as --field names it."""
    return ".".join(column.path) + ":r" * column.reverse


def _stored(table: Table, name: str) -> tuple[str, str]:
    """(the compressions, the encodings) of a column and its fields."""
    leaves = [one for one in table.stored.columns if one.path[0] == name]
    codecs = dict.fromkeys(one.codec for one in leaves)
    encodings = dict.fromkeys("dictionary" if one.dictionary else one.encoding or "plain" for one in leaves)
    return ", ".join(codecs), ", ".join(encodings)
