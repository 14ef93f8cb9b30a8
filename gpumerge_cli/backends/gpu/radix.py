"""The launches of a sort by digits (see sort_radix.cu), of items alone and of keys with their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.sort_policy import DIGITS, DigitShape, digit_shape
from gpumerge_cli.backends.gpu.source import digit_macros
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order import Order

Launch = Callable[..., None]
_FILE = "sort_radix.cu"
_WIDE = 1 << 30
"""From so many items on, a number of them and its two flags need 64 bits."""
_COUNTING_BLOCKS = 4  # of each multiprocessor
_COUNTED = 256  # bytes that a thread of sort_histogram should read at least
_NUMBER = 8
_MOST_NARROW = 1 << 32


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


def sort_by_digits(
    launch: Launch,
    order: Order,
    limits: DeviceLimits,
    items: tuple[int, int],
    buffers: tuple[int, int],
    ends: Ends | None = None,
) -> None:
    """Sort items, an address and a count of at least one, stably, on the current stream.

    launch: Kernels.launch for `order`. buffers: room for all items twice. The first one takes the result. The items may
    lie in one of the buffers: in the first if the digits of a key are even in number, otherwise in the second one. ends:
    the items are keys alone, and `order` is one of records: these keys, each with a value. The sorted records then lie
    in the arrays of `ends`.
    """
    address, count = items
    shape = digit_shape(order, limits)
    wide, passes, word = count >= _WIDE, order.prefix_bytes, 8 if count >= _WIDE else 4
    macros = digit_macros(shape.block_size, shape.items_per_thread, shape.resident, passes, wide, ends is not None)
    tiles = -(-count // shape.room)
    plan_bytes = _NUMBER * (passes * (DIGITS + 1) + 1)
    said = tiles * DIGITS
    room = cupy.cuda.alloc(plan_bytes + min(passes, 2) * said * word)
    plan, lookback = room.ptr, room.ptr + plan_bytes
    room.memset_async(0, plan_bytes)
    blocks = min(_COUNTING_BLOCKS * limits.multiprocessors, -(-count * order.width // (_COUNTED * shape.block_size)))
    where = 1 + buffers.index(address) if address in buffers else 0
    launch(
        "sort_histogram", blocks, shape.block_size, (address, count, where, plan, lookback, said),
        file=_FILE, macros=macros, shared=shape.counting_bytes(passes),
    )  # fmt: skip
    blocks = min(tiles, shape.resident * limits.multiprocessors)
    along = () if ends is None else (ends.argument(),)
    for digit in range(passes):
        launch(
            "sort_pass", blocks, shape.block_size, (address, *buffers, count, digit, plan, lookback, *along),
            file=_FILE, macros=macros, shared=shape.pass_bytes(order, wide),
        )  # fmt: skip


def pair_order(order: Order, value_bytes: int) -> Order:
    """The order of records of a key and a value of 4 or 8 bytes."""
    return Order.records(max(4, order.width) + value_bytes, 0, order.dtype, descending=order.descending)


def index_bytes(count: int) -> int:
    """The bytes of the places of so many keys."""
    return 4 if count <= _MOST_NARROW else 8
