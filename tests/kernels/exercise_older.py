"""The kernels as older devices run them, without bulk copies: a program for compute-sanitizer.

compute-sanitizer --tool memcheck python3 -m tests.kernels.exercise_older
compute-sanitizer --tool racecheck python3 -m tests.kernels.exercise_older

The device is taken for one of compute capability 7.5, with its 64 KiB of shared memory for a block. Keys, records and
lines are merged, 2, 4, 8 and 16 runs a pass, and sorted. An argument "0/4" is for the first quarter of it, and so on.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpumerge_cli.backends import gpu
from gpumerge_cli.backends.base import FAN_INS, Backend, LaunchRequest, SortRequest
from gpumerge_cli.order import Order
from tests.linekeys import key_of
from tests.strategies import as_text, special_values

_KEYS = ("uint8", "int16", "int32", "float32", "int64", "float64")
_RECORDS = ((8, 0, np.dtype("int32")), (12, 0, np.dtype("int64")), (16, 8, np.dtype("float64")), (100, 3, 10))
_LINES = (Order.lines(), Order.lines(numeric=True))
_COUNT = 20_003
"""Items in all: several tiles, and with the small shape so many that they are cut ahead."""
_SMALL = {"block_size": 32, "items_per_thread": 4}


def _exercise(backend: Backend, order: Order, items: list[bytes], key: Any) -> int:
    """Merge and sort items of an order, whose keys `key` gives. Returns how many results were right."""
    end = order.end
    whole = sorted(items, key=key)
    right = 0
    workspace = backend.workspace(order, 1 << 22)
    for fan_in in FAN_INS:
        runs = [sorted(items[number::fan_in], key=key) for number in range(fan_in)]
        texts = [as_text(run, end) for run in runs]
        merged = as_text(sorted((item for run in runs for item in run), key=key), end)
        workspace.staging(sum(map(len, texts)))[:] = np.frombuffer(b"".join(texts), np.uint8)
        workspace.upload(list(map(len, texts)))
        assert workspace.disorder() is None
        for shape in ({}, _SMALL):
            policy = backend.resolve(LaunchRequest("path", fan_in=fan_in, **shape), order, fan_in)
            assert policy.transfer == "vector"
            workspace.poison()
            workspace.merge(policy)
            assert workspace.download().tobytes() == merged, (order, policy)
            right += 1
    text = as_text(items, end)
    workspace.staging(len(text))[:] = np.frombuffer(text, np.uint8)
    workspace.upload([len(text)])
    requests = [SortRequest("merge"), SortRequest("merge", LaunchRequest(**_SMALL))]
    if order.prefix_decides and not order.text:
        requests.append(SortRequest("radix"))
    for request in requests:
        sort = backend.resolve_sort(request, order, len(text))
        assert sort.algorithm == "radix" or sort.launch.transfer == "vector"
        workspace.poison()
        workspace.sort(sort)
        assert workspace.download().tobytes() == as_text(whole, end), (order, sort)
        right += 1
    workspace.close()
    return right


def _sized(backend: Backend, order: Order, items: np.ndarray[Any, Any]) -> int:
    """Items of one size. Their keys in NumPy's order are their ranks among all."""
    _, ranks = np.unique(order.image(order.keys(items.reshape(-1))), return_inverse=True)
    rows = [row.tobytes() for row in items]
    rank_of = dict(zip(rows, ranks.reshape(-1).tolist(), strict=True))
    return _exercise(backend, order, rows, rank_of.__getitem__)


def _keys(backend: Backend, dtype: str) -> int:
    pool = special_values(np.dtype(dtype))
    random = np.random.default_rng(1)
    keys = np.where(random.random(_COUNT) < 0.5, random.choice(pool, _COUNT), np.arange(_COUNT).astype(dtype))
    order = Order.of(dtype)
    return _sized(backend, order, np.ascontiguousarray(keys).view(np.uint8).reshape(_COUNT, order.width))


def _records(backend: Backend, size: int, offset: int, key: Any) -> int:
    items = np.random.default_rng(2).integers(0, 4, (_COUNT, size), np.uint8)
    return _sized(backend, Order.records(size, offset, key), items)


def _lines(backend: Backend, order: Order) -> int:
    numbers = np.random.default_rng(3).integers(0, 9999, _COUNT).tolist()
    return _exercise(backend, order, [b"%d word %d" % (x, x % 7) for x in numbers], key_of(order))


def main() -> None:
    """Raise AssertionError at the first wrong output; print how many launches were right."""
    backend = gpu.create()
    backend._limits = replace(backend.limits, capability=75, shared_memory=64 << 10)
    work = [
        *(partial(_keys, backend, dtype) for dtype in _KEYS),
        *(partial(_records, backend, *record) for record in _RECORDS),
        *(partial(_lines, backend, order) for order in _LINES),
    ]
    part, parts = map(int, sys.argv[1].split("/")) if sys.argv[1:] else (0, 1)
    right = sum(one() for one in work[part::parts])
    print(f"{right} merges and sorts right without bulk copies")


if __name__ == "__main__":
    main()
