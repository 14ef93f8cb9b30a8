"""Merges on the GPU of runs that are not in order: nothing around the arrays is touched, and nothing is made up.

Under `compute-sanitizer --tool memcheck --error-exitcode 1 python -m pytest tests/kernels/test_gpu_unsorted.py` every
access is looked at.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumerge_cli.backends.ladder import NAMES as KERNELS
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder
from tests.backends.test_unsorted import RECORDS, disorder
from tests.line_orders import LINE_ORDERS

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

pytestmark = pytest.mark.gpu

_AROUND = 64
_CANARY = 0xA5
_EACH = 6


def requests(kernel: str) -> Iterator[LaunchRequest]:
    """The default, and shapes so small that a few items take many blocks."""
    yield LaunchRequest(kernel)  # type: ignore[arg-type]
    if kernel == "basic":
        yield LaunchRequest("basic", block_size=32, items_per_thread=3)
    elif kernel == "circular":
        yield LaunchRequest("circular", block_size=32, tile_size=96)
    elif kernel == "tiled":
        yield LaunchRequest("tiled", block_size=32, tile_size=64, tile_load="full")
        yield LaunchRequest("tiled", block_size=32, tile_size=64, tile_load="exact")
    else:
        yield LaunchRequest("path", block_size=64, items_per_thread=3, fan_in=2)
        yield LaunchRequest("path", block_size=64, items_per_thread=4, fan_in=8, transfer="vector")


def lengths(rng: np.random.Generator) -> list[int]:
    most = int(rng.choice([40, 5_000, 60_000]))
    return rng.integers(0, most, rng.integers(2, 10)).tolist()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_keys(gpu: GpuBackend, kernel: str, dtype: str, rng: np.random.Generator) -> None:
    import cupy

    for request in requests(kernel):
        for _ in range(_EACH):
            order = Order.of(dtype, descending=bool(rng.integers(2)))
            values = rng.integers(0, 256, (int(rng.choice([2, 200])), order.width), np.uint8).view(dtype).reshape(-1)
            keys = [np.asarray(rng.choice(values, length)) for length in lengths(rng)]
            runs = [disorder(run[np.argsort(order.image(run), kind="stable")], rng) for run in keys]
            room = cupy.full(sum(map(len, runs)) * order.width + 2 * _AROUND, _CANARY, cupy.uint8)
            out = room[_AROUND:-_AROUND].view(dtype)
            gpu.merge_arrays([cupy.asarray(run) for run in runs], order, gpu.resolve(request, order, len(runs)), out)
            assert np.isin(out.get().view(order.unsigned), np.concatenate(runs).view(order.unsigned)).all(), request
            assert int((room[:_AROUND] != _CANARY).sum() + (room[-_AROUND:] != _CANARY).sum()) == 0


def merged(gpu: GpuBackend, order: Order, runs: list[bytes], request: LaunchRequest) -> bytes | None:
    """The merge of the runs; None if the merge is an error, and then nothing of it is in the output."""
    workspace = gpu.workspace(order, 1)
    try:
        staging = workspace.staging(sum(map(len, runs)))
        staging[:] = np.frombuffer(b"".join(runs), np.uint8)
        workspace.upload([len(run) for run in runs])
        workspace.poison()
        policy = gpu.resolve(request, order, len(runs))
        with contextlib.suppress(DisorderError):
            workspace.merge(policy, Equals.FIRST)
            assert len(workspace.download()) == workspace.merged_bytes
        workspace.merge(policy)
        try:
            data: bytes = workspace.download().tobytes()
        except DisorderError:
            return None
    finally:
        workspace.close()
    assert len(data) == sum(map(len, runs))
    return data


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("number", range(0, len(LINE_ORDERS), 3))
def test_lines(gpu: GpuBackend, kernel: str, number: int, rng: np.random.Generator) -> None:
    order = Order.lines(LINE_ORDERS[number])
    end = bytes([LINE_ORDERS[number].terminator])
    for request in requests(kernel):
        runs: list[Any] = []
        for length in rng.integers(0, 3_000, rng.integers(2, 10)).tolist():
            digits = rng.integers(0, 12, (length, rng.integers(1, 9)))
            lines = ["".join(" ,-.0159aM"[i : i + 1] for i in row).encode() for row in digits]
            if lines:
                lines[rng.integers(length)] += b"y" * 20_000
            runs.append(
                [lines[i] + end for i in disorder(np.array(sorted(range(length), key=lines.__getitem__), int), rng)]
            )
        data = merged(gpu, order, [b"".join(run) for run in runs], request)
        if data is not None:  # every byte is of a line, none is left from what was there before
            assert data.endswith(end) or not data
            assert set(data.split(end)[:-1]) <= {line[:-1] for run in runs for line in run}


def test_lines_that_merge_to_others_are_an_error(gpu: GpuBackend, rng: np.random.Generator) -> None:
    """Long lines may be taken twice or not at all. Then the output has too little room, or is not filled."""
    order = Order.lines(LineOrder())
    errors = 0
    for _ in range(20):
        lines = [b"%d" % number + b"y" * int(rng.integers(400)) + b"\n" for number in rng.integers(0, 10**6, 30_000)]
        runs = [b"".join(lines[at::3]) for at in range(3)]
        data = merged(gpu, order, runs, LaunchRequest("tiled", block_size=32, tile_size=64))
        errors += data is None
        assert data is None or set(data.split(b"\n")) <= set(b"".join(lines).split(b"\n"))
    assert errors


def test_lines_in_order_are_none(gpu: GpuBackend, rng: np.random.Generator) -> None:
    order = Order.lines(LineOrder())
    for kernel in KERNELS:
        lines = [b"%d" % number + b"y" * int(rng.integers(400)) + b"\n" for number in rng.integers(0, 10**6, 3_000)]
        runs = [b"".join(sorted(lines[at::3])) for at in range(3)]
        assert merged(gpu, order, runs, LaunchRequest(kernel)) == b"".join(sorted(lines))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("order", RECORDS)
def test_records(gpu: GpuBackend, kernel: str, order: Order, rng: np.random.Generator) -> None:
    for request in requests(kernel):
        runs = []
        for length in lengths(rng):
            records = rng.integers(0, 2, (length, order.record), np.uint8)
            runs.append(disorder(records[np.argsort(order.image(order.keys(records.reshape(-1))), kind="stable")], rng))
        data = merged(gpu, order, [run.tobytes() for run in runs], request)
        assert data is not None
        there = np.concatenate(runs).reshape(-1).view(f"V{order.record}").tolist()
        assert set(np.frombuffer(data, f"V{order.record}").tolist()) <= set(there)
