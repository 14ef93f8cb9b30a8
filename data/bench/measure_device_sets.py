#!/usr/bin/env python3
"""Times sets of two sorted arrays in device memory, beside Thrust's. Writes a Markdown table.

usage: python3 data/bench/measure_device_sets.py OUT.md [--turns 7] [--bits 28] [--only REGEX]
       [--shapes SHAPES [--items ITEMS]]

A time is the median of the device's: of the work that is queued, of a whole call from Python, and of Thrust's call.
The last two wait for the number of items, so the host's time counts in them. Beside them stands a device copy that
reads and writes as many bytes. Every result is compared with Thrust's.

--shapes: blocks to compare, as 512x23x2. --items: what they combine, as "int32 int64+8": a dtype and bytes of values.
"""

from __future__ import annotations

import argparse
import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cupy
from measure_device import copy_time, milliseconds, shaped
from measured_on import measured_on

import gpumerge_cli
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.gpu import walks
from gpumerge_cli.backends.gpu.cccl import CcclAlgorithm
from gpumerge_cli.backends.gpu.launching import PinnedWord, queue
from gpumerge_cli.backends.gpu.streams import current_stream, scratch
from gpumerge_cli.backends.gpu.tree import NO_TEXT
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order.equals import SETS, Equals
from gpumerge_cli.order.kinds import KeyOrder, Order

_THRUST = {"union": 0, "intersect": 1, "difference": 2, "symmetric": 3}
_CASES = [("int32", shape) for shape in ("uniform", "pairs", "few", "equal", "disjoint", "blocky")]
_CASES += [("int64", "uniform"), ("float32", "uniform"), ("int64", "pairs"), ("float32", "few"), ("uint8", "few")]


def inputs(shape: str, dtype: str, count: int) -> list[Any]:
    """Two sorted arrays. pairs: half of the keys of each lie in both."""
    if shape != "pairs":
        return shaped(shape, dtype, count)
    half = count // 4
    kind = cupy.dtype(dtype)
    parts = [cupy.random.randint(0, 1 << 31, half, dtype=cupy.int64).astype(kind) for _ in range(3)]
    return [cupy.sort(cupy.concatenate([parts[0], part])) for part in parts[1:]]


def queued(
    order: Order, name: str, pair: list[Any], out: Any, values: tuple[list[Any], Any] | None = None
) -> tuple[Callable[[], Any], PinnedWord]:
    """The work without its wait, and where its number of items is written. values: of the pair, and where they go."""
    limits = gpu.create(0).limits
    a, b = pair
    rows, moved = values or ([], None)
    walk = walks.walk_of(0, order, limits, Equals.of_sets(name, distinct=False), rows[0].itemsize if rows else None)
    answer = PinnedWord()
    runs = [(a.data.ptr, a.size), (b.data.ptr, b.size)]
    along = [row.data.ptr for row in rows], 0 if moved is None else moved.data.ptr
    room = out.data.ptr, out.size

    def work() -> None:
        queue(walk.steps(runs, room, along, scratch, NO_TEXT, answer.address), current_stream())

    return work, answer


def begin(order: Order, names: Sequence[str]) -> None:
    """Begin to compile the kernels of sets, side by side."""
    limits = gpu.create(0).limits
    for name in names:
        walks.walk_of(0, order, limits, Equals.of_sets(name, distinct=False), None)


def shape_of(text: str) -> Any:
    """The shape of blocks that is written as threads, items a thread and blocks a multiprocessor."""
    return walks.WalkShape(*map(int, text.split("x")))


def rows(dtype: str, shape: str, bits: int, turns: int) -> Iterator[str]:
    """The rows of the table for one pair of arrays."""
    order = Order.of(dtype)
    assert isinstance(order, KeyOrder)
    count = 1 << (bits if order.width <= 4 else bits - 1)
    a, b = inputs(shape, dtype, count)
    out, other = cupy.empty(count, dtype), cupy.empty(count, dtype)
    for name in SETS:
        work, answer = queued(order, name, [a, b], out)
        alone = milliseconds(work, turns)
        found = answer.word.value
        call = milliseconds(partial(getattr(gpumerge_cli, name), a, b), turns, held=False)  # it waits itself
        copy = copy_time((a.nbytes + b.nbytes + found * order.width) // 2, 3)
        thrust, same = "", ""
        try:
            counted = ctypes.c_int64(-1)
            arguments = (
                a.data.ptr,
                a.size,
                b.data.ptr,
                b.size,
                other.data.ptr,
                _THRUST[name],
                ctypes.addressof(counted),
            )
            theirs = CcclAlgorithm("baseline_cccl_set.cu", "cccl_set", order, 0, arguments)
            taken = milliseconds(partial(theirs, current_stream()), turns, held=False)
            equal = counted.value == found and bool((out[:found] == other[:found]).all())
            thrust, same = f"{taken:.3f} | {taken / alone:.2f}", "yes" if equal else f"NO {counted.value}"
        except DeviceError as error:
            thrust, same = " | ", str(error)[:60]
        shares = f"{alone:.3f} | {copy / alone:.2f} | {call:.3f}"
        yield f"| {name} | {dtype} | {shape} | {count} | {found} | {shares} | {thrust} | {same} |"


def shape_rows(items: str, shapes: str, bits: int, turns: int) -> Iterator[str]:
    """The times of sets in blocks of other shapes. items: a dtype, and the bytes of its values behind a plus sign."""
    dtype, _, value = items.partition("+")
    order = Order.of(dtype)
    size = cupy.dtype(dtype).itemsize + int(value or 0)
    count = (1 << bits) * 4 // max(size, 4)
    pairs = {shape: inputs(shape, dtype, count) for shape in ("uniform", "pairs", "few")}
    out = cupy.empty(count, dtype)
    values = None
    if value:
        kind = f"u{value}"
        values = [cupy.zeros(count // 2, kind)] * 2, cupy.empty(count, kind)
    for text in shapes.split():
        walks._SHAPES[size] = shape_of(text)
        walks.walk_of.cache_clear()  # it does not know the shapes
        if values is None:
            begin(order, ("union", "intersect"))
    for text in shapes.split():
        walks._SHAPES[size] = shape_of(text)
        walks.walk_of.cache_clear()
        took = []
        for name, shape in (("union", "uniform"), ("intersect", "uniform"), ("union", "pairs"), ("union", "few")):
            work, _ = queued(order, name, pairs[shape], out, values)
            took.append(f"{milliseconds(work, turns):.3f}")
        yield f"| {items} | {text} | {' | '.join(took)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--bits", type=int, default=28)
    parser.add_argument("--only", default="")
    parser.add_argument("--shapes", default="")
    parser.add_argument("--items", default="int32")
    wish = parser.parse_args()
    with open(wish.out, "w", encoding="utf-8", buffering=1) as file:
        print(f"{measured_on()}. Times in ms. Thrust is CCCL's. Copy: of the bytes read and written\n", file=file)
        if wish.shapes:
            print(
                "| items | shape | union | intersect | union, pairs | union, few |\n|---|---|---|---|---|---|",
                file=file,
            )
            for items in wish.items.split():
                for row in shape_rows(items, wish.shapes, wish.bits, wish.turns):
                    print(row, file=file)
                cupy.get_default_memory_pool().free_all_blocks()
            return
        print("| set | dtype | shape | items | out | ms | copy / ms | call | Thrust | Thrust / ms | same |", file=file)
        print("|---|---|---|---|---|---|---|---|---|---|---|", file=file)
        for dtype in dict(_CASES):
            begin(Order.of(dtype), SETS)
        for dtype, shape in _CASES:
            if re.search(wish.only, f"{dtype} {shape}"):
                for row in rows(dtype, shape, wish.bits, wish.turns):
                    print(row, file=file)
                cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
