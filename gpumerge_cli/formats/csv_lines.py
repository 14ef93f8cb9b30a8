"""CSV: records whose keys are the values of fields, without quotes. Records become lines in one of three ways.

- As they stand, if quotes enclose whole fields and no newlines, or if quotes are text: compiled code finds the fields.
  Nothing is copied.
- With a byte behind each that no file holds, NUL if possible, in place of its newline, if newlines lie within quotes.
- Else, or if backslashes stand ahead of quotes, the standard library's parser takes records to pieces. A line is then
  the record, followed by each of its fields, with MARK between them and NUL behind.
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
from gpumerge_cli.formats.csv_dialect import Dialect, dialect_of
from gpumerge_cli.formats.csv_parser import Parser, write_fields
from gpumerge_cli.formats.csv_quotes import CsvShape, csv_shape_of, write_records
from gpumerge_cli.formats.csv_words import SPELLING
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_ends import LineEnds, shown_with, with_ends, without_returns, written_end
from gpumerge_cli.formats.line_source import BOM, LineSource
from gpumerge_cli.formats.naming import beginning_of
from gpumerge_cli.formats.record_ends import absent_byte
from gpumerge_cli.order.rules import END, MARK, NUL, LineKey, LineOrder
from gpumerge_cli.units import format_bytes

_LONGEST_HEADER = 1 << 26
_PIECE = 1 << 18
_WORTH_THREADS, _MOST_THREADS = 4 << 20, 8  # bytes of files that are looked through


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
    sources: Sequence[LineSource],
    order: LineOrder,
    progress: Callable[[int, float], None] = lambda number, share: None,
    ends: LineEnds = "",
    shapes: Sequence[CsvShape | None] = (),
) -> CsvRecords:
    """The records of sources that show the lines of files, each of which is closed if its records are copied.

    order: counts fields. ends: those of the records. progress: called with (number of the source, share of it gone
    through), again and again while it is copied. shapes: of the sources, as far as they are known. Raises InputError
    for what is not CSV.
    """
    dialect = dialect_of(order)
    within = order_within_fields(order)
    newline = written_end(ends, sources) if ends else b"\n"

    def as_lines() -> CsvRecords:
        assert within is not None
        if not ends:
            return CsvRecords(list(sources), within, None)
        bare = [without_returns(source, partial(progress, number)) for number, source in enumerate(sources)]
        return CsvRecords(bare, within, shown_with(newline))

    if dialect.quotes == "none":
        return as_lines()
    if dialect.quotes == "backslash" and _hold_backslashes(sources):
        within = None
    shape = None
    if within is not None:
        shape = _shape_of_all(sources, shapes or [None] * len(sources), dialect.separator)
    # then a quote written twice counts
    counted = any(key.start_char or key.kind.file_option or key.kind.typed or key.null_values for key in order.keys)
    if within is None or shape is None or not shape.proper or (shape.doubled and counted):
        fields = partial(write_fields, returns=not ends)
        copied = [_copied(source, number, fields, order, progress) for number, source in enumerate(sources)]
        for copy, source in zip(copied, sources, strict=True):
            copy.origin = source.held
        return CsvRecords(copied, order_of_fields(order), partial(without_fields, newline=newline))
    if shape.lines:
        return as_lines()
    way_out = "leave --csv and --field out, or clean it"
    end = absent_byte([source.file for source in sources], dialect.separator, way_out)
    write = partial(write_records, end=end)
    copied = [_copied(source, number, write, order, progress, end) for number, source in enumerate(sources)]
    if ends:
        copied = [without_returns(source, lambda share: None, end=bytes([end])) for source in copied]
    return CsvRecords(copied, replace(within, terminator=end), partial(with_ends, end=bytes([end]), newline=newline))


def _shape_of_all(sources: Sequence[LineSource], shapes: Sequence[CsvShape | None], separator: bytes) -> CsvShape:
    """The traits of the records of several sources. shapes: of each, None where they are to be found."""

    def shape_of(source: LineSource, known: CsvShape | None) -> CsvShape:
        return known or csv_shape_of(source.file, separator, source.prefixed)

    if sum(source.size for source, known in zip(sources, shapes, strict=True) if known is None) < _WORTH_THREADS:
        return reduce(or_, map(shape_of, sources, shapes))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(len(sources), len(os.sched_getaffinity(0)), _MOST_THREADS)) as pool:
        return reduce(or_, pool.map(shape_of, sources, shapes))


def _hold_backslashes(sources: Sequence[LineSource]) -> bool:
    return any(b"\\" in data for source in sources for data in source.file.pieces(_PIECE))


def order_within_fields(order: LineOrder) -> LineOrder | None:
    """The order of records as they stand, None if a key needs them taken to pieces: one of several fields does."""
    dialect = dialect_of(order)
    if dialect.quotes == "none":
        return replace(order, separator=dialect.separator, quoted=True, spelling=SPELLING.of(order))
    keys = []
    for key in order.keys:
        if key.end_char == 0 and key.kind.begins is not None and _goes_on(key):
            key = replace(key, end_field=key.start_field)  # a number ends with its field anyway
        if key.end_char or _goes_on(key):
            return None
        keys.append(key)
    # Without a backslash, quotes mean the same as in CSV.
    separator, spelling = dialect.separator, SPELLING.of(order)
    return replace(order, keys=tuple(keys), separator=separator, quoted=True, quotes="doubled", spelling=spelling)


def _goes_on(key: LineKey) -> bool:
    return key.end_field is None or key.end_field > key.start_field


def order_of_fields(order: LineOrder) -> LineOrder:
    """The order of lines that hold a record and its fields."""
    keys = tuple(
        replace(key, start_field=key.start_field + 1, end_field=None if key.end_field is None else key.end_field + 1)
        for key in order.keys
    )
    return replace(order, keys=keys, separator=MARK, terminator=NUL, spelling=SPELLING.of(order))


def header_fields(name: str, items: Items) -> list[str] | None:
    """The fields of the last line of the header of the file `name`; None if the file is empty.

    Raises InputError if a file that is not empty has no such line, or is not CSV.
    """
    number, plain = items.header_lines, items.plain
    with contextlib.closing(beginning_of(name, plain=plain)) as pieces:
        start = next(pieces, b"")
        if start == BOM:  # all that a pipe gave so far
            start += next(pieces, b"")
        refuse(name, start[:LOOKED_AT], items)
        if start in (b"", BOM):
            return None
        content = _bounded(name, chain([start], pieces))
        prefixed, content = _prefixed_lines(content, items.header_prefix) if items.header_prefix else ([], content)
        if not number:
            content = iter(prefixed[-1:])
        parser = Parser(name, content, dialect_of(items.line_order))
        parser.number = len(prefixed) if number else max(0, len(prefixed) - 1)
        records = chain.from_iterable(map(parser.records, parser.blocks))
        for _, fields in islice(records, max(0, number - 1), None):
            return [os.fsdecode(field) for field in fields]
    if number:
        raise InputError(f"it has fewer than {number} records", where=name, way_out="check --header")
    what = f"its first line does not begin with {os.fsdecode(items.header_prefix)}"
    raise InputError(what, where=f"{name}:1", way_out="check --header-prefix, or add --header 1")


def _prefixed_lines(pieces: Iterator[bytes], prefix: bytes) -> tuple[list[bytes], Iterator[bytes]]:
    """The first lines of a file that begin with the prefix, each with its newline, and the pieces of the rest."""
    lines: list[bytes] = []
    held, at = b"", 0
    for piece in pieces:
        held, at = held[at:] + piece, 0
        while end := held.find(b"\n", at) + 1:
            if not _begins(held, at, prefix, first=not lines):
                return lines, chain([held[at:]], pieces)
            lines.append(held[at:end])
            at = end
    rest = held[at:]
    if rest and _begins(rest, 0, prefix, first=not lines):
        return [*lines, rest], iter(())
    return lines, iter([rest] if rest else [])


def _begins(text: bytes, at: int, prefix: bytes, *, first: bool) -> bool:
    """Whether the line at byte `at` begins with the prefix. first: of a file, whose byte order mark does not count."""
    return text.startswith(prefix, at + len(BOM) * (first and text.startswith(BOM)))


def _bounded(name: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a file as long as they may belong to a header: a device, or an open quote, may never end."""
    count = 0
    for piece in pieces:
        yield piece
        count += len(piece)
        if count > _LONGEST_HEADER:
            what = f"its header does not end within {format_bytes(_LONGEST_HEADER)}"
            raise InputError(what, where=f"{name}:1", way_out="check its quotes and ends of lines")


def same_fields(header: bytes, other: bytes, dialect: Dialect) -> bool:
    """True if two headers (records, each with a newline) have the same fields, however they are quoted."""
    return _parsed(header, dialect) == _parsed(other, dialect)


def fields_of_record(record: bytes, dialect: Dialect) -> list[bytes]:
    """The fields of a record without its newline; the record alone if it is not CSV."""
    rows = _parsed(record.removesuffix(b"\r") + b"\n", dialect)
    return [record] if isinstance(rows, bytes) else [field.encode("latin-1") for row in rows[-1:] for field in row]


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
        if order.quotes == "doubled" and record.count(b'"') % 2:
            raise UsageError("it is not a record of CSV: a quote is not closed", way_out="check its quotes")
        return record
    dialect = dialect_of(order.requested)
    try:
        fields = next(dialect.rows([record.decode("latin-1")]), [""])
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


def without_fields(lines: bytes, *, newline: bytes = b"\n") -> bytes:
    """The records that lines were made of, each with a newline as this one."""
    if lines == BOM:  # the start of an output, ahead of all records
        return lines
    return b"".join(line.split(MARK, 1)[0] + newline for line in lines.split(END)[:-1])


def _parsed(header: bytes, dialect: Dialect) -> list[list[str]] | bytes:
    text = header.removeprefix(BOM)
    try:
        return list(dialect.rows(f"{line}\n" for line in text.decode("latin-1").removesuffix("\n").split("\n")))
    except csv.Error:
        return text


def _copied(
    source: LineSource,
    number: int,
    write: Callable[[SeekableInput, Dialect, IO[bytes], Callable[[float], None], int], None],
    order: LineOrder,
    progress: Callable[[int, float], None],
    end: int = NUL,
) -> LineSource:
    """The source of what `write` makes of a file's records, `end` behind each; `source` is closed."""
    dialect, file = dialect_of(order), source.file
    shares = partial(progress, number)
    return source.copied(lambda out: write(file, dialect, out, shares, source.prefixed), end)
