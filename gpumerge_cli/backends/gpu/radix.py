"""The launches of a sort by digits (see sort_radix.cu), of items alone and of keys with their values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from gpumerge_cli.backends.gpu.launching import Allocate, Launch, Step, zeros
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.sort_policy import COUNTING_THREADS, counting_bytes, digit_shape
from gpumerge_cli.backends.gpu.source import digit_macros, shape_macros
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.kernel_sizes import kernel_size, whole_vectors

_WIDE = 1 << 30
"""From so many items on, a count with its two flags needs 64 bits."""
_COUNTING_BLOCKS = 4  # of each multiprocessor
_COUNTED = 64  # bytes that a thread of count_digits should read at least
_SPREAD = 4
"""A pass with at most one block for so many multiprocessors begins before the previous launch ends. More blocks would
share multiprocessors with those that still run, which costs more than it gains on an H200."""
_DIGITS = kernel_size("DIGITS")


class PairAddresses(NamedTuple):
    """Device addresses of the arrays that go with keys."""

    values: int
    """The values of the keys; 0 if their indices, as int64, take the place of values."""
    keys_out: int
    """The output for the sorted keys; 0 to leave them out."""
    values_out: int
    """The output for the sorted values."""


class SortByDigits:
    """Sorts by digits: of items or, with `pairs`, of keys with their values or indices.

    The order of `kernels` is that of the items, or pair_order of the keys.
    """

    def __init__(self, kernels: Kernels, *, pairs: bool = False) -> None:
        order, limits = kernels.order, kernels.limits
        self._kernels, self._pairs = kernels, pairs
        self._shape = digit_shape(order, limits)
        self._passes, self._width, self._tile = order.prefix_bytes, order.width, self._shape.room
        self._plan_bytes = kernel_size("plan_bytes", self._passes)
        self._most_counting = _COUNTING_BLOCKS * limits.multiprocessors
        self._most_sorting = self._shape.resident * limits.multiprocessors
        self._most_dependent = limits.multiprocessors // _SPREAD if limits.has_dependent_launches else 0
        self._ready: dict[bool, tuple[Launch, Launch, int]] = {}

    def of(self, count: int) -> tuple[Launch, Launch, int]:
        """The kernel that counts digits, the one that sorts by one, and the bytes that a tile publishes."""
        wide = count >= _WIDE
        ready = self._ready.get(wide)
        if ready is None:
            kernels, shape, passes = self._kernels, self._shape, self._passes
            counting = digit_macros(passes, wide=wide, pairs=self._pairs)
            sorting = (*counting, *shape_macros(shape.block_size, shape.items_per_thread, shape.resident))
            shared = shape.shared_bytes(kernels.order, wide=wide)
            ready = self._ready[wide] = (
                kernels.ready("count_digits", COUNTING_THREADS, counting, counting_bytes(passes)),
                kernels.ready("sort_radix", shape.block_size, sorting, shared),
                kernel_size("published_bytes", min(passes, kernel_size("HELD_PASSES")), 8 if wide else 4),
            )
        return ready

    def array_steps(
        self,
        addresses: list[int],
        counts: list[int],
        total: int,
        out: int,
        values: list[int],
        moved: int,
        allocate: Allocate,
    ) -> Iterator[Step]:
        """Sort an array: see launching.ArraySteps."""
        size = whole_vectors(total * self._kernels.order.item_bytes)
        if not self._pairs:
            memory = allocate(size)
            yield from self.steps((addresses[0], total), (out, memory.ptr), allocate)
            return
        memory = allocate(2 * size)
        ends = PairAddresses(values[0], out, moved) if moved else PairAddresses(0, 0, out)
        yield from self.steps((addresses[0], total), (memory.ptr, memory.ptr + size), allocate, ends)

    def steps(
        self, items: Run, buffers: tuple[int, int], allocate: Allocate, ends: PairAddresses | None = None
    ) -> Iterator[Step]:
        """Sort items, at least one, stably.

        buffers: addresses of room for all items; the first one takes the result. Items may lie in the first one if the
        digits of a key are even in number, and in the second one otherwise. ends: of pairs, whose sorted keys and
        values go to the arrays of `ends`.
        """
        address, count = items
        count_digits, sort_radix, tile_bytes = self.of(count)
        tiles, plan_bytes = -(-count // self._tile), self._plan_bytes
        memory = allocate(plan_bytes + tiles * tile_bytes)
        plan, published = memory.ptr, memory.ptr + plan_bytes
        yield zeros, plan_bytes, (plan,), False
        where = 1 + buffers.index(address) if address in buffers else 0
        counted = -(-count * self._width // (_COUNTED * COUNTING_THREADS))
        words = [address, count, where, plan, published, tiles * _DIGITS]
        yield count_digits, min(self._most_counting, counted), words, False
        blocks, along = min(tiles, self._most_sorting), ends or ()
        dependent = blocks <= self._most_dependent
        for digit in range(self._passes):
            yield sort_radix, blocks, [address, *buffers, count, digit, plan, published, *along], dependent


sort_by_digits = lru_cache(maxsize=256)(SortByDigits)
"""The same sorts for the same kernels."""
