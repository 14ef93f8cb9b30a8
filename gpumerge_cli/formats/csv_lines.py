"""CSV: records whose keys are the values of fields, without quotes. Records become lines in one of three ways.

- As they stand, if quotes enclose whole fields and no newlines: compiled code finds the fields. Nothing is copied.
- With a byte behind each that no file holds, NUL if possible, in place of its newline, if newlines lie within quotes.
- Else the standard library's parser takes records to pieces. A line is then the record, followed by each of its fields,
  with SEPARATOR between them and NUL behind.
"""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain, islice
from operator import or_
from typing import IO

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.beginnings import LOOKED_AT, refuse_binary, refuse_json, refuse_records, refuse_wide
from gpumerge_cli.formats.csv_parser import Parser, write_fields
from gpumerge_cli.formats.csv_quotes import absent_byte, csv_shape_of, write_records
from gpumerge_cli.formats.csv_words import SPELLING
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import BOM, LineSource
from gpumerge_cli.formats.naming import beginning_of
from gpumerge_cli.order.rules import END, MARK, NUL, SEPARATOR, LineKey, LineOrder
from gpumerge_cli.units import format_bytes

_LONGEST_HEADER = 1 << 26


@dataclass(frozen=True)
class CsvRecords:
    """The records of CSV as lines."""

    sources: list[LineSource]
    """They show the lines."""
    order: LineOrder
    """The order of the lines."""
    shown: Callable[[bytes], bytes] | None
    """Turns whole lines into the records to write; None if lines are records."""


def records_of(
    sources: Sequence[LineSource], order: LineOrder, progress: Callable[[int, float], None] = lambda number, share: None
) -> CsvRecords:
    """The records of sources that show the lines of files, each of which is closed if its records are copied.

    order: counts fields. progress: called with (number of the source, share of it gone through), again and again while
    it is copied. Raises InputError for what is not CSV.
    """
    separator = separator_of(order)
    within = order_within_fields(order)
    shape = None if within is None else reduce(or_, (csv_shape_of(source.file, separator) for source in sources))
    # then a quote written twice counts
    counted = any(key.start_char or key.kind.source or key.kind.typed or key.null_values for key in order.keys)
    if within is None or shape is None or not shape.proper or (shape.doubled and counted):
        copied = [_copied(source, number, write_fields, order, progress) for number, source in enumerate(sources)]
        for copy, source in zip(copied, sources, strict=True):
            copy.origin = source.held
        return CsvRecords(copied, order_of_fields(order), without_fields)
    if shape.lines:
        return CsvRecords(list(sources), within, None)
    end = absent_byte([source.file for source in sources], separator)
    write = partial(write_records, end=end)
    copied = [_copied(source, number, write, order, progress, end) for number, source in enumerate(sources)]
    return CsvRecords(copied, replace(within, terminator=end), partial(with_newlines, end=end))


def separator_of(order: LineOrder) -> int:
    """The byte between fields. Raises UsageError for one that cannot be."""
    separator = SPELLING.separator if order.separator is None else order.separator
    assert separator is not None, "a comma at least"
    if separator in (0, 10, 13, 34):
        raise UsageError(
            "quotes, ends of lines and NUL cannot separate fields of CSV", way_out="use another byte with -t"
        )
    return separator


def order_within_fields(order: LineOrder) -> LineOrder | None:
    """The order of records as they stand, None if a key needs them taken to pieces: one of several fields does."""
    keys = []
    for key in order.keys:
        if key.end_char == 0 and key.kind.begins is not None and _goes_on(key):
            key = replace(key, end_field=key.start_field)  # a number ends with its field anyway
        if key.end_char or _goes_on(key):
            return None
        keys.append(key)
    return replace(order, keys=tuple(keys), separator=separator_of(order), quoted=True, spelling=SPELLING.of(order))


def _goes_on(key: LineKey) -> bool:
    return key.end_field is None or key.end_field > key.start_field


def order_of_fields(order: LineOrder) -> LineOrder:
    """The order of lines that hold a record and its fields."""
    keys = tuple(
        replace(key, start_field=key.start_field + 1, end_field=None if key.end_field is None else key.end_field + 1)
        for key in order.keys
    )
    return replace(order, keys=keys, separator=SEPARATOR, terminator=NUL, spelling=SPELLING.of(order))


def header_fields(name: str, items: Items) -> list[str] | None:
    """The fields of the record `header_lines`, counted from 1, of the file `name`; None if the file is empty.

    Raises InputError if a file that is not empty has no such record, or is not CSV.
    """
    number, plain = items.header_lines, items.plain
    with contextlib.closing(beginning_of(name, plain=plain)) as pieces:
        start = next(pieces, b"")
        if start == BOM:  # all that a pipe gave so far
            start += next(pieces, b"")
        refuse(name, start[:LOOKED_AT], items)
        if start in (b"", BOM):
            return None
        parser = Parser(name, _bounded(name, chain([start], pieces)), separator_of(items.line_order))
        records = chain.from_iterable(map(parser.records, parser.blocks))
        for _, fields in islice(records, number - 1, None):
            return [os.fsdecode(field) for field in fields]
    raise InputError(f"it has fewer than {number} records", where=name, way_out="check --header")


def _bounded(name: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a file as long as they may belong to a header: a device, or an open quote, may never end."""
    count = 0
    for piece in pieces:
        yield piece
        count += len(piece)
        if count > _LONGEST_HEADER:
            what = f"its header does not end within {format_bytes(_LONGEST_HEADER)}"
            raise InputError(what, where=f"{name}:1", way_out="check its quotes and ends of lines")


def same_fields(header: bytes, other: bytes, separator: int) -> bool:
    """True if two headers (records, each with a newline) have the same fields, however they are quoted."""
    return _parsed(header, separator) == _parsed(other, separator)


def refuse(name: str, start: bytes, items: Items) -> None:
    """Raise InputError if a file that begins with `start` is not CSV."""
    if not items.tells_format:
        refuse_binary(name, start, plain=items.plain)
    refuse_wide(name, start, in_fields=True)
    if items.certainty == "implied":
        refuse_records(name, start)
        refuse_json(name, start)


def line_of_record(record: bytes, order: LineOrder) -> bytes:
    """The line of a record of a file, without its end.

    order: that of the lines. Raises UsageError for an invalid record.
    """
    if order.quoted:
        if record.count(b'"') % 2:
            raise UsageError("it is not a record of CSV: a quote is not closed", way_out="check its quotes")
        return record
    separator = chr(separator_of(order.requested))
    try:
        fields = next(csv.reader([record.decode("latin-1")], delimiter=separator, strict=True), [""])
    except csv.Error as error:
        raise UsageError(f"it is not a record of CSV: {error}", way_out="check its quotes") from None
    return MARK.join([record, *(field.encode("latin-1") for field in fields)])


def open_key_warning(line: bytes, order: LineOrder) -> str:
    """The warning about a key with letters and no end, which is of several fields of the record in `line`; else ""."""
    for key in order.requested.keys if order.has_fields else ():
        bare = LineKey(start_field=key.start_field, start_char=key.start_char)
        by_letters = key.whole and replace(key, reverse=False) != bare  # as -f alone makes
        if key.end_field is not None or key.kind.begins is not None or key == bare or by_letters:
            continue
        number = key.start_field + 1
        if line.count(MARK) > number:  # ahead of each field
            alone = replace(key, end_field=key.start_field)
            ways = [alone.option_text]
            if not key.start_char:
                ways.append(replace(alone, name=str(number)).option_text)
            text = key.option_text if not key.whole else f"-k 1{'r' * key.reverse}"
            return f"{text} is all fields from {number} on; for field {number} alone, write {' or '.join(ways)}"
    return ""


def without_fields(lines: bytes) -> bytes:
    """The records that lines were made of, each with a newline."""
    if lines == BOM:  # the start of an output, ahead of all records
        return lines
    return b"".join(line.split(MARK, 1)[0] + b"\n" for line in lines.split(END)[:-1])


def with_newlines(lines: bytes, *, end: int = NUL) -> bytes:
    """The records of lines that are records with the byte `end` behind them, each with a newline."""
    return lines.replace(bytes([end]), b"\n")


def _parsed(header: bytes, separator: int) -> list[list[str]] | bytes:
    text = header.removeprefix(BOM)
    try:
        return list(csv.reader(text.decode("latin-1").splitlines(keepends=True), delimiter=chr(separator), strict=True))
    except csv.Error:
        return text


def _copied(
    source: LineSource,
    number: int,
    write: Callable[[SeekableInput, int, IO[bytes], Callable[[float], None]], None],
    order: LineOrder,
    progress: Callable[[int, float], None],
    end: int = NUL,
) -> LineSource:
    """The source of what `write` makes of a file's records, `end` behind each; `source` is closed."""
    separator = separator_of(order)
    file = source.file.replaced(lambda out: write(source.file, separator, out, lambda share: progress(number, share)))
    return LineSource(file, end, source.requested_header, marked=True)
