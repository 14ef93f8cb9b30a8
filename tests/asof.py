"""As-of joins in plain Python: each item of A looks at all items of B."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

Row = tuple[Hashable, Any]
"""(the keys that must be equal, the value of the last key; None for a null and for what is no value)."""


def partners(
    a: Sequence[Row],
    b: Sequence[Row],
    direction: str,
    tolerance: Any = None,
    distance: Callable[[Any, Any], Any] = lambda low, high: high - low,
) -> list[int | None]:
    """The number of the item of B that goes beside each item of A. distance: of a value and a greater or equal one."""
    by_key: dict[Hashable, list[tuple[Any, int]]] = {}
    for number, (key, value) in enumerate(b):
        if value is not None:
            by_key.setdefault(key, []).append((value, number))
    return [_partner(value, by_key.get(key, ()), direction, tolerance, distance) for key, value in a]


def partners_of_descending(a: Sequence[Row], b: Sequence[Row], *options: Any) -> list[int | None]:
    """The same where last keys descend: as if both were read from their ends. options: those of partners."""
    return [None if one is None else len(b) - 1 - one for one in partners(a, b[::-1], *options)]


def _partner(
    value: Any, others: Sequence[tuple[Any, int]], direction: str, tolerance: Any, distance: Callable[[Any, Any], Any]
) -> int | None:
    if value is None:
        return None
    before = max((one for one in others if one[0] <= value), default=None)  # of equal values the last one
    behind = min((one for one in others if one[0] >= value), default=None)  # and the first one
    if direction != "nearest" and tolerance is None:
        one = before if direction == "backward" else behind
        return None if one is None else one[1]
    found = []
    if before is not None and direction != "forward":
        found.append((0 if before[0] == value else distance(before[0], value), 0, before[1]))
    if behind is not None and direction != "backward":
        found.append((0 if behind[0] == value else distance(value, behind[0]), 1, behind[1]))
    if not found:
        return None
    far, _, number = min(found)
    return number if tolerance is None or far <= tolerance else None


def float_or_none(value: float) -> float | None:
    """A float; None for NaN."""
    return None if math.isnan(value) else value
