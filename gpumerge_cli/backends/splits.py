"""How a piece of the output is cut into finer ones, as plain functions of its length."""

from __future__ import annotations

from collections.abc import Callable

Lengths = list[tuple[int, int]]
"""Lengths of pieces in their order, each with how often it follows itself."""
Split = Callable[[int], Lengths]
"""How a piece of so many outputs is cut."""
Splits = tuple[tuple[str, Split], ...]
"""The levels of a launch, the coarsest first: what each level's pieces are for, and how they are cut."""


def every(items: int) -> Split:
    """Pieces of `items` outputs each, of all if it is 0; the last may be shorter."""

    def split(length: int) -> Lengths:
        each = items or max(1, length)
        return some([(each, length // each), (length % each, 1)])

    return split


def shares(number: int) -> Split:
    """As many pieces as `number`, of one length; the last may be shorter."""
    return lambda length: every(ceil_div(length, number))(length)


def some(lengths: Lengths) -> Lengths:
    """The lengths without pieces that are empty."""
    return [(length, times) for length, times in lengths if length and times]


def ceil_div(count: int, size: int) -> int:
    """How many pieces of `size` hold `count`."""
    return -(-count // size)
