"""The last key of an as-of join of tables: the form of its images, and the distances of its values."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa

from gpumerge_cli.formats.tables.items import Form
from gpumerge_cli.order.asof import FLOATS, NO_SCALE, NUMBERS, Asof, Measure, Scale, scale_of_kind

_NULLS = b"\3\xff"
"""The first bytes of nulls in lines, see formats.tables.images."""
_NANOS_OF_DAY = 86400 * 10**9
_NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def asof_by(asof: Asof, form: Form) -> Asof:
    """The as-of join by the last key of items of a form. Raises UsageError if its type does not fit."""
    key = form.keys[-1]
    column = key.column
    if column.kind:
        return asof.by(column.name, "by kind", scale_of_kind(column.kind), descending=column.reverse)
    if pa.types.is_null(column.type):
        return asof.without_values(_NULLS)
    measure, scale = _measured(column.type)
    width = column.fixed_bytes or 0
    if not form.is_fixed:
        if measure == "bytes":
            measure = "nullable"
        return asof.by(column.name, measure, scale, descending=column.reverse, width=width, nulls=_NULLS)
    tail = 0 if form.native else key.width
    return asof.by(column.name, measure, scale, descending=column.reverse, width=width, tail=tail)


def _measured(type: pa.DataType) -> tuple[Measure, Scale]:
    """The form of the images of a type, see AsofMeasure of kernels/cpu/entries.h, and the distances of its values."""
    types = pa.types
    if types.is_floating(type):
        return "row float", FLOATS
    if types.is_decimal(type):
        return "whole", Scale("numbers", Fraction(10) ** type.scale)
    if types.is_date(type):
        return "whole", Scale("times", _NANOS_OF_DAY if types.is_date32(type) else _NANOS["ms"])
    if types.is_timestamp(type) or types.is_time(type) or types.is_duration(type):
        return "whole", Scale("times", _NANOS[type.unit])
    if types.is_integer(type) or types.is_boolean(type):
        return "whole", NUMBERS
    return "bytes", NO_SCALE
