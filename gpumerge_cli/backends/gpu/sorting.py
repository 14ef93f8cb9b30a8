"""Sorts of items on the device, by a policy: tiles, levels and passes between two buffers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache

from gpumerge_cli.backends.gpu.launching import Allocate, Launch, Step, copy
from gpumerge_cli.backends.gpu.merging import merge_of
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.radix import sort_by_digits
from gpumerge_cli.backends.gpu.sort_policy import TileShape, check_sort_size, of_fan_in, tile_shape, tile_shared_bytes
from gpumerge_cli.backends.gpu.source import tile_macros
from gpumerge_cli.backends.gpu.tree import NO_TEXT, Context, Level, Run, fan_ins
from gpumerge_cli.backends.kernel_sizes import whole_vectors
from gpumerge_cli.launch import SortPolicy, Transfer
from gpumerge_cli.order.base import Macros

_SERIAL_THREADS = 64


class Sort:
    """Sorts of keys, small records or rows by a policy."""

    def __init__(self, kernels: Kernels, policy: SortPolicy) -> None:
        self._kernels, self._policy = kernels, policy
        self._size = item_bytes(kernels.order)

    def steps(
        self, items: Run, out: int, allocate: Allocate, text: Context = NO_TEXT, *, overwrite: bool = False
    ) -> Iterator[Step]:
        """Sort items, an address and a count, into `out`, stably.

        The items stay as they are, unless `out` is their address. overwrite: they may be overwritten, which saves
        memory. text: the context of rows. Raises UsageError for more items than the algorithm takes.
        """
        (address, count), policy = items, self._policy
        check_sort_size(policy.algorithm, count)
        if count == 0:
            return
        several = policy.algorithm == "radix" or count > policy.tile
        other = allocate(whole_vectors(count * self._size)) if several and not overwrite else None
        room = address if other is None else other.ptr
        if policy.algorithm == "radix":
            # Only the device knows which passes are needed. An even number of passes leads from `out` back to `out`, an
            # odd number from `room`. The device adds an unneeded pass if the parity is wrong. If all passes are needed,
            # their own parity must fit.
            begin = room if policy.passes % 2 else out
            if address in (out, room) and address != begin:
                yield copy, count * self._size, (address, begin), False
                address = begin
            yield from sort_by_digits(self._kernels).steps((address, count), (out, room), allocate)
            return
        if policy.algorithm == "recursive":
            yield from self._recursively(items, out, room, text)
            return
        alone = policy.algorithm == "iterative"
        tile = 1 if alone else policy.tile
        merges = fan_ins(-(-count // tile), 2 if alone else policy.launch.fan_in)
        # The passes write to both buffers in turn, and the last one to `out`.
        targets = [out if left % 2 == 0 else room for left in reversed(range(len(merges) + 1))]
        if tile > 1:
            yield self._tiles, -(-count // tile), [address, count, tile, targets[0], *text], False
        elif address != targets[0]:
            # Without tiles the first pass reads the items in place, unless it writes there.
            if not merges or address == targets[1]:
                yield copy, count * self._size, (address, targets[0]), False
            else:
                targets[0] = address
        length = tile
        for fan_in, source, target in zip(merges, targets, targets[1:], strict=False):
            level = Level(source, length, count)
            if alone:
                yield self._alone(level, target, text)
            else:
                merge = merge_of(self._kernels, of_fan_in(policy.launch, fan_in), form="level")
                yield from merge.level(level, target, allocate, text)
            length *= fan_in

    def _recursively(self, items: Run, out: int, room: int, text: Context) -> Iterator[Step]:
        """Sort top-down: sort both halves into the other buffer, and merge them from there."""
        address, count = items
        size = self._size
        for buffer in (out, room) if count > 1 else (out,):
            if buffer != address:
                yield copy, count * size, (address, buffer), False

        def sort(source: int, to: int, first: int, last: int) -> Iterator[Step]:
            if last - first < 2:
                return
            middle = (first + last + 1) // 2  # only the last run of a level may be shorter
            yield from sort(to, source, first, middle)
            yield from sort(to, source, middle, last)
            at = first * size
            yield self._alone(Level(source + at, middle - first, last - first), to + at, text)

        yield from sort(room, out, 0, count)

    def _alone(self, level: Level, out: int, text: Context) -> Step:
        """Merge every two neighbouring runs of a level, with one thread for each pair."""
        pairs = -(-level.total // (2 * level.length))
        threads = min(pairs, _SERIAL_THREADS)
        launch = self._kernels.ready("merge_alone", threads, (("BATCHED", 1),), file="sort_serial.cu")
        return launch, -(-pairs // threads), [level.items, level.length, level.total, out, *text], False

    @cached_property
    def _tiles(self) -> Launch:
        shape = tile_shape(self._policy.tile, self._kernels.order, self._kernels.limits)
        return tiling(self._kernels, shape, self._policy.launch.transfer)


sort_of = lru_cache(maxsize=256)(Sort)
"""The same sorts for the same kernels and policy."""


def tiling(kernels: Kernels, shape: TileShape, transfer: Transfer | None, macros: Macros = ()) -> Launch:
    """The kernel whose blocks sort a tile each. macros: those of columns, whose words are the last arguments."""
    shape_macros = tile_macros(shape.block_size, shape.items_per_thread, shape.resident, transfer)
    shared = tile_shared_bytes(shape, kernels.order)
    return kernels.ready("sort_tile", shape.block_size, (*shape_macros, *macros), shared)
