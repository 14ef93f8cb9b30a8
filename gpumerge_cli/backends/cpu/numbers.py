"""Numbers in text: their bounds, their 64-bit images, and their exact comparison. Twin of kernels/numbers.cuh.

What is compared is decimal digits, of any number. An image is a sign, 7 bits of decimal exponent and 16 digits; what
does not fit is clipped, so that equal images decide nothing. Texts lie between two addresses, the second one excluded;
at least rows.PADDING bytes behind a text may be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.jit import byte_at, jit, trailing_zeros, word_at

_TOP = np.uint64(1 << 63)
_DIGITS = 16
_DIGIT_BITS = 56
_SCALE = 7  # 16 digits times this still fit into 56 bits, and so fill them better
_BIAS = 64
_POWERS = tuple(10**power for power in range(_DIGITS + 1))


@jit
def is_blank(byte: int) -> bool:
    """Space, tab or newline, which a line may hold if NUL ends it."""
    return byte == 32 or byte == 9 or byte == 10


@jit
def number_bounds(start: int, stop: int) -> Any:
    """(negative, whole start, whole stop, fraction start, fraction stop) of a line's leading number, as addresses.

    Leading zeros of the whole part and trailing zeros of the fraction are left out.
    """
    at = start
    while at < stop and is_blank(byte_at(at)):
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
def _magnitude(exponent: int, digits: int, more: bool) -> int:
    """The image of 0.d1d2... x 10^exponent but for its sign; `digits`: the first 16 of them as an integer, d1 not 0.

    more: other digits than 0 follow them; no number with just these digits has the same image then.
    """
    biased = exponent + _BIAS
    if biased >= 2 * _BIAS - 1:
        return np.int64(0x7FFFFFFFFFFFFFFF)
    if biased <= 0:
        return np.int64(1)
    return (biased << _DIGIT_BITS) + digits * _SCALE + more


@jit
def signed_image(negative: bool, magnitude: int) -> Any:
    """Zero is in the middle."""
    return _TOP - np.uint64(magnitude) if negative else _TOP + np.uint64(magnitude)


@jit
def _first_digits(whole: int, whole_stop: int, fraction: int, fraction_stop: int) -> Any:
    """(exponent, first 16 digits, whether others than 0 follow) of a number that is not zero, given its bounds."""
    digits = 0
    taken = 0
    exponent = whole_stop - whole
    at = whole
    while at < whole_stop and taken < _DIGITS:
        digits = digits * 10 + byte_at(at) - 48
        taken += 1
        at += 1
    more = False
    while at < whole_stop and not more:
        more = byte_at(at) != 48
        at += 1
    at = fraction
    if exponent == 0:
        while byte_at(at) == 48:
            exponent -= 1
            at += 1
    while at < fraction_stop and taken < _DIGITS:
        digits = digits * 10 + byte_at(at) - 48
        taken += 1
        at += 1
    return exponent, digits * _POWERS[_DIGITS - taken], more or at < fraction_stop


@jit
def magnitude_of(whole: int, whole_stop: int, fraction: int, fraction_stop: int) -> int:
    """The image, but for its sign, of the number within these bounds; 0 for zero."""
    if whole == whole_stop and fraction == fraction_stop:
        return np.int64(0)
    exponent, digits, more = _first_digits(whole, whole_stop, fraction, fraction_stop)
    return _magnitude(exponent, digits, more)


@jit
def is_exact(image: Any) -> bool:
    """Whether no other number has this image."""
    magnitude = np.int64(image - _TOP) if image >= _TOP else np.int64(_TOP - image)
    biased = magnitude >> _DIGIT_BITS
    if biased == 0 or biased == 2 * _BIAS - 1:
        return magnitude == 0
    return (magnitude & ((1 << _DIGIT_BITS) - 1)) % _SCALE == 0


@jit
def image_of_any_number(start: int, stop: int) -> Any:
    """The image of the leading number of a text, that of 0 if there is none."""
    negative, whole, whole_stop, fraction, fraction_stop = number_bounds(start, stop)
    return signed_image(negative, magnitude_of(whole, whole_stop, fraction, fraction_stop))


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
def number_image(start: int, stop: int) -> Any:
    """image_of_any_number, sooner for whole numbers of up to 16 digits without leading zeros.

    Precondition: the byte at `stop` is no digit, as is so of a terminator or a separator. Or else the text's end counts
    no more than that of its digits.
    """
    while start < stop and is_blank(byte_at(start)):
        start += 1
    negative = byte_at(start) == 45
    at = start + negative
    word = word_at(at)
    count = _leading_digits(word)
    if count == 0 or word & np.uint64(0xFF) == np.uint64(48):
        return image_of_any_number(start, stop)
    digits = _eight_digits(word, count)
    if count == 8:
        word = word_at(at + 8)
        more = _leading_digits(word)
        if more > 0:
            digits = digits * _POWERS[more] + _eight_digits(word, more)
            count += more
    if at + count > stop or byte_at(at + count) == 46 or count == _DIGITS:
        return image_of_any_number(start, stop)
    return signed_image(negative, _magnitude(count, digits * _POWERS[_DIGITS - count], False))


@jit
def _compare_digits(a: int, a_stop: int, b: int, b_stop: int) -> int:
    """As memcmp; what ends first goes first."""
    while a < a_stop and b < b_stop:
        difference = byte_at(a) - byte_at(b)
        if difference != 0:
            return difference
        a += 1
        b += 1
    return (a < a_stop) - (b < b_stop)


@jit
def compare_numbers(a: int, a_stop: int, b: int, b_stop: int) -> int:
    """Negative, zero or positive, as the leading numbers of two texts compare."""
    a_negative, a_whole, a_whole_stop, a_fraction, a_fraction_stop = number_bounds(a, a_stop)
    b_negative, b_whole, b_whole_stop, b_fraction, b_fraction_stop = number_bounds(b, b_stop)
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
    result = _compare_digits(a_whole, a_whole_stop, b_whole, b_whole_stop)
    if result == 0:
        result = _compare_digits(a_fraction, a_fraction_stop, b_fraction, b_fraction_stop)
    return a_sign * result


_SUFFIXES = b" KMGTPEZYRQ"


@jit
def unit_order(start: int, stop: int, fold: bool) -> int:
    """The signed place of the number's suffix among K, M, G, ...: 0 if it has none, or no digit but 0."""
    negative, whole, whole_stop, fraction, fraction_stop = number_bounds(start, stop)
    if whole == whole_stop and fraction == fraction_stop:
        return 0
    at = whole_stop
    if at < stop and byte_at(at) == 46:
        at += 1
        while at < stop and 48 <= byte_at(at) <= 57:
            at += 1
    if at >= stop:
        return 0
    byte = byte_at(at)
    if byte == 107 or (fold and 97 <= byte <= 122):
        byte -= 32
    order = 0
    for place in range(1, len(_SUFFIXES)):
        if byte == _SUFFIXES[place]:
            order = place
    return -order if negative else order


@jit
def human_image(start: int, stop: int, fold: bool) -> Any:
    """The image of a number with a suffix: sign, place of the suffix, number."""
    negative, whole, whole_stop, fraction, fraction_stop = number_bounds(start, stop)
    magnitude = magnitude_of(whole, whole_stop, fraction, fraction_stop) >> 4
    order = unit_order(start, stop, fold)
    return signed_image(negative, magnitude + (abs(order) << 59))


@jit
def compare_human(a: int, a_stop: int, b: int, b_stop: int, fold: bool) -> int:
    """Negative, zero or positive, by sign and suffix, then as compare_numbers."""
    difference = unit_order(a, a_stop, fold) - unit_order(b, b_stop, fold)
    return difference if difference != 0 else compare_numbers(a, a_stop, b, b_stop)
