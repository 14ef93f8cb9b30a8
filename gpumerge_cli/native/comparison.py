"""Comparisons of single items by the library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import order_spec
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from gpumerge_cli.order.kinds import Order


class Comparison:
    """Compares two items by the library."""

    def __init__(self, order: Order) -> None:
        self._compare = library().gm_compare
        self._order = order_spec(order)

    def __call__(self, a: bytes, b: bytes) -> int:
        """Negative, zero or positive if `a` goes before, with or behind `b`. Lines come without their terminators."""
        return int(self._compare(self._order, a, len(a), b, len(b)))


def key_by(order: Order) -> Callable[[bytes], Any]:
    """A key function for `sorted`, `min` and the like. It turns items into objects that compare in this order."""
    return cmp_to_key(Comparison(order))


def is_invalid(order: Order, number: int, line: bytes) -> bool:
    """Whether key `number` of a line without its terminator is no value of its kind, and no null."""
    return bool(library().gm_is_invalid(order_spec(order), number, line, len(line)))


def key_bounds(order: Order, number: int, line: bytes) -> tuple[int, int]:
    """The places where key `number` of the order begins and ends in a line without its terminator."""
    bounds = (ctypes.c_int64 * 2)()
    library().gm_key_bounds(order_spec(order), number, line, len(line), bounds)
    return bounds[0], bounds[1]


def read_duration(text: str) -> int | None:
    """The nanoseconds of a duration as keys of that kind have it, "1h30m" or "250ms"; None for another text."""
    found = (ctypes.c_int64 * 3)()
    data = text.encode("utf-8", "surrogateescape")
    if not library().gm_read_duration(data + bytes(TEXT_PADDING), len(data), found):
        return None
    seconds, nanos, negative = found
    return -(seconds * 10**9 + nanos) if negative else seconds * 10**9 + nanos


@dataclass(frozen=True)
class ReadTime:
    """A time in a line."""

    seconds: int
    """Since 1970, in UTC."""
    nanos: int
    """Nanoseconds behind them."""
    begin: int
    """The place in the line at which it begins."""
    end: int


def read_time(order: Order, number: int, line: bytes) -> ReadTime | None:
    """Key `number` of a line, whose kind is a time; None if it is none."""
    found = (ctypes.c_int64 * 4)()
    return ReadTime(*found) if library().gm_read_time(order_spec(order), number, line, len(line), found) else None
