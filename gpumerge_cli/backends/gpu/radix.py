"""The launches of a sort by digits (see sort_radix.cu), of items alone and of keys with their values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from gpumerge_cli.backends.gpu.launching import Call, Launch, Step, Take, zeros
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import begins_beside
from gpumerge_cli.backends.gpu.sort_policy import COUNTING_THREADS, DIGITS, counting_bytes, digit_shape
from gpumerge_cli.backends.gpu.source import digit_macros, shape_macros
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.order import Order
from gpumerge_cli.order.base import Macros

_WIDE = 1 << 30
"""From so many items on, a number of them and its two flags need 64 bits."""
_COUNTING_BLOCKS = 4  # of each multiprocessor
_COUNTED = 64  # bytes that a thread of count_digits should read at least
_SPREAD = 4
"""A pass of one block for so many multiprocessors begins beside the launch ahead of it. More blocks would share
multiprocessors with those that still run, and that costs more than it gains on an H200."""
_NUMBER = 8
_VECTOR = 16
_COUNTING_WORDS, _SORTING_WORDS = 6, 7  # of the arguments, ahead of ends


class Ends(NamedTuple):
    """Device addresses of what goes along with keys: their values, the sorted keys, the sorted values.

    Without values (0) they are the places of the keys, and come out as int64. The sorted keys may be left out (0).
    """

    values: int
    keys_out: int
    values_out: int


@dataclass(frozen=True)
class DigitSort:
    """All of a sort by digits that depends on neither addresses nor counts.

    counting, sorting: the macros of count_digits.cu and of sort_radix.cu, beside those of the order. tile: the items of
    a block of `threads` threads, which needs `shared` bytes. most_counting, most_sorting: blocks. counted: the items of
    a block that counts. plan_bytes: of all that is counted. tile_bytes: of what a tile says. most_beside: up to so many
    blocks, a pass begins before the launch ahead of it has ended.
    """

    counting: Macros
    sorting: Macros
    passes: int
    pairs: bool
    tile: int
    threads: int
    shared: int
    most_counting: int
    most_sorting: int
    width: int
    plan_bytes: int
    tile_bytes: int
    most_beside: int


def digit_sort(order: Order, limits: DeviceLimits, count: int, *, pairs: bool = False) -> DigitSort:
    """The sort of so many items. pairs: they are keys alone, and `order` is pair_order of theirs."""
    return _digit_sort(order, limits, count >= _WIDE, pairs)


@lru_cache(maxsize=256)
def _digit_sort(order: Order, limits: DeviceLimits, wide: bool, pairs: bool) -> DigitSort:
    shape, passes = digit_shape(order, limits), order.prefix_bytes
    counting = digit_macros(passes, wide=wide, pairs=pairs)
    return DigitSort(
        counting=counting,
        sorting=(*counting, *shape_macros(shape.block_size, shape.items_per_thread, shape.resident)),
        passes=passes,
        pairs=pairs,
        tile=shape.room,
        threads=shape.block_size,
        shared=shape.shared_bytes(order, wide=wide),
        most_counting=_COUNTING_BLOCKS * limits.multiprocessors,
        most_sorting=shape.resident * limits.multiprocessors,
        width=order.width,
        plan_bytes=_NUMBER * (passes * (DIGITS + 1) + 1),
        tile_bytes=min(passes, 2) * DIGITS * (8 if wide else 4),
        most_beside=limits.multiprocessors // _SPREAD if begins_beside(limits) else 0,
    )


class SortByDigits:
    """Sorts by digits of items, or if `pairs` of keys and their values or numbers.

    The order of `kernels` is that of the items, or pair_order of the keys.
    """

    def __init__(self, kernels: Kernels, *, pairs: bool = False) -> None:
        self._kernels, self._pairs = kernels, pairs
        self._ready: dict[bool, tuple[DigitSort, Launch, Launch]] = {}

    def of(self, count: int) -> tuple[DigitSort, Launch, Launch]:
        """The sort of so many items, and the kernels that count digits and that sort by one."""
        ready = self._ready.get(count >= _WIDE)
        if ready is None:
            kernels, pairs = self._kernels, self._pairs
            sort = digit_sort(kernels.order, kernels.limits, count, pairs=pairs)
            words, shared = _SORTING_WORDS + (len(Ends._fields) if pairs else 0), counting_bytes(sort.passes)
            ready = self._ready[count >= _WIDE] = (
                sort,
                kernels.ready("count_digits", COUNTING_THREADS, _COUNTING_WORDS, sort.counting, shared),
                kernels.ready("sort_radix", sort.threads, words, sort.sorting, sort.shared),
            )
        return ready

    def call(self, call: Call, take: Take) -> Iterator[Step]:
        """Sort an array."""
        addresses, _, total, out, values, moved = call
        size = -(-total * self._kernels.order.item_bytes // _VECTOR) * _VECTOR
        if not self._pairs:
            memory = take(size)
            yield from self.steps((addresses[0], total), (out, memory.ptr), take)
            return
        memory = take(2 * size)
        ends = Ends(values[0], out, moved) if moved else Ends(0, 0, out)
        yield from self.steps((addresses[0], total), (memory.ptr, memory.ptr + size), take, ends)

    def steps(self, items: Run, buffers: tuple[int, int], take: Take, ends: Ends | None = None) -> Iterator[Step]:
        """Sort items, at least one, stably.

        buffers: addresses of room for all items; the first one takes the result. Items may lie in the first one if the
        digits of a key are even in number, and in the second one otherwise. ends: of pairs, whose sorted keys and
        values go to the arrays of `ends`.
        """
        address, count = items
        sort, count_digits, sort_radix = self.of(count)
        tiles = -(-count // sort.tile)
        memory = take(sort.plan_bytes + tiles * sort.tile_bytes)
        plan, said = memory.ptr, memory.ptr + sort.plan_bytes
        yield zeros, sort.plan_bytes, (plan,), False
        where = 1 + buffers.index(address) if address in buffers else 0
        counted = -(-count * sort.width // (_COUNTED * COUNTING_THREADS))
        words = [address, count, where, plan, said, tiles * DIGITS]
        yield count_digits, min(sort.most_counting, counted), words, False
        blocks, along = min(tiles, sort.most_sorting), ends or ()
        beside = blocks <= sort.most_beside
        for digit in range(sort.passes):
            yield sort_radix, blocks, [address, *buffers, count, digit, plan, said, *along], beside


sort_by_digits = lru_cache(maxsize=256)(SortByDigits)
"""The same sorts for the same kernels."""
