"""Merges of runs that are not in order: no memory but theirs is touched, and every item comes out once."""

from __future__ import annotations

import ctypes
import mmap
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.cpu.backend import CpuBackend, CpuWorkspace
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.line_orders import LINE_ORDERS

_EACH = 20
_CANARY = 0xA5
_NO_ACCESS = 0  # PROT_NONE

RECORDS = [
    Order.records(12, 1, np.dtype("i8")),
    Order.records(33, 2, 20, descending=True),
    Order.records(3, 1, np.dtype("f2")),
]


@pytest.fixture
def backend() -> CpuBackend:
    """The CPU's."""
    return backends_select.host()


def guarded(items: NDArray[Any]) -> NDArray[Any]:
    """A copy directly ahead of memory that must not be accessed. The memory one to two pages ahead of it is so, too."""
    size = -(-max(1, items.nbytes) // mmap.PAGESIZE) * mmap.PAGESIZE
    room = mmap.mmap(-1, size + 2 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    for page in (start, start + mmap.PAGESIZE + size):
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        assert protect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), _NO_ACCESS) == 0
    memory = np.frombuffer(room, np.uint8)[mmap.PAGESIZE : mmap.PAGESIZE + size]
    memory[:] = _CANARY
    copy: NDArray[Any] = memory[size - items.nbytes :].view(items.dtype)
    copy[:] = items
    assert copy.base is not None
    return copy


def nothing_ahead(guarded_items: NDArray[Any]) -> bool:
    """Whether the memory between the guarded items and the page ahead is unchanged."""
    ahead = guarded_items.ctypes.data % mmap.PAGESIZE
    return ctypes.string_at(guarded_items.ctypes.data - ahead, ahead) == bytes([_CANARY]) * ahead


def requests(kernel: str, rng: np.random.Generator) -> Iterator[LaunchRequest]:
    """Launches of one kernel, of all shapes, among them the default."""
    yield LaunchRequest(kernel)  # type: ignore[arg-type]
    while True:
        number, variant = int(rng.integers(1, 40)), variant_named(kernel)
        if variant.tile == "inputs":
            load = variant.loads[rng.integers(len(variant.loads))] if variant.loads else None
            yield LaunchRequest(kernel, block_size=int(rng.integers(1, 9)), tile_size=number, tile_load=load)
        else:
            yield LaunchRequest(kernel, items_per_thread=number)


def disorder(items: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """The items reversed, shuffled, with their halves exchanged, or with a few items in wrong places."""
    kind = rng.integers(4)
    if kind == 0:
        return items[::-1]
    if kind == 1:
        return rng.permutation(items)
    if kind == 2:
        return np.roll(items, len(items) // 2, 0)
    items = items.copy()
    if len(items):
        items[rng.integers(0, len(items), 3)] = items[rng.integers(0, len(items), 3)]
    return items


def lengths(rng: np.random.Generator) -> list[int]:
    most = int(rng.choice([3, 40, 2000]))
    return rng.integers(0, most, rng.integers(2, 10)).tolist()


@pytest.mark.one_of_each
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_keys(backend: CpuBackend, kernel: str, dtype: str, rng: np.random.Generator) -> None:
    for _, request in zip(range(_EACH), requests(kernel, rng), strict=False):
        order = Order.of(dtype, descending=bool(rng.integers(2)))
        values = int(rng.choice([2, 200]))
        runs = []
        for length in lengths(rng):
            keys = rng.integers(0, 256, (values, order.width), np.uint8).view(dtype).reshape(-1)
            keys = np.asarray(rng.choice(keys, length))
            runs.append(guarded(disorder(keys[np.argsort(order.image(keys), kind="stable")], rng)))
        out = guarded(np.zeros(sum(map(len, runs)), dtype))
        policy = backend.resolve(request, order)
        backend.merge_arrays(runs, order, policy, out, threads=int(rng.integers(1, 6)))
        every = np.concatenate(runs).view(order.unsigned)
        assert np.array_equal(np.sort(out.view(order.unsigned)), np.sort(every)), request
        assert all(map(nothing_ahead, [*runs, out]))


def judge(workspace: CpuWorkspace, order: Order, data: list[bytes], request: LaunchRequest) -> bytes:
    """Merges rows whose numbers lie in guarded memory, then as chunks are merged. Returns the latter result."""
    backend = backends_select.host()
    policy = backend.resolve(request, order)
    staging = workspace.staging(sum(map(len, data)))
    staging[:] = np.frombuffer(b"".join(data), np.uint8)
    workspace.upload([len(run) for run in data])
    workspace.merge(policy, Equals.FIRST)
    assert sum(workspace.counts) - workspace.dropped <= sum(workspace.counts)
    assert workspace.merged_bytes <= len(staging)
    workspace.merge(policy)
    return workspace.download().tobytes()


@pytest.mark.one_of_each
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("number", range(len(LINE_ORDERS)))
def test_lines(backend: CpuBackend, kernel: str, number: int, rng: np.random.Generator) -> None:
    order = Order.lines(LINE_ORDERS[number])
    end = bytes([LINE_ORDERS[number].terminator])
    workspace = backend.workspace(order, 1, threads=3)
    for _, request in zip(range(4), requests(kernel, rng), strict=False):
        runs = []
        for length in lengths(rng):
            digits = rng.integers(0, 12, (length, rng.integers(1, 9)))
            lines = ["".join(" ,-.0159aM"[i : i + 1] for i in row).encode() for row in digits]
            if lines and rng.integers(2):
                lines[rng.integers(length)] += b"y" * 5000
            runs.append([lines[i] for i in disorder(np.array(sorted(range(length), key=lines.__getitem__), int), rng)])
        merged = judge(workspace, order, [b"".join(line + end for line in run) for run in runs], request)
        assert Counter(merged.split(end)) == Counter([b"", *(line for run in runs for line in run)])
    workspace.close()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("order", RECORDS)
def test_records(backend: CpuBackend, kernel: str, order: Order, rng: np.random.Generator) -> None:
    workspace = backend.workspace(order, 1, threads=4)
    for _, request in zip(range(10), requests(kernel, rng), strict=False):
        runs = []
        for length in lengths(rng):
            records = rng.integers(0, 2, (length, order.record), np.uint8)
            runs.append(disorder(records[np.argsort(order.image(order.keys(records.reshape(-1))), kind="stable")], rng))
        data = judge(workspace, order, [run.tobytes() for run in runs], request)
        merged = np.frombuffer(data, f"V{order.record}").tolist()
        assert Counter(merged) == Counter(np.concatenate(runs).reshape(-1).view(f"V{order.record}").tolist())
    workspace.close()
