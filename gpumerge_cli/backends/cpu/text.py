"""Lines as rows: where they start, their 64-bit order-preserving prefixes, and the comparison that settles ties.

Text order is GNU sort's in the C locale. Twin of the line half of kernels/keys.cuh and of kernels/rows.cu; both follow
the same prefix rule, and equal prefixes never decide. `text` arrays carry at least PADDING readable bytes after the
last line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.jit import byte_swap, jit, load64, store64, trailing_zeros

PADDING = 16
NUMERIC = 1
DESCENDING = 2

_LF = np.uint64(0x0A0A0A0A0A0A0A0A)
_LOW7 = np.uint64(0x7F7F7F7F7F7F7F7F)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_TOP = np.uint64(1 << 63)
_PREFIX_DIGITS = 14
_DIGIT_BITS = 47
_BIAS = 32768
_MAX_EXPONENT = 65535


@jit
def count_lines(text: Any, stop: int) -> int:
    """How many newlines text[:stop] holds."""
    count = 0
    for i in range(stop):
        count += text[i] == 10
    return count


@jit
def find_lines(text: Any, stop: int, starts: Any) -> int:
    """Write the start of every line of text[:stop], then `stop`, to `starts`; returns the number of lines.

    Precondition: text[:stop] is empty or ends with a newline, and `starts` has room for one more than its lines.
    """
    starts[0] = 0
    found = 0
    position = 0
    while position < stop:
        word = load64(text, position) ^ _LF
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
def _prefix_bytes(text: Any, start: int, stop: int) -> Any:
    word = byte_swap(load64(text, start))
    length = stop - start
    if length < 8:
        if length == 0:
            return np.uint64(0)
        word &= _ALL << np.uint64(64 - 8 * length)
    return word


@jit
def _number_bounds(text: Any, start: int, stop: int) -> Any:
    """(negative, whole start, whole stop, fraction start, fraction stop) of a line's leading number.

    Leading zeros of the whole part and trailing zeros of the fraction are left out.
    """
    at = start
    while at < stop and (text[at] == 32 or text[at] == 9):
        at += 1
    negative = at < stop and text[at] == 45
    if negative:
        at += 1
    while at < stop and text[at] == 48:
        at += 1
    whole = at
    while at < stop and 48 <= text[at] <= 57:
        at += 1
    whole_stop = at
    fraction = at
    fraction_stop = at
    if at < stop and text[at] == 46:
        at += 1
        fraction = at
        fraction_stop = at
        while at < stop and 48 <= text[at] <= 57:
            at += 1
            if text[at - 1] != 48:
                fraction_stop = at
    return negative, whole, whole_stop, fraction, fraction_stop


@jit
def _prefix_number(text: Any, start: int, stop: int) -> Any:
    negative, whole, whole_stop, fraction, fraction_stop = _number_bounds(text, start, stop)
    if whole == whole_stop and fraction == fraction_stop:
        return _TOP
    digits = 0
    taken = 0
    exponent = whole_stop - whole
    at = whole
    while at < whole_stop and taken < _PREFIX_DIGITS:
        digits = digits * 10 + (np.int64(text[at]) - 48)
        taken += 1
        at += 1
    at = fraction
    if exponent == 0:
        while text[at] == 48:
            exponent -= 1
            at += 1
    while at < fraction_stop and taken < _PREFIX_DIGITS:
        digits = digits * 10 + (np.int64(text[at]) - 48)
        taken += 1
        at += 1
    while taken < _PREFIX_DIGITS:
        digits *= 10
        taken += 1
    biased = exponent + _BIAS
    if biased >= _MAX_EXPONENT:
        magnitude = (_MAX_EXPONENT << _DIGIT_BITS) | ((1 << _DIGIT_BITS) - 1)
    elif biased <= 1:
        magnitude = 1 << _DIGIT_BITS
    else:
        magnitude = (biased << _DIGIT_BITS) | digits
    return _TOP - np.uint64(magnitude) if negative else _TOP + np.uint64(magnitude)


@jit
def make_prefixes(text: Any, starts: Any, first: int, last: int, flags: int, prefixes: Any) -> None:
    """prefixes[line] for lines first to last: unsigned, in the order of the lines as far as they reach."""
    complement = _ALL if flags & DESCENDING else np.uint64(0)
    for line in range(first, last):
        start = starts[line]
        stop = starts[line + 1] - 1
        if flags & NUMERIC:
            prefixes[line] = _prefix_number(text, start, stop) ^ complement
        else:
            prefixes[line] = _prefix_bytes(text, start, stop) ^ complement


@jit
def _compare_bytes(text: Any, a: int, a_stop: int, b: int, b_stop: int) -> int:
    shorter = min(a_stop - a, b_stop - b)
    done = 0
    while done + 8 <= shorter:
        x = load64(text, a + done)
        y = load64(text, b + done)
        if x != y:
            return -1 if byte_swap(x) < byte_swap(y) else 1
        done += 8
    while done < shorter:
        if text[a + done] != text[b + done]:
            return -1 if text[a + done] < text[b + done] else 1
        done += 1
    difference = (a_stop - a) - (b_stop - b)
    return -1 if difference < 0 else (1 if difference > 0 else 0)


@jit
def _compare_numbers(text: Any, a: int, a_stop: int, b: int, b_stop: int) -> int:
    a_negative, a_whole, a_whole_stop, a_fraction, a_fraction_stop = _number_bounds(text, a, a_stop)
    b_negative, b_whole, b_whole_stop, b_fraction, b_fraction_stop = _number_bounds(text, b, b_stop)
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
    result = _compare_bytes(text, a_whole, a_whole_stop, b_whole, b_whole_stop)
    if result == 0:
        result = _compare_bytes(text, a_fraction, a_fraction_stop, b_fraction, b_fraction_stop)
    return result * a_sign


@jit
def line_before(text: Any, starts: Any, y: int, x: int, flags: int) -> bool:
    """Whether line y sorts strictly before line x, by the whole of both."""
    a = starts[y]
    a_stop = starts[y + 1] - 1
    b = starts[x]
    b_stop = starts[x + 1] - 1
    result = 0
    if flags & NUMERIC:
        result = _compare_numbers(text, a, a_stop, b, b_stop)
    if result == 0:
        result = _compare_bytes(text, a, a_stop, b, b_stop)
    return result > 0 if flags & DESCENDING else result < 0


@jit
def total_length(starts: Any, lines: Any, first: int, last: int) -> int:
    """Bytes of lines[first:last], newlines included."""
    total = 0
    for rank in range(first, last):
        line = lines[rank]
        total += starts[line + 1] - starts[line]
    return total


@jit
def gather(text: Any, starts: Any, lines: Any, first: int, last: int, out: Any, position: int, stop: int) -> None:
    """Copy lines[first:last] to out[position:stop], which they fill exactly.

    Whole words are copied past a line's end where the next line will overwrite them; never past `stop`, which may be
    where another thread writes.
    """
    for rank in range(first, last):
        line = lines[rank]
        start = starts[line]
        length = starts[line + 1] - start
        if position + length + 8 <= stop:
            for done in range(0, length, 8):
                store64(out, position + done, load64(text, start + done))
        else:
            for done in range(length):
                out[position + done] = text[start + done]
        position += length
