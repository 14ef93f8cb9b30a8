"""Time sorts of keys in device memory in many shapes, beside the library's sorts and a copy: for the policy's tables.

python3 data/bench/sweep_sorts.py [DTYPE] [ITEMS] [INPUT]        all shapes of the merge algorithm
python3 data/bench/sweep_sorts.py [DTYPE] [ITEMS] [INPUT] steps  the defaults, step by step

INPUT: random, sorted, reversed or equal. Times are medians of event timings, in ms; every output is checked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import cupy
import numpy as np
from measured_on import measured_on

from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.gpu import launching, merging, sort_policy, streams
from gpumerge_cli.backends.gpu.baselines import SortedByCupy, SortedKeys
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.sort_policy import TileShape, of_fan_in, tile_shape
from gpumerge_cli.backends.gpu.sorting import sort_of
from gpumerge_cli.backends.gpu.tree import Level, fan_ins
from gpumerge_cli.errors import GpumergeError
from gpumerge_cli.launch import LaunchRequest, SortPolicy, SortRequest
from gpumerge_cli.order.kinds import KeyOrder, Order

REPEATS = 7
TILES = {
    4: [(512, 23, 3), (256, 23, 6), (768, 23, 2), (512, 31, 2), (512, 19, 3), (384, 31, 2), (1024, 15, 2)],
    8: [(256, 23, 4), (512, 23, 2), (512, 15, 2), (256, 15, 4), (384, 15, 3), (256, 19, 4), (512, 19, 2), (768, 15, 2)],
}
PATHS = {
    4: [(None, None), (192, 47), (256, 31), (256, 23), (384, 23), (512, 23), (384, 31), (512, 31)],
    8: [(None, None), (256, 15), (384, 15), (512, 15), (192, 23), (384, 23), (256, 19), (512, 11)],
}


def timed(work: Callable[[], Any]) -> float:
    """Median milliseconds on the device."""
    work()
    times = []
    for _ in range(REPEATS):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end))
    return float(np.median(times))


def keys_of(dtype: str, count: int, name: str) -> cupy.ndarray:
    """`count` keys: random bits, or the input named."""
    bits = cupy.arange(count * np.dtype(dtype).itemsize // 8, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):  # splitmix64
        bits += np.uint64(0x9E3779B97F4A7C15)
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    keys = bits.view(dtype)
    if name in ("sorted", "reversed"):
        keys.sort()
    if name == "equal":
        keys[:] = 7
    return keys[::-1].copy() if name == "reversed" else keys


def main(dtype: str = "uint32", count: str = str(1 << 28), name: str = "random", steps: str = "") -> None:
    """Print a line for each shape, the fastest last, or one for each step."""
    backend = gpu.create()
    order = Order.of(dtype)
    keys = keys_of(dtype, int(count), name)
    out = cupy.empty_like(keys)
    copy = timed(lambda: cupy.copyto(out, keys))
    print(measured_on())
    print(f"{dtype} {count} {name}: copy {copy:.3f}")
    stream = cupy.cuda.get_current_stream()
    by_cupy = SortedByCupy(keys, out, descending=False)
    library = timed(lambda: by_cupy.run(stream))
    right = out.copy()
    assert isinstance(order, KeyOrder)
    cccl = SortedKeys(keys, order, "cccl_merge_sort", out.data.ptr)
    print(f"cupy.sort {library:.3f} ({library / copy:.1f} copies, a copy of the input among them)")
    by_cccl = timed(lambda: cccl.run(stream))
    print(f"cccl merge sort {by_cccl:.3f} ({by_cccl / copy:.1f} copies), right: {bool((out == right).all())}")
    if steps:
        by_steps(backend, order, keys, out)
        return
    auto = backend.resolve_sort(SortRequest(), order, keys.nbytes)
    print(f"auto, {auto.describe()}: {timed(lambda: backend.sort_array(keys, order, auto, out)):.3f}")
    width = item_bytes(order)
    found = []
    for shape in TILES[width]:
        sort_policy._TILES[width] = TileShape(*shape)
        for fan_in in (2, 4, 8, 16):
            for block, items in PATHS[width]:
                try:
                    launch = LaunchRequest(block_size=block, items_per_thread=items, fan_in=fan_in)
                    policy = backend.resolve_sort(SortRequest("merge", launch), order, keys.nbytes)
                    out.fill(0)
                    time = timed(partial(backend.sort_array, keys, order, policy, out))
                except GpumergeError as error:
                    print(shape, fan_in, block, items, error)
                    continue
                found.append((time, shape, policy.describe(), bool((out == right).all())))
                print(f"{time:.3f} {shape} {policy.describe()}, right: {found[-1][-1]}", flush=True)
    print("best")
    for time, shape, text, good in sorted(found)[9::-1]:
        print(f"{time:.3f} ms, {time / copy:.1f} copies, {by_cccl / time:.2f} x cccl, {shape} {text}, right: {good}")


def by_steps(backend: Any, order: Order, keys: cupy.ndarray, out: cupy.ndarray) -> None:
    """The default merge sort, each launch by itself."""
    kernels = backend._kernels(order)
    policy: SortPolicy = backend.resolve_sort(SortRequest("merge"), order, keys.nbytes)
    scratch = cupy.empty_like(keys)
    run = (keys.data.ptr, keys.size)
    shape = tile_shape(policy.tile, order, backend._limits)
    print(f"{policy.describe()}; {shape}")
    tiles = next(iter(sort_of(kernels, policy).steps(run, out.data.ptr, lambda nbytes: scratch.data)))
    print(f"tiles {timed(lambda: queued([tiles])):.3f}")
    length = policy.tile
    for fan_in in fan_ins(-(-keys.size // policy.tile), policy.launch.fan_in):
        level = Level(out.data.ptr, length, keys.size)
        times = []
        for own in (merging.OWN_CUTS, 0, 1 << 30):
            usual, merging.OWN_CUTS = merging.OWN_CUTS, own
            merge = merging.Merge(kernels, of_fan_in(policy.launch, fan_in), form="level")
            merging.OWN_CUTS = usual
            times.append(timed(partial(by_level, merge, level, scratch.data.ptr)))
        print(f"{fan_in} runs of {length}: {times[0]:.3f}; cut ahead {times[1]:.3f}; cut by its blocks {times[2]:.3f}")
        out, scratch = scratch, out
        length *= fan_in


def by_level(merge: merging.Merge, level: Level, out: int) -> None:
    """Merge a level into `out`."""
    queued(merge.level(level, out, streams.scratch))


def queued(steps: Iterable[launching.Step]) -> None:
    """Queue steps on the current stream."""
    launching.queue(steps, streams.current_stream())


if __name__ == "__main__":
    main(*sys.argv[1:])
