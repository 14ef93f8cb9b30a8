"""CuPy's radix sort, adapted to this project's order: stable, NaNs equal and last, -0.0 equal to 0.0."""

from __future__ import annotations

from math import gcd
from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.order import Order

_ROW_WORDS = 2


def sort_keys(kernels: Kernels, keys: cupy.ndarray, out: cupy.ndarray, order: Order) -> None:
    """Sort keys of the order's dtype into `out`, which may be `keys`. It waits for the device if they are floats.

    The library sorts NaNs by their bits, negative ones ahead of all numbers. So if there are NaNs, the keys are sorted
    by the ranks of their images.
    """
    if order.kind == "float" and bool(cupy.isnan(keys).any()):
        sort_by_ranks(kernels, keys, out, order)
        return
    cupy.copyto(out, keys)
    if not order.descending:
        out.sort()
        return
    bits = out.view(order.unsigned)
    mirror = 1 << (8 * order.width - 1) if order.kind == "float" else (1 << 8 * order.width) - 1
    bits ^= order.unsigned.type(mirror)
    out.sort()
    bits ^= order.unsigned.type(mirror)


def sort_by_ranks(kernels: Kernels, items: cupy.ndarray, out: cupy.ndarray, order: Order) -> None:
    """Sort items, keys or records of at most 16 bytes, by the ranks of their images. `out` may be `items`.

    items, out: arrays of any dtype, with the same number of bytes.
    """
    size = order.item_bytes
    word = gcd(size, 8)
    words = [array.view(np.uint8).view(f"uint{8 * word}").reshape(-1, size // word) for array in (items, out)]
    words[1][...] = words[0][ranks(kernels, items.data.ptr, len(words[0]), order)]


def ranks(kernels: Kernels, items: int, count: int, order: Order) -> cupy.ndarray:
    """The int64 indices that sort `count` keys or records, at least one, at address `items`, stably."""
    rows = cupy.empty((count, _ROW_WORDS), cupy.uint64)
    kernels.make_rows(items, 0, count, rows.data.ptr)
    return ranks_of_rows(rows, order)


def ranks_of_rows(rows: cupy.ndarray, order: Order) -> cupy.ndarray:
    """The int64 indices that sort rows by their prefixes, stably. A row is a pair of a 64-bit prefix and a number."""
    bits = next(bits for bits in (8, 16, 32, 64) if bits >= 8 * order.prefix_bytes)
    return cupy.argsort(rows[:, 0].astype(f"uint{bits}"), kind="stable")


def sort_rows(rows: Any, out: Any, order: Order) -> None:
    """Sort rows (see ranks_of_rows) into `out`."""
    cupy.take(rows, ranks_of_rows(rows, order), axis=0, out=out)
