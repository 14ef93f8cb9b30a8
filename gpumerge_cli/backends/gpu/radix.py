"""The launches of a sort by digits (see sort_radix.cu), of items alone and of keys with their values."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import cupy

from gpumerge_cli.backends.gpu.launching import Launch, scratch
from gpumerge_cli.backends.gpu.policy import begins_beside
from gpumerge_cli.backends.gpu.sort_policy import COUNTING_THREADS, DIGITS, counting_bytes, digit_shape
from gpumerge_cli.backends.gpu.source import digit_macros, shape_macros
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
_COUNTING_WORDS, _SORTING_WORDS = 6, 7  # of the arguments, ahead of ends


class _Queue(Protocol):
    """See launching.Launch."""

    def __call__(self, blocks: int, stream: int, words: list[int], *, beside: bool = False) -> None: ...


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


class _Compiler(Protocol):
    """See module.Kernels."""

    def ready(self, name: str, threads: int, words: int, macros: Macros, shared: int) -> Launch: ...


def digit_sort(order: Order, limits: DeviceLimits, count: int, *, pairs: bool = False) -> DigitSort:
    """The sort of so many items. pairs: they are keys alone, and `order` is pair_order of theirs."""
    return _digit_sort(order, limits, is_wide(count), pairs)


def is_wide(count: int) -> bool:
    """Whether kernels for so many items count in 64 bits. All else of a sort depends on its order alone."""
    return count >= _WIDE


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


def ready_by_digits(kernels: _Compiler, sort: DigitSort) -> tuple[Launch, Launch]:
    """The kernels that count digits and that sort by one."""
    words = _SORTING_WORDS + (len(Ends._fields) if sort.pairs else 0)
    return (
        kernels.ready(
            "count_digits", COUNTING_THREADS, _COUNTING_WORDS, sort.counting, counting_bytes(sort.passes)
        ),
        kernels.ready("sort_radix", sort.threads, words, sort.sorting, sort.shared),
    )  # fmt: skip


class DigitKernels:
    """The kernels of sorts by digits for one order. They are made ready once."""

    def __init__(self, kernels: _Compiler, order: Order, limits: DeviceLimits) -> None:
        self._kernels, self._order, self._limits = kernels, order, limits
        self._ready: dict[tuple[bool, bool], tuple[DigitSort, tuple[Launch, Launch]]] = {}

    def of(self, count: int, *, pairs: bool) -> tuple[DigitSort, tuple[Launch, Launch]]:
        """The sort of so many items, and its kernels. pairs: see digit_sort."""
        kind = is_wide(count), pairs
        ready = self._ready.get(kind)
        if ready is None:
            sort = digit_sort(self._order, self._limits, count, pairs=pairs)
            ready = self._ready[kind] = sort, ready_by_digits(self._kernels, sort)
        return ready


def sort_by_digits(
    sort: DigitSort,
    kernels: tuple[_Queue, _Queue],
    items: tuple[int, int],
    buffers: tuple[int, int],
    stream: int,
    ends: Ends | None = None,
) -> None:
    """Sort items, an address and a count of at least one, stably, on a stream.

    kernels: those of ready_by_digits for `sort`, which is digit_sort of the count. buffers: addresses of room for all
    items; the first one takes the result. Items may lie in the first one if the digits of a key are even in number, and
    in the second one otherwise. ends: of pairs, whose sorted keys and values go to the arrays of `ends`.
    """
    address, count = items
    tiles = -(-count // sort.tile)
    room = scratch(sort.plan_bytes + tiles * sort.tile_bytes, stream)
    plan, said = room.ptr, room.ptr + sort.plan_bytes
    cupy.cuda.runtime.memsetAsync(plan, 0, sort.plan_bytes, stream)
    where = 1 + buffers.index(address) if address in buffers else 0
    count_digits, sort_radix = kernels
    counted = -(-count * sort.width // (_COUNTED * COUNTING_THREADS))
    count_digits(min(sort.most_counting, counted), stream, [address, count, where, plan, said, tiles * DIGITS])
    blocks, along = min(tiles, sort.most_sorting), ends or ()
    for digit in range(sort.passes):
        sort_radix(
            blocks, stream, [address, *buffers, count, digit, plan, said, *along], beside=blocks <= sort.most_beside
        )
