"""Counts of equal records of CSV, as a column: the first field of each record, or the last one."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.csv_dialect import Dialect, dialect_of, field_in
from gpumerge_cli.formats.format import Counted, Written
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.order.equals import COUNT_TITLE, Margin
from gpumerge_cli.order.rules import END, MARK, LineOrder


def _ahead(line: bytes, field: bytes, separator: bytes) -> bytes:
    return field + separator + line


def _behind(line: bytes, field: bytes, separator: bytes) -> bytes:
    """As the library puts a number behind a line: ahead of a carriage return at its end."""
    bare = line.removesuffix(b"\r")
    return bare + separator + field + line[len(bare) :]


Put = Callable[[bytes, bytes, bytes], bytes]
"""Puts a field into a record: (record, field, separator)."""


def counted_records(margin: Margin, head: bytes, order: LineOrder, written: Written) -> Counted:
    """The way in which records go out with their numbers.

    head: the records ahead of all others, as the lines of `order`; the last of them has the names of columns. Raises
    UsageError if fields cannot stand beside numbers.
    """
    separator = dialect_of(order.requested).separator
    if any(byte in b"0123456789" for byte in separator):
        way_out = "use another byte with -t, or write the counts to a file of their own with --count-to"
        raise UsageError("--count: a digit cannot separate a number from fields", way_out=way_out)
    head = field_ahead(COUNT_TITLE, head, order, put=_ahead if margin.count == "ahead" else _behind)
    if margin.count == "after" and not order.quoted:
        newline = b"\n" if written.shown is None else written.shown(END)
        written = replace(written, shown=lambda lines: _with_last_fields(lines, separator, newline))
    return Counted(replace(margin, separator=separator), head, written)


def field_ahead(title: str, head: bytes, order: LineOrder, put: Put = _ahead) -> bytes:
    """The records of `head`, as the lines of `order`, with one more field: `title` in the last, nothing in others."""
    dialect = dialect_of(order.requested)
    end, mark = bytes([order.terminator]), BOM * head.startswith(BOM)
    *titles, names = head.removeprefix(BOM).split(end)[:-1] or [b""]
    if not names:
        return head
    fields = [b""] * len(titles) + [field_in(_name_beside(title, names.partition(MARK)[0], dialect), dialect)]
    lines = zip([*titles, names], fields, strict=True)
    return mark + b"".join(put(line, field, dialect.separator) + end for line, field in lines)


def _name_beside(title: str, names: bytes, dialect: Dialect) -> bytes:
    """A name for the column that begins as `title` and is none of those in the record `names`."""
    try:
        (taken,) = dialect.rows([names.decode("latin-1")])
    except (csv.Error, ValueError):
        taken = []
    name, number = title, 1
    while os.fsencode(name).decode("latin-1") in taken:
        number += 1
        name = f"{title}_{number}"
    return os.fsencode(name)


def _with_last_fields(lines: bytes, separator: bytes, newline: bytes) -> bytes:
    """The records of lines that hold a record, its fields, and a number behind all of them."""
    if lines == BOM:
        return lines
    found = []
    for line in lines.split(END)[:-1]:
        record, _, fields = line.partition(MARK)
        number = fields.rpartition(separator)[2].removesuffix(b"\r")
        found.append(_behind(record, number, separator) + newline)
    return b"".join(found)
