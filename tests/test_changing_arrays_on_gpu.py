"""Calls on CuPy arrays that another stream writes meanwhile may give any result, but touch nothing outside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gpumerge_cli

pytestmark = pytest.mark.gpu

WRITER = r"""
extern "C" __global__ void change(int* items, long long count, unsigned seed, int rounds)
{
    unsigned x = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + seed;
    for (int round = 0; round < rounds; ++round) {
        x = x * 1664525u + 1013904223u;
        items[x % count] = static_cast<int>(x * 22695477u);
    }
}
"""
GUARD = 1 << 12  # items around an array
KEPT = 0x5A5A5A5A
SIZES = (1, 31, 300, 3_000, 20_000, 300_000, 3_000_000)


def guarded(cupy: Any, count: int) -> tuple[Any, Any]:
    """An array, and the array in whose middle it lies."""
    whole = cupy.full(count + 2 * GUARD, KEPT, np.int32)
    return whole, whole[GUARD : GUARD + count]


def calls(a: Any, b: Any, out: Any, both: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    g = gpumerge_cli
    yield "sort into an array", lambda: g.sort(a, out=out)
    yield "merge into an array", lambda: g.merge(a, b, out=both)
    yield "sort", lambda: g.sort(a)
    yield "argsort", lambda: g.argsort(a)
    yield "sort values", lambda: g.sort(a, values=b)
    yield "sort counts", lambda: g.sort(a, counts=True)
    yield "merge many", lambda: g.merge(a, b, a, b, a)
    yield "merge values", lambda: g.merge(a, b, values=[b, a])
    yield "merge counts", lambda: g.merge(a, b, counts=True)
    yield "union", lambda: g.union(a, b)
    yield "intersect", lambda: g.intersect(a, b)
    yield "difference", lambda: g.difference(a, b)
    yield "distinct union", lambda: g.union(a, b, distinct=True)
    yield "join", lambda: g.join(a, b)
    yield "ranks", lambda: g.rank_of([a, b], a[:1000])
    yield "is_sorted", lambda: g.is_sorted(a)


@pytest.mark.parametrize("count", SIZES)
def test_nothing_outside_of_changing_arrays_is_written(count: int) -> None:
    cupy = pytest.importorskip("cupy")
    change = cupy.RawKernel(WRITER, "change")
    other = cupy.cuda.Stream(non_blocking=True)
    host = np.sort(np.random.default_rng(count).integers(-(10**6), 10**6, count).astype(np.int32))
    arrays = [guarded(cupy, size) for size in (count, count, count, 2 * count)]
    (_, a), (_, b), (_, out), (_, both) = arrays
    for name, call in calls(a, b, out, both):
        for turn in range(4):
            a[...] = b[...] = cupy.asarray(host)
            cupy.cuda.Device().synchronize()
            with other:
                change((64,), (128,), (a, np.int64(count), np.uint32(turn), np.int32(400)))
            with contextlib.suppress(gpumerge_cli.GpumergeError):  # a call may say that its arrays are not in order
                call()
            cupy.cuda.Device().synchronize()  # raises if a kernel left its memory
            for whole, _ in arrays:
                around = cupy.concatenate([whole[:GUARD], whole[-GUARD:]])
                assert bool((around == KEPT).all()), (name, turn)
