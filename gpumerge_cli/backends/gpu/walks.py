"""Sets of two sorted runs in device memory (see walk.cu): their shapes, and their launches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.launching import Allocate, PinnedAnswers, Step, zeros
from gpumerge_cli.backends.gpu.merging import Partition
from gpumerge_cli.backends.gpu.module import Kernels, gpu_kernels
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.sort_policy import TileShape
from gpumerge_cli.backends.gpu.source import shape_macros, walk_macros
from gpumerge_cli.backends.gpu.streams import scratch
from gpumerge_cli.backends.gpu.tree import NO_TEXT, Context, Run
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

CUT_FOR_WALKS: Macros = (("WALK", 1),)
"""The macros of partition.cu, beside those of its runs and of columns."""
_RUNS = 2
_NUMBER = 8  # bytes of an int64


@dataclass(frozen=True)
class WalkShape(TileShape):
    """The shape that walk.cu is compiled for."""

    def shared_bytes(self, size: int) -> int:
        """The bytes of dynamic shared memory of a block, for items of `size` bytes."""
        return kernel_size("walk_bytes", self.room, self.items_per_thread, size)


_SHAPES = {
    1: WalkShape(256, 31, 4),
    2: WalkShape(256, 31, 4),
    4: WalkShape(256, 21, 5),
    8: WalkShape(128, 15, 6),
    12: WalkShape(256, 11, 2),
    16: WalkShape(128, 11, 4),
}
"""The shapes by the bytes of an item, tuned on an H200.

With so many blocks on a multiprocessor, items stay in registers. An odd number of items a thread spreads accesses over
the banks of shared memory.
"""


def walk_shape(order: Order, limits: DeviceLimits) -> WalkShape:
    """The shape of walk.cu. If the device has no room for the tuned one, threads have fewer items."""
    size = item_bytes(order)
    shape = _SHAPES[size]
    while shape.resident > 1 and shape.resident * shape.shared_bytes(size) > limits.dynamic_shared:
        shape = replace(shape, resident=shape.resident - 1)
    while shape.shared_bytes(size) > limits.dynamic_shared and shape.items_per_thread > 1:
        shape = replace(shape, items_per_thread=shape.items_per_thread - 1)
    return shape


def macros_of_walk(order: Order, limits: DeviceLimits, equals: Equals) -> Macros:
    """The macros of walk.cu, beside those of the order and of columns."""
    shape = walk_shape(order, limits)
    shaped = shape_macros(shape.block_size, shape.items_per_thread, shape.resident)
    return *walk_macros(equals, bulk=limits.has_bulk_copies), *shaped


class Walk:
    """Sets of two runs that are ready to launch on the current device: of keys, and of values if there are columns.

    unit: the addresses of values are multiples of so many bytes.
    """

    def __init__(self, kernels: Kernels, equals: Equals, columns: Columns | None = None) -> None:
        self.unit = 1 if columns is None else columns.unit
        order, limits = kernels.order, kernels.limits
        shape = walk_shape(order, limits)
        walking = macros_of_walk(order, limits, equals)
        along: Macros = () if columns is None else columns.macros(reads=True, writes=True)
        shared = shape.shared_bytes(item_bytes(order))
        self._partition = Partition(kernels, _RUNS, (*CUT_FOR_WALKS, *along))
        self._walk = kernels.ready("walk", shape.block_size, (*walking, *along), shared)
        self._tile, self._columns = shape.room, columns
        self._dependent = limits.has_dependent_launches
        self._blocks = shape.resident * limits.multiprocessors
        self._answers = PinnedAnswers(equals.name_of_set)

    def takes(self, total: int) -> bool:
        """Whether it can work on so many items in all."""
        return self._columns is None or total <= self._columns.most

    def __call__(
        self, runs: list[Run], out: int, room: int, values: list[int], moved: int, text: Context = NO_TEXT
    ) -> int:
        """Write the set of two runs on the current stream. Waits for the number of its items, and returns it.

        out: the address of the output, which has room for `room` items, even if runs are out of order. values, moved:
        the addresses of the rows of values, and of their output. text: the context of rows. The runs have at least one
        item, and takes(their sum) holds.
        """
        return self._answers.answer_of(self.steps, runs, (out, room), (values, moved), scratch, text)

    def steps(
        self,
        runs: list[Run],
        out: Run,
        values: tuple[list[int], int],
        allocate: Allocate,
        text: Context,
        count: int,
    ) -> Iterator[Step]:
        """The work of a call, which writes the number of items to the int64 at `count`."""
        (a, m), (b, n) = runs
        table, tile = [a, b, m, n], self._tile
        tiles = -(-(m + n) // tile)
        edges = tiles + 1
        counting = 1 + tiles + kernel_size("GROUP_WORDS") * -(-tiles // kernel_size("WARP"))
        memory = allocate(_NUMBER * (counting + _RUNS * edges))
        taken, published, cuts = (memory.ptr + _NUMBER * at for at in (0, 1, counting))
        column_words = () if self._columns is None else self._columns.arguments(values[0], [m, n], out[0], values[1])
        yield zeros, _NUMBER * counting, (memory.ptr,), False
        yield self._partition.step(table, edges, tile, cuts, text)
        words = [*table, *out, cuts, taken, published, count, *text, *column_words]
        yield self._walk, min(tiles, self._blocks), words, self._dependent


@lru_cache(maxsize=256)
def walk_of(device: int, order: Order, limits: DeviceLimits, equals: Equals, value_bytes: int | None) -> Walk:
    """Sets of keys, and of rows of values of so many bytes, on the current device, whose number is `device`."""
    columns = None if value_bytes is None else Columns(order, _RUNS, value_bytes)
    return Walk(gpu_kernels(device, order if columns is None else columns.order, limits), equals, columns)


def combine_arrays(
    arrays: Sequence[Any],
    order: Order,
    equals: Equals,
    values: Sequence[Any] | None,
    on: tuple[int, DeviceLimits],
    out: Any = None,
) -> tuple[Any, Any]:
    """The set of one or two sorted arrays of keys, and the rows of their values, on the current device.

    on: the number of the device, and its limits. out: an array whose first items become the keys. New arrays take
    at most twice the memory that they need.
    """
    m, n = len(arrays[0]), len(arrays[-1]) if len(arrays) > 1 else 0
    room = equals.most(list(map(len, arrays)))
    row = None if values is None else values[0].itemsize * prod(values[0].shape[1:])
    keys = cupy.empty(room, arrays[0].dtype) if out is None else out[:room]
    moved = None if values is None else cupy.empty((room, *values[0].shape[1:]), values[0].dtype)
    if room == 0:
        return keys, moved
    walk = walk_of(on[0], order, on[1], equals if len(arrays) > 1 else alone(equals), row or None)
    if not walk.takes(m + n):
        raise UsageError(f"{m + n} keys have values, which is too many", way_out="combine them in parts")
    rows = [] if not row else [each.copy() if each.data.ptr % walk.unit else each for each in values or ()]
    addresses = [each.data.ptr for each in rows]
    runs = [(array.data.ptr, len(array)) for array in arrays]
    if len(runs) == 1:
        runs.append((runs[0][0], 0))
        addresses += addresses
    count = walk(runs, keys.data.ptr, room, addresses, moved.data.ptr if moved is not None and row else 0)
    found = cut_to(keys, count) if out is None else keys[:count]
    return found, None if moved is None else cut_to(moved, count)


def alone(equals: Equals) -> Equals:
    """The set that makes the same of a run and an empty one as `equals` makes of the run alone."""
    return Equals.of_sets("union", distinct=equals.is_distinct)


def cut_to(array: Any, count: int) -> Any:
    """The first items of an array. They are a copy if they would keep more than twice their memory."""
    if count == len(array):
        return array
    return array[:count].copy() if 2 * count < len(array) else array[:count]
