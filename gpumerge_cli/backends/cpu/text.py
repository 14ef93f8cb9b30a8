"""Lines as rows: where they start, their 64-bit order-preserving prefixes, and the comparison that settles ties.

Text order is GNU sort's in the C locale. Twin of the line half of kernels/keys.cuh and of kernels/rows.cu; both follow
the same prefix rule, and equal prefixes never decide.

`text` and `starts` are addresses: of a chunk's bytes, with at least rows.PADDING readable ones after the last line, and
of int64 line starts, one more than there are lines. Line numbers are int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.rows import DESCENDING, NUMERIC, STABLE
from gpumerge_cli.jit import byte_at, byte_swap, jit, put_byte, put_word, trailing_zeros, word_at

_LF = np.uint64(0x0A0A0A0A0A0A0A0A)
_LOW7 = np.uint64(0x7F7F7F7F7F7F7F7F)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_TOP = np.uint64(1 << 63)
_PREFIX_DIGITS = 14
_DIGIT_BITS = 47
_BIAS = 32768
_MAX_EXPONENT = 65535
_POWERS = tuple(10**power for power in range(_PREFIX_DIGITS + 1))


@jit
def count_lines(text: Any, stop: int) -> int:
    """How many newlines the first `stop` bytes of an array hold."""
    count = 0
    for byte in text[:stop]:
        count += byte == 10
    return count


@jit
def find_lines(text: int, stop: int, starts: Any) -> int:
    """Write the start of every line of the first `stop` bytes, then `stop`, to the array `starts`; returns how many.

    Precondition: stop is 0 or the last byte is a newline, and `starts` has room for one more than the lines.
    """
    starts[0] = 0
    found = 0
    position = 0
    while position < stop:
        word = word_at(text + position) ^ _LF
        # Exact in every byte, unlike the shorter (x - 0x01..) & ~x & 0x80.., whose borrow can mark a neighbour.
        marks = ~(((word & _LOW7) + _LOW7) | word | _LOW7)
        while marks != np.uint64(0):
            at = position + (trailing_zeros(marks) >> 3)
            if at >= stop:
                break
            found += 1
            starts[found] = at + 1
            marks &= marks - np.uint64(1)
        position += 8
    return found


@jit
def line_start(starts: int, line: int) -> int:
    """Where a line starts; for the number just past the last line, where the text ends."""
    return np.int64(word_at(starts + 8 * line))


@jit
def _prefix_bytes(start: int, stop: int) -> Any:
    word = byte_swap(word_at(start))
    length = stop - start
    if length < 8:
        if length == 0:
            return np.uint64(0)
        word &= _ALL << np.uint64(64 - 8 * length)
    return word


@jit
def _number_bounds(start: int, stop: int) -> Any:
    """(negative, whole start, whole stop, fraction start, fraction stop) of a line's leading number, as addresses.

    Leading zeros of the whole part and trailing zeros of the fraction are left out.
    """
    at = start
    while at < stop and (byte_at(at) == 32 or byte_at(at) == 9):
        at += 1
    negative = at < stop and byte_at(at) == 45
    if negative:
        at += 1
    while at < stop and byte_at(at) == 48:
        at += 1
    whole = at
    while at < stop and 48 <= byte_at(at) <= 57:
        at += 1
    whole_stop = at
    fraction = at
    fraction_stop = at
    if at < stop and byte_at(at) == 46:
        at += 1
        fraction = at
        fraction_stop = at
        while at < stop and 48 <= byte_at(at) <= 57:
            at += 1
            if byte_at(at - 1) != 48:
                fraction_stop = at
    return negative, whole, whole_stop, fraction, fraction_stop


@jit
def _number_prefix(negative: bool, exponent: int, digits: int) -> Any:
    """The prefix of the number 0.d1d2... x 10^exponent whose first 14 digits are the integer `digits`, d1 not 0."""
    biased = exponent + _BIAS
    if biased >= _MAX_EXPONENT:
        magnitude = (_MAX_EXPONENT << _DIGIT_BITS) | ((1 << _DIGIT_BITS) - 1)
    elif biased <= 1:
        magnitude = 1 << _DIGIT_BITS
    else:
        magnitude = (biased << _DIGIT_BITS) | digits
    return _TOP - np.uint64(magnitude) if negative else _TOP + np.uint64(magnitude)


@jit
def prefix_of_any_number(start: int, stop: int) -> Any:
    """The prefix of the leading number between two addresses, 0 if there is none."""
    negative, whole, whole_stop, fraction, fraction_stop = _number_bounds(start, stop)
    if whole == whole_stop and fraction == fraction_stop:
        return _TOP
    digits = 0
    taken = 0
    exponent = whole_stop - whole
    at = whole
    while at < whole_stop and taken < _PREFIX_DIGITS:
        digits = digits * 10 + byte_at(at) - 48
        taken += 1
        at += 1
    at = fraction
    if exponent == 0:
        while byte_at(at) == 48:
            exponent -= 1
            at += 1
    while at < fraction_stop and taken < _PREFIX_DIGITS:
        digits = digits * 10 + byte_at(at) - 48
        taken += 1
        at += 1
    return _number_prefix(negative, exponent, digits * _POWERS[_PREFIX_DIGITS - taken])


@jit
def _eight_digits(word: Any, count: int) -> int:
    """The value of the first `count` (1 to 8) ASCII digits of a little-endian word, in three multiplications."""
    word = (word << np.uint64(64 - 8 * count)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return np.int64((word * np.uint64(10000) + (word >> np.uint64(32))) & np.uint64(0xFFFFFFFF))


@jit
def _leading_digits(word: Any) -> int:
    """How many of a word's bytes, from the first on, are ASCII digits."""
    high = (word ^ np.uint64(0x3030303030303030)) & np.uint64(0xF0F0F0F0F0F0F0F0)
    # A byte of 0x3A to 0x3F passes the test above, but carries into its high half here.
    carried = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) + np.uint64(0x0606060606060606)) & np.uint64(0xF0F0F0F0F0F0F0F0)
    other = high | carried
    if other == np.uint64(0):
        return 8
    return trailing_zeros(other) >> 3


@jit
def _prefix_number(start: int, stop: int) -> Any:
    """prefix_of_any_number, sooner for whole numbers of up to 14 digits without leading blanks or zeros."""
    negative = byte_at(start) == 45
    at = start + negative
    word = word_at(at)
    count = _leading_digits(word)
    if count == 0 or word & np.uint64(0xFF) == np.uint64(48):
        return prefix_of_any_number(start, stop)
    digits = _eight_digits(word, count)
    if count == 8:
        word = word_at(at + 8)
        more = _leading_digits(word)
        if more > _PREFIX_DIGITS - 8:
            return prefix_of_any_number(start, stop)
        if more > 0:
            digits = digits * _POWERS[more] + _eight_digits(word, more)
            count += more
    # Every line ends in a newline, so digits cannot run on into the next one.
    if byte_at(at + count) == 46:
        return prefix_of_any_number(start, stop)
    return _number_prefix(negative, count, digits * _POWERS[_PREFIX_DIGITS - count])


@jit
def make_prefixes(text: int, starts: int, first: int, last: int, flags: int, prefixes: Any) -> None:
    """prefixes[line] for lines first to last: unsigned, in the order of the lines as far as they reach."""
    complement = _ALL if flags & DESCENDING else np.uint64(0)
    for line in range(first, last):
        start = text + line_start(starts, line)
        stop = text + line_start(starts, line + 1) - 1
        if flags & NUMERIC:
            prefixes[line] = _prefix_number(start, stop) ^ complement
        else:
            prefixes[line] = _prefix_bytes(start, stop) ^ complement


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
def _compare_numbers(a: int, a_stop: int, b: int, b_stop: int) -> int:
    a_negative, a_whole, a_whole_stop, a_fraction, a_fraction_stop = _number_bounds(a, a_stop)
    b_negative, b_whole, b_whole_stop, b_fraction, b_fraction_stop = _number_bounds(b, b_stop)
    a_zero = a_whole == a_whole_stop and a_fraction == a_fraction_stop
    b_zero = b_whole == b_whole_stop and b_fraction == b_fraction_stop
    a_sign = 0 if a_zero else (-1 if a_negative else 1)
    b_sign = 0 if b_zero else (-1 if b_negative else 1)
    if a_sign != b_sign:
        return -1 if a_sign < b_sign else 1
    if a_sign == 0:
        return 0
    length = (a_whole_stop - a_whole) - (b_whole_stop - b_whole)
    if length != 0:
        return a_sign if length > 0 else -a_sign
    result = compare_bytes(a_whole, a_whole_stop, b_whole, b_whole_stop)
    if result == 0:
        result = compare_bytes(a_fraction, a_fraction_stop, b_fraction, b_fraction_stop)
    return result * a_sign


@jit
def line_before(text: int, starts: int, y: int, x: int, flags: int) -> bool:
    """Whether line y sorts strictly before line x, by all of both that counts."""
    a = text + line_start(starts, y)
    a_stop = text + line_start(starts, y + 1) - 1
    b = text + line_start(starts, x)
    b_stop = text + line_start(starts, x + 1) - 1
    result = 0
    if flags & NUMERIC:
        result = _compare_numbers(a, a_stop, b, b_stop)
    if result == 0 and not flags & STABLE:
        result = compare_bytes(a, a_stop, b, b_stop)
    return result > 0 if flags & DESCENDING else result < 0


@jit
def total_length(starts: int, lines: Any, first: int, last: int) -> int:
    """Bytes of lines[first:last], newlines included."""
    total = 0
    for line in lines[first:last]:
        total += line_start(starts, line + 1) - line_start(starts, line)
    return total


@jit
def gather(text: int, starts: int, lines: Any, first: int, last: int, out: int, position: int, stop: int) -> None:
    """Copy lines[first:last] to bytes position to stop of the memory at `out`, which they fill exactly.

    Whole words are copied past a line's end where the next line will overwrite them; never past `stop`, which may be
    where another thread writes.
    """
    target = out + position
    end = out + stop
    for line in lines[first:last]:
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
