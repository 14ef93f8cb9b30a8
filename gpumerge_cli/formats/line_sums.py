"""The places of summed columns in lines: fields of text and of CSV, and values of JSON Lines."""

from __future__ import annotations

import os

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.csv_dialect import dialect_of
from gpumerge_cli.formats.format import Written
from gpumerge_cli.formats.json_members import LinesOfItems
from gpumerge_cli.formats.json_paths import path_of
from gpumerge_cli.formats.summed_fields import is_key, no_key, refuse_twice, summed_fields
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import FIRST_LINE, QUOTED, RECORD_END, LineOrder, separator_word
from gpumerge_cli.order.sums import SummedColumn, SumRequest, SumRules
from gpumerge_cli.units import quoted_value


def summed_fields_of(request: SumRequest, order: LineOrder) -> SumRules:
    """The places of fields in lines, or in the records of CSV that lines were made of. order: that of the lines.

    Raises UsageError.
    """
    columns, separators = summed_fields(request, order.requested), request.separators
    if order.has_fields and order.made:
        dialect = dialect_of(order.requested)
        _check_decimal(separators[1], dialect.separator)
        flags = QUOTED * (dialect.quotes != "none")
        separator = separator_word(dialect.separator, flags)
        return SumRules(
            "fields of records", columns, order.terminator, separator, order.requested.quotes, last=request.last,
            separators=separators,
        )  # fmt: skip
    _check_decimal(separators[1], b" \t" if order.separator is None else order.separator)
    flags = RECORD_END | QUOTED * (order.quotes == "doubled") if order.quoted else 0
    separator = separator_word(order.separator, flags | FIRST_LINE * order.first_line)
    return SumRules("fields of lines", columns, order.terminator, separator, last=request.last, separators=separators)


def _check_decimal(decimal: int, separator: bytes) -> None:
    """Raise UsageError if the fraction of a sum would begin with what separates fields."""
    if decimal and decimal in separator:
        mark = chr(decimal)
        what = f"--decimal {quoted_value(mark)}: the byte separates fields, too, so a sum would be two of them"
        raise UsageError(what, way_out="write the file with another separator first, as ;")


def summed_members(request: SumRequest, order: Order, written: Written) -> SumRules:
    """The places of values in items of JSON Lines. Raises UsageError."""
    assert isinstance(written.shown, LinesOfItems), "of JSON Lines"
    assert order.text is not None, "of lines"
    keys = [path_of(key.name) for key in order.text.requested.keys]
    if not keys:
        raise no_key(request.names)
    columns = []
    for name in request.names:
        path = path_of(name)
        if any(path[: len(key)] == key or key[: len(path)] == path for key in keys):
            raise is_key(name)
        try:
            for part in path:
                part.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(name).decode(errors="backslashreplace")
            raise UsageError(f"--sum {shown}: it is not UTF-8, which JSON is", way_out="check the name") from None
        columns.append(SummedColumn(name, path=path))
    refuse_twice([(column.name, column.path) for column in columns])
    for column in columns:
        for other in columns:
            if column is not other and other.path[: len(column.path)] == column.path:
                what = f"--sum {other.name}: it lies within {column.name}, which is summed, too"
                raise UsageError(what, way_out="name one of them")
    end = order.text.terminator
    return SumRules("members of lines", tuple(columns), end, keys=written.shown.keys, last=request.last)
