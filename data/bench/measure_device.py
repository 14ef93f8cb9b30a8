#!/usr/bin/env python3
"""Times merges and sorts of arrays in device memory, called from Python. Writes a Markdown table.

usage: python3 data/bench/measure_device.py OUT.md [--turns 9] [--only REGEX]

Each call is timed by events behind a kernel that keeps the device busy until all is queued, so the host's time does not
count. A row is the median of the turns, beside the best of four device copies of the same bytes between other places.
Every result is compared with cupy.sort's.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cupy

import gpumerge_cli

_HOLD = cupy.RawKernel(
    'extern "C" __global__ void hold(long long ns) { long long t, u; asm volatile("mov.u64 %0, %globaltimer;" : '
    '"=l"(t)); do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(u)); while (u - t < ns); }',
    "hold",
)
_HELD = 300_000  # nanoseconds


def milliseconds(work: Callable[[], Any], turns: int) -> float:
    """The median time of the device."""
    found = []
    for turn in range(turns + 2):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        _HOLD((1,), (1,), (_HELD,))
        start.record()
        work()
        end.record()
        end.synchronize()
        if turn >= 2:
            found.append(float(cupy.cuda.get_elapsed_time(start, end)))
    return statistics.median(found)


def random_keys(dtype: str, count: int) -> Any:
    """Keys of all values, without NaN."""
    kind = cupy.dtype(dtype)
    if kind.kind == "f":
        return cupy.random.standard_normal(count, dtype=kind)
    words = -(-count * kind.itemsize // 4)
    return cupy.random.randint(0, 1 << 32, words, dtype=cupy.uint32).view(kind)[:count]


def shaped(shape: str, dtype: str, count: int) -> list[Any]:
    """Two sorted arrays of `count` keys in all."""
    half = count // 2
    kind = cupy.dtype(dtype)
    if shape == "uniform":
        return [cupy.sort(random_keys(dtype, half)) for _ in range(2)]
    if shape == "few":
        return [cupy.sort(cupy.random.randint(0, 16, half, dtype=cupy.int32)).astype(kind) for _ in range(2)]
    if shape == "equal":
        return [cupy.full(half, 7, kind) for _ in range(2)]
    if shape == "disjoint":
        both = cupy.sort(random_keys(dtype, count))
        return [both[:half].copy(), both[half:].copy()]
    if shape == "tiny":
        return [cupy.sort(random_keys(dtype, count - 1000)), cupy.sort(random_keys(dtype, 1000))]
    at = cupy.arange(count, dtype=cupy.int64) % 2000  # blocky: 700 of one, then 1,300 of the other
    both = cupy.sort(random_keys(dtype, count))
    return [both[at < 700].copy(), both[at >= 700].copy()]


def copy_time(nbytes: int, turns: int) -> float:
    """The best of the medians of copies between four pairs of places."""
    best = []
    for shift in range(4):
        source, target = (cupy.empty(nbytes + 4096, cupy.uint8) for _ in range(2))
        source, target = source[512 * shift :][:nbytes], target[256 * shift :][:nbytes]
        best.append(
            milliseconds(
                lambda a=source, b=target: cupy.cuda.runtime.memcpyAsync(  # type: ignore[misc]
                    b.data.ptr, a.data.ptr, nbytes, 3, cupy.cuda.get_current_stream().ptr
                ),
                turns,
            )
        )
    return min(best)


def merges(turns: int) -> Iterator[tuple[str, float, float, bool]]:
    """(name, milliseconds, those of the copy, whether the result is right)."""
    rows = [(dtype, 1 << power, shape) for dtype, power in (("int32", 28), ("int64", 27))
            for shape in ("uniform", "blocky", "few", "disjoint", "equal", "tiny")]  # fmt: skip
    rows += [("float32", 1 << 28, "uniform"), ("float64", 1 << 27, "uniform"), ("float32", 1 << 28, "blocky"),
             ("float64", 1 << 27, "blocky"), ("uint8", 1 << 29, "uniform"), ("int16", 1 << 28, "uniform")]  # fmt: skip
    rows += [("int32", 1 << power, "uniform") for power in (10, 14, 18, 20, 22, 24)]
    for dtype, count, shape in rows:
        runs = shaped(shape, dtype, count)
        out = cupy.empty(count, dtype)
        time = milliseconds(lambda: gpumerge_cli.merge(*runs, out=out), turns)  # noqa: B023
        right = bool((out == cupy.sort(cupy.concatenate(runs))).all())
        yield f"merge {dtype} 2^{count.bit_length() - 1} {shape}", time, copy_time(out.nbytes, turns), right
    for runs_count in (4, 8, 16, 64, 1000):
        each = (1 << 28) // runs_count
        runs = [cupy.sort(random_keys("int32", each)) for _ in range(runs_count)]
        out = cupy.empty(each * runs_count, cupy.int32)
        time = milliseconds(lambda: gpumerge_cli.merge(*runs, out=out), turns)  # noqa: B023
        right = bool((out == cupy.sort(cupy.concatenate(runs))).all())
        yield f"merge int32 2^28, {runs_count} runs", time, copy_time(out.nbytes, turns), right
    for key, value, power in (("int32", 4, 27), ("int64", 4, 27), ("int64", 8, 27)):
        runs = shaped("uniform", key, 1 << power)
        rows_ = [cupy.arange(len(run), dtype=f"u{value}") for run in runs]
        found = gpumerge_cli.merge(*runs, values=rows_)
        right = bool((found[0] == cupy.sort(cupy.concatenate(runs))).all())
        nbytes = found[0].nbytes + found[1].nbytes
        del found
        time = milliseconds(lambda: gpumerge_cli.merge(*runs, values=rows_), turns)  # noqa: B023
        yield f"merge(values=) {key} + {value} bytes 2^{power}", time, copy_time(nbytes, turns), right


def sorts(turns: int) -> Iterator[tuple[str, float, float, bool]]:
    """As merges."""
    rows = [("uint32", 28), ("float32", 28), ("uint64", 28), ("float64", 27), ("uint8", 29), ("int16", 28)]
    rows += [("int32", power) for power in (10, 14, 16, 18, 20, 22, 24)]
    for dtype, power in rows:
        keys = random_keys(dtype, 1 << power)
        out = cupy.empty_like(keys)
        time = milliseconds(lambda: gpumerge_cli.sort(keys, out=out), turns)  # noqa: B023
        right = bool((out == cupy.sort(keys)).all())
        yield f"sort {dtype} 2^{power}", time, copy_time(out.nbytes, turns), right
    for power in (20, 27):
        keys = random_keys("int32", 1 << power)
        found = gpumerge_cli.argsort(keys)
        right = bool((keys[found] == cupy.sort(keys)).all())
        del found
        time = milliseconds(lambda: gpumerge_cli.argsort(keys), turns)  # noqa: B023
        yield f"argsort int32 2^{power}", time, copy_time(keys.nbytes, turns), right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--only", default="")
    wish = parser.parse_args()
    lines = ["| | ms | copy, ms | of copy | |", "|---|---|---|---|---|"]
    for work in (merges, sorts):
        if not re.search(wish.only, work.__name__):
            continue
        for name, time, copy, right in work(wish.turns):
            lines.append(f"| {name} | {time:.4f} | {copy:.4f} | {copy / time:.3f} | {'right' if right else 'WRONG'} |")
            print(lines[-1], flush=True)
            wish.out.write_text("\n".join(lines) + "\n")
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
