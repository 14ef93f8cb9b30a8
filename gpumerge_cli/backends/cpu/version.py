"""Names in the order of the versions in them, as gnulib's filevercmp has it. Twin of kernels/version.cuh.

Only the bytes that count are looked at (see fields.py): a key may leave some out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.fields import folded, next_counting
from gpumerge_cli.jit import byte_at, jit

_DOT, _TILDE = 46, 126


@jit
def _byte(at: int, stop: int, flags: int) -> int:
    """The byte there as it compares, -1 at the end."""
    return folded(byte_at(at), flags) if at < stop else -1


@jit
def _is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@jit
def _is_letter(byte: int) -> bool:
    return 65 <= byte <= 90 or 97 <= byte <= 122


@jit
def _suffix_start(start: int, stop: int, flags: int) -> int:
    """Where a name's suffix begins: as many as possible of a dot, a letter or '~', and letters, digits or '~'s.

    A name may be all suffix, as in coreutils 9.1. `start` is where its first byte that counts lies.
    """
    at = start
    while True:
        found = at
        while at < stop and byte_at(at) == _DOT:
            behind = next_counting(at + 1, stop, flags)
            byte = _byte(behind, stop, flags)
            if not (_is_letter(byte) or byte == _TILDE):
                break
            at = next_counting(behind + 1, stop, flags)
            byte = _byte(at, stop, flags)
            while _is_letter(byte) or _is_digit(byte) or byte == _TILDE:
                at = next_counting(at + 1, stop, flags)
                byte = _byte(at, stop, flags)
        if at >= stop:
            return found
        at = next_counting(at + 1, stop, flags)


@jit
def _place(byte: int) -> int:
    """How a byte that is no digit compares; -1 for the end."""
    if byte == -1:
        return -1
    if _is_digit(byte):
        return 0
    if _is_letter(byte):
        return byte
    return -2 if byte == _TILDE else byte + 256


@jit
def _compare(a: int, a_stop: int, b: int, b_stop: int, flags: int) -> int:
    x = _byte(a, a_stop, flags)
    y = _byte(b, b_stop, flags)
    while x >= 0 or y >= 0:
        while (x >= 0 and not _is_digit(x)) or (y >= 0 and not _is_digit(y)):
            difference = _place(x) - _place(y)
            if difference != 0:
                return difference
            a = next_counting(a + 1, a_stop, flags)
            b = next_counting(b + 1, b_stop, flags)
            x = _byte(a, a_stop, flags)
            y = _byte(b, b_stop, flags)
        while x == 48:
            a = next_counting(a + 1, a_stop, flags)
            x = _byte(a, a_stop, flags)
        while y == 48:
            b = next_counting(b + 1, b_stop, flags)
            y = _byte(b, b_stop, flags)
        first = 0
        while _is_digit(x) and _is_digit(y):
            if first == 0:
                first = x - y
            a = next_counting(a + 1, a_stop, flags)
            b = next_counting(b + 1, b_stop, flags)
            x = _byte(a, a_stop, flags)
            y = _byte(b, b_stop, flags)
        if _is_digit(x):
            return 1
        if _is_digit(y):
            return -1
        if first != 0:
            return first
    return 0


@jit
def _class(start: int, stop: int, flags: int) -> int:
    """0: empty, 1: ".", 2: "..", 3: begins with a dot, 4: the rest."""
    if start >= stop:
        return 0
    if byte_at(start) != _DOT:
        return 4
    second = next_counting(start + 1, stop, flags)
    if second >= stop:
        return 1
    third = next_counting(second + 1, stop, flags)
    return 2 if byte_at(second) == _DOT and third >= stop else 3


@jit
def compare_versions(a: int, a_stop: int, b: int, b_stop: int, flags: int) -> int:
    """Negative, zero or positive. flags: of the key."""
    a = next_counting(a, a_stop, flags)
    b = next_counting(b, b_stop, flags)
    kind = _class(a, a_stop, flags)
    difference = kind - _class(b, b_stop, flags)
    if difference != 0 or kind < 3:
        return difference
    a_suffix = _suffix_start(a, a_stop, flags)
    b_suffix = _suffix_start(b, b_stop, flags)
    result = _compare(a, a_suffix, b, b_suffix, flags)
    if result != 0 or (a_suffix == a_stop and b_suffix == b_stop):
        return result
    return _compare(a, a_stop, b, b_stop, flags)


@jit
def _character(byte: int) -> int:
    """A byte of an image for a byte that is no digit: '~', then (1 is a part's end) letters, then the rest."""
    if byte == _TILDE:
        return 0
    if 65 <= byte <= 90:
        return byte - 62
    if 97 <= byte <= 122:
        return byte - 68
    return 55 + byte - 10 * (byte > 57) - 26 * (byte > 90) - 26 * (byte > 122) - (byte > _TILDE)


@jit
def version_image(start: int, stop: int, flags: int) -> Any:
    """Eight bytes: the name's class, then parts without and with digits in turn, as far as they reach."""
    start = next_counting(start, stop, flags)
    kind = _class(start, stop, flags)
    image = np.uint64(kind) << np.uint64(56)
    if kind < 3:
        return image
    stop = _suffix_start(start, stop, flags)
    at = start
    shift = 48
    while shift >= 0:
        byte = _byte(at, stop, flags)
        if byte >= 0 and not _is_digit(byte):
            image |= np.uint64(_character(byte)) << np.uint64(shift)
            shift -= 8
            at = next_counting(at + 1, stop, flags)
            continue
        image |= np.uint64(1) << np.uint64(shift)
        shift -= 8
        while byte == 48:
            at = next_counting(at + 1, stop, flags)
            byte = _byte(at, stop, flags)
        digits = 0
        ahead = at
        while digits < 255 and _is_digit(_byte(ahead, stop, flags)):
            digits += 1
            ahead = next_counting(ahead + 1, stop, flags)
        if shift >= 0:
            image |= np.uint64(digits) << np.uint64(shift)
            shift -= 8
        if digits == 255:
            return image
        while digits > 0:
            if shift >= 0:
                image |= np.uint64(_byte(at, stop, flags)) << np.uint64(shift)
                shift -= 8
            at = next_counting(at + 1, stop, flags)
            digits -= 1
    return image
