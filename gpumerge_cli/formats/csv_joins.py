"""Joins of CSV: which files can be joined, and the header of the joined records."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.foreign import JSON, begins_json
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.order.joins import suffix_apart
from gpumerge_cli.order.rules import NEWLINE, LineOrder


def check_join(sources: Sequence[LineSource], order: LineOrder, filler: bytes) -> None:
    """Raise InputError for two files that had to be taken to pieces, UsageError for a filler that ends a record."""
    if not order.quoted:
        for source in sources:
            if begins_json(source.first_line or b""):
                way_out = JSON.way_out_for(source.name)
                raise InputError("quotes in it do not enclose whole fields", where=source.name, way_out=way_out)
        raise InputError(
            f"quotes in it, or in {sources[1].name}, do not enclose whole fields",
            where=sources[0].name,
            way_out="write both files with whole fields in quotes, and quotes in them twice",
        )
    if order.terminator != NEWLINE and order.terminator in filler:
        what = f"-e: no file holds the byte {order.terminator}, so it ends records with newlines in quotes"
        raise UsageError(what, way_out="fill with another text")


def raw_fields(line: bytes, separator: int) -> list[bytes]:
    """The fields of a line as they stand, some in quotes, which enclose whole fields."""
    between = re.escape(bytes([separator]))
    found: list[bytes] = re.findall(rb'(?:^|%s)("(?:[^"]|"")*"|[^%s]*)' % (between, between), line)
    return found


def with_distinct_names(header: bytes, columns: Sequence[tuple[int, int]], separator: int) -> bytes:
    """A header with suffixes at names of B that other columns have, too. columns: see order.joins.Join."""
    text = header.rstrip(b"\r\n\0")
    fields = raw_fields(text, separator)
    names = [field[1:-1].replace(b'""', b'"') if field.startswith(b'"') else field for field in fields]
    texts = [name.decode("latin-1") for name in names]
    for at, (number, _) in enumerate(columns):
        if number == 2 and texts[at]:
            suffix = suffix_apart(texts[at], texts[:at] + texts[at + 1 :])
            texts[at] += suffix
            quote = b'"' if fields[at].startswith(b'"') else b""
            fields[at] = fields[at].removesuffix(quote) + suffix.encode() + quote
    return bytes([separator]).join(fields) + header[len(text) :]
