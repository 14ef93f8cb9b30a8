"""Calls from Python on CuPy arrays, on a device: prepared calls give what NumPy gives, and do little."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays import remembered
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from tests.oracles import merged_keys, same_bits

pytestmark = pytest.mark.gpu

CALLS = [
    "merge", "merge(out=)", "merge(values=)", "merge(values=, out=)", "sort", "sort(out=)", "sort(values=)",
    "sort(values=, out=)", "argsort", "is_sorted",
]  # fmt: skip
DTYPES = ["int8", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bool"]
VALUES = [("uint8", ()), ("int16", ()), ("float32", ()), ("int64", ()), ("complex128", ()), ("uint8", (3,)),
          ("int32", (2, 2)), ("float64", (5,))]  # fmt: skip


def some(rng: np.random.Generator, dtype: str, count: int) -> Any:
    """Keys with ties, extremes, NaNs of both signs, zeros of both signs and subnormals."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, count).astype(kind)
    bits = np.frombuffer(rng.bytes(count * kind.itemsize), f"u{kind.itemsize}").copy()
    few = rng.integers(0, 40, count).astype(kind).view(bits.dtype)
    mixed = np.where(rng.random(count) < rng.random(), bits, few)
    if kind.kind == "f":
        odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, np.finfo(kind).smallest_subnormal], kind)
        at = rng.random(count) < 0.1
        mixed[at] = rng.choice(odd.view(bits.dtype), int(at.sum()))
    return mixed.view(kind)


def on_device(array: Any, rng: np.random.Generator) -> Any:
    """The array in device memory: by itself, behind other items, or every second item of a longer one."""
    import cupy

    way = rng.integers(0, 3)
    if way == 0:
        return cupy.asarray(array)
    if way == 1:
        ahead = int(rng.integers(1, 9))
        room = cupy.zeros((len(array) + ahead, *array.shape[1:]), array.dtype)
        room[ahead:] = cupy.asarray(array)
        return room[ahead:]
    room = cupy.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    room[::2] = cupy.asarray(array)
    return room[::2]


def ordered(keys: Any, descending: bool) -> Any:
    """The indices of the stable order."""
    return gpumerge_cli.argsort(keys, descending=descending, backend="cpu")


def lengths(rng: np.random.Generator) -> int:
    return int(rng.integers(0, 1 << int(rng.integers(1, 17))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_sorts(gpu_backend: Backend, rng: np.random.Generator, dtype: str, descending: bool) -> None:
    import cupy

    kinds = rng.choice(len(VALUES), 2, replace=False)
    for turn in range(12):
        keys = some(rng, dtype, lengths(rng))
        given = on_device(keys, rng)
        expected = ordered(keys, descending)
        assert same_bits(gpumerge_cli.argsort(given, descending=descending).get(), expected)
        found = gpumerge_cli.sort(given, descending=descending)
        # Equal floats may differ in their bits, and a sort of keys alone need not be stable.
        assert same_bits(found.get(), merged_keys([keys], descending=descending))
        out = cupy.empty(len(keys), dtype)
        assert gpumerge_cli.sort(given, descending=descending, out=out) is out
        assert same_bits(out.get(), found.get())
        assert gpumerge_cli.is_sorted(out, descending=descending)
        for array in (given, out):
            expected_answer = gpumerge_cli.is_sorted(array.get(), descending=descending)
            assert gpumerge_cli.is_sorted(array, descending=descending) == expected_answer
        kind, row = VALUES[kinds[turn % 2]]
        values = np.frombuffer(rng.bytes(len(keys) * np.dtype(kind).itemsize * int(np.prod(row))), kind)
        values = values.reshape(len(keys), *row)
        keys_found, moved = gpumerge_cli.sort(given, values=on_device(values, rng), descending=descending)
        assert same_bits(keys_found.get(), keys[expected])
        assert same_bits(moved.get(), values[expected])
        assert same_bits(given.get(), keys)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_merges(gpu_backend: Backend, rng: np.random.Generator, dtype: str, descending: bool) -> None:
    import cupy

    kinds = rng.choice(len(VALUES), 2, replace=False)
    for turn in range(12):
        number = int(rng.choice([1, 2, 3, 5, 16, 17]))
        runs = [some(rng, dtype, lengths(rng) // number) for _ in range(number)]
        runs = [run[ordered(run, descending)] for run in runs]
        given = [on_device(run, rng) for run in runs]
        both = np.concatenate(runs)
        expected = ordered(both, descending)
        found = gpumerge_cli.merge(*given, descending=descending)
        assert same_bits(found.get(), both[expected])
        out = cupy.empty(len(both), dtype)
        assert gpumerge_cli.merge(*given, descending=descending, out=out) is out
        assert same_bits(out.get(), both[expected])
        kind, row = VALUES[kinds[turn % 2]]
        values = np.frombuffer(rng.bytes(len(both) * np.dtype(kind).itemsize * int(np.prod(row))), kind)
        values = values.reshape(len(both), *row)
        parts = np.split(values, np.cumsum([len(run) for run in runs])[:-1])
        out[:] = 0
        keys_found, moved = gpumerge_cli.merge(
            *given, values=[on_device(part, rng) for part in parts], descending=descending, out=out
        )
        assert keys_found is out
        assert same_bits(out.get(), both[expected])
        assert same_bits(moved.get(), values[expected])


def test_long_sorts_and_merges(gpu_backend: Backend, rng: np.random.Generator) -> None:
    """So long that tiles are cut beforehand, and sorts take several passes."""
    import cupy

    for dtype in ("int32", "float64"):
        keys = cupy.asarray(rng.integers(-(1 << 20), 1 << 20, 40_000_000).astype(dtype))
        expected = cupy.asarray(gpumerge_cli.argsort(keys.get(), backend="cpu"))
        found, moved = gpumerge_cli.sort(keys, values=cupy.arange(len(keys), dtype=np.int32))
        assert bool((moved == expected).all())
        assert bool((found == keys[expected]).all())
        assert bool((gpumerge_cli.argsort(keys) == expected).all())
        halves = [gpumerge_cli.sort(part) for part in (keys[:17_000_000], keys[17_000_000:])]
        merged, rows = gpumerge_cli.merge(*halves, values=halves)
        assert bool((merged == found).all())
        assert bool((rows == found).all())
        assert gpumerge_cli.is_sorted(merged)
        merged[12_345_678] = merged[12_345_679] + 1
        assert not gpumerge_cli.is_sorted(merged)


def calls(count: int) -> dict[str, tuple[Callable[[], Any], int, int]]:
    """By name: a call, and the launches and allocations that it may make, for so many keys of four bytes."""
    import cupy

    keys = cupy.arange(count, dtype=np.int32)[::-1].copy()
    run, values = (cupy.arange(count, dtype=np.int32) for _ in range(2))
    out, both = cupy.empty(count, np.int32), cupy.empty(2 * count, np.int32)
    return {
        "merge": (lambda: gpumerge_cli.merge(run, run), 1, 1),
        "merge(out=)": (lambda: gpumerge_cli.merge(run, run, out=both), 1, 0),
        "merge(values=)": (lambda: gpumerge_cli.merge(run, run, values=[values, values]), 1, 2),
        "merge(values=, out=)": (lambda: gpumerge_cli.merge(run, run, values=[values, values], out=both), 1, 1),
        "sort": (lambda: gpumerge_cli.sort(keys), 1, 1),
        "sort(out=)": (lambda: gpumerge_cli.sort(keys, out=out), 1, 0),
        "sort(values=)": (lambda: gpumerge_cli.sort(keys, values=values), 1, 2),
        "sort(values=, out=)": (lambda: gpumerge_cli.sort(keys, values=values, out=out), 1, 1),
        "argsort": (lambda: gpumerge_cli.argsort(keys), 1, 1),
        "is_sorted": (lambda: gpumerge_cli.is_sorted(run), 1, 0),
    }


class Counted:
    """The host's work of a call: launches, allocations, waits and copies."""

    def __init__(self) -> None:
        self.launches = self.allocations = self.waits = 0


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    import cupy

    from gpumerge_cli.backends.gpu import launching, module

    found = Counted()

    class Hook(cupy.cuda.MemoryHook):  # type: ignore[misc]
        name = "counts"

        def malloc_preprocess(self, **arguments: Any) -> None:
            found.allocations += 1

    launch = launching.Launch.__call__

    def launched(self: Any, *arguments: Any) -> None:
        found.launches += 1
        launch(self, *arguments)

    def waited(wait: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            found.waits += 1
            return wait(*arguments)

        return call

    def refused(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a call compares addresses, copies, or launches in another way")

    with monkeypatch.context() as patch:
        patch.setattr(launching.Launch, "__call__", launched)
        patch.setattr(module.Kernels, "_launch", refused)
        for name in ("deviceSynchronize", "streamSynchronize", "eventSynchronize"):
            patch.setattr(cupy.cuda.runtime, name, waited(getattr(cupy.cuda.runtime, name)))
        for name in ("memcpy", "memcpyAsync", "memset", "memsetAsync"):
            patch.setattr(cupy.cuda.runtime, name, refused)
        for name in ("shares_memory", "may_share_memory", "concatenate", "copyto", "empty"):
            patch.setattr(cupy, name, refused)
        with Hook():
            yield found


@pytest.mark.parametrize("name", CALLS)
def test_the_host_does_little(gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A bound on the host's work of a call of a known kind. It counts, because a clock would tell of the machine."""
    call, launches, allocations = calls(4000)[name]
    call()
    with counted(monkeypatch) as found:
        call()
    assert found.launches <= launches
    assert found.allocations <= allocations
    assert found.waits == (name == "is_sorted")


@pytest.mark.parametrize("name", ["sort", "sort(out=)", "sort(values=)", "argsort"])
def test_longer_sorts_take_few_passes(gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    call, launches, allocations = calls(1 << 16)[name]
    call()
    with counted(monkeypatch) as found:
        call()
    assert found.launches <= launches + 1
    assert found.allocations <= allocations + 1
    assert found.waits == 0


@pytest.mark.parametrize("name", [name for name in CALLS if "out=" in name or name == "argsort"])
def test_graphs_capture_calls(gpu_backend: Backend, rng: np.random.Generator, name: str) -> None:
    """Scratch of a captured call belongs to the graph: nobody else writes there between the graph's runs."""
    import cupy

    count = 300_000
    a, b = (cupy.sort(cupy.asarray(rng.integers(0, 1 << 20, count).astype(np.int32))) for _ in range(2))
    keys, values = cupy.empty(count, np.int32), cupy.arange(count, dtype=np.int32)
    out = cupy.empty(2 * count if name.startswith("merge") else count, np.int32)
    todo: dict[str, Callable[[], Any]] = {
        "merge(out=)": lambda: gpumerge_cli.merge(a, b, out=out),
        "merge(values=, out=)": lambda: gpumerge_cli.merge(a, b, values=[a, b], out=out)[1],
        "sort(out=)": lambda: gpumerge_cli.sort(keys, out=out),
        "sort(values=, out=)": lambda: gpumerge_cli.sort(keys, values=keys, out=out)[1],
        "argsort": lambda: gpumerge_cli.argsort(keys),
    }
    stream = cupy.cuda.Stream(non_blocking=True)
    del values
    with stream:
        keys[:] = a
        todo[name]()
        stream.synchronize()
        stream.begin_capture()
        found = todo[name]()
        graph = stream.end_capture()
        for _ in range(3):
            for each in (a, b):
                each[:] = cupy.sort(cupy.asarray(rng.integers(0, 1 << 20, count).astype(np.int32)))
            keys[:] = cupy.asarray(rng.integers(0, 1 << 20, count).astype(np.int32))
            out[:] = 0
            graph.launch(stream)
            stream.synchronize()
            noise = [cupy.full(count, 7, np.int64) for _ in range(20)]
            if name == "argsort":
                assert same_bits(found.get(), np.argsort(keys.get(), kind="stable"))
            elif name.startswith("merge"):
                assert same_bits(out.get(), merged_keys([a.get(), b.get()]))
                assert same_bits(found.get(), out.get())
            else:
                assert same_bits(out.get(), np.sort(keys.get()))
                assert same_bits(found.get(), out.get())
            del noise


def test_a_graph_cannot_hold_a_check(gpu_backend: Backend) -> None:
    import cupy

    keys = cupy.arange(100)
    assert gpumerge_cli.is_sorted(keys)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        with pytest.raises(UsageError, match="is_sorted waits for its answer"):
            gpumerge_cli.is_sorted(keys)
        stream.end_capture()
    assert gpumerge_cli.is_sorted(keys)


@pytest.mark.parametrize("shift", [-1, 1, 0])
def test_an_output_that_overlaps_by_one_byte(gpu_backend: Backend, shift: int) -> None:
    import cupy

    room = cupy.zeros(4000, np.uint8)
    keys = room[1000:1400]
    values = room[2000:2400]
    for _ in range(2):
        for source in (1000, 2000):
            at = source + 399 if shift > 0 else source - 399 if shift < 0 else source
            with pytest.raises(UsageError, match="out shares memory with an input"):
                gpumerge_cli.sort(keys, values=values, out=room[at : at + 400])
            with pytest.raises(UsageError, match="out shares memory with an input"):
                gpumerge_cli.merge(keys, values=[values], out=room[at : at + 400])
        gpumerge_cli.sort(keys, values=values, out=room[1400:1800])
        gpumerge_cli.merge(keys, values=[values], out=room[600:1000])


@pytest.fixture
def two_gpus(gpu_backend: Backend) -> None:
    import cupy

    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("one GPU")


@pytest.mark.usefixtures("two_gpus")
def test_arrays_on_another_gpu() -> None:
    import cupy

    here = cupy.arange(10)
    with cupy.cuda.Device(1):
        there, out = cupy.arange(10), cupy.empty(20, int)
        for _ in range(2):
            assert gpumerge_cli.merge(there, there).device.id == 1
    for _ in range(2):
        assert gpumerge_cli.merge(there, there, out=out) is out
        with pytest.raises(UsageError, match="arrays lie on different devices: GPUs 0 and 1; move them to one"):
            gpumerge_cli.merge(here, there)
        with pytest.raises(UsageError, match="arrays lie on different devices: GPUs 0 and 1"):
            gpumerge_cli.sort(here, values=there)
        with pytest.raises(UsageError, match="out lies on GPU 1, and the arrays on GPU 0"):
            gpumerge_cli.merge(here, here, out=out)
        assert gpumerge_cli.merge(here, here).device.id == 0


@pytest.mark.usefixtures("two_gpus")
def test_a_stream_of_another_gpu() -> None:
    import cupy

    keys = cupy.arange(10)
    with cupy.cuda.Device(1):
        stream = cupy.cuda.Stream(non_blocking=True)
    calls = (gpumerge_cli.sort, gpumerge_cli.argsort, gpumerge_cli.merge, gpumerge_cli.is_sorted)
    for call in (*calls, *calls):
        with (
            cupy.cuda.Stream.from_external(SimpleNamespace(__cuda_stream__=lambda: (0, stream.ptr))),
            pytest.raises(UsageError, match="the current stream is one of GPU 1, and the arrays lie on GPU 0"),
        ):
            call(keys)
    assert gpumerge_cli.is_sorted(keys)


def test_graphs_capture_merges_of_many_runs(gpu_backend: Backend, rng: np.random.Generator) -> None:
    """More runs than a pass takes: the passes go through scratch."""
    import cupy

    runs = [cupy.asarray(np.sort(rng.integers(0, 1 << 40, 20_000))) for _ in range(20)]
    out = cupy.empty(400_000, np.int64)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        gpumerge_cli.merge(*runs, out=out)
        stream.synchronize()
        stream.begin_capture()
        gpumerge_cli.merge(*runs, out=out)
        graph = stream.end_capture()
        for _ in range(2):
            out[:] = 0
            graph.launch(stream)
            noise = [cupy.full(1 << 20, 7) for _ in range(8)]
            stream.synchronize()
            assert same_bits(out.get(), merged_keys([run.get() for run in runs]))
            del noise


def test_calls_from_threads(gpu_backend: Backend, rng: np.random.Generator) -> None:
    """Each thread launches on a stream of its own, with arguments of its own."""
    from concurrent.futures import ThreadPoolExecutor

    import cupy

    inputs = [rng.integers(0, 1000, 5000 + number).astype(np.int32) for number in range(8)]

    def work(number: int) -> bool:
        with cupy.cuda.Stream(non_blocking=True) as stream:
            keys = cupy.asarray(inputs[number])
            good = True
            for _ in range(50):
                found = gpumerge_cli.sort(keys)
                ranks = gpumerge_cli.argsort(keys)
                good &= gpumerge_cli.is_sorted(found)
                stream.synchronize()
                good &= same_bits(found.get(), np.sort(inputs[number]))
                good &= same_bits(ranks.get(), np.argsort(inputs[number], kind="stable"))
            return good

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_the_kinds_that_are_kept_are_few(gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    monkeypatch.setattr(remembered, "_MOST_KINDS", 2)
    monkeypatch.setattr(remembered, "_ready", {})
    for dtype in ("int8", "int16", "int32"):
        assert gpumerge_cli.sort(cupy.asarray([2, 1], dtype)).tolist() == [1, 2]
    assert len(remembered._ready) <= 2


@pytest.mark.parametrize("protocol", ["interface", "stream", "torch"])
def test_arrays_of_others_are_launched_at_once(
    gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    import cupy

    keys = cupy.arange(1000)[::-1].copy()
    told = {**keys.__cuda_array_interface__, "stream": None}
    other = cupy.cuda.Stream(non_blocking=True)
    given: Any
    if protocol == "torch":
        given = pytest.importorskip("torch").as_tensor(keys, device="cuda")
    else:

        class Offers:
            __cuda_array_interface__ = told if protocol == "interface" else {**told, "stream": other.ptr}

        given = Offers()
    todo: list[Callable[[], Any]] = [
        lambda: gpumerge_cli.sort(given),
        lambda: gpumerge_cli.sort(given, values=given),
        lambda: gpumerge_cli.argsort(given),
        lambda: gpumerge_cli.merge(given, values=[given]),
    ]
    for call in todo:
        call()
        with counted(monkeypatch) as found:
            call()
        assert (found.launches, found.waits) == (1, 0)
