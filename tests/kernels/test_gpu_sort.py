"""Sorts on a GPU against NumPy's stable sort, and Python's for lines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_pairs import line_pairs
from sort_inputs import key_inputs, record_inputs, stable, stable_records

from gpumerge_cli.backends.gpu.sort_policy import tile_shape
from gpumerge_cli.backends.ladder import NAMES as KERNELS
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import FAN_INS, LaunchRequest, SortPolicy, SortRequest, Transfer
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order
from tests.linekeys import item_key

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend
    from gpumerge_cli.backends.gpu.workspace import GpuWorkspace

pytestmark = pytest.mark.gpu

LADDER = [SortRequest("recursive"), SortRequest("iterative")]
REQUESTS = [
    SortRequest("auto"),
    SortRequest("merge"),
    SortRequest("radix"),
    *(SortRequest("bottom-up", LaunchRequest(kernel)) for kernel in KERNELS),
    SortRequest("bottom-up", LaunchRequest("tiled", tile_load="exact")),
]
TINY = [
    SortRequest("merge", LaunchRequest(block_size=4, items_per_thread=2, fan_in=4)),
    SortRequest("bottom-up", LaunchRequest("circular", block_size=4, items_per_thread=2, blocks=3)),
]


def fill(workspace: GpuWorkspace, items: bytes) -> None:
    """Upload the items as two runs, the second of them empty. A sort ignores the bounds of runs."""
    workspace.staging(len(items))[:] = np.frombuffer(items, np.uint8)
    workspace.upload([len(items), 0])


def sorted_by(workspace: GpuWorkspace, policy: SortPolicy, items: bytes) -> bytes:
    fill(workspace, items)
    workspace.poison()
    workspace.sort(policy)
    return workspace.download().tobytes()


def sizes(gpu: GpuBackend, order: Order) -> list[int]:
    """Numbers of items to sort: none, a few, those around a tile's edges, and enough for several passes."""
    tile = gpu.resolve_sort(SortRequest("merge"), order, 0).tile
    return [0, 1, 2, 31, tile - 1, tile, tile + 1, 2 * tile, 5 * tile + 3]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_sorts_every_dtype(gpu: GpuBackend, dtype: str, descending: bool) -> None:
    order = Order.of(dtype, descending=descending)
    workspace = gpu.workspace(order, 1 << 16)
    for count in sizes(gpu, order):
        for name, keys in key_inputs(order, count, seed=count):
            expected = stable(order, keys).tobytes()
            for request in REQUESTS + TINY:
                policy = gpu.resolve_sort(request, order, keys.nbytes)
                assert sorted_by(workspace, policy, keys.tobytes()) == expected, (count, name, policy.describe())
    workspace.close()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float64"])
def test_sorts_by_the_first_tries(gpu: GpuBackend, dtype: str) -> None:
    order = Order.of(dtype)
    workspace = gpu.workspace(order, 1 << 16)
    for count in (0, 1, 2, 3, 100, 1025):
        for name, keys in key_inputs(order, count, seed=count):
            for request in LADDER:
                policy = gpu.resolve_sort(request, order, keys.nbytes)
                got = sorted_by(workspace, policy, keys.tobytes())
                assert got == stable(order, keys).tobytes(), (count, name, policy.describe())
    workspace.close()


@pytest.mark.parametrize("transfer", ["bulk", "vector"])
@pytest.mark.parametrize("fan_in", FAN_INS)
@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint32", "float64"])
def test_every_fan_in_and_tile(gpu: GpuBackend, dtype: str, fan_in: int, transfer: Transfer) -> None:
    order = Order.of(dtype)
    if transfer == "bulk" and gpu.resolve(LaunchRequest(), order).transfer != "bulk":
        pytest.skip("needs bulk copies; run it on a GPU of compute capability 9.0 or later")
    policy = gpu.resolve_sort(SortRequest("merge", LaunchRequest(fan_in=fan_in, transfer=transfer)), order, 0)
    workspace = gpu.workspace(order, 1 << 16)
    for tile in (1, 2, 5, 64, policy.tile // 3, policy.tile):
        shaped = replace(policy, tile=tile)
        for count in (1, tile * fan_in + 1, 3 * tile * fan_in * fan_in + 7):
            if count > 1 << 22:
                continue
            for name, keys in key_inputs(order, count, seed=tile):
                got = sorted_by(workspace, shaped, keys.tobytes())
                assert got == stable(order, keys).tobytes(), (count, name, shaped.describe())
    workspace.close()


@pytest.mark.parametrize("dtype", ["uint32", "uint64", "float32"])
def test_many_tiles(gpu: GpuBackend, dtype: str) -> None:
    """More than 2^24 items: tiles beyond what blocks cut for themselves, and several passes."""
    order = Order.of(dtype)
    workspace = gpu.workspace(order, 1 << 27)
    for name, keys in key_inputs(order, (1 << 24) + 12_345, seed=1):
        expected = stable(order, keys).tobytes()
        for request in REQUESTS:
            policy = gpu.resolve_sort(request, order, keys.nbytes)
            assert sorted_by(workspace, policy, keys.tobytes()) == expected, (name, policy.describe())
    workspace.close()


@pytest.mark.parametrize(
    "order",
    [
        Order.records(4, 1, 3), Order.records(8, 4, np.dtype(">f4"), descending=True),
        Order.records(12, 1, np.dtype("i8")), Order.records(16, 3, np.dtype(">f8")), Order.records(100, 0, 10),
        Order.records(5, 1, 3, descending=True), Order.records(24, 1, np.dtype(">i2")), Order.records(33, 2, 20),
    ],
    ids=Order.describe,
)  # fmt: skip
def test_sorts_records(gpu: GpuBackend, order: Order) -> None:
    workspace = gpu.workspace(order, 1 << 16)
    for count in (0, 1, 50, *sizes(gpu, order)[4:]):
        for name, records in record_inputs(order, count, seed=count):
            expected = stable_records(order, records)
            for request in REQUESTS + TINY:
                if request.algorithm == "radix" and order.width > 8:
                    continue
                policy = gpu.resolve_sort(request, order, records.nbytes)
                got = sorted_by(workspace, policy, records.tobytes())
                assert got == expected.tobytes(), (count, name, policy.describe())
            workspace.sort(gpu.resolve_sort(SortRequest("merge"), order, records.nbytes), Equals.FIRST)
            images = order.image(order.keys(expected.reshape(-1)))
            first = np.ones(count, bool)
            first[1:] = images[1:] != images[:-1]
            assert workspace.download().tobytes() == expected[first].tobytes(), (count, name)
            assert workspace.dropped == count - first.sum()
    workspace.close()


@pytest.mark.parametrize(
    "order",
    [
        Order.lines(), Order.lines(numeric=True), Order.lines(numeric=True, descending=True),
        Order.lines(numeric=True, stable=True), Order.lines(descending=True),
    ],
    ids=Order.describe,
)  # fmt: skip
def test_sorts_lines(gpu: GpuBackend, order: Order) -> None:
    workspace = gpu.workspace(order, 1 << 16)
    random = np.random.default_rng(5)
    for name, a, b in line_pairs(order, seed=4):
        for times in (1, 60):
            lines = [(b + a)[at] for at in random.permutation(len(a + b))] * times
            expected = b"".join(sorted(lines, key=lambda line: item_key(order, line[:-1])))
            for request in REQUESTS + TINY + LADDER:
                if request.algorithm == "radix" or (times > 1 and request in LADDER):
                    continue
                policy = gpu.resolve_sort(request, order, len(expected))
                assert sorted_by(workspace, policy, b"".join(lines)) == expected, (name, policy.describe())
                assert workspace.counts == [len(lines), 0]
    fill(workspace, b"1\n" * 70_000)
    with pytest.raises(UsageError, match=r"70000 items .*; at most 65536 items are allowed"):
        workspace.sort(gpu.resolve_sort(SortRequest("recursive"), order, 140_000))
    workspace.close()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "uint64"])
def test_sorts_arrays_at_any_alignment_and_in_place(gpu: GpuBackend, dtype: str) -> None:
    import cupy

    order = Order.of(dtype, descending=dtype == "int16")
    for skew in range(4):
        keys = np.random.default_rng(skew).integers(0, 100, 40_001).astype(dtype)
        expected = stable(order, keys)
        memory = cupy.full(len(keys) + 16, 77, dtype)
        view = memory[skew : skew + len(keys)]
        for request in REQUESTS:
            policy = gpu.resolve_sort(request, order, keys.nbytes)
            items = cupy.asarray(keys)
            gpu.sort_array(items, order, policy, view)
            assert np.array_equal(view.get(), expected), policy.describe()
            assert np.array_equal(items.get(), keys), policy.describe()
            view[:] = items
            gpu.sort_array(view, order, policy, view)
            assert np.array_equal(view.get(), expected), policy.describe()
        assert (memory[:skew] == 77).all()
        assert (memory[skew + len(keys) :] == 77).all()
    with pytest.raises(UsageError, match="overlaps"):
        gpu.sort_array(memory[:9], order, policy, memory[1:10])
    with pytest.raises(UsageError, match="out holds"):
        gpu.sort_array(memory[:9], order, policy, memory[10:12])


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks(gpu: GpuBackend, dtype: str) -> None:
    import cupy

    for descending in (False, True):
        order = Order.of(dtype, descending=descending)
        for count in (0, 1, 2, 1000, 20_001):
            for name, keys in key_inputs(order, count, seed=count):
                expected = np.argsort(order.image(keys), kind="stable")
                for request in (*REQUESTS[:4], *(LADDER if count <= 1000 else [])):
                    policy = gpu.resolve_sort(request, order, keys.nbytes)
                    got = gpu.sort_ranks(cupy.asarray(keys), order, policy)
                    assert got.dtype == np.int64
                    assert np.array_equal(got.get(), expected), (name, policy.describe())


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "float64"])
def test_unique(gpu: GpuBackend, dtype: str) -> None:
    order = Order.of(dtype)
    workspace = gpu.workspace(order, 1 << 16)
    for name, keys in key_inputs(order, 30_000, seed=3):
        images = order.image(stable(order, keys))
        first = np.r_[True, images[1:] != images[:-1]]
        for request in REQUESTS[:3]:
            for equals, kept in ((Equals.FIRST, first), (Equals.FIRST_CONTINUED, np.r_[False, first[1:]])):
                fill(workspace, keys.tobytes())
                workspace.sort(gpu.resolve_sort(request, order, keys.nbytes), equals)
                assert workspace.download().tobytes() == stable(order, keys)[kept].tobytes(), (name, equals)
                assert workspace.dropped == len(keys) - kept.sum()
    workspace.close()


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "uint64"])
def test_baselines_agree_by_key_image(gpu: GpuBackend, dtype: str) -> None:
    for descending in (False, True):
        order = Order.of(dtype, descending=descending)
        for count in (1, 5000, 1 << 20):
            keys = np.random.default_rng(count).integers(0, 200, count).astype(dtype)
            workspace = gpu.workspace(order, 0)
            fill(workspace, keys.tobytes())
            baselines = workspace.sort_baselines()
            cccl = {"cccl radix sort", "cccl merge sort"} if "left out" not in gpu.versions()["CCCL"] else set()
            assert set(baselines) == {"cupy.sort"} | cccl
            for name, baseline in baselines.items():
                workspace.poison()
                baseline()
                got: Any = workspace.download().view(order.dtype)
                assert (order.image(got) == order.image(stable(order, keys))).all(), (name, count)
            workspace.close()


def test_lengths_past_32_bits(gpu: GpuBackend) -> None:
    import cupy

    total = (1 << 32) + 1001
    free, _ = cupy.cuda.Device().mem_info
    if free < 3.5 * total:
        pytest.skip("needs 16 GB of free device memory; run it on a larger GPU")
    order = Order.of("uint8")
    keys = cupy.empty(total, cupy.uint8)
    counts = cupy.zeros(256, cupy.int64)
    for start in range(0, total, 1 << 26):
        numbers = cupy.arange(start, min(total, start + (1 << 26)), dtype=cupy.uint64)
        part = (numbers * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(40)).astype(cupy.uint8)
        keys[start : start + len(part)] = part
        counts += cupy.bincount(part, minlength=256)
    gpu.sort_array(keys, order, gpu.resolve_sort(SortRequest("merge"), order, total), keys)
    edges = np.r_[0, np.cumsum(counts.get())]
    for value in range(256):
        assert (keys[edges[value] : edges[value + 1]] == value).all(), value
    del keys, counts, numbers, part
    cupy.get_default_memory_pool().free_all_blocks()


def test_a_span_and_a_time(gpu: GpuBackend) -> None:
    order = KeyOrder("uint", 4)
    policy = gpu.resolve_sort(SortRequest("merge"), order, 1 << 22)
    assert policy.tile <= tile_shape(policy.tile, order, gpu._limits).room
    workspace = gpu.workspace(order, 0)
    fill(workspace, np.arange(1 << 20, dtype=np.uint32)[::-1].tobytes())
    workspace.sort(policy)
    workspace.download()
    assert [span.name for span in workspace.spans] == ["upload", "kernel", "download"]
    assert all(span.seconds > 0 and span.nbytes == 4 << 20 for span in workspace.spans)
    assert workspace.time(lambda: workspace.sort(policy)) > 0
    workspace.close()
