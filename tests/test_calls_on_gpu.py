"""Calls from Python on CuPy arrays, on a device: prepared calls give what NumPy gives, and do little."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays import prepared_calls
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from tests import driver_calls
from tests.calls_of_streams import ON_A_STREAM
from tests.host_work import CALLS, MANY_CALLS, WAITING_CALLS, calls, calls_of_many, counted, held, waiting_calls
from tests.oracles import merged_keys, same_bits

pytestmark = pytest.mark.gpu

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


@pytest.mark.parametrize("name", [*CALLS, *MANY_CALLS])
def test_the_host_does_little(gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A bound on the host's work of a call of a known kind. It counts, because a clock would tell of the machine."""
    call = {**calls(4000), **calls_of_many(200)}[name]
    call.call()
    with counted(monkeypatch) as found:
        call.call()
    assert found.launches <= call.launches
    assert found.allocations <= call.allocations
    assert found.fills == call.fills


@pytest.mark.parametrize("name", [*CALLS, *MANY_CALLS, *WAITING_CALLS])
def test_all_that_the_driver_is_asked_for(gpu_backend: Backend, name: str) -> None:
    """Launches, copies and waits of CuPy count, too, and longer arrays take no more of them."""
    for count in (4000, 40_000):
        call = {**calls(count), **calls_of_many(count // 20), **waiting_calls(count)}[name]
        call.call()
        with driver_calls.asked() as asked:
            kept = call.call()
        more = 2 * (count > 4000 and name.startswith(("sort", "argsort")))  # tiles are merged in two passes
        assert driver_calls.launches(asked) <= call.launches + more, asked
        assert driver_calls.waits(asked) <= call.waits, asked
        if name not in WAITING_CALLS:
            assert driver_calls.copies(asked) == call.fills, asked
        del kept


@pytest.mark.parametrize("name", ["sort", "sort(out=)", "sort(values=)", "argsort"])
def test_longer_sorts_take_few_passes(gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    call, launches, allocations, *_ = calls(1 << 16)[name]
    call()
    with counted(monkeypatch) as found:
        call()
    assert found.launches <= launches + 2
    assert found.allocations <= allocations + 1
    assert found.fills == 0


@pytest.mark.parametrize("name", ["sort", "sort(out=)", "sort(values=)", "sort(values=, out=)", "argsort"])
def test_sorts_by_digits_take_a_launch_a_digit(
    gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    call, _, allocations, *_ = calls(1 << 20)[name]
    call()
    with counted(monkeypatch) as found:
        call()
    assert found.launches <= 1 + 4
    assert found.allocations <= allocations + 2
    assert found.fills == 1


@pytest.mark.parametrize("name", [name for name in CALLS if name.startswith("merge")])
def test_long_merges_are_cut_ahead(gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    call, launches, allocations, *_ = calls(1 << 25)[name]
    call()
    with counted(monkeypatch) as found:
        call()
    assert found.launches == launches + 1
    assert found.allocations <= allocations + 1
    assert found.fills == 0


@pytest.mark.parametrize("count", [4000, 1 << 16, 1 << 20])
@pytest.mark.parametrize("name", [*CALLS, *MANY_CALLS])
def test_nothing_waits_but_a_check(gpu_backend: Backend, name: str, count: int) -> None:
    """Waits inside CuPy count, too."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        call = {**calls(count), **calls_of_many(count // 20)}[name].call
        call()
        stream.synchronize()
        with held(stream, 0.2 if name == "is_sorted" else 20.0):
            kept = call()
            assert stream.done == (name == "is_sorted")
        del kept


@pytest.mark.parametrize("what", ["strided keys", "reversed values", "many runs", "wide values"])
def test_the_long_way_does_not_wait(gpu_backend: Backend, what: str) -> None:
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        keys = cupy.arange(300_000, dtype=np.int32)[::-1].copy()
        wide = cupy.zeros((len(keys), 3), np.float64)
        todo = {
            "strided keys": lambda: gpumerge_cli.sort(keys[::2]),
            "reversed values": lambda: gpumerge_cli.sort(keys, values=keys[::-1]),
            "many runs": lambda: gpumerge_cli.merge(*[keys[:1]] * 30, values=[keys[:1]] * 30),
            "wide values": lambda: gpumerge_cli.sort(keys, values=wide),
        }
        todo[what]()
        stream.synchronize()
        with held(stream):
            kept = todo[what]()
            assert not stream.done
        del kept


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
@pytest.mark.parametrize("name", ON_A_STREAM)
def test_a_stream_of_another_gpu(name: str) -> None:
    import cupy

    keys = cupy.arange(10)
    with cupy.cuda.Device(1):
        stream = cupy.cuda.Stream(non_blocking=True)
    for known in (False, True):
        with (
            cupy.cuda.Stream.from_external(SimpleNamespace(__cuda_stream__=lambda: (0, stream.ptr))),
            pytest.raises(UsageError, match="the current stream is of GPU 1, and the arrays lie on GPU 0"),
        ):
            ON_A_STREAM[name](keys)
        if not known:
            ON_A_STREAM[name](keys)
    assert gpumerge_cli.is_sorted(keys)


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


@pytest.mark.parametrize("name", ["merge", "sort", "argsort", "is_sorted", "union", "rank_of", "sort(counts=)"])
def test_a_thread_that_never_used_the_device_may_call(gpu_backend: Backend, name: str) -> None:
    """Another thread has made the arrays, and the kind of call is prepared."""
    from concurrent.futures import ThreadPoolExecutor

    import cupy

    keys = cupy.arange(3000, dtype=np.int32)
    expected = ON_A_STREAM[name](keys)
    merged, out = np.repeat(keys.get(), 2), cupy.zeros(6000, np.int32)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(ON_A_STREAM[name], keys).result()
    assert str(found) == str(expected)
    with ThreadPoolExecutor(1) as pool:  # nothing is allocated
        pool.submit(lambda: gpumerge_cli.merge(keys, keys, out=out)).result()
    assert same_bits(out.get(), merged)


def test_the_kinds_that_are_kept_are_few(gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    import cupy

    monkeypatch.setattr(prepared_calls, "_MOST_KINDS", 2)
    monkeypatch.setattr(prepared_calls, "_ready", {})
    for dtype in ("int8", "int16", "int32"):
        assert gpumerge_cli.sort(cupy.asarray([2, 1], dtype)).tolist() == [1, 2]
    assert len(prepared_calls._ready) <= 2
