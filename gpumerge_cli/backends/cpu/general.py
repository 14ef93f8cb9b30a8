"""Numbers as C's strtold has them: exponents, infinities, NaNs, hexadecimal. Twin of kernels/general.cuh.

Decimals compare exactly, which is more than a long double tells apart; its limits are kept, so that what it takes for
infinite or for zero is so. Hexadecimal ones of more bits than 64 are cut to them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.numbers import _magnitude, signed_image
from gpumerge_cli.jit import byte_at, jit

_NONE, _NAN, _MINUS_INFINITY, _FINITE, _INFINITY = 0, 1, 2, 3, 4
_LEADING = 18
_LARGEST_EXPONENT, _SMALLEST_EXPONENT = 4933, -4950
# What rounds to infinity, and to zero: 18 digits behind 0. times ten to these exponents.
_TOO_LARGE = 118973149535723176
_TOO_SMALL = 182259976594123730
_MANY = 1 << 40
# Of binary numbers: 2^16384 is infinite, and half of 2^-16445 rounds to zero.
_LARGEST_HEIGHT, _SMALLEST_HEIGHT = 16384, -16445


@jit
def _lower(at: int, stop: int) -> int:
    """The byte there, in lower case; 0 at the end."""
    if at >= stop:
        return 0
    byte = byte_at(at)
    return byte + 32 if 65 <= byte <= 90 else byte


@jit
def _is_digit(at: int, stop: int) -> bool:
    return at < stop and 48 <= byte_at(at) <= 57


@jit
def _hex_value(byte: int) -> int:
    """Of a byte in lower case; -1 if it is no digit."""
    if 48 <= byte <= 57:
        return byte - 48
    return byte - 87 if 97 <= byte <= 102 else -1


@jit
def _exponent(at: int, stop: int) -> int:
    """The signed number at `at`, 0 if there is none, clipped."""
    negative = at < stop and byte_at(at) == 45
    if at < stop and (byte_at(at) == 45 or byte_at(at) == 43):
        at += 1
    value = 0
    while _is_digit(at, stop):
        value = min(_MANY, value * 10 + byte_at(at) - 48)
        at += 1
    return -value if negative else value


@jit
def _leading_of(value: Any) -> Any:
    """(exponent, 18 digits) of an unsigned integer that is not 0."""
    digits = np.uint64(value)
    exponent = 18
    while digits >= np.uint64(1000000000000000000):
        digits //= np.uint64(10)
        exponent += 1
    while digits < np.uint64(100000000000000000):
        digits *= np.uint64(10)
        exponent -= 1
    return exponent, np.int64(digits)


@jit
def _hexadecimal(at: int, stop: int) -> Any:
    """(exponent, 18 digits) of the number behind 0x; (0, 0) if it is zero, (0, -1) if it is too large."""
    mantissa = np.uint64(0)
    scale = 0
    behind = False
    while at < stop:
        byte = _lower(at, stop)
        digit = _hex_value(byte)
        if byte == 46 and not behind:
            behind = True
        elif digit < 0:
            break
        elif mantissa >> np.uint64(60) == np.uint64(0):
            mantissa = mantissa << np.uint64(4) | np.uint64(digit)
            scale -= 4 * behind
        else:
            scale += 4 * (not behind)
        at += 1
    if mantissa == np.uint64(0):
        return 0, np.int64(0)
    if _lower(at, stop) == 112:
        signed = at + 1 < stop and (byte_at(at + 1) == 45 or byte_at(at + 1) == 43)
        if _is_digit(at + 1 + signed, stop):
            scale += _exponent(at + 1, stop)
    scale = max(-20000, min(20000, scale))
    while mantissa & np.uint64(1) == np.uint64(0):
        mantissa >>= np.uint64(1)
        scale += 1
    height = scale  # of the highest bit, counted from 1
    rest = mantissa
    while rest != np.uint64(0):
        rest >>= np.uint64(1)
        height += 1
    if height > _LARGEST_HEIGHT:
        return 0, np.int64(-1)
    if height < _SMALLEST_HEIGHT or (height == _SMALLEST_HEIGHT and mantissa == np.uint64(1)):
        return 0, np.int64(0)
    while scale > 0 and mantissa >> np.uint64(63) == np.uint64(0):
        mantissa <<= np.uint64(1)
        scale -= 1
    power = 0  # of ten
    while scale < 0 and mantissa < np.uint64(3689348814741910323):
        mantissa *= np.uint64(5)  # m / 2 = 5 m / 10
        power -= 1
        scale += 1
    # What is left is not exact: doubled or halved with 64 bits kept.
    while scale > 0:
        if mantissa >= np.uint64(1) << np.uint64(63):
            mantissa = mantissa // np.uint64(10) + np.uint64(mantissa % np.uint64(10) >= np.uint64(5))
            power += 1
        mantissa *= np.uint64(2)
        scale -= 1
    while scale < 0:
        if mantissa < np.uint64(1844674407370955161):
            mantissa *= np.uint64(10)
            power -= 1
        mantissa = mantissa // np.uint64(2)
        scale += 1
    exponent, digits = _leading_of(mantissa)
    return exponent + power, digits


@jit
def _word_follows(at: int, stop: int, a: int, b: int, c: int) -> bool:
    return _lower(at, stop) == a and _lower(at + 1, stop) == b and _lower(at + 2, stop) == c


@jit
def _parsed(start: int, stop: int) -> Any:
    """(class, negative, exponent, 18 digits, rest of whole, its stop, rest of fraction, its stop).

    The rests are the digits that follow the 18, as addresses. Of zero the digits are 0.
    """
    at = start
    while at < stop and (byte_at(at) == 32 or 9 <= byte_at(at) <= 13):
        at += 1
    negative = at < stop and byte_at(at) == 45
    if at < stop and (byte_at(at) == 45 or byte_at(at) == 43):
        at += 1
    zero = np.int64(0)
    if _word_follows(at, stop, 105, 110, 102):
        return (_MINUS_INFINITY if negative else _INFINITY), negative, 0, zero, at, at, at, at
    if _word_follows(at, stop, 110, 97, 110):
        return _NAN, negative, 0, zero, at, at, at, at
    if _lower(at, stop) == 48 and _lower(at + 1, stop) == 120:
        point = _lower(at + 2, stop) == 46
        if _hex_value(_lower(at + 2 + point, stop)) >= 0:
            exponent, digits = _hexadecimal(at + 2, stop)
            if digits < 0:
                return (_MINUS_INFINITY if negative else _INFINITY), negative, 0, zero, at, at, at, at
            return _FINITE, negative, exponent, digits, at, at, at, at
    if not _is_digit(at, stop) and not (_lower(at, stop) == 46 and _is_digit(at + 1, stop)):
        return _NONE, False, 0, zero, at, at, at, at

    while at < stop and byte_at(at) == 48:
        at += 1
    whole = at
    while _is_digit(at, stop):
        at += 1
    whole_stop = at
    fraction = at
    if at < stop and byte_at(at) == 46:
        fraction = at + 1
        at = fraction
        while _is_digit(at, stop):
            at += 1
    fraction_stop = max(at, fraction)
    scale = 0
    if _lower(at, stop) == 101:
        signed = at + 1 < stop and (byte_at(at + 1) == 45 or byte_at(at + 1) == 43)
        if _is_digit(at + 1 + signed, stop):
            scale = _exponent(at + 1, stop)
    exponent = whole_stop - whole
    if exponent == 0:
        while fraction < fraction_stop and byte_at(fraction) == 48:
            fraction += 1
            exponent -= 1
        if fraction == fraction_stop:
            return _FINITE, negative, 0, zero, at, at, at, at
    digits = np.int64(0)
    taken = 0
    while whole < whole_stop and taken < _LEADING:
        digits = digits * 10 + byte_at(whole) - 48
        whole += 1
        taken += 1
    while fraction < fraction_stop and taken < _LEADING:
        digits = digits * 10 + byte_at(fraction) - 48
        fraction += 1
        taken += 1
    while taken < _LEADING:
        digits *= 10
        taken += 1
    exponent += scale
    if exponent > _LARGEST_EXPONENT or (exponent == _LARGEST_EXPONENT and digits > _TOO_LARGE):
        return (_MINUS_INFINITY if negative else _INFINITY), negative, 0, zero, at, at, at, at
    if exponent < _SMALLEST_EXPONENT or (exponent == _SMALLEST_EXPONENT and digits < _TOO_SMALL):
        return _FINITE, negative, 0, zero, at, at, at, at
    return _FINITE, negative, exponent, digits, whole, whole_stop, fraction, fraction_stop


@jit
def general_image(start: int, stop: int) -> Any:
    """No number, NaN, minus infinity, finite ones, infinity, in this order."""
    kind, negative, exponent, digits, _, _, _, _ = _parsed(start, stop)
    if kind == _INFINITY:
        return ~np.uint64(0)
    if kind != _FINITE:
        return np.uint64(kind)
    magnitude = np.int64(0) if digits == 0 else _magnitude(exponent, digits // 100, False)
    return signed_image(negative, int(magnitude >> 1))


@jit
def _compare_rests(a: int, a_stop: int, a_then: int, a_end: int, b: int, b_stop: int, b_then: int, b_end: int) -> int:
    """Digits a to a_stop, then a_then to a_end, against those of b; nothing counts as zeros."""
    while a < a_stop or a_then < a_end or b < b_stop or b_then < b_end:
        x = 48
        y = 48
        if a < a_stop:
            x = byte_at(a)
            a += 1
        elif a_then < a_end:
            x = byte_at(a_then)
            a_then += 1
        if b < b_stop:
            y = byte_at(b)
            b += 1
        elif b_then < b_end:
            y = byte_at(b_then)
            b_then += 1
        if x != y:
            return x - y
    return 0


@jit
def compare_general(a: int, a_stop: int, b: int, b_stop: int) -> int:
    """Negative, zero or positive."""
    x_kind, x_minus, x_exponent, x_digits, x_rest, x_rest_stop, x_then, x_end = _parsed(a, a_stop)
    y_kind, y_minus, y_exponent, y_digits, y_rest, y_rest_stop, y_then, y_end = _parsed(b, b_stop)
    if x_kind != y_kind:
        return x_kind - y_kind
    if x_kind == _NAN:
        return np.int64(x_minus) - np.int64(y_minus)
    if x_kind != _FINITE:
        return 0
    x_sign = 0 if x_digits == 0 else (-1 if x_minus else 1)
    y_sign = 0 if y_digits == 0 else (-1 if y_minus else 1)
    if x_sign != y_sign or x_sign == 0:
        return x_sign - y_sign
    if x_exponent != y_exponent:
        return x_sign if x_exponent > y_exponent else -x_sign
    if x_digits != y_digits:
        return x_sign if x_digits > y_digits else -x_sign
    return x_sign * _compare_rests(x_rest, x_rest_stop, x_then, x_end, y_rest, y_rest_stop, y_then, y_end)
