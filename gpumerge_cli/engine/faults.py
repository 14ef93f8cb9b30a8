"""The errors for keys that are no values of their kind."""

from __future__ import annotations

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.native.comparison import is_invalid, key_bounds
from gpumerge_cli.order.kinds import Order

_SHOWN = 40
_PLACED = "add --invalid last to have such lines last"
_NULL = "--null-values if it stands for no value"
_FORMED = "add --time-format if its time has another form"


def fault_error(source: Source, offset: int, order: Order, *, joined: bool = False) -> InputError | None:
    """The error for the item at `offset` if one of its keys is invalid, and that is an error; else None.

    joined: it is for a join, whose option for a header is another one.
    """
    if order.text is None or not order.checks_values:
        return None
    line = source.item_at(offset)
    for number, key in enumerate(order.text.keys):
        if key.checked and is_invalid(order, number, line):
            begin, end = key_bounds(order, number, line)
            value = order.text.between_fields(line[begin:end])
            shown = order.quoted(value[:_SHOWN]) + "..." * (len(value) > _SHOWN)
            where = source.location(offset)
            by = f"by {order.key_option(number)}"
            what = f"{shown} {key.kind.complaint}, {by}"
            way_out = _PLACED if key.kind.fault else f"{_PLACED}, or {_NULL}"
            if key.kind.timed:
                from gpumerge_cli.engine.times import lacks_year
                from gpumerge_cli.order.times import format_of

                if lacks_year(order, number, line):
                    return InputError(f"{shown} has no year, {by}", where=where, way_out="give it by --year")
                if not format_of(key.parameters):
                    way_out = f"{_FORMED}, or {way_out}"
            if where.endswith(":1"):
                way_out = f"if line 1 is a header, add --header{'' if joined else ' 1'}; else {way_out}"
            return InputError(what, where=where, way_out=way_out)
    return None
