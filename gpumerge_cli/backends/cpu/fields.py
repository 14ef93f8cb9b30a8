"""Where keys lie in lines, and which of their bytes count. Twin of kernels/fields.cuh.

`key` is the address of a key's words, as lines.py lays them out. Texts lie between two addresses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.numbers import is_blank
from gpumerge_cli.jit import byte_at, jit, trailing_zeros, word_at
from gpumerge_cli.lines import DICTIONARY, FOLD, PRINTABLE, SKIP_END, SKIP_START

_LOW7 = np.uint64(0x7F7F7F7F7F7F7F7F)
_EACH = np.uint64(0x0101010101010101)
_SPACES, _TABS, _NEWLINES = (np.uint64(byte * 0x0101010101010101) for byte in (32, 9, 10))


@jit
def table_word(table: int, place: int) -> int:
    """A word of an order's table, or of a key in it."""
    return np.int64(word_at(table + 8 * place))


@jit
def _no_mark(word: Any) -> Any:
    """A word whose bytes have their highest bit set unless they are 0 in `word`; the other bits are set."""
    # Exact in every byte, unlike the shorter (x - 0x01..) & ~x & 0x80.., whose borrow can mark a neighbour.
    return ((word & _LOW7) + _LOW7) | word | _LOW7


@jit
def find_byte(start: int, stop: int, byte: int) -> int:
    """The first address of `byte`, or `stop`."""
    pattern = np.uint64(byte) * _EACH
    at = start
    while at < stop:
        marks = ~_no_mark(word_at(at) ^ pattern)
        if marks != np.uint64(0):
            return min(stop, at + (trailing_zeros(marks) >> 3))
        at += 8
    return stop


@jit
def _find_blank(start: int, stop: int) -> int:
    """The first address of a blank, or `stop`."""
    at = start
    while at < stop:
        word = word_at(at)
        marks = ~(_no_mark(word ^ _SPACES) & _no_mark(word ^ _TABS) & _no_mark(word ^ _NEWLINES))
        if marks != np.uint64(0):
            return min(stop, at + (trailing_zeros(marks) >> 3))
        at += 8
    return stop


@jit
def _skip_blanks(at: int, stop: int) -> int:
    while at < stop and is_blank(byte_at(at)):
        at += 1
    return at


@jit
def _skip_field(at: int, stop: int) -> int:
    """Behind the blanks at `at` and the non-blanks that follow them."""
    return _find_blank(_skip_blanks(at, stop), stop)


@jit
def key_bounds(key: int, separator: int, start: int, stop: int) -> Any:
    """(first address, address behind the last) of a key in the line from `start` to `stop`; never negative."""
    flags = table_word(key, 5)
    field = 0
    begin = start
    wanted = table_word(key, 1)
    while field < wanted and begin < stop:
        behind = find_byte(begin, stop, separator) + 1 if separator >= 0 else _skip_field(begin, stop)
        begin = min(stop, behind)
        field += 1
    field_start = begin
    if flags & SKIP_START:
        begin = _skip_blanks(begin, stop)
    begin += min(stop - begin, table_word(key, 2))

    last = table_word(key, 3)
    if last < 0:
        return begin, stop
    characters = table_word(key, 4)
    left = last + (characters == 0)
    end = start
    if left >= wanted:  # the fields ahead of the key's first one have been passed already
        end = field_start
        left -= wanted
    while left > 0 and end < stop:
        left -= 1
        if separator >= 0:
            end = find_byte(end, stop, separator)
            if end < stop and (left > 0 or characters > 0):
                end += 1
        else:
            end = _skip_field(end, stop)
    if characters > 0:
        if flags & SKIP_END:
            end = _skip_blanks(end, stop)
        end += min(stop - end, characters)
    return begin, max(begin, end)


@jit
def counts(byte: int, flags: int) -> bool:
    """Whether a byte counts in a key of these flags."""
    if flags & DICTIONARY:
        return is_blank(byte) or 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122
    return not flags & PRINTABLE or 32 <= byte <= 126


@jit
def next_counting(at: int, stop: int, flags: int) -> int:
    """The first address from `at` on whose byte counts, or `stop`."""
    if flags & (DICTIONARY | PRINTABLE):
        while at < stop and not counts(byte_at(at), flags):
            at += 1
    return at


@jit
def folded(byte: int, flags: int) -> int:
    """The byte as it compares."""
    return byte - 32 if flags & FOLD and 97 <= byte <= 122 else byte
