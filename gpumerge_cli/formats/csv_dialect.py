"""Dialects of CSV: what stands between fields, and what quotes mean."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.rules import MARK, LineOrder, Quotes

_ALONE = MARK.decode()
_COMMA = b","
_LONGEST_FIELD = 1 << 31


@dataclass(frozen=True)
class Dialect:
    """The way in which lines are records."""

    separator: bytes = _COMMA
    """The text between fields."""
    quotes: Quotes = "doubled"
    """See order.rules."""

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The fields of each record. A line is taken when the record before it is given out.

        lines: whole ones with their newlines, bytes as characters one to one, and no MARK. Raises csv.Error.
        """
        between = self.separator.decode("latin-1")
        if self.quotes == "none":
            for line in lines:
                yield line.removesuffix("\n").removesuffix("\r").split(between)
            return
        csv.field_size_limit(_LONGEST_FIELD)
        delimiter = between
        if len(between) > 1:  # the parser takes one character
            delimiter = _ALONE
            lines = (line.replace(between, delimiter) for line in lines)
        if self.quotes == "backslash":
            # The parser leaves out every backslash that another one does not stand ahead of.
            escapes = re.compile(rf"""\\(\r\n|[\\"\r\n{re.escape(delimiter)}])?""")
            lines = (escapes.sub(_doubled, line) for line in lines)
        escape = "\\" if self.quotes == "backslash" else None
        for row in csv.reader(lines, delimiter=delimiter, escapechar=escape, strict=True):
            yield row if delimiter == between else [field.replace(delimiter, between) for field in row]


def dialect_of(order: LineOrder) -> Dialect:
    """The dialect of records of CSV. Raises UsageError for a separator that cannot be."""
    separator = _COMMA if order.separator is None else order.separator
    if any(byte in separator for byte in b"\0\n\r" + b'"' * (order.quotes != "none")):
        raise UsageError(
            "quotes, ends of lines and NUL cannot separate fields of CSV", way_out="use another byte with -t"
        )
    if order.quotes == "backslash" and b"\\" in separator:
        raise UsageError("--quotes backslash: a backslash cannot separate fields", way_out="use another byte with -t")
    return Dialect(separator, order.quotes)


def field_in(field: bytes, dialect: Dialect) -> bytes:
    """A field of CSV, within quotes if it needs them, and they are no text."""
    if dialect.quotes == "backslash":
        field = field.replace(b"\\", b"\\\\")
    if dialect.quotes == "none":
        return field
    needs = dialect.separator in field or b'"' in field or b"\n" in field or b"\r" in field or field != field.strip()
    return b'"%b"' % field.replace(b'"', b'""') if needs else field


def _doubled(found: re.Match[str]) -> str:
    if found[1] == "\r\n":  # an end of a line as any: both bytes are text
        return "\\\r\\\n"
    return found[0] if found[1] else "\\\\"
