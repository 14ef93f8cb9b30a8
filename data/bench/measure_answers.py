#!/usr/bin/env python3
"""Times first items, and counts of equal keys, of arrays in device memory, beside CCCL's. Writes a Markdown table.

usage: python3 data/bench/measure_answers.py OUT.md [--turns 7] [--bits 28]

A time is the median of whole calls, which wait for the number of items, so the host's time counts in them. Beside a
topk stand cub::DeviceTopK, whose items are in any order, and CCCL's radix sort of all keys. Beside
unique(counts=True), which sorts, stand that sort and Thrust's reduce_by_key. "read" is half of the time of a copy of
the array. Every result is compared with that of NumPy or CuPy. CPU rows hold topk on NumPy arrays against
numpy.partition and a sort of its items.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cupy
import numpy as np
from measure_device import copy_time, milliseconds, random_keys
from measured_on import measured_on

import gpumerge_cli
from gpumerge_cli.backends.gpu.baselines import versions
from gpumerge_cli.backends.gpu.cccl import CcclAlgorithm
from gpumerge_cli.backends.gpu.streams import current_stream
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order.kinds import KeyOrder, Order

_WANTED = (10, 10_000, 1_000_000)
_HOST_KEYS = 1 << 26


def theirs(file: str, name: str, keys: Any, arguments: Sequence[int], turns: int) -> float | None:
    """Milliseconds of CCCL's algorithm; None where it does not compile."""
    order = Order.of(str(keys.dtype))
    assert isinstance(order, KeyOrder)
    try:
        work = CcclAlgorithm(file, name, order, 0, arguments)
    except DeviceError as error:
        print(error)
        return None
    return milliseconds(lambda: work(current_stream()), turns, held=False)


def sorting(keys: Any, out: Any, turns: int) -> float | None:
    """Milliseconds of CCCL's radix sort of all keys."""
    arguments = (keys.data.ptr, keys.size, out.data.ptr, 0, 0)
    return theirs("baseline_cccl_sort.cu", "cccl_radix_sort", keys, arguments, turns)


def shown(taken: float | None, own: float) -> str:
    """A time, and its share of the own one, as two columns."""
    return "| " if taken is None else f"{taken:.3f} | {taken / own:.2f}"


def topk_rows(dtype: str, count: int, turns: int) -> Iterator[str]:
    """Rows of the table for the first items of random keys, and of keys with few values."""
    for shape in ("uniform", "few"):
        keys = random_keys(dtype, count) if shape == "uniform" else cupy.random.randint(0, 16, count).astype(dtype)
        out, ordered = cupy.empty(count, dtype), cupy.sort(keys)
        read, whole = copy_time(keys.nbytes, 3) / 2, sorting(keys, out, turns)
        for n in _WANTED:
            found = gpumerge_cli.topk(keys, n)
            same = "yes" if bool((found == ordered[:n]).all()) else "NO"
            own = milliseconds(lambda keys=keys, n=n: gpumerge_cli.topk(keys, n), turns, held=False)  # type: ignore[misc]
            arguments = (keys.data.ptr, count, n, out.data.ptr)
            cub = theirs("baseline_cccl_topk.cu", "cccl_topk", keys, arguments, turns)
            beside = f"{shown(cub, own)} | {shown(whole, own)}"
            yield f"| topk {n:,} | {dtype} | {shape} | {count} | {own:.3f} | {read:.3f} | {beside} | {same} |"


def unique_rows(dtype: str, count: int, turns: int) -> Iterator[str]:
    """Rows of the table for counts of keys."""
    for shape, most in (("all differ", 0), ("4 of each", count // 4), ("few", 16)):
        keys = (
            cupy.random.randint(0, most, count).astype(dtype) if most else cupy.random.permutation(count).astype(dtype)
        )
        out, ordered = cupy.empty(count, dtype), cupy.sort(keys)
        counts, groups = cupy.empty(count, cupy.int64), ctypes.c_int64(-1)
        own = milliseconds(lambda keys=keys: gpumerge_cli.unique(keys, counts=True), turns, held=False)  # type: ignore[misc]
        arguments = (ordered.data.ptr, count, out.data.ptr, counts.data.ptr, ctypes.addressof(groups))
        counting = theirs("baseline_cccl_unique.cu", "cccl_counts", keys, arguments, turns)
        found, numbers = gpumerge_cli.unique(keys, counts=True)
        equal = counting is None or groups.value == len(found)
        if equal and counting is not None:
            equal = bool((found == out[: len(found)]).all()) and bool((numbers == counts[: len(found)]).all())
        del found, numbers
        whole = sorting(keys, out, turns)
        both = None if whole is None or counting is None else whole + counting
        read = copy_time(keys.nbytes, 3) / 2
        beside = f"{shown(both, own)} | {shown(whole, own)}"
        same = "yes" if equal else "NO"
        yield f"| unique, counts | {dtype} | {shape} | {count} | {own:.3f} | {read:.3f} | {beside} | {same} |"


def seconds(work: Callable[[], Any], turns: int) -> float:
    """The least processor time."""
    least = float("inf")
    for _ in range(turns):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


def host_rows(dtype: str, turns: int) -> Iterator[str]:
    """Rows of the table for the first items of NumPy arrays, in milliseconds of the processor on one thread."""
    keys = np.random.default_rng(0).integers(0, 1 << 31, _HOST_KEYS).astype(dtype)
    for n in _WANTED:
        own = 1000 * seconds(lambda keys=keys, n=n: gpumerge_cli.topk(keys, n, threads=1), turns)  # type: ignore[misc]
        numpy = 1000 * seconds(lambda keys=keys, n=n: np.sort(np.partition(keys, n)[:n]), turns)  # type: ignore[misc]
        same = "yes" if np.array_equal(gpumerge_cli.topk(keys, n), np.sort(np.partition(keys, n)[:n])) else "NO"
        yield f"| CPU: topk {n:,} | {dtype} | uniform | {_HOST_KEYS} | {own:.1f} | | {shown(numpy, own)} | | | {same} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--bits", type=int, default=28)
    wish = parser.parse_args()
    count = 1 << wish.bits
    with open(wish.out, "w", encoding="utf-8", buffering=1) as file:
        print(f"{measured_on()}, CCCL {versions()['CCCL']}. Times in ms. Shares: theirs / ours\n", file=file)
        head = "| call | dtype | keys | items | ms | read | DeviceTopK, sort + Thrust, or partition | share"
        print(f"{head} | sort of all | share | same |\n{'|---' * 11}|", file=file)
        for dtype in ("uint32", "float32", "int64"):
            for row in topk_rows(dtype, count if dtype != "int64" else count // 2, wish.turns):
                print(row, file=file)
                cupy.get_default_memory_pool().free_all_blocks()
        for row in unique_rows("uint32", count // 2, wish.turns):
            print(row, file=file)
            cupy.get_default_memory_pool().free_all_blocks()
        for dtype in ("int32", "float64"):
            for row in host_rows(dtype, wish.turns):
                print(row, file=file)


if __name__ == "__main__":
    main()
