"""Passes over several runs on a GPU, and arrays whose lengths need more than 32 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_pairs import in_order, key_runs

from gpumerge_cli.compare.key_shapes import SHAPES, Family
from gpumerge_cli.launch import FAN_INS, LaunchRequest, Transfer
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

pytestmark = pytest.mark.gpu


def stable(order: Order, runs: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    both = np.concatenate(runs)
    return both[np.argsort(order.image(both), kind="stable")]


def merged(gpu: GpuBackend, order: Order, runs: list[np.ndarray[Any, Any]], request: LaunchRequest) -> bytes:
    joined = b"".join(run.tobytes() for run in runs)
    workspace = gpu.workspace(order, max(1, len(joined)))
    try:
        workspace.staging(len(joined))[:] = np.frombuffer(joined, np.uint8)
        workspace.upload([run.nbytes for run in runs])
        workspace.poison()
        workspace.merge(gpu.resolve(request, order, len(runs)))
        return workspace.download().tobytes()
    finally:
        workspace.close()


@pytest.mark.parametrize("transfer", ["bulk", "vector"])
@pytest.mark.parametrize("fan_in", FAN_INS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float64"])
def test_one_pass(gpu: GpuBackend, dtype: str, fan_in: int, transfer: Transfer) -> None:
    if transfer == "bulk" and gpu.resolve(LaunchRequest(), Order.of(dtype)).transfer != "bulk":
        pytest.skip("needs bulk copies; run it on a GPU of compute capability 9.0 or later")
    for order in (Order.of(dtype), Order.of(dtype, descending=True)):
        for shape in ({}, {"block_size": 16, "items_per_thread": 4}):
            request = LaunchRequest("path", fan_in=fan_in, transfer=transfer, **shape)
            for count in {2, fan_in - 1, fan_in} - {1}:
                for name, runs in key_runs(order, count, seed=fan_in):
                    assert merged(gpu, order, runs, request) == stable(order, runs).tobytes(), (name, count, shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [2, 3, 8, 16, 40])
def test_many_tiles(gpu: GpuBackend, count: int, shape: Any) -> None:
    """More tiles than blocks cut for themselves. The keys of the runs interleave in every way."""
    for dtype in ("int32", "uint8"):
        family = Family(shape, np.dtype(dtype), 20_000_000 // count, count, seed=count)
        runs = [family.keys(run) for run in range(family.runs)]
        runs[-1] = runs[-1][: len(runs[-1]) // 3]
        order = Order.of(dtype)
        assert merged(gpu, order, runs, LaunchRequest()) == np.sort(np.concatenate(runs)).tobytes(), dtype


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("count", [2, 5])
def test_any_alignment(gpu: GpuBackend, dtype: str, count: int) -> None:
    import cupy

    order = Order.of(dtype)
    random = np.random.default_rng(count)
    for skew in range(1, 16 // order.width):
        runs = []
        for number in range(count):
            keys = in_order(order, random.integers(0, 100, 5000 + number).astype(dtype))
            memory = cupy.empty(len(keys) + 32, dtype)
            at = (skew * (number + 1)) % 16
            memory[at : at + len(keys)] = cupy.asarray(keys)
            runs.append(memory[at : at + len(keys)])
        total = sum(len(run) for run in runs)
        out = cupy.full(total + 64, 77, dtype)
        gpu.merge_arrays(runs, order, gpu.resolve(LaunchRequest(), order, count), out[skew : skew + total])
        expected = stable(order, [run.get() for run in runs])
        assert np.array_equal(out[skew : skew + total].get(), expected), skew
        assert (out[:skew] == 77).all(), skew
        assert (out[skew + total :] == 77).all(), skew


@pytest.mark.parametrize("count", [2, 4])
def test_lengths_past_32_bits(gpu: GpuBackend, count: int) -> None:
    import cupy

    each = (1 << 32) // count + 1001
    total = count * each
    free, _ = cupy.cuda.Device().mem_info
    if free < 2.2 * 4 * total:
        pytest.skip(f"needs {8 * total >> 30} GiB of free device memory; run it on a larger GPU")
    order = Order.of("uint32")
    run = cupy.arange(each, dtype=cupy.uint32)
    out = cupy.empty(total, cupy.uint32)
    gpu.merge_arrays([run] * count, order, gpu.resolve(LaunchRequest(), order, count), out)
    for start in range(0, total, 1 << 28):
        stop = min(total, start + (1 << 28))
        assert (out[start:stop] == cupy.arange(start, stop, dtype=cupy.uint64) // count).all(), start
    assert gpu.first_disorder(out, order) is None
    out[total - 1] = 0
    assert gpu.first_disorder(out, order) == total - 1
    del run, out
    cupy.get_default_memory_pool().free_all_blocks()


def test_narrow_lengths_past_32_bits(gpu: GpuBackend) -> None:
    import cupy

    lengths = ((1 << 32) + 12_345, (1 << 31) + 777)
    free, _ = cupy.cuda.Device().mem_info
    if free < 3 * sum(lengths):
        pytest.skip("needs 20 GB of free device memory; run it on a larger GPU")
    order = Order.of("uint8")
    runs, ends = [], []
    for length in lengths:
        edges = np.linspace(0, length, 257).astype(np.int64)
        run = cupy.empty(length, cupy.uint8)
        for value in range(256):
            run[edges[value] : edges[value + 1]] = value
        runs.append(run)
        ends.append(edges)
    out = cupy.empty(sum(lengths), cupy.uint8)
    gpu.merge_arrays(runs, order, gpu.resolve(LaunchRequest(), order), out)
    edges = ends[0] + ends[1]
    for value in range(256):
        assert (out[edges[value] : edges[value + 1]] == value).all(), value
    del runs, out
    cupy.get_default_memory_pool().free_all_blocks()
