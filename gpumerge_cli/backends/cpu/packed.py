"""Prefixes of lines that hold only what differs; see packing.py. Addresses are those of text.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.fields import table_word
from gpumerge_cli.backends.cpu.packing import KEPT, LONGER, MOVES, STEPS, WIDTHS, WORDS, ZEROS
from gpumerge_cli.backends.cpu.text import first_word, line_start
from gpumerge_cli.jit import jit
from gpumerge_cli.lines import FOLLOWING_WORD, REVERSE

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)


@jit
def _words_of(text: int, starts: int, line: int, skip: int) -> Any:
    """The first WORDS words of a line behind `skip` bytes, zeros behind its end; how many bytes there are of it."""
    start = text + line_start(starts, line) + skip
    stop = text + line_start(starts, line + 1) - 1
    second = first_word(start + 8, stop) if start + 8 < stop else np.uint64(0)
    third = first_word(start + 16, stop) if start + 16 < stop else np.uint64(0)
    return first_word(start, stop), second, third, stop - start


@jit
def _zeros(word: Any, length: int) -> Any:
    """0 if none of the first `length` bytes of the word is 0."""
    if length < 8:
        word |= _ALL >> np.uint64(8 * max(0, length))
    return (word - _ONES) & ~word & _HIGH


@jit
def differing_words(text: int, starts: int, first: int, last: int, skip: int, masks: Any) -> int:
    """masks[k] becomes the bits in which word k behind `skip` bytes differs between line 0 and any of first to last.

    Returns LONGER and ZEROS, as far as either holds for one of the lines. All lines have `skip` bytes.
    """
    same0, same1, same2, _ = _words_of(text, starts, 0, skip)
    differ0, differ1, differ2, zeros = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    longest = 0
    for line in range(first, last):
        word0, word1, word2, length = _words_of(text, starts, line, skip)
        differ0 |= word0 ^ same0
        differ1 |= word1 ^ same1
        differ2 |= word2 ^ same2
        zeros |= _zeros(word0, length) | _zeros(word1, length - 8) | _zeros(word2, length - 16)
        longest = max(longest, length)
    masks[0] = differ0
    masks[1] = differ1
    masks[2] = differ2
    return (LONGER if longest > 8 * WORDS else 0) | (ZEROS if zeros != np.uint64(0) else 0)


@jit
def _filled(image: Any, room: int, word: Any, packing: Any, number: int) -> Any:
    """(image, room) with the bits of a word that stay at the front of its last `room` bits; room > 0."""
    width = np.int64(packing[WIDTHS + number])
    if width == 0:
        return image, room
    word &= packing[KEPT + number]
    for step in range(STEPS):
        move = word & packing[MOVES + number * STEPS + step]
        word = word ^ move | move >> np.uint64(1 << step)
    room -= width
    return image | (word << np.uint64(room) if room >= 0 else word >> np.uint64(-room)), room


@jit
def make_packed_prefixes(
    text: int, starts: int, first: int, last: int, table: int, packing: Any, prefixes: Any
) -> None:
    """make_prefixes of text.py, for plain lines."""
    complement = _ALL if table_word(table, 0) & REVERSE else np.uint64(0)
    skip = table_word(table, FOLLOWING_WORD)
    words = np.int64(packing[0])
    for line in range(first, last):
        word0, word1, word2, _ = _words_of(text, starts, line, skip)
        image, room = _filled(np.uint64(0), 64, word0, packing, 0)
        if words > 1:
            image, room = _filled(image, room, word1, packing, 1)
        if words > 2:
            image, room = _filled(image, room, word2, packing, 2)
        prefixes[line] = image ^ complement


@jit
def pack_images(prefixes: Any, following: Any, first: int, last: int, packing: Any) -> None:
    """Of lines first to last, prefixes[line] becomes what the packing keeps of it and of following[line]."""
    for line in range(first, last):
        image, room = _filled(np.uint64(0), 64, prefixes[line], packing, 0)
        prefixes[line] = _filled(image, room, following[line], packing, 1)[0]
