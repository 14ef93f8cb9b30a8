"""Library ways to the same output: a sort of everything, and CUB's merge, compiled from the headers CuPy bundles."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.source import Macros, compiler_options, flatten, order_macros
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.order import Order

CUB_BLOCK_SIZE = 512
_PARTITION_THREADS = 256
_CUB_WIDEST = 15
"""CUB's tuning for current devices: 15 items a thread of 4 bytes, 7 of 8, and for narrower keys up to 30."""


def cub_items(width: int) -> int:
    """Items a thread, as CUB scales them by the key's width."""
    return min(_CUB_WIDEST * 4 // width, 2 * _CUB_WIDEST)


def cub_include_options() -> tuple[str, ...]:
    """Where the headers bundled with CuPy lie, as compiler options."""
    cccl = Path(cupy.__file__).parent / "_core" / "include" / "cupy" / "_cccl"
    return tuple(f"-I{cccl / part}" for part in ("cub", "thrust", "libcudacxx"))


def cub_macros(order: Order) -> Macros:
    """The macros of baseline_cub.cu."""
    return (*order_macros(order), ("CUB_BLOCK_SIZE", CUB_BLOCK_SIZE), ("CUB_ITEMS", cub_items(order.width)))


@lru_cache(maxsize=64)
def _cub_functions(device: int, macros: Macros) -> tuple[Any, Any]:
    options = (*compiler_options(macros), *cub_include_options(), "-std=c++17")
    module = cupy.RawModule(code=flatten("baseline_cub.cu"), options=options)
    return module.get_function("cub_partition"), module.get_function("cub_merge")


def merge_by_cub(device: int, order: Order, a: Run, b: Run, out: int) -> None:
    """Merge two runs of keys by CUB's merge agent, on the current stream."""
    partition, merge = _cub_functions(device, cub_macros(order))
    tile = CUB_BLOCK_SIZE * cub_items(order.width)
    tiles = -(-(a[1] + b[1]) // tile)
    cuts = cupy.empty(tiles + 1, cupy.int64)
    blocks = -(-(tiles + 1) // _PARTITION_THREADS)
    partition((blocks,), (_PARTITION_THREADS,), (*a, *b, cuts.data.ptr, tiles + 1))
    merge((tiles,), (CUB_BLOCK_SIZE,), (*a, *b, out, cuts.data.ptr))


def sort_by_cupy(runs: cupy.ndarray, out: cupy.ndarray, order: Order) -> None:
    """Sort all keys, on the current stream. Keys that compare equal may change places."""
    cupy.copyto(out, runs)
    out.sort()
    if order.descending:
        cupy.copyto(out, out[::-1].copy())
