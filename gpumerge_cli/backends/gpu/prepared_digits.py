"""Sorts by digits that are ready to launch: what radix.py decides, launched at less cost to the host."""

from __future__ import annotations

from typing import Any

from gpumerge_cli.backends.gpu.launching import Launch, current_stream, scratch
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.radix import Ends, macros_by_digits, sort_by_digits
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order import Order
from gpumerge_cli.order.base import Macros

_VECTOR = 16


class _Words(Ends):
    """Ends whose argument is its words."""

    def argument(self) -> Any:
        return (self.values, self.keys_out, self.values_out)


class DigitPasses:
    """Sorts by digits of keys, or of keys with their values or numbers. order: theirs, or its pair_order."""

    def __init__(self, kernels: Kernels, order: Order, limits: DeviceLimits) -> None:
        self._kernels, self._order, self._limits = kernels, order, limits
        self._ready: dict[tuple[str, Macros], Launch] = {}

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
        self._sort((items, count), (room.ptr, room.ptr + size), stream, _Words(values, out, moved))

    def _bytes(self, count: int) -> int:
        return -(-count * self._order.item_bytes // _VECTOR) * _VECTOR

    def _sort(self, items: tuple[int, int], buffers: tuple[int, int], stream: int, ends: Ends | None) -> None:
        def launch(
            name: str, blocks: int, threads: int, arguments: tuple[Any, ...], *, macros: Macros, shared: int
        ) -> None:
            words: list[int] = []
            for argument in arguments:
                words += argument if isinstance(argument, tuple) else (argument,)
            ready = self._ready.get((name, macros))
            if ready is None:
                ready = self._ready[name, macros] = self._kernels.ready(name, threads, len(words), macros, shared)
            ready(blocks, stream, words)

        if not self._ready:  # both kernels are compiled side by side
            macros = macros_by_digits(self._order, self._limits, items[1], pairs=ends is not None)
            for name, each in zip(("count_digits", "sort_radix"), macros, strict=True):
                self._kernels.begin(name, each)
        sort_by_digits(launch, self._order, self._limits, items, buffers, ends)
