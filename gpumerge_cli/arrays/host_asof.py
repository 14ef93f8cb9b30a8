"""As-of joins of NumPy arrays, by the CPU."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.asof_pairs import AsofRequest, check_groups, grouped, in_one_order, partners
from gpumerge_cli.arrays.call import Call
from gpumerge_cli.arrays.keys import Array
from gpumerge_cli.arrays.options import in_native_order
from gpumerge_cli.native.asof import asof_partners
from gpumerge_cli.order.asof import AsofDirection
from gpumerge_cli.order.kinds import Order


def asof_indices(call: Call, request: AsofRequest, argsort: Callable[[Any], Any]) -> NDArray[np.int64]:
    """For each item of the first array the index of its partner in the second one, or -1. argsort: see grouped."""
    a, b = (np.ascontiguousarray(keys, in_native_order(keys.dtype)) for keys in call.comparable())
    if request.groups is None:
        return _partners((a, b), None, request, call.threads)
    found = grouped(np, request.groups, argsort)
    a, b = (keys[places] for keys, places in zip((a, b), found.places, strict=True))
    if request.check:
        check_groups(np, (a, b), found)
    if a.dtype.kind == "S":
        partner = partners(np, (a, b), in_one_order(np, (a, b), found), found.numbers, request)
    else:
        partner = _partners((a, b), found.numbers, request, call.threads)
    return found.ungrouped(np, partner)  # type: ignore[no-any-return]


def only_partners(a: Array, b: Array, *, descending: bool, threads: int) -> NDArray[np.int64]:
    """For each item of `a` the index of the one that equals it in `b`, or -1, as by key_pairs.partners_in_order.

    a, b: sorted numbers or dates, each of them once. NaN equals NaN, and NaT equals NaT.
    """
    found = _by_library((a, b), None, ("backward", 0), descending, threads)
    if len(a) and len(b) and a.dtype.kind in "fmM":
        i, j = (0, 0) if descending else (len(a) - 1, len(b) - 1)
        if a[i] != a[i] and b[j] != b[j]:
            found[i] = j
    return found


def _partners(
    keys: tuple[Array, Array], numbers: tuple[Array, Array] | None, request: AsofRequest, threads: int
) -> NDArray[np.int64]:
    """The partners of sorted keys, as by asof_pairs.partners."""
    if keys[0].dtype.kind == "S":
        return partners(np, keys, keys, numbers, request)  # type: ignore[no-any-return]
    return _by_library(keys, numbers, (request.direction, request.limit), False, threads)


def _by_library(
    keys: tuple[Array, Array],
    numbers: tuple[Array, Array] | None,
    rule: tuple[AsofDirection, float],
    descending: bool,
    threads: int,
) -> NDArray[np.int64]:
    """The partners of sorted numbers or dates. rule: the direction and the limit; see AsofRequest."""
    dtype, (direction, limit) = in_native_order(keys[0].dtype), rule
    if dtype.kind == "f":
        dtype, [limit] = max(dtype, np.dtype(np.float32)), struct.unpack("q", struct.pack("d", limit))
    order = Order.of(np.dtype(np.uint8) if dtype.kind == "b" else dtype, descending=descending)
    # No buffer holds dates, so they come as integers.
    seen = np.dtype(np.int64) if dtype.kind in "mM" else order.dtype
    a, b = (np.ascontiguousarray(each, dtype).view(seen) for each in keys)
    indices = np.empty(len(a), np.int64)
    asof_partners(order, (a, b), numbers, direction, int(limit), indices, threads)
    return indices
