"""The places of summed columns in records with fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.summed_fields import is_key, refuse_twice
from gpumerge_cli.order.key_types import KIND_OF_LETTER, TYPES
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.sums import SummedColumn, SumRequest, SumRules
from gpumerge_cli.suggestions import did_you_mean_column

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype

_WIDTHS = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8)}
"""The bytes of numbers that are summed, by NumPy's letters."""


def summed_numbers(request: SumRequest, order: Order, dtype: Dtype | None) -> SumRules:
    """The places of fields in records. Raises UsageError for items without fields, and for fields without numbers."""
    names, fields = request.names, None if dtype is None else dtype.fields
    if not order.record or fields is None or dtype is None:
        what = f"--sum {','.join(names)}: the items have no columns"
        raise UsageError(what, way_out="name the fields of records by --dtype, or leave it out")
    columns = [_column(name, dict(fields)) for name in names]
    refuse_twice([(column.name, column.place) for column in columns])
    keys = _bytes_of_keys(order)
    for column in columns:
        if keys & set(range(column.place, column.place + column.width)):
            raise is_key(column.name)
    return SumRules("numbers of records", tuple(columns), record=order.record, last=request.last)


def _column(name: str, fields: dict[str, Any]) -> SummedColumn:
    if name not in fields:
        choices = did_you_mean_column(name, {one: one for one in fields}, f"use {', '.join(fields)}")
        raise UsageError(f"--sum {name}: there is no such field", way_out=choices)
    dtype, place = fields[name][:2]
    if dtype.subdtype is not None or dtype.names is not None or dtype.itemsize not in _WIDTHS.get(dtype.kind, ()):
        what = f"--sum {name}: the field is {dtype}, which is not summed"
        raise UsageError(what, way_out="name one of integers, float32 or float64")
    kind = TYPES[KIND_OF_LETTER[dtype.kind]][2]
    return SummedColumn(name, int(place), int(dtype.itemsize), kind, not dtype.isnative)


def _bytes_of_keys(order: Order) -> set[int]:
    """The bytes of a record that belong to its keys."""
    found: set[int] = set()
    for one in order.by_key() or (order,):
        layout = one.layout()
        found.update(range(layout.offset, layout.offset + layout.width))
    return found
