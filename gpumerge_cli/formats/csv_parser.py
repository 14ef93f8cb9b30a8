"""CSV's records by the standard library's parser, block by block; blocks without quotes need none."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.csv_dialect import Dialect
from gpumerge_cli.formats.foreign import JSON, begins_json
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.order.rules import END, MARK, separator_text

_BLOCK = 1 << 20
_TO_BE_PARSED = (b'"', b"\r", MARK, END, BOM)


def write_fields(
    file: SeekableInput,
    dialect: Dialect,
    out: IO[bytes],
    progress: Callable[[float], None],
    prefixed: int = 0,
    *,
    returns: bool = True,
) -> None:
    """Write the records of a file to `out`: each, then its fields, with MARK between them and NUL behind.

    progress: called with the share of the file that was gone through, again and again. prefixed: the bytes of its first
    lines that are one field each, whatever quotes they hold. returns: whether a carriage return ahead of a record's
    newline belongs to it. Raises InputError for what is not CSV.
    """
    parser = Parser(file.name, file.pieces(_BLOCK, prefixed), dialect)
    parsed = (*_TO_BE_PARSED, *[b"\\"] * (dialect.quotes == "backslash"))
    gone = 0
    if prefixed:
        for line in file.read_exactly(0, prefixed).removesuffix(b"\n").split(b"\n"):
            parser.number += 1
            parser.check_bytes(line, parser.number)
            out.write((line if returns else line.removesuffix(b"\r")) + MARK + line + END)
    for block in parser.blocks:
        if parser.number == 0 and block == BOM:
            out.write(BOM)  # no record stands behind it
            break
        if any(part in block for part in parsed):
            # The first record begins with the byte order mark, if there is one: the copy does, too.
            parts = parser.records(block)
            if not returns:
                parts = ((record.removesuffix(b"\r"), fields) for record, fields in parts)
            out.write(b"".join(MARK.join([record, *fields]) + END for record, fields in parts))
        else:
            lines = block.removesuffix(b"\n")
            records = lines.split(b"\n")
            parser.number += len(records)
            pairs = zip(records, lines.replace(dialect.separator, MARK).split(b"\n"), strict=True)
            out.write(END.join(map(MARK.join, pairs)) + END)
        progress((parser.gone - gone) / file.size)
        gone = parser.gone


class Parser:
    """The records of the file `name`, whose content comes in pieces.

    blocks: whole lines, as many as are gone through at once. number: of records gone through. gone: bytes.
    """

    def __init__(self, name: str, pieces: Iterable[bytes], dialect: Dialect) -> None:
        self.number = 0
        self.gone = 0
        self.blocks = self._blocks(pieces)
        self._name = name
        self._dialect = dialect
        self._taken: list[str] = []
        self._begins_json = False

    def records(self, block: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
        """Each record of a block as it stands, without its newline, and its fields, at least one.

        A byte order mark belongs to no field. If the block ends within a record, following blocks are read to its end.
        Raises InputError for what is not CSV.
        """
        try:
            for row in self._dialect.rows(self._lines(block)):
                self.number += 1
                record = "".join(self._taken).removesuffix("\n").encode("latin-1")
                self._taken.clear()
                self.check_bytes(record, self.number)
                yield record, [field.encode("latin-1") for field in row or [""]]
        except csv.Error as error:
            problem = str(error).replace(MARK.decode(), separator_text(self._dialect.separator))
            where, what = f"{self._name}:{self.number + 1}", f"not CSV: {problem}"
            if "unexpected end" in what:
                what = "not CSV: a quote is not closed"
            if "new-line character" in what:  # Python's words are on how a program opens files
                what = "not CSV: a carriage return stands where no line ends"
                raise InputError(what, where=where, way_out="end lines in newlines, or quote the field") from None
            way_out = JSON.way_out_for(self._name) if self._begins_json else self._way_out()
            raise InputError(what, where=where, way_out=way_out) from None

    def _way_out(self) -> str:
        """The way out for a record that is none: the quotes that it has, if they are those of another dialect."""
        text, found = "".join(self._taken), ""
        if self._dialect.quotes == "doubled" and '\\"' in text:
            with contextlib.suppress(csv.Error):
                list(replace(self._dialect, quotes="backslash").rows([text]))
                found = "backslash"
        return f"check its quotes, or read them by --quotes {found or 'none'}"

    def check_bytes(self, record: bytes, number: int) -> None:
        """Raise InputError if a record holds a byte that stands between the fields of lines, or behind them.

        number: of the record, from 1 on.
        """
        if MARK in record or END in record:
            raise InputError(
                "a record holds a byte 0 or 1, which CSV with such quotes or keys cannot hold here",
                where=f"{self._name}:{number}",
                way_out="leave --csv and --field out, or clean it",
            )

    def _lines(self, block: bytes) -> Iterator[str]:
        """Lines from a block on, to the end of the block that a record ends with; they are taken down, too."""
        more: bytes | None = block
        while more is not None:
            # Bytes as characters one to one: what the fields hold is not looked at.
            *whole, rest = more.decode("latin-1").split("\n")
            for line in [f"{line}\n" for line in whole] + [rest] * bool(rest):
                first = self.number == 0 and not self._taken
                self._taken.append(line)
                yield line.removeprefix(BOM.decode("latin-1")) if first else line
            more = next(self.blocks, None) if self._taken else None

    def _blocks(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        held: list[bytes] = []  # the parts of a line that has not ended; they are joined once
        for data in pieces:
            if not self.gone:
                self._begins_json = begins_json(data)
            self.gone += len(data)
            end = data.rfind(b"\n") + 1
            if end:
                yield b"".join([*held, data[:end]])
                held = []
            held.append(data[end:])
        rest = b"".join(held)
        if rest:
            yield rest
