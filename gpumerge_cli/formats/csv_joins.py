"""Joins of CSV: which files can be joined, and the header of the joined records."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.foreign import JSON, begins_json
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.order.joins import Join, suffix_apart
from gpumerge_cli.order.rules import NEWLINE, LineOrder, Quotes

# A quote that is text stands twice, so it ends one part in quotes and begins another.
# Nothing is tried twice, so the search takes no memory.
_QUOTED = re.compile(rb'(?:"[^"]*+"?)++')


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


def raw_fields(line: bytes, separator: bytes, quotes: Quotes) -> list[bytes]:
    """The fields of a line as they stand, some in quotes, which enclose whole fields."""
    if quotes == "none" or b'"' not in line:
        return line.split(separator)
    found: list[bytes] = []
    at = 0  # the start of the next field
    while True:
        quoted = _QUOTED.match(line, at)
        end = line.find(separator, at if quoted is None else quoted.end())
        if end < 0:
            return [*found, line[at:]]
        found.append(line[at:end])
        at = end + len(separator)


def with_distinct_names(header: bytes, join: Join) -> bytes:
    """A header with suffixes at names of B that other columns have, too. The join has columns."""
    text = header.rstrip(b"\r\n" + bytes([join.key.terminator]))
    fields = raw_fields(text, join.between, join.quotes)
    quotes = [b'"' if join.quotes != "none" and field.startswith(b'"') else b"" for field in fields]
    names = [field[1:-1].replace(b'""', b'"') if quote else field for field, quote in zip(fields, quotes, strict=True)]
    texts = [name.decode("latin-1") for name in names]
    for at, (number, _) in enumerate(join.columns or ()):
        if number == 2 and texts[at]:
            suffix = suffix_apart(texts[at], texts[:at] + texts[at + 1 :])
            texts[at] += suffix
            fields[at] = fields[at].removesuffix(quotes[at]) + suffix.encode() + quotes[at]
    return join.between.join(fields) + header[len(text) :]
