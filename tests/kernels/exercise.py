"""Every kernel once, on runs with ragged ends, through the GPU's workspace: a program for compute-sanitizer.

compute-sanitizer --tool memcheck python3 -m tests.kernels.exercise
compute-sanitizer --tool racecheck python3 -m tests.kernels.exercise

With an argument "0/4" only the first quarter of it, and so on, so that parts may run beside each other. With a folder
instead, processes that run beside each other share the work: each does what no other has begun. A second argument is
the beginning of the names of the work to do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from gpumerge_cli.backends import gpu
from gpumerge_cli.backends.base import ALGORITHMS, FAN_INS, KERNELS, Backend, LaunchRequest, SortRequest
from gpumerge_cli.order import DTYPES, Order
from gpumerge_cli.order.rules import LineOrder
from tests.line_orders import LINE_ORDERS
from tests.linekeys import key_of
from tests.oracles import first_keys, merged_keys, same_bits
from tests.strategies import as_text, special_values

MONTHS = (b"jan", b"DEC", b"Mar 3", b"")
_TINY = {"block_size": 2, "items_per_thread": 2}
_SORTS = [
    *(SortRequest(algorithm) for algorithm in ALGORITHMS),
    *(SortRequest("bottom-up", LaunchRequest(kernel)) for kernel in KERNELS),
    *(SortRequest("merge", LaunchRequest(fan_in=fan_in, block_size=32, items_per_thread=4)) for fan_in in FAN_INS),
    SortRequest("merge", LaunchRequest(transfer="vector")),
]
_REQUESTS = [LaunchRequest(kernel, **shape) for kernel in KERNELS for shape in ({}, _TINY)]  # type: ignore[arg-type]
_REQUESTS += [LaunchRequest("tiled", tile_load="exact"), LaunchRequest("tiled", tile_load="exact", block_size=2)]
_REQUESTS += [LaunchRequest(transfer="vector"), LaunchRequest(fan_in=4), LaunchRequest(fan_in=4, transfer="vector")]
_REQUESTS.append(LaunchRequest(fan_in=4, block_size=4, items_per_thread=1))  # so many tiles that they are cut ahead


def _keys(backend: Backend, dtype: str) -> int:
    """Keys of a dtype. Returns how many merges and sorts were right."""
    rng = np.random.default_rng(1)
    right = 0
    runs = [merged_keys([rng.choice(special_values(np.dtype(dtype)), size)]) for size in (4099, 1, 2500)]
    order = Order.of(dtype)
    workspace = backend.workspace(order, 1 << 16)
    workspace.staging(sum(run.nbytes for run in runs))[:] = np.concatenate(runs).view(np.uint8)
    workspace.upload([run.nbytes for run in runs])
    assert workspace.disorder() is None
    for request in _REQUESTS:
        workspace.poison()
        workspace.merge(backend.resolve(request, order))
        assert same_bits(workspace.download().view(dtype), merged_keys(runs)), (dtype, request)
        right += 1
    workspace.merge(backend.resolve(LaunchRequest(), order), "first")
    assert same_bits(workspace.download().view(dtype), first_keys(merged_keys(runs))), dtype
    right += 1
    for sort in _SORTS:
        workspace.poison()
        workspace.sort(backend.resolve_sort(sort, order, 1 << 10))
        assert same_bits(workspace.download().view(dtype), merged_keys(runs)), (dtype, sort)
        right += 1
    workspace.close()
    return right + _values(order, np.concatenate(runs))


def _values(order: Order, keys: Any) -> int:
    """Values that go with keys, of both sizes. Returns how many sorts were right."""
    import cupy

    from gpumerge_cli import argsort, sort

    ranks = np.argsort(order.image(keys), kind="stable")
    given = cupy.asarray(keys)
    assert np.array_equal(argsort(given, algorithm="radix").get(), ranks), order
    for dtype in (np.uint32, np.uint64):
        _, values = sort(given, values=cupy.arange(len(keys), dtype=dtype), algorithm="radix")
        assert np.array_equal(values.get(), ranks), (order, dtype)
    return 3


def _lines(backend: Backend, text: LineOrder) -> int:
    """Lines in an order. Returns how many merges and sorts were right."""
    rng = np.random.default_rng(1)
    right = 0
    order = Order.lines(text)
    end = bytes([text.terminator])
    pool = [b"%d,%dK,%s" % (x % 7, x, MONTHS[x % 4]) * (1 + x % 2) for x in rng.integers(0, 999, 907)]
    lines = [sorted(run, key=key_of(order)) for run in (pool[:900], pool[900:])]
    texts = [as_text(run, end) for run in lines]
    merged = sorted((line for run in lines for line in run), key=key_of(order))
    workspace = backend.workspace(order, 1 << 16)
    workspace.staging(sum(map(len, texts)))[:] = np.frombuffer(b"".join(texts), np.uint8)
    workspace.upload(list(map(len, texts)))
    assert workspace.disorder() is None
    for request in _REQUESTS if text.simple else _REQUESTS[:1]:
        workspace.poison()
        workspace.merge(backend.resolve(request, order))
        assert workspace.download().tobytes() == as_text(merged, end), (order, request)
        right += 1
    workspace.merge(backend.resolve(LaunchRequest(), order), "first")
    first = [next(group) for _, group in groupby(merged, key_of(order))]
    assert workspace.download().tobytes() == as_text(first, end), order
    right += 1
    for sort in _SORTS[: None if text.simple else 1]:
        if sort.algorithm == "radix":
            continue
        workspace.poison()
        workspace.sort(backend.resolve_sort(sort, order, 1 << 10))
        assert workspace.download().tobytes() == as_text(merged, end), (order, sort)
        right += 1
    workspace.close()
    return right


def _records(backend: Backend, size: int, offset: int, key: Any) -> int:
    """Records by a key in them. Returns how many merges and sorts were right."""
    rng = np.random.default_rng(1)
    right = 0
    order = Order.records(size, offset, key)
    runs = [rng.integers(0, 2, (count, size), np.uint8) for count in (700, 1, 300)]
    runs = [run[np.argsort(order.image(order.keys(run.reshape(-1))), kind="stable")] for run in runs]
    every = np.concatenate(runs)
    images = order.image(order.keys(every.reshape(-1)))
    ranks = np.argsort(images, kind="stable")
    workspace = backend.workspace(order, 1 << 16)
    workspace.staging(every.size)[:] = every.reshape(-1)
    workspace.upload([run.size for run in runs])
    assert workspace.disorder() is None
    for request in _REQUESTS:
        workspace.poison()
        workspace.merge(backend.resolve(request, order))
        assert np.array_equal(workspace.download(), every[ranks].reshape(-1)), (order, request)
        right += 1
    workspace.merge(backend.resolve(LaunchRequest(), order), "first")
    first = ranks[np.r_[True, images[ranks][1:] != images[ranks][:-1]]]
    assert np.array_equal(workspace.download(), every[first].reshape(-1)), order
    right += 1
    for sort in filter(lambda wish: wish.algorithm != "radix" or order.width <= 8, _SORTS):
        workspace.poison()
        workspace.sort(backend.resolve_sort(sort, order, 1 << 10))
        assert np.array_equal(workspace.download(), every[ranks].reshape(-1)), (order, sort)
        right += 1
    workspace.close()
    return right


def _all_work(backend: Backend) -> list[tuple[str, Callable[[], int]]]:
    """Names, and work that returns how many results were right. The longest of it comes first."""
    from tests.kernels.exercise_calls import call_work  # CuPy's

    records = ((100, 0, 10), (16, 8, np.dtype(">f4")), (5, 1, 3), (4097, 33, 20))
    return [
        *((f"records of {record[0]}", partial(_records, backend, *record)) for record in records[::-1]),
        *((f"lines {number}", partial(_lines, backend, text)) for number, text in enumerate(LINE_ORDERS)),
        *((f"keys {dtype}", partial(_keys, backend, dtype)) for dtype in DTYPES[::-1]),
        *call_work(),
    ]


def shared_out(count: int, share: str) -> Iterator[int]:
    """The numbers below `count` that are this process's. share: "PART/PARTS", or a folder to take them in."""
    part, slash, parts = share.partition("/")
    if slash and part.isdecimal() and parts.isdecimal():
        yield from range(int(part), count, int(parts))
        return
    for number in range(count):
        try:
            (Path(share) / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        yield number


def main() -> None:
    """Raise AssertionError at the first wrong output; print how many launches were right."""
    share, begins = (*sys.argv[1:], *("0/1", "")[len(sys.argv) - 1 :])
    work = [one for one in _all_work(gpu.create()) if one[0].startswith(begins)]
    right = 0
    for number in shared_out(len(work), share):
        name, one = work[number]
        begun = time.monotonic()
        found = one()
        print(f"{name}: {found} right, in {time.monotonic() - begun:.1f} s", flush=True)
        right += found
    print(f"{right} merges, sorts and checks right")


if __name__ == "__main__":
    main()
