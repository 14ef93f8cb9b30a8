"""How fast sorts of keys in device memory are: every algorithm beside cupy.sort and a copy, each output checked.

python data/measure_sorts.py 2^28 uint32 uint64 --fan-ins 4,8,16 -o sorts.json
"""

from __future__ import annotations

import argparse
import json
from statistics import median

import cupy
import numpy as np

from gpumerge_cli.backends import gpu
from gpumerge_cli.backends.base import LaunchRequest, SortRequest
from gpumerge_cli.cli.options import parse_count
from gpumerge_cli.order import Order

SHAPES = ("random", "sorted", "reversed", "equal")


def made(shape: str, dtype: str, count: int) -> cupy.ndarray:
    """Keys on the device."""
    rng = cupy.random.default_rng(1)
    words = count * np.dtype(dtype).itemsize // 4
    keys = rng.integers(0, 1 << 32, words, dtype=np.uint32).view(dtype)
    if shape == "equal":
        keys[:] = 7
    if shape in ("sorted", "reversed"):
        keys.sort()
    return keys[::-1].copy() if shape == "reversed" else keys


def seconds(work: object, repeat: int) -> float:
    """The median of event timings."""
    found = []
    for _ in range(repeat):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()  # type: ignore[operator]
        end.record()
        end.synchronize()
        found.append(cupy.cuda.get_elapsed_time(start, end) / 1000)
    return median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count")
    parser.add_argument("dtypes", nargs="+")
    parser.add_argument("--fan-ins", default="")
    parser.add_argument("--algorithms", default="merge,radix")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("-o", metavar="FILE")
    wish = parser.parse_args()
    count = parse_count(wish.count, "COUNT")
    backend = gpu.create()
    rows = []
    for dtype in wish.dtypes:
        order = Order.of(dtype)
        for shape in wish.shapes.split(","):
            keys = made(shape, dtype, count)
            out = cupy.empty_like(keys)
            truth = cupy.sort(keys)
            copy = seconds(lambda: cupy.copyto(out, keys), wish.repeat)  # noqa: B023 - run at once
            rows.append((dtype, shape, "copy", "", copy))
            rows.append((dtype, shape, "cupy.sort", "", seconds(lambda: cupy.sort(keys), wish.repeat)))  # noqa: B023
            wishes = [SortRequest(name) for name in wish.algorithms.split(",")]  # type: ignore[arg-type]
            fans = [int(fan) for fan in wish.fan_ins.split(",") if fan]
            wishes += [SortRequest("merge", LaunchRequest(fan_in=fan)) for fan in fans]
            for request in wishes:
                policy = backend.resolve_sort(request, order, keys.nbytes)
                out.view(np.uint8)[:] = 0xA5
                backend.sort_array(keys, order, policy, out)
                assert bool((out == truth).all()), (dtype, shape, policy)
                found = seconds(lambda: backend.sort_array(keys, order, policy, out), wish.repeat)  # noqa: B023
                rows.append((dtype, shape, request.algorithm, policy.describe(), found))
            keys = out = truth = None
            cupy.get_default_memory_pool().free_all_blocks()
    names = ("dtype", "shape", "name", "launch", "seconds")
    table = [dict(zip(names, row, strict=True), keys_per_second=count / row[-1]) for row in rows]
    for row in table:
        print(
            f"{row['dtype']:8} {row['shape']:9} {row['name']:10} {row['seconds'] * 1000:8.3f} ms "
            f"{row['keys_per_second'] / 1e9:7.2f} Gkeys/s  {row['launch']}"
        )
    if wish.o:
        with open(wish.o, "w", encoding="utf-8") as file:
            json.dump({"count": count, "device": backend.info().name, "sorts": table}, file, indent=1)


if __name__ == "__main__":
    main()
