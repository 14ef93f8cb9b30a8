"""As-of joins of sorted arrays, as indices. `xp` is the module of the arrays, NumPy or CuPy.

The CPU's library joins numbers in host memory (kernels/cpu/keys_asof.hpp). The functions here do the same with whole
arrays: on a GPU, and for bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from math import floor, inf, isnan
from typing import Any

import numpy as np

from gpumerge_cli.arrays.options import short_repr
from gpumerge_cli.arrays.searching import search_ranks
from gpumerge_cli.arrays.subnormals import exact
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.order.asof import AsofDirection

_MOST = (1 << 64) - 1
"""The largest distance of two integers."""
_NAT = np.iinfo(np.int64).min
_NONE = -1
"""The index of a missing partner."""


@dataclass(frozen=True)
class AsofRequest:
    """The rules of an as-of join, as they were checked."""

    direction: AsofDirection
    limit: float | int
    """The largest distance of partners, in the units of the keys; infinity or the largest integer for any."""
    groups: tuple[Any, Any] | None
    """The exact keys of both sides, of one dtype, if there are any."""
    check: bool
    """Whether items must ascend within each group."""


@dataclass(frozen=True)
class Grouped:
    """Both sides of a join in the order of their groups, and within these in their own order."""

    places: tuple[Any, Any]
    """The index of each item of a side, int64."""
    numbers: tuple[Any, Any]
    """The number of each item's group, int64, ascending."""

    def ungrouped(self, xp: Any, found: Any) -> Any:
        """Indices into both sides as they were given. found: for each item of the left side in this order, or -1."""
        out = xp.empty(len(found), np.int64)
        if len(self.places[1]):
            found = xp.where(found < 0, _NONE, self.places[1][found])
        out[self.places[0]] = found
        return out


def limit_of(tolerance: Any, dtype: np.dtype[Any], direction: AsofDirection) -> float | int:
    """The limit for keys of a dtype: see AsofRequest. Raises UsageError for a tolerance that is no distance of them."""
    kind = dtype.kind
    if kind in "SV":
        if tolerance is not None or direction == "nearest":
            what = "tolerance" if tolerance is not None else f"direction={direction!r}"
            raise UsageError(f"{what}: bytes have no distances", way_out="leave it out, or give numbers or dates")
        return _MOST
    if tolerance is None:
        return inf if kind == "f" else _MOST
    limit = _time_span(tolerance, dtype) if kind in "mM" else _number(tolerance)
    if limit is None or isnan(limit):
        needed = "a time span, numpy.timedelta64(5, 's')" if kind in "mM" else "a number"
        raise UsageError(f"tolerance={short_repr(tolerance)} is not a distance of {dtype}", way_out=f"give {needed}")
    if limit < 0:
        raise UsageError(f"tolerance={short_repr(tolerance)} is negative", way_out="give 0 or more")
    if kind == "f":
        return float(limit)
    return _MOST if limit >= _MOST else floor(limit)


def _number(tolerance: Any) -> float | int | None:
    numbers = int | float | np.integer | np.floating
    if isinstance(tolerance, bool | np.timedelta64) or not isinstance(tolerance, numbers):  # NumPy's spans are integers
        return None
    return int(tolerance) if isinstance(tolerance, int | np.integer) else float(tolerance)


def _time_span(tolerance: Any, dtype: np.dtype[Any]) -> int | None:
    """The tolerance in units of the dtype, rounded down."""
    if hasattr(tolerance, "to_timedelta64"):  # of pandas
        tolerance = tolerance.to_timedelta64()
    if not isinstance(tolerance, np.timedelta64 | timedelta):
        return None
    span = np.timedelta64(tolerance)
    (own, times), (unit, count) = np.datetime_data(span.dtype), np.datetime_data(dtype)
    if np.isnat(span) or "generic" in (own, unit):
        return None
    # As integers of Python, which do not overflow.
    units, its, theirs = int(span.astype(np.int64)) * times, np.array(1, f"m8[{own}]"), np.array(1, f"m8[{unit}]")
    try:
        if its >= theirs:
            return units * round(float(its / theirs)) // count
        return units // (round(float(theirs / its)) * count)
    except (TypeError, OverflowError):  # months and days have no ratio
        return None


def grouped(xp: Any, by: tuple[Any, Any], argsort: Callable[[Any], Any]) -> Grouped:
    """The order of groups of equal exact keys. by: those of both sides. argsort: a stable one, of all but strings."""
    keys = xp.concatenate(by)
    order = np.argsort(keys, kind="stable") if keys.dtype.kind == "U" else argsort(keys)
    here, ahead = keys[order[1:]], keys[order[:-1]]
    new = here != ahead
    if keys.dtype.kind in "fmM":  # NaN and NaT do not equal themselves
        new &= (here == here) | (ahead == ahead)
    numbers = xp.zeros(len(keys), np.int64)
    numbers[1:] = xp.cumsum(new)
    of_a = order < len(by[0])
    of_b = ~of_a
    return Grouped((order[of_a], order[of_b] - len(by[0])), (numbers[of_a], numbers[of_b]))


def check_groups(xp: Any, images: tuple[Any, Any], found: Grouped) -> None:
    """Raises DisorderError if an item goes before another one of its group that lies ahead. images: in group order."""
    for side, (keys, numbers, places) in enumerate(zip(images, found.numbers, found.places, strict=True)):
        wrong = (numbers[1:] == numbers[:-1]) & (keys[1:] < keys[:-1])
        if keys.dtype.kind in "fmM":  # NaN and NaT are last
            wrong |= (numbers[1:] == numbers[:-1]) & (keys[1:] == keys[1:]) & (keys[:-1] != keys[:-1])
        if wrong.any():
            at = int(xp.flatnonzero(wrong)[0])
            raise DisorderError(
                f"disorder: it should come before the item at index {int(places[at])}, which has the same exact key",
                where=f"array {side}, index {int(places[at + 1])}",
                way_out="sort it first, with gpumerge_cli.sort",
            )


def partners(
    xp: Any,
    keys: tuple[Any, Any],
    images: tuple[Any, Any],
    numbers: tuple[Any, Any] | None,
    request: AsofRequest,
    *,
    dated: bool = False,
) -> Any:
    """For each item of A the index of its partner in B, or -1. See gpumerge_cli.asof_join.

    keys: numbers, dates or bytes, whose distances count. images: sorted arrays that order as the keys do, and as their
    groups first. numbers: of the groups, if there are any, as in Grouped. request: its groups are not looked at. dated:
    keys are dates or time spans as int64, the least of which is NaT.
    """
    a, b = keys
    if not len(b):
        return xp.full(len(a), _NONE)
    place = search_ranks(xp, [images[1]], images[0], "left" if request.direction == "forward" else "right")
    found = place if request.direction == "forward" else place - 1
    last = len(b) - 1
    may = _may(keys, numbers, found, dated)
    if request.direction == "nearest":
        may_behind = _may(keys, numbers, place, dated)
        nearer = _distances(xp, b[place.clip(0, last)], a) < _distances(xp, a, b[found.clip(0, last)])
        behind = may_behind & (~may | nearer)
        found, may = xp.where(behind, place, found), may | behind
    if request.limit not in (inf, _MOST):
        may &= _distances(xp, a, b[found.clip(0, last)]) <= _as_limit(a.dtype, request.limit)
    return xp.where(may, found, _NONE)


def in_one_order(xp: Any, images: tuple[Any, Any], found: Grouped) -> tuple[Any, Any]:
    """Integers that order as groups and then images do: those of items are in the order of groups."""
    every = xp.sort(xp.concatenate(images))
    ranks = [search_ranks(xp, [every], each, "left") for each in images]
    a, b = (numbers * (len(every) + 1) + rank for numbers, rank in zip(found.numbers, ranks, strict=True))
    return a, b


def _may(keys: tuple[Any, Any], numbers: tuple[Any, Any] | None, found: Any, dated: bool) -> Any:
    """Whether each item of A may have the item of B at this place, if there is one, as its partner."""
    a, b = keys
    at = found.clip(0, len(b) - 1)
    may = found == at
    if numbers is not None:
        may &= numbers[0] == numbers[1][at]
    if dated:
        return may & (a != _NAT) & (b[at] != _NAT)
    return may & (a == a) & (b[at] == b[at]) if a.dtype.kind in "fmM" else may


def _distances(xp: Any, x: Any, y: Any) -> Any:
    """The distances of numbers or dates: float64 of floats, else uint64."""
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            x, y = exact(x).astype(np.float64), exact(y).astype(np.float64)
            return xp.where(x == y, 0.0, abs(x - y))  # equal infinities have no difference
    if x.dtype.kind in "mM":
        x, y = x.view(np.int64), y.view(np.int64)
    greater = x > y
    x, y = x.astype(np.uint64), y.astype(np.uint64)
    return xp.where(greater, x - y, y - x)


def _as_limit(dtype: np.dtype[Any], limit: float | int) -> Any:
    return np.float64(limit) if dtype.kind == "f" else np.uint64(limit)
