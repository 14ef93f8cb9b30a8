"""The names of inputs as a column of the output: ahead of lines, with a tab; of CSV as the first field."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.csv_counts import field_ahead
from gpumerge_cli.formats.csv_dialect import dialect_of, field_in
from gpumerge_cli.formats.format import Named, Written
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import MARK, LineOrder
from gpumerge_cli.units import quoted_value

_TAB = b"\t"


def names_of_lines(title: str, names: Sequence[str], head: bytes, order: Order, written: Written) -> Named:
    """The names as they stand ahead of lines. The title stands ahead of the last line of a header.

    head: the header, or a byte order mark alone. Raises UsageError for a name with a tab or the byte that ends a line.
    """
    texts = [os.fsencode(name) for name in names]
    for name, text in zip(names, texts, strict=True):
        _refuse(name, text, (_TAB, order.end))
    _refuse_title(title, (_TAB, b"\n", order.end))
    mark = BOM * head.startswith(BOM)
    lines = head.removeprefix(BOM).split(order.end)[:-1]
    if lines:
        head = mark + b"".join(line + order.end for line in (*lines[:-1], os.fsencode(title) + _TAB + lines[-1]))
    return Named(tuple(text + _TAB for text in texts), head, written)


def names_of_records(title: str, names: Sequence[str], head: bytes, order: LineOrder, written: Written) -> Named:
    """The names as the first fields of records of CSV, which may be copied: see csv_lines. Arguments as above.

    Raises UsageError for a name with a byte that only copies of records have.
    """
    dialect = dialect_of(order.requested)
    separator = dialect.separator
    texts = [os.fsencode(name) for name in names]
    copied = [bytes([order.terminator])] * (order.terminator != ord("\n")) + [MARK] * (not order.quoted)
    copied += [separator, b"\n"] * (dialect.quotes == "none")
    for name, text in zip(names, texts, strict=True):
        _refuse(name, text, copied)
    _refuse_title(title, (b"\n", b"\r", *copied))
    head = field_ahead(title, head, order)
    return Named(tuple(field_in(text, dialect) + separator for text in texts), head, written)


def _refuse(name: str, text: bytes, bytes_of_lines: Sequence[bytes]) -> None:
    for byte in bytes_of_lines:
        if byte in text:
            between = "which the output uses between names or lines"
            what = f"--source: the name {quoted_value(name)} holds {repr(byte)[1:]}, {between}"
            raise UsageError(what, way_out="rename it, or name a link to it")


def _refuse_title(title: str, bytes_of_lines: Sequence[bytes]) -> None:
    for byte in bytes_of_lines:
        if byte in os.fsencode(title):
            what = f"--source={title}: the name of a column cannot hold {repr(byte)[1:]} here"
            raise UsageError(what, way_out="choose another name")
