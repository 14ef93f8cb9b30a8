"""Merges of many runs on a GPU, by digits and by passes, and sorts by digits in memory that holds anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sort_inputs import key_inputs, stable

import gpumerge_cli
from gpumerge_cli.backends.gpu import many_runs
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

pytestmark = pytest.mark.gpu


@pytest.fixture(params=[True, False], ids=["digits", "passes"])
def by_digits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether a sort by digits merges whatever has more runs than a pass takes."""
    from gpumerge_cli.arrays import prepared_calls
    from gpumerge_cli.backends.gpu import backend

    def pays(order: Order, policy: Any, runs: int, total: int, pieces: int = 1) -> bool:
        return bool(request.param) and policy.runs > 0 and runs > policy.fan_in

    monkeypatch.setattr(many_runs, "pays", pays)
    prepared_calls._ready.clear()
    backend._compile_ahead.cache_clear()
    yield bool(request.param)
    prepared_calls._ready.clear()
    backend._compile_ahead.cache_clear()


def runs_of(rng: np.random.Generator, order: Order, number: int) -> list[Any]:
    name = int(rng.integers(3))
    _, keys = list(key_inputs(order, int(rng.integers(1, 60_000)), seed=number))[name]
    edges = np.sort(rng.integers(0, len(keys) + 1, number - 1))
    return [stable(order, run) for run in np.split(keys, edges)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("together", [False, True])
def test_keys(gpu: GpuBackend, rng: np.random.Generator, dtype: str, together: bool, by_digits: bool) -> None:
    import cupy

    for number in (17, 100, 1000):
        descending = bool(rng.integers(2))
        order = Order.of(dtype, descending=descending)
        runs = runs_of(rng, order, number)
        both = np.concatenate(runs)
        expected = stable(order, both)
        ends = np.cumsum([len(run) for run in runs])[:-1].tolist()
        given = cupy.split(cupy.asarray(both), ends) if together else [cupy.asarray(run) for run in runs]
        room = cupy.full(len(both) + 64, 77, dtype)
        out = room[32 : 32 + len(both)]
        policy = gpu.resolve(LaunchRequest(), order, number)
        gpu.merge_arrays(given, order, policy, out)
        assert out.get().tobytes() == expected.tobytes(), (number, descending)
        out[:] = 0
        for _ in range(2):  # the second call is prepared
            assert gpumerge_cli.merge(*given, descending=descending, out=out) is out
            assert out.get().tobytes() == expected.tobytes(), (number, descending)
        assert (room[:32] == 77).all()
        assert (room[-32:] == 77).all()
        assert all(each.get().tobytes() == run.tobytes() for each, run in zip(given, runs, strict=True))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
def test_runs_are_joined(gpu: GpuBackend, rng: np.random.Generator, dtype: str) -> None:
    """Runs of all lengths, at all distances from a vector's boundary, and more of them than a launch takes."""
    import cupy

    from gpumerge_cli.backends.gpu import joining
    from gpumerge_cli.backends.gpu.launching import queue
    from gpumerge_cli.backends.gpu.streams import current_stream

    order = Order.of(dtype)
    for most in (3, 60, 3000, 200_000):
        around = cupy.asarray(rng.integers(0, 99, 600_000).astype(dtype))
        count = 700 if most < 1000 else 20
        places = [(int(rng.integers(0, 300_000)), 1 + int(rng.integers(0, most))) for _ in range(count)]
        total, skew = sum(length for _, length in places), int(rng.integers(0, 16))
        room = cupy.full(total + 64, 77, dtype)
        runs = [(around.data.ptr + at * order.width, length) for at, length in places]
        join = gpu._kernels(order).ready("join_runs", joining.THREADS)
        queue(joining.steps(join, runs, order.width, room.data.ptr + skew * order.width), current_stream())
        expected = np.concatenate([around.get()[at : at + length] for at, length in places])
        found = room.get()
        assert (found[skew : skew + total] == expected).all(), most
        assert (found[:skew] == 77).all()
        assert (found[skew + total :] == 77).all()


@pytest.mark.parametrize("value", ["int32", "float64", "int16"])
def test_values(gpu: GpuBackend, rng: np.random.Generator, value: str) -> None:
    import cupy

    for dtype in ("int32", "float64", "uint8"):
        order = Order.of(dtype)
        runs = runs_of(rng, order, 40)
        both = np.concatenate(runs)
        ranks = np.argsort(order.image(both), kind="stable")
        rows = np.frombuffer(rng.bytes(len(both) * np.dtype(value).itemsize), value)
        parts = [cupy.asarray(part) for part in np.split(rows, np.cumsum([len(run) for run in runs])[:-1])]
        keys, moved = gpumerge_cli.merge(*map(cupy.asarray, runs), values=parts)
        assert keys.get().tobytes() == both[ranks].tobytes(), dtype
        assert moved.get().tobytes() == rows[ranks].tobytes(), dtype


@pytest.mark.parametrize("order", [Order.records(12, 1, np.dtype("i8")), Order.records(4, 1, 3), Order.of("int64")])
def test_chunks(gpu: GpuBackend, rng: np.random.Generator, order: Order, by_digits: bool) -> None:
    """A workspace holds its runs one behind the other."""
    width = order.item_bytes
    runs = []
    for _ in range(90):
        items = rng.integers(0, 3, (int(rng.integers(0, 900)), width), np.uint8)
        ranks = np.argsort(order.image(order.keys(items.reshape(-1))), kind="stable")
        runs.append(items[ranks])
    both = np.concatenate(runs)
    workspace = gpu.workspace(order, 1 << 16)
    workspace.staging(both.nbytes)[:] = both.reshape(-1)
    workspace.upload([run.nbytes for run in runs])
    workspace.poison()
    assert workspace.disorder() is None
    workspace.merge(gpu.resolve(LaunchRequest(), order, len(runs)))
    expected = both[np.argsort(order.image(order.keys(both.reshape(-1))), kind="stable")]
    assert workspace.download().tobytes() == expected.tobytes()
    workspace.close()


@pytest.mark.usefixtures("by_digits")
def test_runs_without_order_stay_in_bounds(gpu: GpuBackend, rng: np.random.Generator) -> None:
    import cupy

    order = Order.of("int32")
    runs = [cupy.asarray(rng.integers(0, 99, int(rng.integers(0, 3000))).astype(np.int32)) for _ in range(60)]
    room = cupy.full(sum(run.size for run in runs) + 64, 777, np.int32)
    gpu.merge_arrays(runs, order, gpu.resolve(LaunchRequest(), order, len(runs)), room[32:-32])
    assert bool((room[32:-32] < 99).all())
    assert bool((room[:32] == 777).all())
    assert bool((room[-32:] == 777).all())


def test_a_graph_captures_it(gpu: GpuBackend, rng: np.random.Generator, by_digits: bool) -> None:
    import cupy

    parts = [cupy.empty(int(rng.integers(1, 5000)), np.int32) for _ in range(50)]
    out = cupy.empty(sum(part.size for part in parts), np.int32)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for part in parts:
            part[:] = 0
        gpumerge_cli.merge(*parts, out=out)
        stream.synchronize()
        stream.begin_capture()
        gpumerge_cli.merge(*parts, out=out)
        graph = stream.end_capture()
        for _ in range(3):
            for part in parts:
                part[:] = cupy.asarray(np.sort(rng.integers(-999, 999, part.size).astype(np.int32)))
            out[:] = 0
            graph.launch(stream)
            stream.synchronize()
            assert (out.get() == np.sort(np.concatenate([part.get() for part in parts]))).all()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_rooms_may_hold_anything(
    gpu: GpuBackend, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    """Whatever scratch memory, the output and the neighbours of the items hold, the result is the same."""
    import cupy

    from gpumerge_cli.backends.gpu import backend
    from gpumerge_cli.backends.gpu.launching import queue
    from gpumerge_cli.backends.gpu.radix import sort_by_digits
    from gpumerge_cli.backends.gpu.streams import current_stream, scratch

    order = Order.of(dtype)
    for garbage in (0x00, 0x01, 0x40, 0x80, 0xC0, 0xFF):

        def filled(nbytes: int, garbage: int = garbage) -> Any:
            room = scratch(nbytes)
            cupy.cuda.runtime.memsetAsync(room.ptr, garbage, nbytes, current_stream())
            return room

        monkeypatch.setattr(backend, "scratch", filled)
        for count in (1, 3, 4097, 60_011):
            for name, keys in key_inputs(order, count, seed=count):
                around = cupy.full((count + 32) * order.width, garbage, np.uint8).view(dtype)
                skew = int(rng.integers(0, 16))
                items = around[skew : skew + count]
                items[:] = cupy.asarray(keys)
                out, room = (cupy.full(count * order.width, garbage, np.uint8).view(dtype) for _ in range(2))
                sort = sort_by_digits(gpu._kernels(order))
                rooms = (out.data.ptr, room.data.ptr)
                queue(sort.steps((items.data.ptr, count), rooms, filled), current_stream())
                assert out.get().tobytes() == stable(order, keys).tobytes(), (garbage, count, name)
        policy = gpu.resolve_sort(SortRequest("radix"), order, 4097 * order.width)
        keys = cupy.asarray(rng.integers(0, 100, 4097).astype(dtype))
        gpu.sort_array(keys, order, policy, keys)
        assert gpu.first_disorder(keys, order) is None
