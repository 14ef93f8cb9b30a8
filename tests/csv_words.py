"""NumPy finds the bytes that quotes of CSV enclose, as gm_csv_marks does. Bit k of a word stands for byte k."""

from __future__ import annotations

from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.formats.csv_quotes import CsvShape

_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_TOP = np.uint64(63)
Words = NDArray[np.uint64]


class WordMarks:
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

    def ends(self, block: Bytes) -> Words:
        """The newlines of a block of whole words that end records."""
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
