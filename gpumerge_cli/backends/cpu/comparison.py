"""How single items compare, by the library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from gpumerge_cli.backends.cpu.library import library
from gpumerge_cli.backends.cpu.specs import order_spec
from gpumerge_cli.order import Order


class Comparison:
    """How two items compare, by the library."""

    def __init__(self, order: Order) -> None:
        self._compare = library().gm_compare
        self._order = order_spec(order)

    def __call__(self, a: bytes, b: bytes) -> int:
        """Negative, zero or positive as `a` goes before, with or behind `b`; lines come without terminators."""
        return int(self._compare(self._order, a, len(a), b, len(b)))


def key_by(order: Order) -> Callable[[bytes], Any]:
    """A key function for `sorted`, `min` and the like: it turns an item into an object that compares as it does."""
    return cmp_to_key(Comparison(order))


def key_bounds(order: Order, number: int, line: bytes) -> tuple[int, int]:
    """Where key `number` of the order begins and ends in a line without its terminator."""
    bounds = (ctypes.c_int64 * 2)()
    library().gm_key_bounds(order_spec(order), number, line, len(line), bounds)
    return bounds[0], bounds[1]
