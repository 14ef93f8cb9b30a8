#!/usr/bin/env python3
"""Times `rank_of` among the keys of one array in device memory, beside thrust::lower_bound. Writes a Markdown table.

usage: python3 data/bench/measure_device_ranks.py OUT.md [--turns 15] [--bits 27] [--dtype int32]

A time is the median of whole calls until the device is done, so the host's time counts in them. Thrust's call is one
from C++. Every result is compared with Thrust's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import cupy
from measure_device import milliseconds, random_keys
from measured_on import measured_on

import gpumerge_cli
from gpumerge_cli.backends.gpu.baselines import versions
from gpumerge_cli.backends.gpu.cccl import CcclAlgorithm
from gpumerge_cli.backends.gpu.streams import current_stream
from gpumerge_cli.order.kinds import KeyOrder, Order

_ITEMS = (1000, *(1 << bits for bits in (16, 18, 20, 21, 22, 23, 24, 25)))


def rows(dtype: str, bits: int, turns: int) -> Iterator[str]:
    """The rows of the table."""
    run = cupy.sort(random_keys(dtype, 1 << bits))
    order = Order.of(dtype)
    assert isinstance(order, KeyOrder)
    for count in _ITEMS:
        for title, items in (("random", random_keys(dtype, count)), ("in order", cupy.sort(random_keys(dtype, count)))):
            out = cupy.empty(count, cupy.int64)
            arguments = (run.data.ptr, run.size, items.data.ptr, count, out.data.ptr)
            work = CcclAlgorithm("baseline_cccl_ranks.cu", "cccl_ranks", order, 0, arguments)
            theirs = milliseconds(partial(work, current_stream()), turns, held=False)
            own = milliseconds(partial(gpumerge_cli.rank_of, [run], items), turns, held=False)
            same = "yes" if bool((gpumerge_cli.rank_of([run], items) == out).all()) else "NO"
            yield f"| {count} | {title} | {own:.3f} | {theirs:.3f} | {theirs / own:.2f} | {same} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--bits", type=int, default=27)
    parser.add_argument("--dtype", default="int32")
    wish = parser.parse_args()
    with open(wish.out, "w", encoding="utf-8", buffering=1) as file:
        print(f"{measured_on()}, CCCL {versions()['CCCL']}; among 2^{wish.bits} {wish.dtype}. Times in ms\n", file=file)
        print("| items | | rank_of | Thrust | Thrust / rank_of | same |\n|---|---|---|---|---|---|", file=file)
        for row in rows(wish.dtype, wish.bits, wish.turns):
            print(row, file=file)


if __name__ == "__main__":
    main()
