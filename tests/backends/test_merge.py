"""One suite for every backend: every kernel and launch shape gives the stable merge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.linekeys import item_key
from tests.oracles import merged_keys, same_bits, sorted_lines
from tests.strategies import as_text, key_runs, line_runs

_SHAPES = st.sampled_from(
    [
        {},
        {"block_size": 2, "items_per_thread": 2, "tile_size": 4},
        {"block_size": 4, "items_per_thread": 1, "tile_size": 4},
        {"block_size": 32, "items_per_thread": 3, "tile_size": 96},
    ]
)


def requests(kernel: str, shape: dict[str, int], tile_load: str) -> LaunchRequest:
    """A request in the terms that the kernel knows."""
    shape = dict(shape)
    variant = variant_named(kernel)
    shape.pop("items_per_thread" if variant.tile == "inputs" else "tile_size", None)
    return LaunchRequest(kernel, tile_load=tile_load if variant.loads else None, **shape)  # type: ignore[arg-type]


def merged(workspace: Workspace, runs: list[bytes], policy: LaunchPolicy) -> bytes:
    """Merges the runs in the workspace, into an output that held something else before."""
    staging = workspace.staging(sum(map(len, runs)))
    staging[:] = np.frombuffer(b"".join(runs), np.uint8)
    workspace.upload([len(run) for run in runs])
    workspace.poison()
    workspace.merge(policy)
    return workspace.download().tobytes()


def merge_keys(
    backend: Backend, runs: list[NDArray[Any]], request: LaunchRequest, *, descending: bool = False, threads: int = 1
) -> NDArray[Any]:
    order = Order.of(runs[0].dtype, descending=descending)
    workspace = backend.workspace(order, 1, threads=threads)
    try:
        data = merged(workspace, [run.tobytes() for run in runs], backend.resolve(request, order))
    finally:
        workspace.close()
    return np.frombuffer(data, order.dtype)


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=60)
@given(case=key_runs(), shape=_SHAPES, tile_load=st.sampled_from(["full", "exact"]))
def test_keys_equal_numpy_stable_sort(backend: Backend, kernel: str, case: Any, shape: Any, tile_load: str) -> None:
    runs, descending = case
    result = merge_keys(backend, runs, requests(kernel, shape, tile_load), descending=descending)
    assert same_bits(result, merged_keys(runs, descending=descending))


@settings(max_examples=60)
@given(case=key_runs(most_runs=9))
def test_many_runs(backend: Backend, case: Any) -> None:
    runs, descending = case
    assert same_bits(
        merge_keys(backend, runs, LaunchRequest(), descending=descending), merged_keys(runs, descending=descending)
    )


@pytest.mark.parametrize("kernel", KERNELS)
@settings(max_examples=60)
@given(case=line_runs(most_runs=4), shape=_SHAPES, tile_load=st.sampled_from(["full", "exact"]))
def test_lines_equal_a_stable_sort(backend: Backend, kernel: str, case: Any, shape: Any, tile_load: str) -> None:
    runs, numeric, descending = case
    order = Order.lines(numeric=numeric, descending=descending)
    workspace = backend.workspace(order, 1)
    policy = backend.resolve(requests(kernel, shape, tile_load), order)
    result = merged(workspace, [as_text(run) for run in runs], policy)
    workspace.close()
    every = [line for run in runs for line in run]
    assert result == as_text(sorted_lines(every, numeric=numeric, descending=descending))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_lengths_at_the_edges_of_the_launch_shape(
    backend: Backend, kernel: str, dtype: str, rng: np.random.Generator
) -> None:
    order = Order.of(dtype)
    small = requests(kernel, {"block_size": 4, "items_per_thread": 3, "tile_size": 12}, "full")
    policy = backend.resolve(small, order)
    edges = {policy.items_per_thread, policy.tile_size, policy.block_size * policy.items_per_thread}
    lengths = sorted({length + d for length in edges for d in (-1, 0, 1) if 0 < length < 10_000})
    for m in lengths:
        for n in (0, 1, m):
            runs = [np.sort(rng.integers(0, 100, size).astype(dtype)) for size in (m, n)]
            assert same_bits(merge_keys(backend, runs, small), merged_keys(runs)), (m, n)


@pytest.mark.one_of_each
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", ["uniform", "blocky", "all equal", "disjoint", "one tiny"])
def test_default_shapes_on_larger_runs(backend: Backend, kernel: str, shape: str, rng: np.random.Generator) -> None:
    n = 200_001
    a = np.cumsum(rng.integers(0, 3, n))
    if shape == "blocky":
        a = np.repeat(rng.integers(0, 10_000, 2_000), rng.integers(1, 400, 2_000))
    b = {"all equal": np.zeros(n, int), "disjoint": a + 10**6, "one tiny": a[n // 2 : n // 2 + 1]}.get(
        shape, a[::2] + 1
    )
    if shape == "all equal":
        a = b
    runs = [np.sort(run).astype(np.int32) for run in (a, b)]
    expected = merged_keys(runs)
    for threads in (1, 3):
        result = merge_keys(backend, runs, LaunchRequest(kernel), threads=threads)  # type: ignore[arg-type]
        assert same_bits(result, expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_stable_between_and_within_runs(backend: Backend, kernel: str, rng: np.random.Generator) -> None:
    """NaNs with payloads compare equal, so their payloads show where each item came from."""
    runs = []
    for number in range(4):
        run = np.full(300, np.nan, np.float64)
        run.view(np.uint64)[:] += np.arange(300, dtype=np.uint64) + np.uint64(1000 * number)
        runs.append(run)
    result = merge_keys(backend, runs, LaunchRequest(kernel))  # type: ignore[arg-type]
    assert same_bits(result, np.concatenate(runs))


@settings(max_examples=80)
@given(case=key_runs(most_runs=3), data=st.data())
def test_first_disorder_of_keys(backend: Backend, case: Any, data: st.DataObject) -> None:
    runs, descending = case
    order = Order.of(runs[0].dtype, descending=descending)
    if data.draw(st.booleans()):
        run = runs[data.draw(st.integers(0, len(runs) - 1))]
        if len(run):
            run[data.draw(st.integers(0, len(run) - 1))] = data.draw(st.sampled_from([0, 1, 3]))
    expected = None
    for number, run in enumerate(runs):
        keys = [item_key(order, run[i : i + 1].tobytes()) for i in range(len(run))]
        falls = [i for i in range(1, len(keys)) if keys[i] < keys[i - 1]]
        if falls:
            expected = (number, falls[0] * order.width)
            break
    workspace = backend.workspace(order, 1)
    staging = workspace.staging(sum(run.nbytes for run in runs))
    staging[:] = np.concatenate(runs).view(np.uint8)
    workspace.upload([run.nbytes for run in runs])
    found = workspace.disorder()
    workspace.close()
    assert (found and (found.run, found.offset)) == expected


@settings(max_examples=80)
@given(case=line_runs(most_runs=3), data=st.data())
def test_first_disorder_of_lines(backend: Backend, case: Any, data: st.DataObject) -> None:
    runs, numeric, descending = case
    order = Order.lines(numeric=numeric, descending=descending)
    if data.draw(st.booleans()):
        run = runs[data.draw(st.integers(0, len(runs) - 1))]
        run.insert(data.draw(st.integers(0, len(run))), data.draw(st.sampled_from([b"", b"5", b"~~~~~~~~~~"])))
    expected = None
    for number, run in enumerate(runs):
        falls = [i for i in range(1, len(run)) if item_key(order, run[i]) < item_key(order, run[i - 1])]
        if falls:
            expected = (number, len(as_text(run[: falls[0]])))
            break
    texts = [as_text(run) for run in runs]
    workspace = backend.workspace(order, 1)
    workspace.staging(sum(map(len, texts)))[:] = np.frombuffer(b"".join(texts), np.uint8)
    workspace.upload(list(map(len, texts)))
    found = workspace.disorder()
    assert workspace.counts == [len(run) for run in runs]
    workspace.close()
    assert (found and (found.run, found.offset)) == expected


def test_a_workspace_serves_chunk_after_chunk(backend: Backend, rng: np.random.Generator) -> None:
    order = Order.of("int16")
    workspace = backend.workspace(order, 64)
    policy = backend.resolve(LaunchRequest(), order)
    for size in (10, 0, 5000, 3, 4096):
        runs = [np.sort(rng.integers(-5, 5, length).astype(np.int16)) for length in (size, size // 2, 7)]
        data = merged(workspace, [run.tobytes() for run in runs], policy)
        assert same_bits(np.frombuffer(data, np.int16), merged_keys(runs))
    assert {span.name for span in workspace.spans} >= {"kernel"}
    workspace.close()


def test_inputs_stay_as_they_are(backend: Backend, rng: np.random.Generator) -> None:
    """A comparison merges the same resident runs again and again."""
    order = Order.of("uint32")
    runs = [np.sort(rng.integers(0, 1000, 5000).astype(np.uint32)) for _ in range(5)]
    workspace = backend.workspace(order, 100_000)
    expected = merged_keys(runs)
    for kernel in KERNELS:
        policy = backend.resolve(LaunchRequest(kernel), order)
        if kernel == KERNELS[0]:
            data = merged(workspace, [run.tobytes() for run in runs], policy)
        else:
            workspace.poison()
            workspace.merge(policy)
            data = workspace.download().tobytes()
        assert same_bits(np.frombuffer(data, np.uint32), expected)
    workspace.close()


def test_baselines_and_copy(backend: Backend, rng: np.random.Generator) -> None:
    order = Order.of("float32", descending=True)
    runs = [np.sort(rng.standard_normal(3000).astype(np.float32))[::-1] for _ in range(2)]
    workspace = backend.workspace(order, 24_000)
    workspace.staging(24_000)[:] = np.concatenate(runs).view(np.uint8)
    workspace.upload([12_000, 12_000])
    for name, baseline in workspace.baselines().items():
        workspace.poison()
        assert workspace.time(baseline) >= 0
        result = np.asarray(workspace.download()).view(np.float32)
        assert np.array_equal(order.image(result), order.image(merged_keys(runs, descending=True))), name
    workspace.poison()
    assert workspace.time(workspace.copy) >= 0
    workspace.close()
