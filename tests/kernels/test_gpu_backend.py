"""The GPU backend against NumPy's stable sort, and Python's for lines."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_pairs import in_order, key_pairs, line_pairs

from gpumerge_cli.backends.base import Disorder
from gpumerge_cli.backends.ladder import NAMES as KERNELS
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order
from gpumerge_cli.order.rules import LineOrder
from tests.line_orders import LINE_ORDERS
from tests.line_prefix import prefix
from tests.linekeys import item_key, key_of

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend
    from gpumerge_cli.backends.gpu.workspace import GpuWorkspace

pytestmark = pytest.mark.gpu

REQUESTS = [LaunchRequest(kernel) for kernel in KERNELS] + [LaunchRequest("tiled", tile_load="exact")]
TINY = [
    replace(wish, block_size=2, items_per_thread=2, **{"tile_size": 4, "blocks": 3} if staged else {})
    for wish in REQUESTS
    for staged in [wish.kernel in ("tiled", "circular")]
]


def stable(order: Order, runs: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    both = np.concatenate(runs)
    return both[np.argsort(order.image(both), kind="stable")]


def fill(workspace: GpuWorkspace, runs: list[bytes]) -> None:
    joined = b"".join(runs)
    workspace.staging(len(joined))[:] = np.frombuffer(joined, np.uint8)
    workspace.upload([len(run) for run in runs])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_merges_every_dtype(gpu: GpuBackend, dtype: str, descending: bool) -> None:
    order = Order.of(dtype, descending=descending)
    workspace = gpu.workspace(order, 1 << 12)
    for request in REQUESTS + TINY:
        policy = gpu.resolve(request, order)
        for name, a, b in key_pairs(order, seed=1):
            fill(workspace, [a.tobytes(), b.tobytes()])
            assert workspace.disorder() is None, name
            workspace.poison()
            workspace.merge(policy)
            got = workspace.download()
            assert got.tobytes() == stable(order, [a, b]).tobytes(), (policy.describe(), name)
    workspace.close()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_merges_arrays_in_place_at_any_alignment(gpu: GpuBackend, dtype: str) -> None:
    import cupy

    order = Order.of(dtype)
    random = np.random.default_rng(3)
    for skew in range(4):
        hosts = [in_order(order, random.integers(0, 100, 20_000 + k).astype(order.dtype)) for k in range(3)]
        views = [cupy.asarray(host)[skew + k % 2 :] for k, host in enumerate(hosts)]
        total = sum(view.size for view in views)
        memory = cupy.full(total + 8, 77, order.dtype)
        for request in REQUESTS:
            gpu.merge_arrays(views, order, gpu.resolve(request, order), memory[skew : skew + total])
            assert (
                memory[skew : skew + total].get().tobytes() == stable(order, [view.get() for view in views]).tobytes()
            )
        assert (memory[:skew] == 77).all()
        assert (memory[skew + total :] == 77).all()


def test_refuses_arrays_that_do_not_fit(gpu: GpuBackend) -> None:
    import cupy

    order = KeyOrder("int", 4)
    policy = gpu.resolve(LaunchRequest(), order)
    memory = cupy.zeros(20, cupy.int32)
    with pytest.raises(UsageError, match="out overlaps"):
        gpu.merge_arrays([memory[:5], memory[5:10]], order, policy, memory[4:14])
    with pytest.raises(UsageError, match="float64"):
        gpu.merge_arrays([cupy.zeros(2)], order, policy, cupy.zeros(2))
    with pytest.raises(UsageError, match="on the GPU"):
        gpu.merge_arrays([np.zeros(2, np.int32)], order, policy, memory[:2])
    with pytest.raises(UsageError, match="contiguous"):
        gpu.merge_arrays([memory[::2]], order, policy, cupy.zeros(10, cupy.int32))
    with pytest.raises(UsageError, match="out holds 3 items"):
        gpu.merge_arrays([memory[:2]], order, policy, memory[3:6])


@pytest.mark.parametrize("text", LINE_ORDERS, ids=LineOrder.describe)
def test_merges_lines(gpu: GpuBackend, text: LineOrder) -> None:
    order = Order.lines(text)
    workspace = gpu.workspace(order, 1 << 12)
    c, _ = next((x, y) for name, x, y in line_pairs(order, seed=5) if name == "mixed")
    for name, a, b in line_pairs(order, seed=4):
        runs = [a, b, [], c]
        merged = sorted(a + b + c, key=lambda line: item_key(order, line[:-1]))
        first = [next(group) for _, group in groupby(merged, lambda line: item_key(order, line[:-1]))]
        fill(workspace, [b"".join(run) for run in runs])
        assert workspace.disorder() is None, name
        for request in REQUESTS + TINY:
            workspace.poison()
            workspace.merge(gpu.resolve(request, order))
            assert workspace.download().tobytes() == b"".join(merged), (request, name)
            assert workspace.counts == [len(run) for run in runs]
        workspace.merge(gpu.resolve(LaunchRequest(), order), Equals.FIRST)
        assert workspace.download().tobytes() == b"".join(first), name
    workspace.close()


@pytest.mark.parametrize("text", LINE_ORDERS, ids=LineOrder.describe)
def test_prefixes_of_lines(gpu: GpuBackend, text: LineOrder) -> None:
    """The orders of the CPU backend's tests."""
    import cupy

    from gpumerge_cli.backends.gpu.text_kernels import TextKernels

    order = Order.lines(text)
    lines = [line for _, a, b in line_pairs(order, seed=9) for line in a + b]
    bytes_ = cupy.asarray(np.frombuffer(b"".join(lines), np.uint8))
    kernels = TextKernels(gpu._kernels(order))
    starts = kernels.line_starts(bytes_.data.ptr, bytes_.size)
    rows = cupy.empty((len(lines), 2), cupy.uint64)
    kernels.make_rows((bytes_.data.ptr, starts.data.ptr), len(lines), rows.data.ptr)
    assert starts.tolist() == np.cumsum([0, *map(len, lines)]).tolist()
    assert rows[:, 0].tolist() == [prefix(text, line[:-1]) for line in lines]
    assert rows[:, 1].tolist() == list(range(len(lines)))


@pytest.mark.parametrize("text", LINE_ORDERS, ids=LineOrder.describe)
def test_finds_the_first_disorder_of_lines(gpu: GpuBackend, text: LineOrder) -> None:
    order = Order.lines(text)
    workspace = gpu.workspace(order, 1 << 12)
    for name, a, b in line_pairs(order, seed=6):
        for strict in (False, True):
            found = None
            for run, part in enumerate((a, b, a + b)):
                keys = [item_key(order, line[:-1]) for line in part]
                bad = (at for at, (x, y) in enumerate(pairwise(keys), 1) if y < x or (strict and not x < y))
                at = next(bad, None)
                if at is not None:
                    found = Disorder(run, sum(map(len, part[:at])))
                    break
            fill(workspace, [b"".join(part) for part in (a, b, a + b)])
            assert workspace.disorder(strict=strict) == found, (name, strict)
    workspace.close()


def test_many_lines(gpu: GpuBackend) -> None:
    order = Order.lines(numeric=True)
    random = np.random.default_rng(6)
    runs = [sorted((b"%d" % n for n in random.integers(-(10**6), 10**6, 50_000)), key=key_of(order)) for _ in range(3)]
    workspace = gpu.workspace(order, 0)
    fill(workspace, [b"".join(line + b"\n" for line in run) for run in runs])
    workspace.merge(gpu.resolve(LaunchRequest(), order))
    assert workspace.download().tobytes().splitlines() == sorted(runs[0] + runs[1] + runs[2], key=key_of(order))


def test_finds_the_first_disorder(gpu: GpuBackend) -> None:
    import cupy

    order = KeyOrder("int", 4)
    good, bad = np.arange(3000, dtype=np.int32), np.arange(3000, dtype=np.int32)
    bad[[1234, 2000]] = -1
    workspace = gpu.workspace(order, 0)
    fill(workspace, [good.tobytes(), b"", bad.tobytes(), bad.tobytes()])
    assert workspace.disorder() == Disorder(2, 4 * 1234)
    assert gpu.first_disorder(cupy.asarray(bad), order) == 1234
    assert gpu.first_disorder(cupy.asarray(good), order) is None
    assert gpu.first_disorder(cupy.asarray(good[:0]), order) is None

    lines = gpu.workspace(Order.lines(), 0)
    fill(lines, [b"a\nb\n", b"b\nc\naa\nb\n"])
    assert lines.disorder() == Disorder(1, 4)
    fill(lines, [b"a\nb\n", b"a\nb\n"])
    assert lines.disorder() is None


def test_nothing_to_merge(gpu: GpuBackend) -> None:
    for order in (KeyOrder("int", 4), Order.lines()):
        workspace = gpu.workspace(order, 100)
        fill(workspace, [b"", b""])
        assert workspace.disorder() is None
        workspace.merge(gpu.resolve(LaunchRequest(), order))
        assert len(workspace.download()) == 0
        assert workspace.counts == [0, 0]


def cccl_there(gpu: GpuBackend) -> bool:
    return "left out" not in gpu.versions()["CCCL"]


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "float64"])
def test_baselines_agree_by_key_image(gpu: GpuBackend, dtype: str) -> None:
    for descending in (False, True):
        order = Order.of(dtype, descending=descending)
        random = np.random.default_rng(7)
        runs = [in_order(order, random.integers(0, 200, 30_000).astype(order.dtype)) for _ in range(2)]
        workspace = gpu.workspace(order, 0)
        fill(workspace, [run.tobytes() for run in runs])
        baselines = workspace.baselines()
        assert set(baselines) == {"cupy.sort"} | ({"cccl"} if cccl_there(gpu) else set())
        for name, baseline in baselines.items():
            workspace.poison()
            baseline()
            got = workspace.download().view(order.dtype)
            assert (order.image(got) == order.image(stable(order, runs))).all(), name


@pytest.mark.parametrize("items", [(8, "int32"), (12, "int64"), (16, "float64")])
def test_pairs_are_merged_and_sorted_by_cccl(gpu: GpuBackend, items: tuple[int, str]) -> None:
    if not cccl_there(gpu):
        pytest.skip("needs nvcc and CCCL; install the CUDA toolkit, and pip install 'gpumerge[bench]'")
    order = Order.records(items[0], 0, np.dtype(items[1]))
    records = np.random.default_rng(3).integers(0, 3, (40_000, items[0]), np.uint8)
    images = order.image(order.keys(records.reshape(-1)))
    runs = [
        part[np.argsort(of, kind="stable")]
        for part, of in zip(np.split(records, [15_000]), np.split(images, [15_000]), strict=True)
    ]
    for given, name in ((runs, "cccl"), ([records], "cccl radix sort"), ([records], "cccl merge sort")):
        workspace = gpu.workspace(order, 0)
        fill(workspace, [run.tobytes() for run in given])
        (workspace.baselines() if name == "cccl" else workspace.sort_baselines())[name]()
        got = workspace.download().reshape(-1, items[0])
        assert (order.image(order.keys(got.reshape(-1))) == np.sort(images)).all(), name
        assert sorted(map(bytes, got)) == sorted(map(bytes, records)), name
        workspace.close()


def test_cccl_does_not_run_on_nans(gpu: GpuBackend) -> None:
    if not cccl_there(gpu):
        pytest.skip("needs nvcc and CCCL; install the CUDA toolkit, and pip install 'gpumerge[bench]'")
    workspace = gpu.workspace(Order.of("float32"), 0)
    run = np.array([1, np.nan], np.float32).tobytes()
    fill(workspace, [run, run])
    with pytest.raises(DeviceError, match="NaNs among the keys"):
        workspace.baselines()["cccl"]()


def test_spans_and_time(gpu: GpuBackend) -> None:
    order = KeyOrder("int", 4)
    run = np.arange(1 << 16, dtype=np.int32).tobytes()
    workspace = gpu.workspace(order, 0)
    began = time.perf_counter()
    fill(workspace, [run, run])
    assert workspace.disorder() is None
    workspace.merge(gpu.resolve(LaunchRequest(), order))
    workspace.download()
    assert [span.name for span in workspace.spans] == ["upload", "check", "kernel", "download"]
    assert all(span.seconds > 0 and span.nbytes == 2 * len(run) for span in workspace.spans)
    ends = [span.stopped for span in workspace.spans]
    assert ends == sorted(ends)
    assert began < ends[0] - workspace.spans[0].seconds + 1e-3
    assert ends[-1] <= time.perf_counter()
    assert workspace.time(workspace.copy) > 0
    workspace.poison()
    assert (workspace.download() == 0xA5).all()


def test_out_of_memory_is_one_clear_line(gpu: GpuBackend) -> None:
    workspace = gpu.workspace(KeyOrder("int", 4), 1 << 50)
    with pytest.raises(DeviceError, match=r"no 1\.13 PB of host memory can be pinned"):
        workspace.staging(8)
    order = KeyOrder("int", 4)
    with pytest.raises(DeviceError, match="the GPU is out of memory"):
        gpu.workspace(order, 1 << 50).upload([0])


def test_shapes_with_much_shared_memory_follow_each_other(gpu: GpuBackend) -> None:
    """A tile at the usual limit, a large one, a smaller one above that limit, and the large one again."""
    order = KeyOrder("int", 8)
    runs = [np.arange(20_000, dtype=np.int64)] * 2
    workspace = gpu.workspace(order, 0)
    for tile in (3072, 7000, 4000, 7000):
        fill(workspace, [run.tobytes() for run in runs])
        workspace.merge(gpu.resolve(LaunchRequest("tiled", tile_size=tile), order))
        assert workspace.download().tobytes() == stable(order, runs).tobytes()


def test_info_names_the_device(gpu: GpuBackend) -> None:
    info = gpu.info()
    assert info.backend == "gpu"
    assert info.memory > 0
    assert info.details["CuPy"]


@pytest.mark.parametrize("nbytes", [0, 1, 15, 16, 4_101_097])
def test_buffers_hold_the_words_that_hold_their_last_bytes(gpu: GpuBackend, nbytes: int) -> None:
    from gpumerge_cli.backends.gpu.buffers import DeviceBuffer

    buffer = DeviceBuffer().reserve(nbytes)
    whole = (nbytes + 3) // 4
    assert buffer.view(max(1, -(-whole // 4)), np.dtype("V16")).data.mem.size % 16 == 0
    assert buffer.view(whole, np.dtype(np.uint32)).data.mem.size >= 4 * whole
