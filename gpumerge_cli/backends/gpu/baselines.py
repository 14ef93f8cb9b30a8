"""Merges and sorts of libraries: CuPy's sort of everything, and CUB's, compiled from the headers that CuPy bundles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.buffers import DeviceBuffer
from gpumerge_cli.backends.gpu.compiled import functions
from gpumerge_cli.backends.gpu.source import compiler_options, order_macros
from gpumerge_cli.backends.gpu.tree import Run, merge_runs
from gpumerge_cli.order import Order, Records
from gpumerge_cli.order.base import Macros

CUB_BLOCK_SIZE = 512
CUB_SORT_BLOCK_SIZE = 256
_CUB_SORT_WIDEST = 17
_PARTITION_THREADS = 256
_CUB_WIDEST = 15
"""CUB's tuning for current devices: 15 items a thread for 4 bytes, 7 for 8 bytes, and up to 30 for narrower keys."""


def cub_items(width: int) -> int:
    """The items a thread of CUB's merge. CUB scales them by the key's width."""
    return min(_CUB_WIDEST * 4 // width, 2 * _CUB_WIDEST)


def cub_include_options() -> tuple[str, ...]:
    """The compiler's options for the headers that CuPy bundles."""
    cccl = Path(cupy.__file__).parent / "_core" / "include" / "cupy" / "_cccl"
    return tuple(f"-I{cccl / part}" for part in ("cub", "thrust", "libcudacxx"))


def cub_macros(order: Order, payload: int = 0) -> Macros:
    """The macros of baseline_cub.cu. payload: the bytes that go with each key, 0, 4 or 8."""
    items = cub_items(order.width + payload)
    return (*order_macros(order), ("CUB_BLOCK_SIZE", CUB_BLOCK_SIZE), ("CUB_ITEMS", items), ("CUB_PAYLOAD", payload))


def cub_sort_items(width: int) -> int:
    """The items a thread of CUB's merge sort. CUB scales them by the key's width."""
    return max(1, min(_CUB_SORT_WIDEST, _CUB_SORT_WIDEST * 4 // width))


def cub_sort_macros(order: Order, count: int) -> Macros:
    """The macros of baseline_cub_sort.cu for `count` keys."""
    shape = (("CUB_BLOCK_SIZE", CUB_SORT_BLOCK_SIZE), ("CUB_ITEMS", cub_sort_items(order.width)))
    return (*order_macros(order), *shape, ("CUB_WIDE", int(count >= 1 << 31)))


@lru_cache(maxsize=64)
def _cub_functions(device: int, macros: Macros) -> tuple[Any, Any]:
    options = (*compiler_options(macros), *cub_include_options(), "-std=c++17")
    partition, merge = functions("baseline_cub.cu", options, "cub_partition", "cub_merge")
    return partition, merge


class CubTree:
    """CUB's merge agent on pairs of neighbouring runs of keys, level by level, for one run or more.

    runs: they may not be empty, and stay as they are. out: the address of the output. The first `run` takes the memory
    to merge more than two, so that later calls can be timed. It is freed with the object.
    """

    def __init__(self, device: int, order: Order, runs: Sequence[Run], out: int) -> None:
        self._device = device
        self._order = order
        self._runs = list(runs)
        self._out = out
        self._scratch = DeviceBuffer()

    def run(self, stream: cupy.cuda.Stream) -> None:
        """Queue the merge on `stream`, which is current."""
        width = self._order.width
        room = sum(count for _, count in self._runs) * width if len(self._runs) > 2 else 0
        merge_runs(
            self._runs,
            width,
            self._out,
            self._scratch.reserve(room).address,
            fan_in=2,
            merge=lambda pair, to: _merge_by_cub(self._device, self._order, pair[0], pair[1], to),
            copy=lambda run, to: cupy.cuda.runtime.memcpyAsync(
                to, run[0], run[1] * width, cupy.cuda.runtime.memcpyDeviceToDevice, stream.ptr
            ),
        )


class CubSort:
    """CUB's merge sort of keys, by its agents and its tuning: tiles, then a pass for each doubling of the runs.

    run: the keys, one or more, which stay as they are. out: the address of the output. Memory is taken as in CubTree.
    """

    def __init__(self, device: int, order: Order, run: Run, out: int) -> None:
        self._order = order
        self._keys = run
        self._out = out
        self._scratch, self._cuts = DeviceBuffer(), DeviceBuffer()
        options = (*compiler_options(cub_sort_macros(order, run[1])), *cub_include_options(), "-std=c++17")
        names = [f"cub_sort_{step}" for step in ("tiles", "partition", "merge")]
        self._functions = functions("baseline_cub_sort.cu", options, *names)

    def run(self, stream: cupy.cuda.Stream) -> None:
        """Queue the sort on `stream`, which is current."""
        address, count = self._keys
        tiles, partition, merge = self._functions
        blocks = -(-count // (CUB_SORT_BLOCK_SIZE * cub_sort_items(self._order.width)))
        passes = (blocks - 1).bit_length()
        scratch = self._scratch.reserve(count * self._order.width if passes else 0).address
        cuts = self._cuts.reserve(8 * (blocks + 1)).address
        targets = [self._out if left % 2 == 0 else scratch for left in reversed(range(passes + 1))]
        tiles((blocks,), (CUB_SORT_BLOCK_SIZE,), (address, targets[0], count))
        for level, (source, target) in enumerate(pairwise(targets)):
            merged = 2 << level
            partition(
                (-(-(blocks + 1) // _PARTITION_THREADS),), (_PARTITION_THREADS,),
                (source, count, cuts, blocks + 1, merged),
            )  # fmt: skip
            merge((blocks,), (CUB_SORT_BLOCK_SIZE,), (source, target, count, cuts, merged))


class CubPairs:
    """CUB's merge of two runs of records. CUB takes keys and payloads as separate arrays, so records are taken apart.

    order: the order of the keys alone. payload: the bytes of a payload. records, out: the two runs back to back, and
    room for their merge; one row of 32-bit words a record, with the key's words first.
    """

    def __init__(
        self, device: int, order: Order, payload: int, counts: tuple[int, int], records: cupy.ndarray, out: cupy.ndarray
    ) -> None:
        self._device = device
        self._order = order
        self._payload = payload
        self._counts = counts
        self._out = out
        words = order.width // 4
        self._keys, self._payloads = (
            cupy.ascontiguousarray(records[:, :words]),
            cupy.ascontiguousarray(records[:, words:]),
        )
        self._merged = cupy.empty_like(self._keys), cupy.empty_like(self._payloads)

    def merge(self) -> None:
        """Queue the merge on the current stream. Its output stays in two arrays."""
        m, n = self._counts
        keys, payloads = self._keys.data.ptr, self._payloads.data.ptr
        a, b = (keys, m), (keys + m * self._order.width, n)
        moved = (payloads, payloads + m * self._payload, self._merged[1].data.ptr)
        _merge_by_cub(self._device, self._order, a, b, self._merged[0].data.ptr, self._payload, moved)

    def join(self) -> None:
        """Write the merged keys and payloads to `out` as records."""
        words = self._order.width // 4
        self._out[:, :words], self._out[:, words:] = self._merged


def cub_pairs(
    device: int,
    order: Records,
    runs: Sequence[Run],
    records: Callable[[int, Any], cupy.ndarray],
    out: Callable[[int, Any], cupy.ndarray],
) -> CubPairs | None:
    """CUB's merge of `runs`; None if CUB cannot merge them.

    It merges two runs of records, each a number of 4 or 8 bytes and a payload of 4 or 8. records, out: functions that
    give views of memory, as so many items of a dtype.
    """
    payload = order.size - order.width
    if order.key is None or order.offset or order.swapped or len(runs) != 2:
        return None
    if order.width not in (4, 8) or payload not in (4, 8):
        return None
    counts = (runs[0][1], runs[1][1])
    total, words = sum(counts), order.size // 4
    views = [give(total * words, np.dtype(np.uint32)).reshape(total, words) for give in (records, out)]
    return CubPairs(device, order.key, payload, counts, *views)


def _merge_by_cub(
    device: int,
    order: Order,
    a: Run,
    b: Run,
    out: int,
    payload: int = 0,
    payloads: tuple[int, int, int] = (0, 0, 0),
) -> None:
    """Merge two runs of keys by CUB's merge agent, on the current stream.

    payload: the bytes that go with each key. payloads: the addresses of those of a, of those of b, and of their output.
    """
    partition, merge = _cub_functions(device, cub_macros(order, payload))
    tile = CUB_BLOCK_SIZE * cub_items(order.width + payload)
    tiles = -(-(a[1] + b[1]) // tile)
    cuts = cupy.empty(tiles + 1, cupy.int64)
    blocks = -(-(tiles + 1) // _PARTITION_THREADS)
    partition((blocks,), (_PARTITION_THREADS,), (*a, *b, cuts.data.ptr, tiles + 1))
    merge((tiles,), (CUB_BLOCK_SIZE,), (*a, *b, out, cuts.data.ptr, *payloads))


def sort_by_cupy(runs: cupy.ndarray, out: cupy.ndarray, order: Order) -> None:
    """Sort all keys, on the current stream. Keys that compare equal may change places."""
    cupy.copyto(out, runs)
    out.sort()
    if order.descending:
        cupy.copyto(out, out[::-1].copy())
