"""Sorts by digits that are ready to launch: what radix.py decides is decided once."""

from __future__ import annotations

from gpumerge_cli.backends.gpu.launching import current_stream, scratch
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.radix import DigitKernels, Ends, sort_by_digits
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order import Order

_VECTOR = 16


class DigitPasses:
    """Sorts by digits of keys, or only of keys with their values or numbers. order: theirs, or its pair_order."""

    def __init__(self, kernels: Kernels, order: Order, limits: DeviceLimits) -> None:
        self._item_bytes = order.item_bytes
        self._ready = DigitKernels(kernels, order, limits)

    def begin(self, count: int) -> None:
        """Compile the kernels for so many keys in the background."""
        self._ready.of(count, pairs=False)

    def keys(self, items: int, count: int, out: int) -> None:
        """Sort keys into `out`."""
        stream = current_stream()
        room = scratch(self._bytes(count), stream)
        self._sort((items, count), (out, room.ptr), stream, None)

    def items(self, items: Run, out: int, room: int) -> None:
        """Sort keys into `out`, with room for as many."""
        self._sort(items, (out, room), current_stream(), None)

    def pairs(self, items: int, count: int, values: int, out: int, moved: int) -> None:
        """Sort keys into `out`, unless it is 0, and their values into `moved`. values: 0 if numbers are wanted."""
        stream, size = current_stream(), self._bytes(count)
        room = scratch(2 * size, stream)
        self._sort((items, count), (room.ptr, room.ptr + size), stream, Ends(values, out, moved))

    def _bytes(self, count: int) -> int:
        return -(-count * self._item_bytes // _VECTOR) * _VECTOR

    def _sort(self, items: Run, buffers: tuple[int, int], stream: int, ends: Ends | None) -> None:
        ready = self._ready.of(items[1], pairs=ends is not None)
        sort_by_digits(*ready, items, buffers, stream, ends)
