"""The launches of a sort by digits (see sort_radix.cu), of items alone and of keys with their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.launching import current_stream, scratch
from gpumerge_cli.backends.gpu.sort_policy import COUNTING_THREADS, DIGITS, counting_bytes, digit_shape
from gpumerge_cli.backends.gpu.source import digit_macros, shape_macros
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order import Order
from gpumerge_cli.order.base import Macros

Launch = Callable[..., None]
_WIDE = 1 << 30
"""From so many items on, a number of them and its two flags need 64 bits."""
_COUNTING_BLOCKS = 4  # of each multiprocessor
_COUNTED = 64  # bytes that a thread of count_digits should read at least
_NUMBER = 8


@dataclass(frozen=True)
class Ends:
    """Device addresses of what goes along with keys: their values, the sorted keys, the sorted values.

    Without values (0) they are the places of the keys, and come out as int64. The sorted keys may be left out (0).
    """

    values: int
    keys_out: int
    values_out: int

    def argument(self) -> Any:
        """The struct as kernels take it."""
        return np.array([self.values, self.keys_out, self.values_out], np.int64).view(f"V{3 * _NUMBER}")


@lru_cache(maxsize=256)
def macros_by_digits(order: Order, limits: DeviceLimits, count: int, *, pairs: bool = False) -> tuple[Macros, Macros]:
    """The macros of count_digits.cu and of sort_radix.cu for so many items, beside those of the order."""
    counting = digit_macros(order.prefix_bytes, wide=count >= _WIDE, pairs=pairs)
    shape = digit_shape(order, limits)
    return counting, (*counting, *shape_macros(shape.block_size, shape.items_per_thread, shape.resident))


def sort_by_digits(
    launch: Launch,
    order: Order,
    limits: DeviceLimits,
    items: tuple[int, int],
    buffers: tuple[int, int],
    ends: Ends | None = None,
) -> None:
    """Sort items, an address and a count of at least one, stably, on the current stream.

    launch: Kernels.launch for `order`. buffers: addresses of room for all items; the first one takes the result. Items
    may lie in the first one if the digits of a key are even in number, and in the second one otherwise. ends: the items
    are keys alone, and `order` is pair_order of theirs; the sorted keys and values go to the arrays of `ends`.
    """
    address, count = items
    shape, passes, wide = digit_shape(order, limits), order.prefix_bytes, count >= _WIDE
    counting, sorting = macros_by_digits(order, limits, count, pairs=ends is not None)
    tiles = -(-count // shape.room)
    said = tiles * DIGITS
    plan_bytes = _NUMBER * (passes * (DIGITS + 1) + 1)
    stream = current_stream()
    room = scratch(plan_bytes + min(passes, 2) * said * (8 if wide else 4), stream)
    cupy.cuda.runtime.memsetAsync(room.ptr, 0, plan_bytes, stream)
    shared = room.ptr, room.ptr + plan_bytes
    where = 1 + buffers.index(address) if address in buffers else 0
    most = _COUNTING_BLOCKS * limits.multiprocessors
    launch(
        "count_digits", min(most, -(-count * order.width // (_COUNTED * COUNTING_THREADS))), COUNTING_THREADS,
        (address, count, where, *shared, said), macros=counting, shared=counting_bytes(passes),
    )  # fmt: skip
    along = () if ends is None else (ends.argument(),)
    for digit in range(passes):
        launch(
            "sort_radix", min(tiles, shape.resident * limits.multiprocessors), shape.block_size,
            (address, *buffers, count, digit, *shared, *along),
            macros=sorting, shared=shape.shared_bytes(order, wide=wide),
        )  # fmt: skip
