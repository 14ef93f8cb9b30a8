#!/usr/bin/env python3
"""Compiles CCCL's algorithms for gpumerge bench ahead of it, side by side. It needs nvcc.

usage: python data/bench/compile_cccl.py [--merges ITEMS] [--sorts ITEMS] [--capability 90]

Without a capability, it is for device 0. ITEMS: as in gpumerge bench --dtypes: int32,float32,int32+4.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor

import cupy

from gpumerge_cli.backends.gpu.cccl import compiled, installed
from gpumerge_cli.compare.bench_cases import items_named
from gpumerge_cli.order.kinds import KeyOrder, RecordOrder


def compile_one(file: str, name: str, capability: int) -> str:
    """The library's name and size."""
    items = items_named(name).order
    order = items.key if isinstance(items, RecordOrder) else items
    assert isinstance(order, KeyOrder)
    payload = items.item_bytes - order.width
    made = compiled(file, order, payload, capability)
    return f"{name}: {made.name}, {made.stat().st_size} bytes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capability", type=int)
    parser.add_argument("--merges", default="")
    parser.add_argument("--sorts", default="")
    wish = parser.parse_args()
    print(f"CCCL {installed().version}, nvcc {installed().compiler}")
    capability = wish.capability or int(cupy.cuda.Device(0).compute_capability)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, names in (("baseline_cccl_merge.cu", wish.merges), ("baseline_cccl_sort.cu", wish.sorts)):
            for name in filter(None, names.split(",")):
                pool.submit(compile_one, file, name, capability).add_done_callback(lambda one: print(one.result()))


if __name__ == "__main__":
    main()
