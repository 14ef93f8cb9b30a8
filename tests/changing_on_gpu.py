"""Calls public functions on CuPy arrays that another stream writes to meanwhile: `python3 -m tests.changing_on_gpu`.

The results may be anything. Run it under compute-sanitizer, which sees each access outside of the arrays. The outputs
that are passed lie between guards. Exits with 1 if a guard changed or the device failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import cupy
import numpy as np

import gpumerge_cli as g

WRITER = cupy.RawKernel(
    r"""extern "C" __global__ void write(int* items, long long count, unsigned seed, int rounds) {
  unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + seed;
  for (int i = 0; i < rounds; ++i) {
    x = x * 1664525u + 1013904223u;
    items[x % count] = static_cast<int>(x * 22695477u);
  }
}""",
    "write",
)
GUARD = 1024
SIZES = (300, 3_000, 20_000, 300_000, 3_000_000)
TURNS = 4


def calls(a: Any, b: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each function with each of its options that leads to other kernels."""

    def guarded(call: Callable[[Any], Any], count: int) -> None:
        out = cupy.full((count + 2 * GUARD) * a.itemsize, 0x5A, cupy.uint8).view(a.dtype)
        call(out[GUARD:-GUARD])
        edges = cupy.concatenate([out[:GUARD], out[-GUARD:]]).view(cupy.uint8)
        if not bool((edges == 0x5A).all()):
            sys.exit("an item was written beside an output")

    n = len(a)
    wide = cupy.zeros((n, 3), cupy.float64)
    yield "sort", lambda: g.sort(a)
    yield "sort out", lambda: guarded(lambda out: g.sort(a, out=out), n)
    yield "sort descending", lambda: g.sort(a, descending=True)
    yield "argsort", lambda: g.argsort(a)
    yield "sort values", lambda: g.sort(a, values=b)
    yield "sort wide values", lambda: g.sort(a, values=wide)
    yield "sort counts", lambda: g.sort(a, counts=True)
    for algorithm in ("merge", "radix"):
        yield f"sort {algorithm}", lambda algorithm=algorithm: g.sort(a, algorithm=algorithm)
    yield "merge", lambda: g.merge(a, b)
    yield "merge out", lambda: guarded(lambda out: g.merge(a, b, out=out), 2 * n)
    yield "merge five", lambda: g.merge(a, b, a, b, a)
    yield "merge values", lambda: g.merge(a, b, values=[b, a])
    yield "merge wide values", lambda: g.merge(a, b, values=[wide, wide])
    yield "merge counts", lambda: g.merge(a, b, counts=True)
    for kernel in ("basic", "tiled", "circular"):
        yield f"merge {kernel}", lambda kernel=kernel: g.merge(a, b, kernel=kernel)
    for name in ("union", "intersect", "difference", "symmetric"):
        call = getattr(g, name)
        yield name, lambda call=call: call(a, b)
        yield f"{name} distinct", lambda call=call: call(a, b, distinct=True)
    yield "rank", lambda: g.rank([a, b], [0, n // 2])
    yield "rank_of", lambda: g.rank_of([a, b], a[:1000])
    yield "is_sorted", lambda: g.is_sorted(a)
    if n <= 20_000:  # each pair of equals is an item of a join
        yield "join", lambda: g.join(a, b)


def main() -> None:
    beside = cupy.cuda.Stream(non_blocking=True)
    for dtype in (np.int32, np.float64, np.int16):
        for count in SIZES:
            seed = count + np.dtype(dtype).itemsize
            random = np.random.default_rng(seed)
            host = np.sort(random.integers(-30_000, 30_000, count).astype(dtype))
            a, b = cupy.asarray(host), cupy.asarray(host)
            words = a.view(np.int32)
            for name, call in calls(a, b):
                for turn in range(TURNS):
                    a[...] = cupy.asarray(host)
                    cupy.cuda.Device().synchronize()
                    with beside:
                        WRITER((64,), (128,), (words, np.int64(words.size), np.uint32(seed + turn), np.int32(400)))
                    try:
                        call()
                        cupy.cuda.Device().synchronize()
                    except g.GpumergeError as error:
                        print(f"{name} of {count} {host.dtype}: {error}", flush=True)
                        break
                    except cupy.cuda.runtime.CUDARuntimeError as error:
                        sys.exit(f"{name} of {count} {host.dtype}, seed {seed}: {error}")
                    except (IndexError, ValueError) as error:  # lengths that were read twice may differ
                        print(f"{name} of {count} {host.dtype}: {type(error).__name__} {error}", flush=True)
                        break
    print("done")


if __name__ == "__main__":
    main()
