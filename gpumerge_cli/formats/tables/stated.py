"""The orders that tables state, and those that their rows have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.tables.column_paths import is_struct, values_type
from gpumerge_cli.formats.tables.cursor import batch_rows
from gpumerge_cli.formats.tables.facts import SortedColumn
from gpumerge_cli.formats.tables.images import fixed_images, line_images
from gpumerge_cli.formats.tables.key_columns import KeyColumn, all_columns, has_order, key_array, key_columns
from gpumerge_cli.formats.tables.key_pieces import key_pieces
from gpumerge_cli.formats.tables.table import Table, reading

if TYPE_CHECKING:
    from gpumerge_cli.formats.format import Layout

_BATCH_BYTES = 4 << 20
_SAMPLED_ROWS = 1 << 18
"""Rows at the start of each other file that must be in a proposed order."""
_SAMPLED_FILES = 16
_STATED = "the file states another order, and is in it"
_OTHER = "the file is in another order"
_ENOUGH = 8
"""Rows that show an order which the file does not state."""
_MOST_TURNED = 3
"""Keys whose direction may be another."""


def keys_of_job(tables: Sequence[Table], layout: Layout) -> tuple[KeyColumn, ...]:
    """The keys of a job: those of --field, else the order that all tables state, unless the job sorts; all columns if
    items stay in their order.

    Raises UsageError as key_columns does.
    """
    if not is_unasked(layout) or layout.purpose.sort is not None:
        return key_columns(tables[0].schema, layout)
    if layout.purpose.keeps_order:
        return all_columns(tables[0].schema)
    stating = [table for table in tables if table.rows]
    found = [stated_keys(table) for table in stating] or [_any_key(tables[0].schema)]
    if not all(found):
        return key_columns(tables[0].schema, layout)
    _check_alike(stating, found, found, layout)
    return found[0]


def is_unasked(layout: Layout) -> bool:
    """Whether options do not say by which columns a table is sorted."""
    return layout.key is None and layout.dtype is None and not layout.items.reverse


def keys_of_both(tables: Sequence[Table], layout: Layout) -> Sequence[tuple[KeyColumn, ...]]:
    """The keys by which two tables state that they are sorted, each with the types of its own columns.

    A table without rows is in any order. Raises UsageError if they state none, or different ones.
    """
    stating = [table for table in tables if table.rows] or tables
    found = [stated_keys(table) for table in stating]
    if not all(found):
        return [key_columns(table.schema, layout) for table in tables]
    orders = [[(key.path, key.reverse, key.nulls) for key in keys] for keys in found]
    _check_alike(stating, orders, found, layout)
    columns = [SortedColumn(path, reverse, nulls == "first") for path, reverse, nulls in orders[0]]
    made = []
    for table in tables:
        keys = [_key_of(table.schema, column) for column in columns]
        lacked = next((".".join(one.path) for one, key in zip(columns, keys, strict=True) if key is None), None)
        if lacked is not None:
            what = f"{table.name} has no column {lacked}, by which {stating[0].name} states its order"
            raise UsageError(what, way_out="name the key of both files with --field, or -1 and -2")
        made.append(tuple(key for key in keys if key is not None))
    return made


def _check_alike(
    tables: Sequence[Table], orders: Sequence[object], keys: Sequence[Sequence[KeyColumn]], layout: Layout
) -> None:
    """Raise UsageError if tables state different orders, or another place of nulls than options. keys: as stated."""
    if any(order != orders[0] for order in orders):
        other = next(number for number, order in enumerate(orders) if order != orders[0])
        what = f"it states the order {_shown(keys[0])}, and {tables[other].name} states {_shown(keys[other])}"
        raise UsageError(what, way_out="name the key of all files with --field, or sort them alike")
    if layout.items.nulls == "first" and any(key.nulls == "last" for key in keys[0]):
        what = f"--nulls first: the files state {_shown(keys[0])} with nulls last"
        raise UsageError(what, way_out="leave it out, or name the key with --field")


def stated_keys(table: Table) -> tuple[KeyColumn, ...]:
    """The keys by which a table states that its rows are sorted; () if it states none."""
    keys = (_key_of(table.schema, one) for one in table.stored.sorted_by)
    return tuple(key for key in takewhile(lambda key: key is not None, keys) if key is not None)


def way_out_of_disorder(first: Table, others: Sequence[Table] | None, keys: Sequence[KeyColumn]) -> str:
    """The way out where a table is not in the order of keys. It names an order that all tables are in.

    others: other tables with the same columns; None if they are not known, and no order is proposed. "" if no order is
    found. Raises InputError.
    """
    stated = stated_keys(first)
    if stated and _begins_with(stated, keys, first):
        return "the file states this order wrongly: sort it first"
    if others is None:
        return ""
    for candidate, what in [(stated, _STATED), *((other, _OTHER) for other in _turned(keys))]:
        if not candidate or (what == _OTHER and first.rows < _ENOUGH):
            continue
        nulls = {key.nulls for key in candidate if any(table.may_have_nulls(key.path) for table in (first, *others))}
        if (
            len(nulls) < 2
            and rows_are_in_order(first, candidate)
            and all(rows_are_in_order(other, candidate, _SAMPLED_ROWS) for other in others[:_SAMPLED_FILES])
        ):
            option = f"--field {','.join(key.option_text for key in candidate)}"
            option += " --nulls first" * ("first" in nulls)
            return f"{what}: use {option}"
    return ""


def rows_are_in_order(table: Table, keys: Sequence[KeyColumn], most: int | None = None) -> bool:
    """Whether the rows of a table, or the first `most` of them, are in the order of keys without kinds."""
    columns = table.columns_of(key.path for key in keys)
    last: list[Any] = [pa.nulls(0, key.type) for key in keys]
    at = 0
    batches = table.batches(columns, 0, batch_rows(table, columns, _BATCH_BYTES))
    for batch in reading(table.name, key_pieces(keys, batches, _BATCH_BYTES)):
        if most is not None and at >= most:
            break
        if not batch.num_rows:
            continue
        arrays = [key_array(key, batch) for key in keys]
        if not _are_in_order(keys, [pa.chunked_array(pair) for pair in zip(last, arrays, strict=True)]):
            return False
        at += batch.num_rows
        last = [array.slice(len(array) - 1) for array in arrays]
    return True


def _are_in_order(keys: Sequence[KeyColumn], arrays: Sequence[Any]) -> bool:
    equal: Any = np.ones(len(arrays[0]) - 1, bool)
    for key, array in zip(keys, arrays, strict=True):
        above, same = _compared(key, array)
        if (equal & above).any():
            return False
        equal &= same
    return True


def _compared(key: KeyColumn, values: Any) -> tuple[Any, Any]:
    """(whether each value goes behind the next one, whether they are equal)."""
    if key.fixed_bytes is not None:
        found = fixed_images(key, values, nullable=True)
        images: Any = np.ascontiguousarray(found).view(f"S{found.shape[1]}").reshape(-1)
        return images[:-1] > images[1:], images[:-1] == images[1:]
    import pyarrow.compute as pc

    texts = line_images(key, values)
    here, there = texts.slice(0, len(texts) - 1), texts.slice(1)
    compare = pc.less if key.reverse else pc.greater
    return tuple(one.to_numpy(zero_copy_only=False) for one in (compare(here, there), pc.equal(here, there)))


def _begins_with(stated: Sequence[KeyColumn], keys: Sequence[KeyColumn], table: Table) -> bool:
    """Whether rows in a stated order are in that of keys, too."""
    if len(keys) > len(stated):
        return False
    return all(
        key.path == its.path
        and key.reverse == its.reverse
        and not key.kind
        and (key.nulls == its.nulls or not table.may_have_nulls(key.path))
        for key, its in zip(keys, stated, strict=False)
    )


def _turned(keys: Sequence[KeyColumn]) -> Iterator[tuple[KeyColumn, ...]]:
    """The keys in other directions, and with nulls elsewhere."""
    if any(key.kind for key in keys):
        return
    for nulls in (keys[0].nulls, "first" if keys[0].nulls == "last" else "last"):
        for number in range(1 << min(len(keys), _MOST_TURNED)):
            found = tuple(
                replace(key, reverse=key.reverse != bool(number >> at & 1), nulls=nulls) for at, key in enumerate(keys)
            )
            if found != tuple(keys):
                yield found


def _key_of(schema: pa.Schema, column: SortedColumn) -> KeyColumn | None:
    """The key of a column that a file names; None if it has none of this name, or no order."""
    type: Any = pa.struct(list(schema))
    for name in column.path:
        type = values_type(type)
        if not is_struct(type) or len(type.get_all_field_indices(name)) != 1:
            return None
        type = type.field(name).type
    if not has_order(values_type(type)):
        return None
    return KeyColumn(column.path, values_type(type), column.reverse, "first" if column.nulls_first else "last")


def _any_key(schema: pa.Schema) -> tuple[KeyColumn, ...]:
    """A key of tables without rows, which are in any order; () if no column has an order."""
    keys = (_key_of(schema, SortedColumn((field.name,), reverse=False, nulls_first=False)) for field in schema)
    return tuple(key for key in keys if key is not None)[:1]


def _shown(keys: Sequence[KeyColumn]) -> str:
    return ",".join(key.option_text for key in keys)
