"""A sort of items on one device, by addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.base import SortPolicy
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.sorting import Buffers, needs_scratch, sort_items
from gpumerge_cli.order import Order


def sort_directly(
    kernels: Kernels, policy: SortPolicy, order: Order, items: tuple[int, int], out: int, scratch: Callable[[], int]
) -> None:
    """Sort keys or small records, an address and a count, into `out`, on the current stream.

    scratch: gives the address of room for all items; called if the algorithm needs it.
    """
    room = scratch() if needs_scratch(policy, items[1]) else 0
    sort_items(kernels, policy, items, Buffers(out, room, order.item_bytes))


def view(address: int, count: int, dtype: np.dtype[Any], owner: object = None) -> cupy.ndarray:
    """Items at an address of the current device as an array. owner: what the array keeps alive."""
    memory = cupy.cuda.UnownedMemory(address, max(1, count * dtype.itemsize), owner, cupy.cuda.Device().id)
    return cupy.ndarray((count,), dtype, memptr=cupy.cuda.MemoryPointer(memory, 0))
