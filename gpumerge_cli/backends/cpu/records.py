"""Records as rows: their prefixes, the rest of their keys, and their way out. Twin of text.py, for rows of one size.

Addresses are of bytes with at least rows.PADDING readable ones behind them. Record numbers are int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.rows import DESCENDING, RECORDS, TAIL
from gpumerge_cli.backends.cpu.text import compare_bytes, following_image, line_before
from gpumerge_cli.jit import byte_at, byte_swap, jit, put_byte, put_word, word_at


@jit
def make_record_prefixes(
    keys: int, record: int, first: int, last: int, width: int, big: bool, flip: int, infinity: int, prefixes: Any
) -> None:
    """prefixes[r] for records first to last: the image of the key's first `width` (1 to 8) bytes, as order.py has it.

    keys: address of the first record's key, record: bytes from one to the next. big: most significant byte first.
    infinity: 0 for all but floats.
    """
    unused = np.uint64(64 - 8 * width)
    ones = np.uint64(0xFFFFFFFFFFFFFFFF) >> unused
    sign = (ones >> np.uint64(1)) + np.uint64(1)
    flipped = np.uint64(flip)
    limit = np.uint64(infinity)
    for number in range(first, last):
        word = word_at(keys + number * record)
        bits = (byte_swap(word) if big else word << unused) >> unused
        if infinity != 0:
            magnitude = bits & ~sign
            bits = sign - magnitude if bits & sign else sign + magnitude
            bits = ones if magnitude > limit else bits
        prefixes[number] = bits ^ flipped


@jit
def row_before(data: int, places: int, y: int, x: int, flags: int) -> bool:
    """Whether row y sorts strictly before row x, whose prefixes are equal. Arguments: see rows.py."""
    if not flags & RECORDS:
        return line_before(data, places, y, x, flags)
    tail = flags >> TAIL
    if tail == 0:
        return False
    a = data + y * places
    b = data + x * places
    result = compare_bytes(a, a + tail, b, b + tail)
    return result > 0 if flags & DESCENDING else result < 0


@jit
def deeper_image(data: int, places: int, row: int, flags: int, depth: int) -> Any:
    """(word, what is left): of rows whose words at all lower depths are alike, words order as far as they reach.

    depth: 0 is the prefix. What is left behind this word of the row: 1 something, 0 nothing; -1: no row has this word.
    """
    if not flags & RECORDS:
        return following_image(data, places, row, flags, depth)
    at = 8 * (depth - 1)
    left = (flags >> TAIL) - at
    if left <= 0:
        return np.uint64(0), -1
    word = byte_swap(word_at(data + row * places + at))
    if left < 8:
        word >>= np.uint64(64 - 8 * left)
    return (~word if flags & DESCENDING else word), np.int64(left > 8)


@jit
def gather_records(data: int, record: int, numbers: Any, first: int, last: int, out: int) -> None:
    """Copy the records numbers[first:last] to their places in the memory at `out`, which holds all of them."""
    target = out + first * record
    for number in numbers[first:last]:
        start = data + number * record
        if record >= 8:
            for done in range(0, record - 8, 8):
                put_word(target + done, word_at(start + done))
            # The last word may overlap the one ahead.
            put_word(target + record - 8, word_at(start + record - 8))
        else:
            for done in range(record):
                put_byte(target + done, byte_at(start + done))
        target += record
