"""Calls on CuPy arrays inside graphs of CUDA: what is captured keeps its memory, and works on what is there later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from tests.oracles import same_bits

pytestmark = pytest.mark.gpu

COUNT, MANY = 300_000, 20
CASES: dict[str, Callable[[Any], Any]] = {
    "merge": lambda on: gpumerge_cli.merge(on.a, on.b),
    "merge(out=)": lambda on: gpumerge_cli.merge(on.a, on.b, out=on.both),
    "merge(values=, out=)": lambda on: gpumerge_cli.merge(on.a, on.b, values=[on.keys, on.a], out=on.both),
    "merge of reversed runs": lambda on: gpumerge_cli.merge(on.a[::-1], on.b[::-1], descending=True, out=on.both),
    "merge of many runs": lambda on: gpumerge_cli.merge(*on.runs, out=on.out),
    "merge of many strided runs": lambda on: gpumerge_cli.merge(*(run[::2] for run in on.runs)),
    "merge of many runs and their values": lambda on: gpumerge_cli.merge(*on.runs, values=on.runs, out=on.out),
    "merge of many runs and wide values": lambda on: gpumerge_cli.merge(*on.runs, values=on.wide_runs),
    "merge by a kernel": lambda on: gpumerge_cli.merge(on.a, on.b, values=[on.a, on.keys], kernel="tiled"),
    "sort": lambda on: gpumerge_cli.sort(on.keys),
    "sort(out=)": lambda on: gpumerge_cli.sort(on.keys, out=on.out),
    "sort of few": lambda on: gpumerge_cli.sort(on.keys[:50_000], values=on.wide[:50_000]),
    "sort(values=, out=)": lambda on: gpumerge_cli.sort(on.keys, values=on.a, out=on.out),
    "sort of strided keys": lambda on: gpumerge_cli.sort(on.room[::2], out=on.out),
    "sort of strided keys and values": lambda on: gpumerge_cli.sort(on.room[::2], values=on.room[1::2], out=on.out),
    "sort with wide values": lambda on: gpumerge_cli.sort(on.keys, values=on.wide, out=on.out),
    "sort with misaligned values": lambda on: gpumerge_cli.sort(on.keys, values=on.odd, out=on.out),
    "sort with misaligned strided values": lambda on: gpumerge_cli.sort(on.keys[::2], values=on.odd[::2]),
    "sort by merging": lambda on: gpumerge_cli.sort(on.keys, values=on.a, algorithm="merge"),
    "argsort": lambda on: gpumerge_cli.argsort(on.keys),
    "argsort of strided keys": lambda on: gpumerge_cli.argsort(on.room[::2]),
    "argsort by merging": lambda on: gpumerge_cli.argsort(on.keys, algorithm="merge"),
}


def arrays() -> Any:
    """CuPy arrays for the calls."""
    import cupy

    keys, a, b, out = (cupy.zeros(COUNT, np.int32) for _ in range(4))
    odd_room = cupy.zeros(8 * COUNT + 4, np.uint8)
    return SimpleNamespace(
        keys=keys, a=a, b=b, out=out, both=cupy.zeros(2 * COUNT, np.int32), room=cupy.zeros(2 * COUNT, np.int32),
        runs=cupy.zeros((MANY, COUNT // MANY), np.int32), wide=cupy.zeros((COUNT, 2), np.int64),
        wide_runs=cupy.zeros((MANY, COUNT // MANY, 2), np.int64), odd=odd_room[4:].view(np.int64),
    )  # fmt: skip


def fill(on: Any, rng: np.random.Generator) -> Any:
    """Fill the arrays anew, on the current stream. Returns them as NumPy arrays."""
    import cupy

    host = SimpleNamespace()
    for name, array in vars(on).items():
        drawn = rng.integers(0, 1 << 18, array.shape).astype(array.dtype)
        items = np.sort(drawn) if name in ("a", "b", "runs") else drawn
        # Byte by byte, as `odd` is misaligned.
        cupy.ndarray(array.nbytes, np.uint8, array.data)[...] = cupy.asarray(items.reshape(-1).view(np.uint8))
        setattr(host, name, items.copy())
    return host


def as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@contextmanager
def capture(stream: Any) -> Iterator[list[Any]]:
    """Capture what is queued in the body. The graph is put into the list."""
    graphs: list[Any] = []
    stream.begin_capture()
    try:
        yield graphs
    finally:
        graphs.append(stream.end_capture())


def owners() -> list[Any]:
    """Arrays of all sizes that a temporary may have had: what was free in CuPy's pool now belongs to somebody."""
    import cupy

    sizes = [COUNT * size // part for size in (4, 8, 16, 32) for part in (1, 2)]
    return [cupy.full(size, 0x77, np.uint8) for size in sizes for _ in range(10)]


@pytest.mark.parametrize("name", CASES)
def test_graphs_capture_calls(gpu_backend: Backend, rng: np.random.Generator, name: str) -> None:
    """Memory of a captured call is nobody else's while the graph runs."""
    import cupy

    call, on = CASES[name], arrays()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        fill(on, rng)
        call(on)
        stream.synchronize()
        with capture(stream) as graphs:
            found = as_tuple(call(on))
        others = owners()
        for _ in range(2):
            expected = as_tuple(call(fill(on, rng)))
            graphs[0].launch(stream)
            stream.synchronize()
            assert all(bool((each == 0x77).all()) for each in others)
            for one, two in zip(found, expected, strict=True):
                assert same_bits(one.get(), two)


def test_graphs_capture_long_merges(gpu_backend: Backend, rng: np.random.Generator) -> None:
    """So long that tiles are cut ahead of the merge."""
    import cupy

    a, b = (cupy.sort(cupy.asarray(rng.integers(0, 1 << 40, 20_000_000))) for _ in range(2))
    out, stream = cupy.empty(len(a) + len(b), np.int64), cupy.cuda.Stream(non_blocking=True)
    expected = cupy.sort(cupy.concatenate([a, b]))
    cupy.cuda.Device().synchronize()
    with stream:
        gpumerge_cli.merge(a, b, out=out)
        with capture(stream) as graphs:
            gpumerge_cli.merge(a, b, out=out)
        others = [cupy.full(1 << 20, 0x77, np.uint8) for _ in range(20)]
        out[:] = 0
        graphs[0].launch(stream)
        stream.synchronize()
        assert bool((out == expected).all())
        assert all(bool((each == 0x77).all()) for each in others)


def test_a_graph_cannot_hold_a_check(gpu_backend: Backend) -> None:
    import cupy

    keys = cupy.arange(100)
    assert gpumerge_cli.is_sorted(keys)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream, capture(stream):
        for array in (keys, keys[::2]):
            with pytest.raises(UsageError, match="is_sorted waits for its answer"):
                gpumerge_cli.is_sorted(array)
        with pytest.raises(UsageError, match="a sort by several GPUs waits for its answer"):
            gpumerge_cli.sort([keys])
        assert gpumerge_cli.is_sorted(keys[:0])
    assert gpumerge_cli.is_sorted(keys)


@pytest.mark.parametrize("protocol", ["interface", "DLPack"])
def test_graphs_capture_calls_on_arrays_of_others(gpu_backend: Backend, protocol: str) -> None:
    """A stream that the graph does not capture is not waited for, which would end the capture."""
    import cupy

    keys = cupy.arange(1000, dtype=np.int32)
    other, stream = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))

    class Interface:
        __cuda_array_interface__ = {**keys.__cuda_array_interface__, "stream": other.ptr}  # noqa: RUF012

    class Dlpack:
        def __dlpack_device__(self) -> Any:
            return keys.__dlpack_device__()

        def __dlpack__(self, **told: Any) -> Any:
            with other:
                return keys.__dlpack__(**told)

    given = Interface() if protocol == "interface" else Dlpack()
    cupy.cuda.Device().synchronize()
    with stream:
        gpumerge_cli.sort(given)
        stream.synchronize()
        with capture(stream) as graphs:
            found = gpumerge_cli.sort(given)
            of_kind = gpumerge_cli.sort(given)
        for turn in range(2):
            keys[:] = cupy.arange(1000, dtype=np.int32)[::-1] + turn
            graphs[0].launch(stream)
            stream.synchronize()
            assert found.tolist() == of_kind.tolist() == list(range(turn, 1000 + turn))


def test_graphs_wait_for_streams_that_they_capture(gpu_backend: Backend) -> None:
    import cupy

    keys = cupy.zeros(1000, np.int32)
    items = cupy.arange(1000, dtype=np.int32)[::-1].copy()
    other, stream = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))

    class Offers:
        __cuda_array_interface__ = {**keys.__cuda_array_interface__, "stream": other.ptr}  # noqa: RUF012

    cupy.cuda.Device().synchronize()
    with stream:
        gpumerge_cli.sort(Offers())
        with other:
            keys[:] = items
            keys[:] = 0
        other.synchronize()
        stream.synchronize()
        with capture(stream) as graphs:
            other.wait_event(stream.record())
            with other:
                keys[:] = items
            found = gpumerge_cli.sort(Offers())
        graphs[0].launch(stream)
        stream.synchronize()
        assert found.tolist() == list(range(1000))
