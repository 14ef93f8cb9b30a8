"""Files of CSV whose columns differ: those that lack some, or have them in another order, are copied with the others.

Compiled code does so, record by record; fields stay as they are written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, islice
from typing import IO

from gpumerge_cli.buffers import allocate
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.csv_dialect import Dialect
from gpumerge_cli.formats.csv_joins import raw_fields
from gpumerge_cli.formats.csv_parser import Parser
from gpumerge_cli.formats.csv_quotes import CsvShape, csv_shape_of
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import BOM, LineSource
from gpumerge_cli.formats.schema import common_columns
from gpumerge_cli.native.rearranging import Rearranger, RecordFault
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from gpumerge_cli.order.rules import LineKey

_BLOCK = 1 << 20
_FAULTS: dict[RecordFault, tuple[str, str]] = {
    "surplus field": ("it has more fields than its header has names", "check its separators and quotes"),
    "text behind quote": ("not CSV: text follows a closing quote", "check its quotes"),
    "open quote": ("not CSV: a quote is not closed", "check its quotes"),
}


@dataclass(frozen=True)
class Arranged:
    """The sources of files as they have the same columns."""

    sources: list[LineSource]
    shapes: list[CsvShape | None]
    """The traits of the records of each, None if they are not known yet."""


@dataclass(frozen=True)
class _Names:
    """The names of the columns of a file."""

    names: tuple[str, ...]
    raw: tuple[bytes, ...]
    """As they are written."""
    where: str
    """FILE:LINE."""
    start: int
    """The byte of the file at which they begin, behind a byte order mark."""
    stop: int
    """The byte at which the records begin."""
    end: bytes
    """The end of the line of names."""


def arranged(
    sources: Sequence[LineSource], items: Items, dialect: Dialect, progress: Callable[[int, float], None]
) -> Arranged:
    """The sources with the columns that items.schema says. Those that are replaced are closed.

    progress: called with (number of the source, share of it gone through) from any thread. Raises InputError for a file
    without names, or without the column of a key, and for what is not CSV.
    """
    found = [_names_of(source, items, dialect) for source in sources]
    named = [one for one in found if one is not None]
    columns = items.columns or common_columns([(one.where, one.names) for one in named], items.schema)
    raw = {name: text for one in reversed(named) for name, text in zip(one.names, one.raw, strict=True)}
    header = dialect.separator.join(raw.get(name, os.fsencode(name)) for name in columns)

    def arrange(number: int) -> tuple[LineSource, CsvShape | None]:
        source, own = sources[number], found[number]
        if own is None or own.names == columns:
            return source, csv_shape_of(source.file, dialect.separator, source.prefixed)
        return _rearranged(source, own, columns, header, dialect, partial(progress, number))

    for own in named:
        _check_keys(own, columns, items.line_order.keys)
    with ThreadPoolExecutor(max(1, min(len(sources), len(os.sched_getaffinity(0))))) as pool:
        futures = [pool.submit(arrange, number) for number in range(len(sources))]
    errors = [error for future in futures if (error := future.exception()) is not None]
    done = [future.result() for future in futures if future.exception() is None]
    if errors:
        for source, _ in done:
            source.close()
        raise errors[0]
    return Arranged([source for source, _ in done], [shape for _, shape in done])


def _names_of(source: LineSource, items: Items, dialect: Dialect) -> _Names | None:
    """The names of the columns of a file; None if it is empty."""
    file, number = source.file, items.header_lines
    if file.size <= len(BOM) and file.read(0, len(BOM)) in (b"", BOM):
        return None
    start, where, record, fields = source.prefixed, f"{file.name}:{source.header_count or 1}", b"", [b""]
    if number:
        parser = Parser(file.name, file.pieces(_BLOCK, source.prefixed), dialect)
        records = [*islice(chain.from_iterable(map(parser.records, parser.blocks)), number)]
        if len(records) < number:
            raise InputError(f"it has fewer than {number} records", where=file.name, way_out="check --header")
        start += sum(len(one) + 1 for one, _ in records[:-1])
        record, fields = records[-1]
    elif source.prefixed:
        record = file.read_exactly(0, source.prefixed).removesuffix(b"\n").rpartition(b"\n")[2]
        start = source.prefixed - len(record) - (file.read_exactly(source.prefixed - 1, 1) == b"\n")
        ((_, fields),) = Parser(file.name, iter(()), dialect).records(record)
    else:
        raise InputError("it has no header, whose last line names the columns", where=where, way_out="add one")
    stop = min(file.size, start + len(record) + 1)
    end = b"\r\n" if record.endswith(b"\r") else b"\n"
    if start == 0 and record.startswith(BOM):
        start, record = len(BOM), record.removeprefix(BOM)
    raw = raw_fields(record.removesuffix(b"\r"), dialect.separator, dialect.quotes)
    raw = raw if len(raw) == len(fields) else fields
    return _Names(tuple(map(os.fsdecode, fields)), tuple(raw), where, start, stop, end)


def _check_keys(own: _Names, columns: Sequence[str], keys: Sequence[LineKey]) -> None:
    """Raise InputError if a file lacks the column of a key."""
    for key in keys:
        last = key.start_field if key.end_field is None else key.end_field
        for name in columns[key.start_field : last + 1]:
            if name not in own.names:
                way_out = "leave it out, or add the column to it"
                raise InputError(f"it has no column {name!r}, which is a key", where=own.where, way_out=way_out)


def _rearranged(
    source: LineSource,
    own: _Names,
    columns: Sequence[str],
    header: bytes,
    dialect: Dialect,
    progress: Callable[[float], None],
) -> tuple[LineSource, CsvShape | None]:
    """The source of a copy of a file with other columns, and the traits of its records if they have no quotes."""
    numbers = {name: number for number, name in enumerate(own.names)}
    places = [numbers.get(name, -1) for name in columns]
    quote = b"" if dialect.quotes == "none" else b'"'
    escape = b"\\" if dialect.quotes == "backslash" else b""
    rearrange = Rearranger(places, len(own.names), dialect.separator, quote, escape)
    special = False

    def write(out: IO[bytes]) -> None:
        nonlocal special
        out.write(source.file.read_exactly(0, own.start) + header + own.end)
        gap = len(places) * len(dialect.separator) + 2 * TEXT_PADDING
        special = _write(source, own, rearrange, gap, out, progress) or b'"' in header or own.end != b"\n"

    copy = source.copied(write, source.terminator)
    copy.is_rearranged = True
    lacking = [text for name, text in zip(own.names, own.raw, strict=True) if name not in columns]
    copy.left_out = os.fsdecode(dialect.separator.join(lacking))
    return copy, None if special else CsvShape()


def _write(
    source: LineSource,
    own: _Names,
    rearrange: Rearranger,
    gap: int,
    out: IO[bytes],
    progress: Callable[[float], None],
) -> bool:
    """Write the records of a file with other columns; whether they hold quotes or carriage returns.

    gap: bytes by which a record may grow.
    """
    file, size, number, special = source.file, _BLOCK, source.header_count, False
    text, made = allocate(size + TEXT_PADDING), allocate(2 * size + gap)
    at = own.stop
    while at < file.size:
        count = min(size, file.size - at)
        file.read_into(at, text[:count])
        start, taken = 0, -1
        while start < count and taken:
            found = rearrange(text, start, count, made, ends=at + count == file.size)
            out.write(made[: found.made])
            taken, number, special = found.taken, number + found.records, special or found.special
            start += taken
            if found.fault:
                what, way_out = _FAULTS[found.fault]
                raise InputError(what, where=f"{file.name}:{number + 1}", way_out=way_out)
        if not start:  # a record is longer
            size *= 2
            text, made = allocate(size + TEXT_PADDING), allocate(2 * size + gap)
        at += start
        progress(start / file.size)
    return special
