#!/usr/bin/env python3
"""Measures several GPUs against one: arrays in device memory, and a file to file. Writes markdown.

usage: python3 data/bench/measure_devices.py FOLDER [--items 2^30] [--file-gb 16] [--turns 5] [--scratch FOLDER]
Needs as many GPUs as it compares; with one, it only compares that with itself. See measure_devices.sh for all of it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


RUN = """
import sys
from gpumerge_cli.backends.gpu import access as gpu
numbers, create = tuple(map(int, sys.argv[1].split(","))), gpu.create
gpu.create = lambda device=0: create(numbers)
from gpumerge_cli.cli.app import invoke
sys.exit(invoke(sys.argv[2:]))
"""
"""A command on some GPUs, whether or not its own options can name several."""


def timed(work: Callable[[], object], turns: int) -> list[float]:
    """Seconds of each turn, after one that is not counted."""
    work()
    seconds = []
    for _ in range(turns):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return seconds


def arrays(items: int, turns: int, devices: list[int]) -> list[str]:
    """Rows of a table: int32 keys in device memory, on one GPU, and on all of them in every way that there is."""
    import cupy

    from gpumerge_cli.backends.gpu.backend import GpuBackend
    from gpumerge_cli.backends.gpu.several import SeveralGpus
    from gpumerge_cli.backends.gpu.team_interface import ExchangePlan
    from gpumerge_cli.launch import SortRequest
    from gpumerge_cli.order.kinds import Order

    order = Order.of("int32")
    host = np.random.default_rng(1).integers(-(2**31), 2**31, items, dtype=np.int32)
    with cupy.cuda.Device(0):
        keys = cupy.asarray(host)
        out = cupy.empty_like(keys)
    one, several = GpuBackend(0), SeveralGpus(devices)
    policy = one.resolve_sort(SortRequest("auto"), order, keys.nbytes)
    right = np.sort(host) if items <= 1 << 26 else None

    def alone() -> None:
        with cupy.cuda.Device(0):
            one.sort_array(keys, order, policy, out)
            cupy.cuda.get_current_stream().synchronize()

    rows, base = [], 0.0
    shares, outs = [], []
    edges = [items * number // len(devices) for number in range(len(devices) + 1)]
    for number, device in enumerate(devices):
        with cupy.cuda.Device(device):
            shares.append(cupy.asarray(host[edges[number] : edges[number + 1]]))
            outs.append(cupy.empty_like(shares[-1]))

    def check(found: list[Any]) -> str:
        whole = np.concatenate([part.get() for part in found])
        if right is not None:
            return "right" if (whole == right).all() else "WRONG"
        in_order = bool((whole[1:] >= whole[:-1]).all())
        return "right" if in_order and int(whole.sum(dtype=np.int64)) == int(host.sum(dtype=np.int64)) else "WRONG"

    plans = {
        "pieces 3/4 and 1/4, fetched": ExchangePlan(pieces=(0.75, 0.25), direct=False),
        "pieces 3/4 and 1/4, the last read by the merge": ExchangePlan(pieces=(0.75, 0.25)),
        "pieces 7/8 and 1/8, the last read by the merge": ExchangePlan(),
        "pieces 7/8 and 1/8, fetched": ExchangePlan(direct=False),
        "pieces 1/2, 3/8 and 1/8, fetched": ExchangePlan(pieces=(0.5, 0.375, 0.125), direct=False),
        "one piece, fetched": ExchangePlan(pieces=(1.0,), direct=False),
        "one piece, read by the merge": ExchangePlan(pieces=(1.0,)),
    }
    cases: list[tuple[str, Callable[[], object], list[Any]]] = [("one GPU", alone, [out])]
    for name, plan in plans.items():
        cases.append((f"shares, {name}", partial(several.sort_arrays, shares, order, policy, outs, plan), outs))
    cases.append(("array on GPU 0", partial(several.sort_arrays, [keys], order, policy, [out]), [out]))
    for name, work, results in cases:
        for result in results:
            with result.device:
                result.fill(0)
        seconds = timed(work, turns)
        base = base or median(seconds)
        rows.append(
            f"| {name} | {1000 * median(seconds):.2f} | {1000 * min(seconds):.2f} to {1000 * max(seconds):.2f} "
            f"| {base / median(seconds):.2f} | {check(results)} |"
        )
        print(rows[-1], flush=True)
    return [
        f"Sorts of {items} int32 in device memory, GPUs {devices}, {turns} turns after one:",
        "",
        "| way | median ms | ms | times one GPU | |",
        "|---|---|---|---|---|",
        *rows,
        "",
    ]


def files(gigabytes: float, turns: int, devices: list[int], scratch: Path) -> list[str]:
    """Rows of a table: a file of random uint32 sorted to a file, on one GPU and on all, in turns."""
    path, out = scratch / "keys.u32", scratch / "sorted.u32"
    rng, left = np.random.default_rng(2), int(gigabytes * 1e9) // 4
    with open(path, "wb") as file:
        while left:
            count = min(left, 1 << 26)
            rng.integers(0, 2**32, count, dtype=np.uint32).tofile(file)
            left -= count
    ways = {"cat": ["cat", str(path)]}
    for name in ("0", ",".join(map(str, devices))):
        ways[f"--device {name}"] = [
            sys.executable, "-c", RUN, name, "sort", "-q", "--backend", "gpu", str(path), "-o", str(out),
        ]  # fmt: skip
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    sums = {}
    for _ in range(turns):
        for name, command in ways.items():
            out.unlink(missing_ok=True)
            began = time.perf_counter()
            with open(out if name == "cat" else os.devnull, "wb") as target:
                done = subprocess.run(command, stdout=target, stderr=subprocess.PIPE, cwd=ROOT, check=False)
            if done.returncode:
                return [f"{name}: {done.stderr.decode().strip()}", ""]
            seconds[name].append(time.perf_counter() - began)
            if name != "cat" and name not in sums:
                sums[name] = subprocess.run(["cksum", str(out)], capture_output=True, check=True).stdout.split()[0]
    path.unlink()
    out.unlink()
    base = median(seconds["--device 0"])
    same = "the same bytes" if len(set(sums.values())) == 1 else "OTHER BYTES"
    return [
        f"Sorts of {gigabytes} GB of random uint32, file to file, {turns} turns of each ({same}):",
        "",
        "| way | median s | s | times one GPU |",
        "|---|---|---|---|",
        *(
            f"| {name} | {median(each):.2f} | {', '.join(f'{one:.2f}' for one in each)} | {base / median(each):.2f} |"
            for name, each in seconds.items()
        ),
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", default="2^30")
    parser.add_argument("--file-gb", type=float, default=16)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--scratch", type=Path, default=Path("."))
    chosen = parser.parse_args()
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()
    devices = list(range(count)) if count > 1 else [0, 0]
    base, _, power = chosen.items.partition("^")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    lines = arrays(int(base) ** int(power or 1), chosen.turns, devices)
    (chosen.folder / "devices.md").write_text("\n".join(lines))
    if chosen.file_gb and count > 1:
        lines += files(chosen.file_gb, chosen.turns, devices, chosen.scratch)
    (chosen.folder / "devices.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
