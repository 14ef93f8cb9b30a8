"""Cuts of a piece of the output into finer ones, as plain functions of its length."""

from __future__ import annotations

from collections.abc import Callable

Lengths = list[tuple[int, int]]
"""The lengths of pieces in their order. (length, times) stands for so many pieces of this length."""
Split = Callable[[int], Lengths]
"""Cuts a piece of so many outputs."""
Splits = tuple[tuple[str, Split], ...]
"""The levels of a launch, the coarsest first. A level: the name of its workers ("block"), and its cut."""


def every(items: int) -> Split:
    """Cuts into pieces of `items` outputs each, or one piece if `items` is 0. The last piece may be shorter."""

    def split(length: int) -> Lengths:
        each = items or max(1, length)
        return some([(each, length // each), (length % each, 1)])

    return split


def equal_parts(number: int) -> Split:
    """Cuts into at most `number` pieces of one length. The last piece may be shorter."""
    return lambda length: every(ceil_div(length, number))(length)


def some(lengths: Lengths) -> Lengths:
    """The lengths without empty pieces."""
    return [(length, times) for length, times in lengths if length and times]


def ceil_div(count: int, size: int) -> int:
    """The number of pieces of `size` that hold `count`."""
    return -(-count // size)
