"""Lines of text with the key shapes: decimal numbers, one a line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.compare.key_shapes import Family

DIGITS = 10
"""Digits of a zero-padded number: 2^33 values, so 10 digits hold them all."""

_PADDED_SHIFT = np.uint64(31)
_SIGNED_SHIFT = np.uint64(32)
_NEWLINE = ord("\n")


def lines(family: Family, run: int, *, numeric: bool) -> Iterator[NDArray[np.uint8]]:
    """The bytes of one run's lines, in blocks of whole lines.

    numeric: plain signed numbers, in numeric order; otherwise numbers zero-padded to DIGITS, which bytewise order sorts
    as numbers too.
    """
    write = _signed if numeric else _padded
    for positions in family.positions(run):
        yield write(positions)


def _padded(positions: NDArray[np.uint64]) -> NDArray[np.uint8]:
    rest = positions >> _PADDED_SHIFT
    text = np.empty((positions.size, DIGITS + 1), np.uint8)
    text[:, DIGITS] = _NEWLINE
    ten = np.uint64(10)
    for column in reversed(range(DIGITS)):
        tens = rest // ten
        text[:, column] = rest - tens * ten + np.uint64(ord("0"))
        rest = tens
    return text.reshape(-1)


def _signed(positions: NDArray[np.uint64]) -> NDArray[np.uint8]:
    numbers = (positions >> _SIGNED_SHIFT).astype(np.int64) - (1 << 31)
    text = "".join([f"{number}\n" for number in numbers.tolist()])
    return np.frombuffer(text.encode(), np.uint8)
