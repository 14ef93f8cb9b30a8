"""Prepared calls that the library carries out alone: they give what the usual way gives, and refuse what it refuses."""

from __future__ import annotations

import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

import cupy

from gpumerge_cli.arrays import prepared_calls
from gpumerge_cli.arrays.prepared_calls import keep_prepared, kind_of, run_prepared
from gpumerge_cli.backends.gpu import prepared
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.errors import DeviceMemoryError, UsageError
from gpumerge_cli.order.kinds import Order
from tests.fake_driver import FakeDriver, put_driver
from tests.fake_kernels import STREAM, FakeKernels, some


class Other(cupy.ndarray):  # type: ignore[misc]
    """A class that is not CuPy's."""


def on_host(count: int, dtype: Any, *, behind: int = 0, step: int = 1, device: int = 0, cls: Any = cupy.ndarray) -> Any:
    """An array of CuPy in host memory. behind: bytes after an aligned address."""
    kind = np.dtype(dtype)
    held = np.zeros(count * kind.itemsize * step + 64, np.uint8)
    at = -held.ctypes.data % 16 + behind
    memory = cupy.cuda.UnownedMemory(held.ctypes.data, held.nbytes, held, device)
    return cls((count,), kind, cupy.cuda.MemoryPointer(memory, at), (step * kind.itemsize,))


def seen(array: Any) -> Any:
    """The array of CuPy in host memory, as NumPy's."""
    owner = array.data.mem._owner
    at = array.data.ptr - owner.ctypes.data
    return np.ndarray(array.shape, array.dtype, owner.data, at, array.strides)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    """A driver in host memory, for kernels that NumPy stands for."""
    runtime = cupy.cuda.runtime
    monkeypatch.setattr(runtime, "getDevice", lambda: 0)
    monkeypatch.setattr(runtime, "streamIsCapturing", lambda stream: False)
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda: SimpleNamespace(ptr=STREAM))
    monkeypatch.setattr(cupy.cuda, "alloc", lambda nbytes: on_host(nbytes, np.uint8).data)
    monkeypatch.setattr(cupy.cuda, "alloc_pinned_memory", lambda nbytes: on_host(nbytes, np.uint8).data)
    monkeypatch.setattr(runtime, "streamSynchronize", lambda stream: None)
    monkeypatch.setattr(prepared_calls, "_ready", {})
    monkeypatch.setattr(prepared, "gpu_kernels", FakeKernels)
    fake = put_driver(monkeypatch)
    monkeypatch.setattr(FakeKernels, "driver", fake, raising=False)
    return fake


def prepare(operation: Any, arrays: list[Any], values: list[Any] | None) -> None:
    row = None if values is None else values[0].itemsize
    order = Order.of(arrays[0].dtype)
    made = prepared.prepare(operation, order, len(arrays), row, device=0, limits=TUNED_ON)
    keep_prepared(kind_of(operation, arrays, False, values, 0), made)


def filled(array: Any, content: Any) -> Any:
    seen(array)[:] = content
    return array


def told(found: Any) -> Any:
    """The bytes of a result, an array or a tuple of them; None if there is none."""
    if found is None:
        return None
    return [seen(each).tobytes() for each in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("operation", ["merge", "sort", "argsort"])
@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize("with_out", [False, True])
def test_results_are_those_of_the_usual_way(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, rng: np.random.Generator, operation: str, with_values: bool,
    with_out: bool,
) -> None:  # fmt: skip
    if operation == "argsort" and (with_values or with_out):
        return
    for dtype in ("int16", "int32", "float64"):
        number = int(rng.integers(1, 4)) if operation == "merge" else 1
        counts = [int(count) for count in rng.integers(0, [9, 3000, 20_000][:number])]
        counts[0] += 1
        arrays = [filled(on_host(count, dtype), np.sort(some(rng, dtype, count))) for count in counts]
        values = [filled(on_host(count, "int32"), rng.integers(0, 99, count)) for count in counts]
        rows = values if with_values else None
        prepare(operation, arrays, rows)
        results = []
        for turn in range(4):
            out = on_host(sum(counts), dtype) if with_out else None
            with monkeypatch.context() as patch:
                if turn == 3:  # the library does all of it
                    patch.setattr(prepared_calls, "_sources", None)
                found = run_prepared(operation, arrays, False, out, rows)  # type: ignore[arg-type]
            assert found is not None
            assert not with_out or (found[0] if with_values else found) is out
            results.append((told(found), driver.told()))
        assert results[0][0] == results[1][0] == results[2][0] == results[3][0]
        places = [len(launches) for _, launches in results]
        assert places == places[:1] * 4


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_answers_are_those_of_the_usual_way(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, rng: np.random.Generator, dtype: str
) -> None:
    keys = on_host(300, dtype)
    prepare("is_sorted", [keys], None)
    for turn in range(6):
        filled(keys, np.sort(some(rng, dtype, 300)))
        for is_sorted in (True, False):
            if not is_sorted:
                seen(keys)[int(rng.integers(299))] = 91
            with monkeypatch.context() as patch:
                if turn > 1:  # the library does all of it
                    patch.setattr(prepared_calls, "_sources", None)
                assert run_prepared("is_sorted", (keys,), False) is is_sorted
        driver.waited.clear()
    driver.captured = {STREAM}
    monkeypatch.setattr(cupy.cuda.runtime, "streamIsCapturing", lambda stream: True)
    driver.told()
    with pytest.raises(UsageError, match="is_sorted waits for its answer"):
        run_prepared("is_sorted", (keys,), False)
    assert run_prepared("is_sorted", (on_host(300, dtype, step=2),), False) is None
    assert not driver.told()
    assert not driver.waited


@pytest.mark.parametrize("with_values", [False, True])
def test_nothing_is_kept_of_a_call(driver: FakeDriver, with_values: bool) -> None:
    """Memory that is taken is freed again, of results and of what steps need."""
    keys = filled(on_host(8000, "int32"), np.arange(8000))
    values = [keys] if with_values else None
    prepare("sort", [keys], values)
    for _ in range(3):
        run_prepared("sort", (keys,), False, None, values)
    held = (keys, keys.dtype, cupy.ndarray)
    before = [sys.getrefcount(each) for each in held]
    memory: list[weakref.ref[Any]] = []
    plain = cupy.cuda.alloc

    def alloc(nbytes: int) -> Any:
        room = plain(nbytes)
        memory.append(weakref.ref(room.mem._owner))
        return room

    made = prepared_calls._ready.copy().popitem()[1]
    made.direct = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cupy.cuda, "alloc", alloc)
        patch.setattr("gpumerge_cli.backends.gpu.direct.scratch", alloc)
        for _ in range(2):  # the kind is described again, and its counts come again
            made._recordings.clear()
            for _ in range(3):
                run_prepared("sort", (keys,), False, None, values)
        memory.clear()
        patch.setattr(prepared_calls, "_sources", None)
        found = run_prepared("sort", (keys,), False, None, values)
    assert len(memory) == 2 + with_values
    assert [each() is not None for each in memory].count(True) == 1 + with_values
    del found
    assert not any(each() for each in memory)
    assert [sys.getrefcount(each) for each in held] == before


ODD: dict[str, dict[str, Any]] = {
    "misaligned": {"behind": 1}, "strided": {"step": 2}, "on another device": {"device": 1},
    "of a class": {"cls": Other}, "of another dtype": {"dtype": np.float32}, "of other bytes": {"dtype": ">i4"},
}  # fmt: skip


@pytest.mark.parametrize(
    "odd", [*ODD, "longer", "overlapping", "of NumPy", "a list", "of records", "of two dimensions"]
)
@pytest.mark.parametrize("place", ["first", "second", "out", "values"])
def test_what_the_usual_way_refuses_is_refused(
    monkeypatch: pytest.MonkeyPatch, driver: FakeDriver, odd: str, place: str
) -> None:
    """Nothing is launched then, and the arguments are not kept."""
    monkeypatch.setattr(prepared_calls, "lies_on_gpu", lambda array: False)  # which asks the device
    count, dtype = 300, "int32"
    good = {"first": on_host(count, dtype), "second": on_host(count, dtype), "out": on_host(2 * count, dtype)}
    with_values = place == "values"
    rows = [on_host(count, dtype), on_host(count, dtype)] if with_values else None
    prepare("merge", [good["first"], good["second"]], rows)
    for _ in range(3):
        assert run_prepared("merge", (good["first"], good["second"]), False, good["out"], rows) is not None
    length = 2 * count if place == "out" else count
    if odd in ODD:
        other = on_host(**{"count": length, "dtype": dtype, **ODD[odd]})
    elif odd == "longer":
        other = on_host(length + 1, dtype)
    elif odd == "overlapping":
        other = good["out"][count // 2 :][:length] if place != "out" else good["first"]
    elif odd == "of two dimensions":
        other = on_host(length, dtype).reshape(-1, 2)
    else:
        other = {"of NumPy": np.zeros(length, dtype), "a list": [1] * length, "of records": on_host(length, "i2,i2")}[
            odd
        ]
    given = {**good, place: other}
    if with_values:
        rows = [rows[0], other] if rows else None
    arguments = (given["first"], given["second"]), False, given["out"], rows
    driver.told()
    before = [sys.getrefcount(each) for each in (other, good["first"], good["second"], good["out"])]
    found = run_prepared("merge", *arguments)
    with monkeypatch.context() as patch:
        for made in prepared_calls._ready.values():
            patch.setattr(made, "direct", None)
        patch.setattr(prepared.PreparedCall, "describe", lambda *given: None)
        assert (run_prepared("merge", *arguments) is None) == (found is None)
    assert found is None or odd == "longer" or (odd, place) == ("of two dimensions", "values") or place == "out", odd
    if found is None:
        assert not driver.told()
    del found
    assert [sys.getrefcount(each) for each in (other, good["first"], good["second"], good["out"])] == before


def test_threads_call_at_once(driver: FakeDriver, rng: np.random.Generator) -> None:
    """Also while recordings are made, added and dropped."""
    inputs = [np.sort(some(rng, "int32", 100 + number)) for number in range(80)]
    arrays = [filled(on_host(len(each), "int32"), each) for each in inputs]
    prepare("sort", [arrays[0]], None)
    meeting = threading.Barrier(8)

    def work(number: int) -> bool:
        meeting.wait(20)
        good = True
        for turn in range(300):
            which = (number + turn // 5) % 80
            good &= bool((seen(run_prepared("sort", (arrays[which],), False)) == inputs[which]).all())
        return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_errors_of_allocations_are_those_of_the_usual_way(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver) -> None:
    keys = filled(on_host(300, "int32"), np.arange(300))
    refused = [False]

    def alloc(nbytes: int) -> Any:
        if refused[0]:
            raise cupy.cuda.memory.OutOfMemoryError(1, 2)
        return on_host(nbytes, np.uint8).data

    monkeypatch.setattr(cupy.cuda, "alloc", alloc)
    monkeypatch.setattr(prepared, "check_stream", lambda: None)
    prepare("sort", [keys], None)
    for _ in range(3):
        assert run_prepared("sort", (keys,), False) is not None
    refused[0] = True
    with pytest.raises(DeviceMemoryError, match="the GPU is out of memory"):
        run_prepared("sort", (keys,), False)

    def interrupted(*given: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(prepared_calls, "_ready", {})
    monkeypatch.setattr(cupy.cuda, "alloc", alloc)
    refused[0] = False
    prepare("sort", [keys], None)
    for _ in range(3):
        assert run_prepared("sort", (keys,), False) is not None
    monkeypatch.setattr("tests.test_direct_calls.on_host", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_prepared("sort", (keys,), False)


def test_what_the_driver_refuses_is_reported(monkeypatch: pytest.MonkeyPatch, driver: FakeDriver) -> None:
    class DriverError(Exception):
        pass

    from gpumerge_cli.backends.gpu import driver as driver_module

    keys, out = filled(on_host(300, "int32"), np.arange(300)), on_host(300, "int32")
    prepare("sort", [keys], None)
    for _ in range(3):
        assert run_prepared("sort", (keys,), False, out) is out
    cuda = SimpleNamespace(driver=SimpleNamespace(CUDADriverError=DriverError), runtime=cupy.cuda.runtime)
    monkeypatch.setattr(driver_module, "cupy", SimpleNamespace(cuda=cuda))
    driver.status = 700
    with pytest.raises(DriverError, match="700"):
        run_prepared("sort", (keys,), False, out)
