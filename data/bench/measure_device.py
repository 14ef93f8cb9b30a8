#!/usr/bin/env python3
"""Times merges and sorts of arrays in device memory, called from Python, beside CCCL's. Writes a Markdown table.

usage: python3 data/bench/measure_device.py OUT.md [--turns 9] [--only REGEX]

Each call is timed by events behind a kernel that keeps the device busy until all is queued, so the host's time does not
count. A row is the median of the turns, beside the best of four device copies of the same bytes between other places.
CCCL's public algorithm has the same arrays, the output too, and takes its turns right behind, with its own tuning and
its own `<`; of its two sorts the faster one counts. It is left out where nvcc or CCCL is missing.
Every result is compared with cupy.sort's. Values are positions: they must lead to the keys, and rise among equal keys.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy
from measured_on import measured_on

import gpumerge_cli
from gpumerge_cli.backends.gpu.cccl import CcclAlgorithm, installed
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order.kinds import KeyOrder, Order

_MERGE, _SORT = "baseline_cccl_merge.cu", "baseline_cccl_sort.cu"
_HOLD = cupy.RawKernel(
    'extern "C" __global__ void hold(long long ns) { long long t, u; asm volatile("mov.u64 %0, %globaltimer;" : '
    '"=l"(t)); do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(u)); while (u - t < ns); }',
    "hold",
)
_HELD = 300_000  # nanoseconds


def milliseconds(work: Callable[[], Any], turns: int, *, held: bool = True) -> float:
    """The median time of the device. held: it is busy until all is queued, so the host's time does not count."""
    found = []
    for turn in range(turns + 2):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        if held:
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


@dataclass(frozen=True)
class Row:
    """A row of the table. call: the work. nbytes: of its output. right: whether the result is right.

    others: calls of CCCL that do the same.
    """

    name: str
    call: Callable[[], Any]
    nbytes: int
    right: Callable[[], bool]
    others: Sequence[Callable[[], Any]] = ()


def cccl(file: str, name: str, keys: Any, payload: int, arguments: Sequence[int]) -> list[Callable[[], Any]]:
    """CCCL's algorithm on keys of the dtype of `keys`, or nothing if it does not compile here."""
    order = Order.of(str(keys.dtype))
    assert isinstance(order, KeyOrder)
    try:
        algorithm = CcclAlgorithm(file, name, order, payload, arguments)
    except DeviceError as error:
        print(f"CCCL is left out: {error}", flush=True)
        return []
    return [lambda: algorithm(cupy.cuda.get_current_stream().ptr)]


def cccl_merge(runs: Sequence[Any], out: Any, values: Sequence[Any] = ()) -> list[Callable[[], Any]]:
    """CCCL's merge of two runs into `out`; nothing for more runs. Values go to an array of its own."""
    if len(runs) != 2:
        return []
    total = len(out)
    arguments = [number for run in runs for number in (run.data.ptr, len(run))] + [out.data.ptr]
    places = cupy.empty(total, values[0].dtype) if values else None
    arguments += [*(value.data.ptr for value in values), places.data.ptr] if places is not None else [0, 0, 0]
    calls = cccl(_MERGE, "cccl_merge", out, values[0].itemsize if values else 0, arguments)
    return [lambda call=call, held=(out, places): call() for call in calls]  # type: ignore[misc]


def cccl_sorts(keys: Any, out: Any) -> list[Callable[[], Any]]:
    """CCCL's two sorts into `out`."""
    calls = []
    for name in ("cccl_radix_sort", "cccl_merge_sort"):
        calls += cccl(_SORT, name, keys, 0, (keys.data.ptr, len(keys), out.data.ptr, 0, 0))
    return [lambda call=call, held=out: call() for call in calls]  # type: ignore[misc]


def is_stable(keys: Any, merged: Any, positions: Any) -> bool:
    """Whether each position leads to its key, and positions of equal keys rise."""
    equal = merged[1:] == merged[:-1]
    rises = positions[1:] > positions[:-1]
    return bool((keys[positions] == merged).all()) and bool((rises | ~equal).all())


def merges() -> Iterator[Row]:
    """Merges of two runs: of all shapes, of wide and narrow keys, by older devices' loads, and small ones."""
    rows = [(dtype, 1 << power, shape) for dtype, power in (("int32", 28), ("int64", 27))
            for shape in ("uniform", "blocky", "few", "disjoint", "equal", "tiny")]  # fmt: skip
    rows += [("float32", 1 << 28, "uniform"), ("float64", 1 << 27, "uniform"), ("float32", 1 << 28, "blocky"),
             ("float64", 1 << 27, "blocky"), ("uint8", 1 << 29, "uniform"), ("int16", 1 << 28, "uniform")]  # fmt: skip
    rows += [("int32", 1 << power, "uniform") for power in (10, 14, 18, 20, 22, 24)]
    for dtype, count, shape in rows:
        yield _merge(f"merge {dtype} 2^{count.bit_length() - 1} {shape}", shaped(shape, dtype, count))
    for dtype, power in (("int32", 28), ("int64", 27), ("float32", 28), ("float64", 27)):
        name = f"merge {dtype} 2^{power} uniform, vector loads"
        yield _merge(name, shaped("uniform", dtype, 1 << power), transfer="vector")


def runs() -> Iterator[Row]:
    """Merges of more runs."""
    for dtype, power in (("int32", 28), ("int64", 27)):
        for count in (4, 8, 16, 64, 1000):
            each = (1 << power) // count
            sorted_runs = [cupy.sort(random_keys(dtype, each)) for _ in range(count)]
            yield _merge(f"merge {dtype} 2^{power}, {count} runs", sorted_runs)


def _merge(name: str, sorted_runs: Sequence[Any], **options: Any) -> Row:
    out = cupy.empty(sum(map(len, sorted_runs)), sorted_runs[0].dtype)

    def right() -> bool:
        return bool((out == cupy.sort(cupy.concatenate(sorted_runs))).all())

    call: Callable[[], Any] = lambda: gpumerge_cli.merge(*sorted_runs, out=out, **options)  # noqa: E731
    return Row(name, call, out.nbytes, right, cccl_merge(sorted_runs, out))


def pairs() -> Iterator[Row]:
    """Merges with values."""
    for dtype, width, power in (("int32", 4, 27), ("int64", 4, 27), ("int64", 8, 27)):
        keys = shaped("uniform", dtype, 1 << power)
        places = cupy.arange(1 << power, dtype=f"u{width}")
        values = [places[: len(keys[0])], places[len(keys[0]) :]]

        def call(keys: Any = keys, values: Any = values) -> Any:
            return gpumerge_cli.merge(*keys, values=values)

        def right(keys: Any = keys, call: Any = call) -> bool:
            return is_stable(cupy.concatenate(keys), *call())

        nbytes = (1 << power) * (keys[0].itemsize + width)
        others = cccl_merge(keys, cupy.empty(1 << power, dtype), values)
        yield Row(f"merge(values=) {dtype} + {width} bytes 2^{power}", call, nbytes, right, others)


def sorts() -> Iterator[Row]:
    """Sorts, and sorts of positions."""
    rows = [("uint32", 28), ("float32", 28), ("uint64", 28), ("float64", 27), ("uint8", 29), ("int16", 28)]
    rows += [("int32", power) for power in (10, 14, 16, 18, 20, 22, 24)]
    for dtype, power in rows:
        keys = random_keys(dtype, 1 << power)
        out = cupy.empty_like(keys)

        def call(keys: Any = keys, out: Any = out) -> Any:
            return gpumerge_cli.sort(keys, out=out)

        def right(keys: Any = keys, out: Any = out) -> bool:
            return bool((out == cupy.sort(keys)).all())

        yield Row(f"sort {dtype} 2^{power}", call, out.nbytes, right, cccl_sorts(keys, out))
    for power in (20, 27):
        keys = random_keys("int32", 1 << power)

        def places(keys: Any = keys) -> Any:
            return gpumerge_cli.argsort(keys)

        def sorted_by(keys: Any = keys, places: Any = places) -> bool:
            found = places()
            return is_stable(keys, keys[found], found) and bool((keys[found] == cupy.sort(keys)).all())

        yield Row(f"argsort int32 2^{power}", places, keys.nbytes, sorted_by)


def cells(row: Row, turns: int) -> list[str]:
    """The row's cells: medians of the work, of a copy and of CCCL, in milliseconds."""
    time = milliseconds(row.call, turns)
    right = "right" if row.right() else "WRONG"  # ahead of the others, which write to the same place
    other = min((milliseconds(call, turns) for call in row.others), default=0.0)
    copy = copy_time(row.nbytes, turns)
    beside = [f"{other:.4f}", f"{copy / other:.3f}", f"{other / time:.2f}"] if other else ["", "", ""]
    return [row.name, f"{time:.4f}", f"{copy:.4f}", f"{copy / time:.3f}", *beside, right]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--only", default="", help="the kinds of work whose names match")
    wish = parser.parse_args()
    try:
        other = f"CCCL {installed().version}"
    except DeviceError as error:
        other = "CCCL"
        print(error)
    heads = ["", "ms", "copy, ms", "of copy", f"{other}, ms", "of copy", f"times {other}", ""]
    lines = [measured_on(), "", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for work in (merges, runs, pairs, sorts):
        if not re.search(wish.only, work.__name__):
            continue
        for row in work():
            lines.append(f"| {' | '.join(cells(row, wish.turns))} |")
            print(lines[-1], flush=True)
            wish.out.write_text("\n".join(lines) + "\n")
            del row
            cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
