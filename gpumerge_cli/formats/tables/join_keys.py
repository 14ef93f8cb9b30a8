"""The keys by which two tables are joined: the columns of each, brought to types that both have in common."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.record_options import Key
from gpumerge_cli.formats.tables.alike import check_keys
from gpumerge_cli.formats.tables.common_types import common_type
from gpumerge_cli.formats.tables.key_columns import KeyColumn, is_text, key_columns
from gpumerge_cli.formats.tables.stated import is_unasked, keys_of_both
from gpumerge_cli.formats.tables.table import Table

JoinedKeys = tuple[tuple[KeyColumn, ...], tuple[KeyColumn, ...]]


def joined_keys(tables: Sequence[Table], layout: Layout) -> JoinedKeys:
    """The key columns of A and B, which compare alike: by default the order that both state. layout: that of A.

    Raises InputError if there are not as many, or if their types have nothing in common.
    """
    request = layout.items.records_of[-1]
    of_b = replace(layout, number=1, key=Key(fields=request.fields, option=request.option) if request.fields else None)
    if is_unasked(layout) and is_unasked(of_b):
        try:
            a, b = keys_of_both(tables, layout)
        except UsageError as error:
            raise InputError(error.what, where=tables[0].name, way_out=error.way_out) from None
    else:
        a, b = (_columns(table, one) for table, one in zip(tables, (layout, of_b), strict=True))
    if len(a) != len(b):
        counted = ["1 column" if len(keys) == 1 else f"{len(keys)} columns" for keys in (a, b)]
        what = f"a key of A has {counted[0]}, and one of B has {counted[1]}"
        raise UsageError(what, way_out="name the same number for both files")
    for table, keys in zip(tables, (a, b), strict=True):
        check_keys([table], [key.path for key in keys])
    pairs = [_alike(*pair, tables) for pair in zip(a, b, strict=True)]
    return tuple(one for one, _ in pairs), tuple(other for _, other in pairs)


def _columns(table: Table, layout: Layout) -> tuple[KeyColumn, ...]:
    try:
        return key_columns(table.schema, layout)
    except UsageError as error:
        raise InputError(error.what, where=table.name, way_out=error.way_out) from None


def _alike(a: KeyColumn, b: KeyColumn, tables: Sequence[Table]) -> tuple[KeyColumn, KeyColumn]:
    """Both keys with one type and one order."""
    type = common_key_type(a.type, b.type)
    if type is None or (a.kind and b.kind and a.kind != b.kind):
        differs = "is compared in another way than" if a.kind and b.kind else "has another type than"
        shown = [f"{key.name} {key.type}" for key in (a, b)]
        raise InputError(
            f"its key, {shown[1]}, {differs} the key of {tables[0].name}, {shown[0]}",
            where=tables[1].name,
            way_out="write one of them again with the type of the other",
        )
    reverse, rule = a.reverse or b.reverse, a.rule or b.rule
    # Texts have the same images whatever their types are.
    types = (a.type, b.type) if is_text(a.type) and type == a.type else (type, type)
    made = [replace(key, type=its, reverse=reverse, rule=rule) for key, its in zip((a, b), types, strict=True)]
    return made[0], made[1]


def common_key_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both, so that equal ones have one image; None if there is none."""
    types = pa.types
    if a == b:
        return a
    if is_text(a) and is_text(b):
        return _common_text(a, b)
    if types.is_date(a) and types.is_date(b):
        return pa.date32()
    return common_type(a, b, widens=True)


def _common_text(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """Images of texts of one kind are the same, but for those of binary of a fixed size."""
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    strings = [any(test(one) for test in tests) for one in (a, b)]
    if all(strings):
        return a
    if any(strings):
        return None
    fixed = [pa.types.is_fixed_size_binary(one) for one in (a, b)]
    return pa.large_binary() if any(fixed) else a
