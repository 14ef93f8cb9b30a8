"""Finds what the quotes of a CSV file enclose, 64 bytes at a time: bit k of a word stands for byte k.

A byte is enclosed if it is an opening quote, or if it lies behind one and ahead of the closing one. A quote within
quotes is written twice: the first closes what the second opens again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import or_
from typing import IO

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.formats.csv_dialect import Dialect
from gpumerge_cli.formats.input import SeekableInput, changed_error
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.order.rules import NUL

_BLOCK = 1 << 20  # smaller ones have threads wait for each other
_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_TOP = np.uint64(63)
Words = NDArray[np.uint64]


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
    marks = _Marks(separator)
    for data, block, _ in _blocks(file, first):
        marks.ends(data, block)
        if not marks.shape.proper:
            break
    return replace(marks.shape, proper=marks.shape.proper and not marks.inside)


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
    marks = _Marks(dialect.separator)
    if prefixed:
        out.write(file.read_exactly(0, prefixed).replace(b"\n", bytes([end])))
    elif file.read(0, len(BOM)) == BOM:
        out.write(BOM)
    for data, block, count in _blocks(file, prefixed):
        ends = marks.ends(data, block)
        if end in data:
            raise changed_error(file.name)
        if ends is None:
            block[block == _NEWLINE] = end
        else:
            block[np.unpackbits(ends.view(np.uint8), bitorder="little").view(np.bool_)] = end
        out.write(block[:count].data)
        progress(count / file.size)


def _blocks(file: SeekableInput, first: int) -> Iterator[tuple[bytearray, Bytes, int]]:
    """(a block, the same as whole words, how many bytes are the file's), byte order mark aside; newlines fill the rest.

    first: the byte of the file at which they begin.

    A block is good until the next one is asked for.
    """
    data = bytearray(_BLOCK)
    whole = np.frombuffer(data, np.uint8)
    for start in range(first or (len(BOM) if file.read(0, len(BOM)) == BOM else 0), file.size, _BLOCK):
        count = min(_BLOCK, file.size - start)
        file.read_into(start, whole[:count])
        whole[count:] = _NEWLINE
        yield data, whole[: -(-count // 64) * 64], count


class _Marks:
    """A file's blocks one after the other.

    shape: what they were like so far. inside: whether the last byte was enclosed.
    """

    def __init__(self, separator: bytes) -> None:
        self.shape = CsvShape()
        self.inside = False
        self._separator = separator
        self._overlaps = any(separator[at:] == separator[: len(separator) - at] for at in range(1, len(separator)))
        self._words: dict[str, np.uint64] = {}  # the last words of marks that were shifted
        self._bound = True  # the last byte ended a field
        self._closing = self._return = False  # the last byte was a closing quote, a carriage return

    def ends(self, data: bytearray, block: Bytes) -> Words | None:
        """The newlines of a block that end records; None for all of them. See _blocks."""
        plain = not (self.inside or self._closing or self._return or b'"' in data or b"\r" in data)
        if plain and len(self._separator) == 1:
            self._bound = block[-1] in (_NEWLINE, self._separator[0])
            return None
        quotes, newlines, returns = (_where(block, byte) for byte in (_QUOTE, _NEWLINE, _RETURN))
        inside = _enclosed(quotes, self.inside)
        opening, closing = quotes & inside, quotes & ~inside
        returns &= ~inside
        ends = newlines & ~inside
        last = self._separators(block) & ~inside
        bounds = ends | last
        behind_closing = _behind(closing, self._closing)
        astray = opening & ~(_behind(bounds, self._bound) | behind_closing)
        # a separator's last byte is so much later
        late = len(self._separator) - 1
        astray |= self._shifted(behind_closing & ~(ends | quotes | returns), late, "closing") & ~last
        if self._overlaps:  # those ahead of the bytes decide then whether they are a separator
            near = (self._shifted(last, back, f"near {back}") for back in range(1, len(self._separator)))
            astray |= opening & self._shifted(last & reduce(or_, near), 1, "near")
        astray |= _behind(returns, self._return) & ~newlines
        self.shape |= CsvShape(
            proper=not astray.any(),
            lines=not (newlines & inside).any(),
            doubled=bool((opening & behind_closing).any()),
        )
        self.inside, self._bound = _last(inside), _last(bounds)
        self._closing, self._return = _last(closing), _last(returns)
        return ends

    def _separators(self, block: Bytes) -> Words:
        """The last byte of each separator."""
        found = _where(block, self._separator[-1])
        for back, byte in enumerate(reversed(self._separator[:-1]), start=1):
            found &= self._shifted(_where(block, byte), back, f"byte {back}")
        return found

    def _shifted(self, marks: Words, by: int, name: str) -> Words:
        """The bits `by` places behind set ones, also behind those of the last block. name: that of the marks."""
        if by == 0:
            return marks
        ahead = np.empty_like(marks)
        ahead[0] = self._words.get(name, np.uint64(0))
        ahead[1:] = marks[:-1]
        self._words[name] = marks[-1]
        return marks << np.uint64(by) | ahead >> np.uint64(64 - by)


def _where(block: Bytes, byte: int) -> Words:
    return np.packbits(block == byte, bitorder="little").view(np.uint64)


def _behind(marks: Words, first: bool) -> Words:
    """The bits behind those that are set. first: whether the one ahead of all is."""
    ahead = np.empty_like(marks)
    ahead[0] = first
    ahead[1:] = marks[:-1] >> _TOP
    return marks << np.uint64(1) | ahead


def _enclosed(quotes: Words, inside: bool) -> Words:
    """The bits that have an odd number of quotes at or ahead of them. inside: whether the one ahead of all has."""
    found = quotes.copy()
    for step in (1, 2, 4, 8, 16, 32):
        found ^= found << np.uint64(step)
    ahead = np.empty_like(found)
    ahead[0] = inside
    ahead[1:] = found[:-1] >> _TOP
    np.bitwise_xor.accumulate(ahead, out=ahead)
    return found ^ (np.uint64(0) - ahead)


def _last(marks: Words) -> bool:
    return bool(marks[-1] >> _TOP)
