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


def _partners(
    keys: tuple[Array, Array], numbers: tuple[Array, Array] | None, request: AsofRequest, threads: int
) -> NDArray[np.int64]:
    """The partners of sorted keys, as by asof_pairs.partners."""
    dtype = keys[0].dtype
    if dtype.kind == "S":
        return partners(np, keys, keys, numbers, request)  # type: ignore[no-any-return]
    limit: Any = request.limit
    if dtype.kind == "f":
        dtype, [limit] = max(dtype, np.dtype(np.float32)), struct.unpack("q", struct.pack("d", limit))
    order = Order.of(np.dtype(np.uint8) if dtype.kind == "b" else dtype)
    # No buffer holds dates, so they come as integers.
    a, b = (
        each.astype(dtype, copy=False).view(np.dtype(np.int64) if dtype.kind in "mM" else order.dtype) for each in keys
    )
    indices = np.empty(len(a), np.int64)
    asof_partners(order, (a, b), numbers, request.direction, limit, indices, threads)
    return indices
