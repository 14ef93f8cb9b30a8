"""Calls from Python on CuPy arrays: what a second call of a kind does, and that nobody waits."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays import remembered
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from tests.oracles import merged_keys, same_bits

_DTYPES = ["int32", "int64", "uint8", "float32", "float64", "float16", "bool"]


class FakeArray:
    """Stands for a CuPy array where there is no GPU."""

    def __init__(self, at: int, size: int, dtype: str = "int32", device: int = 0, contiguous: bool = True) -> None:
        self.dtype, self.size, self.ndim = np.dtype(dtype), size, 1
        self.data = SimpleNamespace(ptr=at, device_id=device)
        self.device = SimpleNamespace(id=device)
        self.flags = SimpleNamespace(c_contiguous=contiguous)


class Recorder:
    """Stands for a prepared merge: keeps what it is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def takes(self, total: int) -> bool:
        return total > 0

    def __call__(self, *arguments: Any) -> None:
        self.calls.append(arguments)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    runtime = SimpleNamespace(getDevice=lambda: 0)
    fake = SimpleNamespace(
        ndarray=FakeArray, cuda=SimpleNamespace(runtime=runtime), empty=lambda total, dtype: FakeArray(1 << 20, total)
    )
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(remembered, "_ready", {})
    prepared = Recorder()
    remembered.remember(FakeArray(0, 1), False, 2, prepared)
    return prepared


def test_a_known_kind_is_launched_at_once(recorder: Recorder) -> None:
    out = FakeArray(4096, 7)
    runs = [FakeArray(400, 3), FakeArray(800, 4)]
    assert remembered.merged_again(runs, False, out) is out
    assert remembered.merged_again(runs, False, None).size == 7
    assert recorder.calls[0] == ([400, 800], [3, 4], 7, 4096)
    assert recorder.calls[1][3] == 1 << 20


@pytest.mark.parametrize(
    ("runs", "out"),
    [
        ([FakeArray(400, 3)], None),  # another number
        ([FakeArray(400, 3), FakeArray(800, 4, "uint32")], None),
        ([FakeArray(400, 3), FakeArray(802, 4)], None),  # misaligned
        ([FakeArray(400, 3), FakeArray(800, 4, device=1)], None),
        ([FakeArray(400, 3), FakeArray(800, 4, contiguous=False)], None),
        ([FakeArray(400, 3), np.arange(4, dtype=np.int32)], None),
        ([FakeArray(400, 0), FakeArray(800, 0)], None),  # nothing to launch
        ([FakeArray(400, 3), FakeArray(800, 4)], FakeArray(812, 7)),  # overlaps by an item
        ([FakeArray(400, 3), FakeArray(800, 4)], FakeArray(376, 7)),
        ([FakeArray(400, 3), FakeArray(800, 4)], FakeArray(4096, 8)),
        ([FakeArray(400, 3), FakeArray(800, 4)], FakeArray(4096, 7, "float32")),
        ([FakeArray(400, 3), FakeArray(800, 4)], np.empty(7, np.int32)),
    ],
)
def test_all_else_goes_the_long_way(recorder: Recorder, runs: list[Any], out: Any) -> None:
    assert remembered.merged_again(runs, False, out) is None
    assert not recorder.calls


@pytest.mark.usefixtures("recorder")
def test_a_direction_is_a_kind_of_its_own() -> None:
    assert remembered.merged_again([FakeArray(400, 3), FakeArray(800, 4)], True, None) is None


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("number", [1, 2, 3, 8, 17])
def test_second_calls_equal_first_ones(gpu_backend: Backend, rng: np.random.Generator, dtype: str, number: int) -> None:
    import cupy

    for descending in (False, True):
        for most in (0, 5, 3000, 200_000):
            runs = [np.sort(rng.integers(0, 90, rng.integers(0, most + 1)).astype(dtype)) for _ in range(number)]
            runs = [run[::-1].copy() if descending else run for run in runs]
            given = [cupy.asarray(run) for run in runs]
            expected = merged_keys(runs, descending=descending)
            for _ in range(3):
                assert same_bits(gpumerge_cli.merge(*given, descending=descending).get(), expected)
            out = cupy.empty(len(expected), dtype)
            assert gpumerge_cli.merge(*given, descending=descending, out=out) is out
            assert same_bits(out.get(), expected)


@pytest.mark.gpu
def test_an_output_that_overlaps_by_one_byte(gpu_backend: Backend) -> None:
    import cupy

    room = cupy.arange(100, dtype=cupy.int32)
    a, b = room[:10], room[50:60]
    for _ in range(2):
        for out in (room[9:29], room[40:60][-20:], room[31:51]):
            with pytest.raises(UsageError, match="shares memory"):
                gpumerge_cli.merge(a, b, out=out)
        assert gpumerge_cli.merge(a, b, out=room[10:30]).tolist() == [*range(10), *range(50, 60)]
        room[:] = cupy.arange(100)


@pytest.mark.gpu
def test_a_second_call_launches_little_and_never_waits(gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    from gpumerge_cli.backends.gpu import prepared

    a, b = (cupy.arange(1 << 20, dtype=cupy.int32) for _ in range(2))
    out = cupy.empty(1 << 21, cupy.int32)
    gpumerge_cli.merge(a, b, out=out)
    launches = 0
    launch = prepared.PreparedMerge._launch

    def counted(self: Any, *arguments: Any) -> None:
        nonlocal launches
        launches += 1
        launch(self, *arguments)

    def waits(*arguments: Any) -> None:
        raise AssertionError("a call waits for the device")

    monkeypatch.setattr(prepared.PreparedMerge, "_launch", counted)
    for name in ("deviceSynchronize", "streamSynchronize", "eventSynchronize", "memcpy"):
        monkeypatch.setattr(cupy.cuda.runtime, name, waits)
    gpumerge_cli.merge(a, b, out=out)
    gpumerge_cli.merge(a, b)
    monkeypatch.undo()
    assert launches == 2


@pytest.mark.gpu
def test_merges_are_captured_by_graphs(gpu_backend: Backend, rng: np.random.Generator) -> None:
    import cupy

    a, b = (cupy.sort(cupy.asarray(rng.integers(0, 1 << 30, 300_000))) for _ in range(2))
    out = cupy.empty(600_000, a.dtype)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        gpumerge_cli.merge(a, b, out=out)
        stream.synchronize()
        stream.begin_capture()
        gpumerge_cli.merge(a, b, out=out)
        graph = stream.end_capture()
        for _ in range(2):
            a[:] = cupy.sort(cupy.asarray(rng.integers(0, 1 << 30, 300_000)))
            out[:] = 0
            graph.launch(stream)
            stream.synchronize()
            assert same_bits(out.get(), merged_keys([a.get(), b.get()]))
