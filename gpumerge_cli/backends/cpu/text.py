"""Lines as rows: where they start, their 64-bit order-preserving prefixes, and the comparison that settles ties.

The order is that of lines.py. Twin of the line half of kernels/keys.cuh and of kernels/rows.cu; both follow the same
prefix rule, of which packing.py then keeps what differs, and equal prefixes never decide. What takes keys to pieces is
in linekeys.py and compiled by itself, so that merges hold no more of it than a call.

`text` and `starts` are addresses: of a chunk's bytes, with at least rows.PADDING readable ones after the last line, and
of int64 line starts, one more than there are lines. Line numbers are int64. `table` is the address of the order's
words, with the address of a compiled `compare_keyed` (linekeys.py) in its word COMPARE_WORD.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.fields import table_word
from gpumerge_cli.backends.cpu.numbers import is_exact, number_image
from gpumerge_cli.jit import (
    byte_at,
    byte_swap,
    call,
    jit,
    matches_at,
    prefetch,
    put_byte,
    put_word,
    trailing_zeros,
    word_at,
)
from gpumerge_cli.lines import COMPARE_WORD, FOLLOWING_WORD, KEY_REVERSE, NUMERIC, PLAIN, REVERSE, STABLE, TABLE_HEAD

_AHEAD, _FAR_AHEAD = 12, 24  # lines by which a gather fetches text, and where that starts
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@jit
def count_lines(text: Any, first: int, last: int, terminator: int) -> int:
    """How many terminators bytes first to last of an array hold."""
    count = 0
    for byte in text[first:last]:
        count += byte == terminator
    return count


@jit
def find_lines(text: int, first: int, last: int, terminator: int, starts: Any, line: int) -> None:
    """For every terminator in bytes first to last, write where the next line starts: to starts[line], and so on."""
    position = first
    while position < last:
        marks = matches_at(text + position, terminator)
        if position + 64 > last:
            marks &= (np.uint64(1) << np.uint64(last - position)) - np.uint64(1)
        while marks != np.uint64(0):
            starts[line] = position + trailing_zeros(marks) + 1
            line += 1
            marks &= marks - np.uint64(1)
        position += 64


@jit
def line_start(starts: int, line: int) -> int:
    """Where a line starts; for the number just past the last line, where the text ends."""
    return np.int64(word_at(starts + 8 * line))


@jit
def first_word(start: int, stop: int) -> Any:
    """The first bytes between two addresses as a big-endian uint64; zeros follow what has fewer than eight."""
    word = byte_swap(word_at(start))
    length = stop - start
    if length < 8:
        if length == 0:
            return np.uint64(0)
        word &= _ALL << np.uint64(64 - 8 * length)
    return word


@jit
def common_start(text: int, starts: int, first: int, last: int) -> int:
    """How many bytes all lines first to last have in common at their start; last > first."""
    start = text + line_start(starts, first)
    common = text + line_start(starts, first + 1) - 1 - start
    for line in range(first + 1, last):
        other = text + line_start(starts, line)
        common = min(common, text + line_start(starts, line + 1) - 1 - other)
        done = 0
        while done < common:
            differs = word_at(start + done) ^ word_at(other + done)
            if differs != np.uint64(0):
                common = min(common, done + (trailing_zeros(differs) >> 3))
                break
            done += 8
        if common == 0:
            return 0
    return common


@jit
def make_prefixes(text: int, starts: int, first: int, last: int, table: int, prefixes: Any) -> int:
    """prefixes[line] for lines first to last: unsigned, in the order of the lines as far as they reach.

    Precondition: the table says PLAIN or NUMERIC. Of plain lines, the first `table[FOLLOWING_WORD]` bytes are left out,
    which must be the same in all. Returns 1 if lines whose prefixes are equal are equal in all keys, else 0.
    """
    flags = table_word(table, 0)
    all_told = True
    numeric = flags & NUMERIC != 0
    reverse = table_word(table, TABLE_HEAD + 5) & KEY_REVERSE if numeric else flags & REVERSE
    complement = _ALL if reverse else np.uint64(0)
    skip = 0 if numeric else table_word(table, FOLLOWING_WORD)
    for line in range(first, last):
        start = text + line_start(starts, line)
        stop = text + line_start(starts, line + 1) - 1
        if numeric:
            image = number_image(start, stop)
            all_told &= is_exact(image)
        else:
            image = first_word(start + skip, stop)
        prefixes[line] = image ^ complement
    return np.int64(all_told)


@jit
def compare_bytes(a: int, a_stop: int, b: int, b_stop: int) -> int:
    """Negative, zero or positive, as memcmp of the bytes between two addresses each; what ends first goes first."""
    shorter = min(a_stop - a, b_stop - b)
    done = 0
    while done < shorter:
        x = word_at(a + done)
        y = word_at(b + done)
        if x != y:
            differs = trailing_zeros(x ^ y) & ~7
            if done + (differs >> 3) >= shorter:
                break
            return -1 if byte_swap(x) < byte_swap(y) else 1
        done += 8
    difference = (a_stop - a) - (b_stop - b)
    return -1 if difference < 0 else (1 if difference > 0 else 0)


@jit
def line_before(text: int, starts: int, y: int, x: int, table: int) -> bool:
    """Whether line y sorts strictly before line x, by all of both that counts."""
    flags = table_word(table, 0)
    if not flags & PLAIN:
        following = table_word(table, FOLLOWING_WORD)
        if following != 0:
            y_word = word_at(following + 8 * y)
            x_word = word_at(following + 8 * x)
            if y_word != x_word:
                return y_word < x_word
        return call(table_word(table, COMPARE_WORD), text, starts, y, x, table) < 0
    skip = table_word(table, FOLLOWING_WORD)
    a = text + line_start(starts, y) + skip
    a_stop = text + line_start(starts, y + 1) - 1
    b = text + line_start(starts, x) + skip
    b_stop = text + line_start(starts, x + 1) - 1
    result = compare_bytes(a, a_stop, b, b_stop)
    return result > 0 if flags & REVERSE else result < 0


@jit
def following_image(text: int, starts: int, line: int, table: int, depth: int) -> Any:
    """See records.deeper_image."""
    flags = table_word(table, 0)
    following = table_word(table, FOLLOWING_WORD)
    start = text + line_start(starts, line)
    stop = text + line_start(starts, line + 1) - 1
    if flags & PLAIN:
        start += following + 8 * depth
    elif flags & NUMERIC:
        # Behind a number that its image tells wholly comes the last resort, the line.
        if flags & STABLE or not is_exact(number_image(start, stop)):
            return np.uint64(0), -1
        start += 8 * (depth - 1)
    elif following != 0 and depth == 1:
        return word_at(following + 8 * line), 0
    else:
        return np.uint64(0), -1
    # A line that has ended goes on as zeros, as its prefix does.
    word = first_word(start, stop) if start < stop else np.uint64(0)
    return (~word if flags & REVERSE else word), np.int64(stop - start > 8)


@jit
def total_lengths(starts: int, lines: Any, first: int, last: int, group: int, totals: Any) -> None:
    """totals[g] becomes the bytes, terminators included, of the g-th `group` of lines, for g in first to last.

    The last group of all may be a smaller one.
    """
    count = len(lines)
    for g in range(first, last):
        stop = min(group * (g + 1), count)
        total = 0
        for i in range(group * g, stop):
            if i + _AHEAD < count:
                prefetch(starts + 8 * lines[i + _AHEAD])
            total += line_start(starts, lines[i] + 1) - line_start(starts, lines[i])
        totals[g] = total


@jit
def gather(text: int, starts: int, lines: Any, first: int, last: int, out: int, position: int, stop: int) -> None:
    """Copy lines[first:last] to bytes position to stop of the memory at `out`, which they fill exactly.

    Whole words are copied past a line's end where the next line will overwrite them; never past `stop`, which may be
    where another thread writes.
    """
    target = out + position
    end = out + stop
    for i in range(first, last):
        # Sorted lines lie anywhere; without this, each is waited for.
        if i + _FAR_AHEAD < last:
            prefetch(starts + 8 * lines[i + _FAR_AHEAD])
            prefetch(text + line_start(starts, lines[i + _AHEAD]))
        line = lines[i]
        start = line_start(starts, line)
        length = line_start(starts, line + 1) - start
        start += text
        if target + length + 16 <= end:
            # Most lines are short: two words cost less than the doubt about how many it takes.
            put_word(target, word_at(start))
            put_word(target + 8, word_at(start + 8))
            for done in range(16, length, 8):
                put_word(target + done, word_at(start + done))
        else:
            for done in range(length):
                put_byte(target + done, byte_at(start + done))
        target += length
