"""CSV: records that the standard library's parser takes to pieces, so that keys are fields as they mean, quotes undone.

A record becomes a line of its own kind: the record as it stands, then each of its fields, all with SEPARATOR between
them and NUL behind, which the output leaves out again. Records may hold newlines within quotes.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import IO

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.compressed import LOOKED_AT, refuse_binary
from gpumerge_cli.formats.input import InputFile
from gpumerge_cli.order.rules import NUL, LineOrder

SEPARATOR = 0x1F
BOM = b"\xef\xbb\xbf"
_MARK, _END = bytes([SEPARATOR]), bytes([NUL])
_WRITTEN_AT_ONCE = 1 << 20
_LONGEST_FIELD = 1 << 31


def csv_order(order: LineOrder) -> LineOrder:
    """The order of records' lines by the fields that `order` counts."""
    keys = tuple(
        replace(key, start_field=key.start_field + 1, end_field=None if key.end_field is None else key.end_field + 1)
        for key in order.keys
    )
    return replace(order, keys=keys, separator=SEPARATOR, terminator=NUL, of_records=order)


def as_lines(file: InputFile, separator: int | None, told: Callable[[float], None] = lambda share: None) -> InputFile:
    """A copy of the file's records as lines, in a temporary file; `file` is closed. Raises InputError.

    told: called with the share of the file that was gone through, again and again.
    """

    def write(out: IO[bytes]) -> None:
        held: list[bytes] = []
        size = 0
        gone = 0
        for record, fields in _records(file, separator):
            line = _MARK.join([record, *fields]) + _END
            held.append(line)
            size += len(line)
            gone += len(record) + 1
            if size >= _WRITTEN_AT_ONCE:
                out.write(b"".join(held))
                held.clear()
                told(gone / file.size)
                size = gone = 0
        out.write(b"".join(held))

    return file.replaced(write)


def header_fields(name: str, separator: int | None, number: int, *, plain: bool = False) -> list[str]:
    """The fields of the record `number`, counted from 1, of the file `name`. Raises InputError if there is none.

    plain: as of InputFile.
    """
    file = InputFile(name, plain=plain)
    try:
        refuse_binary(name, file.read(0, LOOKED_AT), plain=plain)
        for at, (_, fields) in enumerate(_records(file, separator), start=1):
            if at == number:
                return [_name(field) for field in fields]
    finally:
        file.close()
    raise InputError(f"it has fewer than {number} records", where=name, way_out="check --header")


def shown(line: bytes, order: LineOrder) -> bytes:
    """A line as users know it: if it was made of a record, the record."""
    return line.split(_MARK, 1)[0] if (order.separator, order.terminator) == (SEPARATOR, NUL) else line


def between_fields(part: bytes, order: LineOrder) -> bytes:
    """A part of a line with what records have between their fields, if it was made of one."""
    if order.of_records is None:
        return part
    separator = order.of_records.separator
    return part.replace(_MARK, b"," if separator is None else bytes([separator]))


def fields(lines: bytes) -> bytes:
    """The fields of the records that lines were made of, without how they were quoted."""
    return _END.join(line.split(_MARK, 1)[-1] for line in lines.split(_END))


def _name(field: bytes) -> str:
    """A header's field as a command line would name it."""
    return os.fsdecode(field.removeprefix(BOM))


def plain(lines: bytes) -> bytes:
    """The records that lines were made of, each with a newline."""
    return b"".join(line.split(_MARK, 1)[0] + b"\n" for line in lines.split(_END)[:-1])


def _records(file: InputFile, separator: int | None) -> Iterator[tuple[bytes, list[bytes]]]:
    """Each record as it stands, without its newline, and its fields."""
    taken: list[str] = []

    def physical() -> Iterator[str]:
        for line in _physical_lines(file):
            taken.append(line)
            yield line

    csv.field_size_limit(_LONGEST_FIELD)
    number = 0
    try:
        # Bytes as characters one to one: what the fields hold is not looked at.
        for row in csv.reader(physical(), delimiter="," if separator is None else chr(separator), strict=True):
            number += 1
            text = "".join(taken)
            taken.clear()
            if "\x1f" in text or "\0" in text:
                raise InputError(
                    "a record holds a byte 0 or 31, which CSV cannot be merged with",
                    where=f"{file.name}:{number}",
                    way_out="leave --csv out, or clean it",
                )
            yield text.removesuffix("\n").encode("latin-1"), [field.encode("latin-1") for field in row]
    except csv.Error as error:
        where, what = f"{file.name}:{number + 1}", f"not CSV: {error}"
        if "new-line character" in what:  # Python's words are on how a program opens files
            what = "not CSV: a carriage return stands where no line ends"
            raise InputError(what, where=where, way_out="end lines in newlines, or quote the field") from None
        raise InputError(what, where=where, way_out="check its quotes") from None


def _physical_lines(file: InputFile) -> Iterator[str]:
    held: list[bytes] = []  # of a line that has not ended, whose parts are put together once
    for start in range(0, file.size, _WRITTEN_AT_ONCE):
        first, *others = file.read_exactly(start, min(_WRITTEN_AT_ONCE, file.size - start)).split(b"\n")
        held.append(first)
        for part in others:
            yield b"".join(held).decode("latin-1") + "\n"
            held = [part]
    rest = b"".join(held)
    if rest:
        yield rest.decode("latin-1")
