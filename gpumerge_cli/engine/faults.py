"""The errors for keys that are no values of their kind."""

from __future__ import annotations

from functools import partial

from gpumerge_cli.engine.hints import has_requested_header
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.native.comparison import is_invalid, key_bounds
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import NEWLINE

_SHOWN = 40
_LOG_TIME = "log_time"
_PLACED = "add --invalid last to have such lines last"
_NULL = "--null-values if it stands for no value"
_RECORDS = "--record-start time"
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
            value = order.part(number, line, partial(key_bounds, order))
            if value is None:
                begin, end = key_bounds(order, number, line)
                value = line[begin:end]
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
            if not joined and _goes_on(source, offset, order, number):
                way_out = f"if it goes on from the line above, add {_RECORDS}; else {way_out}"
            if where.endswith(":1") and not has_requested_header(source):
                way_out = f"if line 1 is a header, add --header{'' if joined else ' 1'}; else {way_out}"
            return InputError(what, where=where, way_out=way_out)
    return None


def _goes_on(source: Source, offset: int, order: Order, number: int) -> bool:
    """Whether the line at `offset`, which has no time, can be one of a record that begins with a line that has one.

    Records of several lines are then sorted as they are: their first lines alone have keys.
    """
    rules = order.text
    assert rules is not None
    is_line = order.plain_lines and rules.terminator == NEWLINE
    is_log = is_line and len(rules.keys) == 1 and rules.keys[0].whole and rules.keys[0].compare == _LOG_TIME
    return is_log and offset > 0 and not is_invalid(order, number, source.item_at(0))
