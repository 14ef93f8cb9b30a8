"""The quotes of a CSV file, and the ends of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.csv_dialect import Dialect
from gpumerge_cli.formats.input import SeekableInput, changed_error
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.native.csv_marks import WORD_OF_MARKS, CsvMarks
from gpumerge_cli.order.rules import NUL

_BLOCK = 1 << 20  # smaller ones have threads wait for each other


@dataclass(frozen=True)
class CsvShape:
    """The traits of the records of one file or of several."""

    proper: bool = True
    """Whether quotes enclose whole fields, and carriage returns stand only before newlines. If not, the other traits
    mean nothing."""
    lines: bool = True
    """Whether no quotes enclose a newline."""
    doubled: bool = False
    """Whether there are quotes within quotes."""

    def __or__(self, other: CsvShape) -> CsvShape:
        return CsvShape(self.proper and other.proper, self.lines and other.lines, self.doubled or other.doubled)


def csv_shape_of(file: SeekableInput, separator: bytes, first: int = 0) -> CsvShape:
    """The traits of the file's records, found by reading it once from byte `first` on.

    separator: the text between fields.
    """
    marks = CsvMarks(separator)
    for data, whole, _ in _blocks(file, first):
        marks.take(data, whole)
        if not marks.proper:
            break
    return CsvShape(marks.proper and not marks.inside, marks.lines, marks.doubled)


def write_records(
    file: SeekableInput,
    dialect: Dialect,
    out: IO[bytes],
    progress: Callable[[float], None],
    prefixed: int = 0,
    *,
    end: int = NUL,
) -> None:
    """Write the records of a proper file to `out`, each with `end` behind it in place of its newline.

    progress: called with the share of the file that was gone through, again and again. prefixed: the bytes of its first
    lines that are no records, whatever quotes they hold. end: see absent_byte of record_ends. Raises InputError if it
    is in the file by now.
    """
    marks = CsvMarks(dialect.separator)
    if prefixed:
        out.write(file.read_exactly(0, prefixed).replace(b"\n", bytes([end])))
    elif file.read(0, len(BOM)) == BOM:
        out.write(BOM)
    for data, whole, count in _blocks(file, prefixed):
        if end in data:
            raise changed_error(file.name)
        marks.take(data, whole, end)
        with memoryview(data) as view:
            out.write(view[:count])
        progress(count / file.size)


def _blocks(file: SeekableInput, first: int) -> Iterator[tuple[bytearray, int, int]]:
    """(a block, the bytes of it in whole words, the bytes of it that are the file's), byte order mark aside.

    first: the byte of the file at which they begin. Newlines fill the last words. A block is good until the next one is
    asked for.
    """
    data = bytearray(_BLOCK)
    for start in range(first or (len(BOM) if file.read(0, len(BOM)) == BOM else 0), file.size, _BLOCK):
        count = min(_BLOCK, file.size - start)
        with memoryview(data) as view:
            file.read_into(start, view[:count])
        data[count:] = b"\n" * (_BLOCK - count)
        yield data, -(-count // WORD_OF_MARKS) * WORD_OF_MARKS, count
