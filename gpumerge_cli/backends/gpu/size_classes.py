"""Sorts by classes of size: small tiles keep more of the device busy, and few items need no large ones."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gpumerge_cli.backends.base import FAN_INS, LaunchRequest, SortRequest
from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.passes import SortPasses
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.gpu.sort_policy import TileShape, resolve_sort, tile_shared_bytes
from gpumerge_cli.backends.limits import MAX_GRID, DeviceLimits
from gpumerge_cli.order import Order

_FAN_IN = FAN_INS[-1]
"""Few passes, because each of them costs the host a launch."""
_MERGES = (256, 7)
"""Threads a block and items a thread of the pass that merges small tiles."""


class _Small(NamedTuple):
    """A small tile. alone: it is a sort of its own. merged: the item bytes for which a pass merges such tiles."""

    shape: TileShape
    alone: bool
    merged: tuple[int, ...]


_SMALL = (
    _Small(TileShape(256, 5), True, (12, 16)),
    _Small(TileShape(512, 9), True, (1, 2, 4, 8, 12, 16)),
    _Small(TileShape(1024, 9), False, (1, 2, 4, 8)),
)
"""The fastest of a sweep on an H200 for 2^10 to 2^17 items of int32, float32, int64 and records of 8 and 12 bytes."""


class SizeClass(NamedTuple):
    """Sorts of up to `most` items."""

    most: int
    passes: SortPasses


def size_classes(kernels: Kernels, order: Order, limits: DeviceLimits, columns: Columns | None) -> list[SizeClass]:
    """The classes for items of an order, by ascending sizes.

    One tile is sorted alone, by the smallest shape that holds it. More tiles are so small that one pass merges them, if
    that is possible.
    """
    usual = resolve_sort(SortRequest("merge", LaunchRequest(fan_in=_FAN_IN)), order, limits, 0)
    request = LaunchRequest(fan_in=_FAN_IN, block_size=_MERGES[0], items_per_thread=_MERGES[1])
    alone, merged = [], []
    for shape, by_itself, sizes in _SMALL:
        fits = shape.block_size <= limits.max_threads and tile_shared_bytes(shape, order) <= limits.dynamic_shared
        if not fits or shape.room >= usual.tile:
            continue
        policy = replace(usual, launch=resolve(request, order, limits, _FAN_IN), tile=shape.room)
        passes = SortPasses(kernels, policy, limits, columns, shape)
        if by_itself:
            alone.append(SizeClass(shape.room, passes))
        if order.item_bytes in sizes:
            merged.append(SizeClass(_FAN_IN * shape.room, passes))
    return [*alone, *merged, SizeClass(MAX_GRID, SortPasses(kernels, usual, limits, columns))]
