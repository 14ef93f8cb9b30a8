"""Calls from Python on a device with arrays that are odd: of other libraries, misaligned, empty."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from math import prod
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays.interchange import as_array
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import DeviceMemoryError, UsageError
from tests import needs
from tests.host_work import counted, held
from tests.oracles import same_bits

pytestmark = pytest.mark.gpu


class Offers:
    """An array of another library. stream: the one on which that library makes its items."""

    def __init__(self, array: Any, stream: Any, protocol: str) -> None:
        self.array, self.stream, self.told = array, stream, []  # type: ignore[var-annotated]
        if protocol == "DLPack":
            self.__dlpack_device__ = array.__dlpack_device__
        else:
            named = None if stream is None else stream.ptr or 1
            self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "stream": named}

    def __dlpack__(self, **told: Any) -> Any:
        self.told.append(told["stream"])
        with self.stream:
            return self.array.__dlpack__(**told)


@pytest.mark.parametrize("protocol", ["interface", "stream", "DLPack", "torch"])
def test_arrays_of_others_are_launched_at_once(
    gpu_backend: Backend, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    """The host does not wait for their items, and the stream that gets the work does."""
    import cupy

    keys, items = cupy.zeros(1000, np.int64), cupy.arange(1000)[::-1].copy()
    other, stream = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    given: Any = Offers(keys, None if protocol == "interface" else other, protocol)
    if protocol == "torch":
        given = needs.library("torch").as_tensor(keys, device="cuda")
    todo: list[Callable[[], Any]] = [
        lambda: gpumerge_cli.sort(given),
        lambda: gpumerge_cli.sort(given, values=given)[1],
        lambda: gpumerge_cli.argsort(given),
        lambda: gpumerge_cli.merge(given, values=[given])[0],
    ]
    waits = protocol in ("stream", "DLPack")
    cupy.cuda.Device().synchronize()
    for number, call in enumerate(todo):
        with stream:
            call()
            with counted(monkeypatch) as found:
                call()
            assert found.launches == 1
            stream.synchronize()
            with held(other):
                with other:
                    keys[:] = items
                result = call()
                assert not other.done
                assert not (waits and stream.done)
            stream.synchronize()
            if waits:
                expected = np.arange(1000)
                assert result.get().tolist() == (expected[::-1] if number > 1 else expected).tolist()
            keys[:] = 0
            stream.synchronize()
    if protocol == "DLPack":
        assert set(given.told) == {stream.ptr}


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("protocol", ["stream", "DLPack"])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("current", [0, 1])
def test_arrays_of_others_on_another_gpu(current: int, own: bool, protocol: str) -> None:
    """The stream that waits is the current one of the arrays' GPU, whichever GPU is the current one."""
    import cupy

    with cupy.cuda.Device(1):
        other, used = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        keys, items = cupy.zeros(1000, np.int64), cupy.arange(1000)[::-1].copy()
        given = Offers(keys, other, protocol)
        cupy.cuda.Device().synchronize()
        with used if own else nullcontext(), cupy.cuda.Device(current):
            gpumerge_cli.sort(given)
            with cupy.cuda.Device(1):
                cupy.cuda.Device().synchronize()
            with cupy.cuda.Device(1), held(other):
                with other:
                    keys[:] = items
                with cupy.cuda.Device(current):
                    found = gpumerge_cli.sort(given)
                time.sleep(0.05)  # as much as a sort that does not wait needs to read keys that are not made
        cupy.cuda.Device().synchronize()
        assert found.tolist() == list(range(1000))


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize("protocol", ["interface", "stream", "DLPack"])
def test_arrays_of_others_stay_on_their_gpu(protocol: str) -> None:
    """They are taken without a copy, whichever GPU is the current one, and the result lies beside them."""
    import cupy

    with cupy.cuda.Device(1):
        keys = cupy.arange(1000)[::-1].copy()
        given = Offers(keys, None if protocol == "interface" else cupy.cuda.Stream.null, protocol)
    assert as_array(given).data.ptr == keys.data.ptr
    found = gpumerge_cli.sort(given)
    assert found.device.id == 1
    assert found.tolist() == list(range(1000))


MISALIGNED: dict[str, Callable[[Any, Any], Any]] = {
    "sort(values=, out=)": lambda keys, bad: gpumerge_cli.sort(keys, values=keys, out=bad),
    "sort(out=)": lambda keys, bad: gpumerge_cli.sort(keys, out=bad),
    "sort of few": lambda keys, bad: gpumerge_cli.sort(keys[:9], values=keys[:9], out=bad[:9]),
    "merge(values=, out=)": lambda keys, bad: gpumerge_cli.merge(keys, values=[keys], out=bad),
    "merge(out=)": lambda keys, bad: gpumerge_cli.merge(keys, out=bad),
    "sort(keys, values=)": lambda keys, bad: gpumerge_cli.sort(bad, values=keys),
    "sort(keys)": lambda keys, bad: gpumerge_cli.sort(bad),
    "sort(strided keys)": lambda keys, bad: gpumerge_cli.sort(bad[::2]),
    "sort(shares)": lambda keys, bad: gpumerge_cli.sort([bad[::2]]),
    "argsort": lambda keys, bad: gpumerge_cli.argsort(bad),
    "is_sorted": lambda keys, bad: gpumerge_cli.is_sorted(bad[::-1]),
    "merge of runs with values": lambda keys, bad: gpumerge_cli.merge(keys, bad, values=[keys, keys]),
    "merge of many runs with values": lambda keys, bad: gpumerge_cli.merge(*[bad] * 20, values=[keys] * 20),
    "union": lambda keys, bad: gpumerge_cli.union(keys, bad),
    "intersect of three": lambda keys, bad: gpumerge_cli.intersect(keys, keys, bad[::2]),
    "union(out=)": lambda keys, bad: gpumerge_cli.union(keys, out=bad),
    "sort(counts=)": lambda keys, bad: gpumerge_cli.sort(bad, counts=True),
    "rank": lambda keys, bad: gpumerge_cli.rank([keys, bad], 9),
    "rank_of": lambda keys, bad: gpumerge_cli.rank_of([bad], keys),
    "rank_of of keys": lambda keys, bad: gpumerge_cli.rank_of([keys], bad),
    "join": lambda keys, bad: gpumerge_cli.join(keys, bad),
}


@pytest.mark.parametrize("name", MISALIGNED)
def test_misaligned_keys_are_refused(gpu_backend: Backend, name: str) -> None:
    """A kernel that read or wrote them would lose the device's context."""
    import cupy

    keys = cupy.zeros(100_000, np.int32)
    bad = cupy.zeros(keys.nbytes + 1, np.uint8)[1:].view(np.int32)
    for _ in range(2):
        with pytest.raises(UsageError, match="does not start at a multiple of its items' size; give a copy of it"):
            MISALIGNED[name](keys, bad)
        assert gpumerge_cli.sort(keys).tolist()[:1] == [0]


@pytest.mark.parametrize("count", [1000, 300_000])
@pytest.mark.parametrize("row", [(), (2,), (5,)])
def test_misaligned_values_are_copied(
    gpu_backend: Backend, rng: np.random.Generator, count: int, row: tuple[int, ...]
) -> None:
    import cupy

    keys = rng.integers(0, 1000, count).astype(np.int32)
    values = rng.integers(0, 1 << 60, (count, *row))
    room = cupy.zeros(values.nbytes + 1, np.uint8)
    room[1:] = cupy.asarray(values.reshape(-1).view(np.uint8))
    odd, given = room[1:].view(np.int64).reshape(values.shape), cupy.asarray(keys)
    for step in (1, 2, -1):
        found = gpumerge_cli.sort(given[::step], values=odd[::step])
        for one, two in zip(found, gpumerge_cli.sort(keys[::step], values=values[::step]), strict=True):
            assert same_bits(one.get(), two)
        if step == 2:
            continue
        runs = [np.sort(keys[: count // 2]), np.sort(keys[count // 2 :])]
        parts = [values[: count // 2][::step], values[count // 2 :][::step]]
        found = gpumerge_cli.merge(
            *map(cupy.asarray, runs), values=[odd[: count // 2][::step], odd[count // 2 :][::step]]
        )
        for one, two in zip(found, gpumerge_cli.merge(*runs, values=parts), strict=True):
            assert same_bits(one.get(), two)


def test_items_of_others_are_ranked(gpu_backend: Backend) -> None:
    import cupy

    keys, other = cupy.arange(1000), cupy.cuda.Stream(non_blocking=True)
    for array in (keys[::-1][:9].copy(), keys[:0]):
        for protocol in ("interface", "DLPack"):
            given = Offers(array, None if protocol == "interface" else other, protocol)
            assert gpumerge_cli.rank_of([keys], given).tolist() == array.tolist()
            assert gpumerge_cli.rank_of([keys.get()], given).tolist() == array.tolist()
    with pytest.raises(UsageError, match="the array of items does not start at a multiple"):
        gpumerge_cli.rank_of([keys], cupy.zeros(17, np.uint8)[1:].view(np.int64))


EMPTY: dict[str, Callable[[Any, Any], Any]] = {
    "merge": lambda keys, empty: gpumerge_cli.merge(keys, empty),
    "merge of many": lambda keys, empty: gpumerge_cli.merge(empty, keys, *[empty] * 20),
    "merge(kernel=)": lambda keys, empty: gpumerge_cli.merge(empty, keys, kernel="tiled"),
    "merge(values=)": lambda keys, empty: gpumerge_cli.merge(keys, empty, values=[keys, empty])[0],
    "union": lambda keys, empty: gpumerge_cli.union(keys, empty),
    "union of three": lambda keys, empty: gpumerge_cli.union(empty, empty, keys),
    "difference": lambda keys, empty: gpumerge_cli.difference(keys, empty),
    "symmetric(values=)": lambda keys, empty: gpumerge_cli.symmetric(empty, keys, values=[empty, keys])[1],
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("count", [5, 100_000])
@pytest.mark.parametrize("dtype", ["int16", "float32", "int64"])
def test_empty_arrays_may_lie_at_any_byte(gpu_backend: Backend, name: str, count: int, dtype: str) -> None:
    import cupy

    keys = cupy.arange(count).astype(dtype)
    keys.sort()
    empty = cupy.zeros(32, np.uint8)[3:3].view(dtype)
    for _ in range(2):
        assert (EMPTY[name](keys, empty) == keys).all()
    assert gpumerge_cli.sort(empty).size == gpumerge_cli.argsort(empty).size == 0
    assert gpumerge_cli.is_sorted(empty)
    assert gpumerge_cli.rank_of([keys, empty], keys[:1]).tolist() == [0]
    assert gpumerge_cli.intersect(keys, empty).size == 0


@pytest.mark.parametrize("behind", [1, 4])
@pytest.mark.parametrize(("dtype", "row"), [("int64", ()), ("int32", (2, 2)), ("complex128", ()), ("uint16", (5,))])
@pytest.mark.parametrize("runs", [1, 2, 3])
def test_misaligned_values_of_sets_are_copied(
    gpu_backend: Backend, rng: np.random.Generator, runs: int, dtype: str, row: tuple[int, ...], behind: int
) -> None:
    """Also where their items are aligned, but not the words that the kernel moves them in."""
    import cupy

    keys = [np.sort(rng.integers(0, 1000, 700).astype(np.int32)) for _ in range(runs)]
    values, odd = [], []
    for _ in range(runs):
        count = prod((700, *row)) * np.dtype(dtype).itemsize
        values.append(rng.integers(0, 256, count, np.uint8).view(dtype).reshape(700, *row))
        room = cupy.zeros(count + behind, np.uint8)
        room[behind:] = cupy.asarray(values[-1].reshape(-1).view(np.uint8))
        odd.append(room[behind:].view(dtype).reshape(700, *row))
    for combine in (gpumerge_cli.union, gpumerge_cli.intersect, gpumerge_cli.difference, gpumerge_cli.symmetric):
        found = combine(*map(cupy.asarray, keys), values=odd)
        for one, two in zip(found, combine(*keys, values=values), strict=True):
            assert same_bits(one.get(), two)


def test_empty_runs_inside_of_the_output(gpu_backend: Backend) -> None:
    import cupy

    keys, out = cupy.arange(100, dtype=np.int32), cupy.zeros(100, np.int32)
    for _ in range(2):
        for runs in ([out[50:50], keys], [keys, out[50:50]], [*[out[50:50]] * 20, keys]):
            assert (gpumerge_cli.merge(*runs, out=out) == keys).all()
            found, moved = gpumerge_cli.merge(*runs, values=runs, out=out)
            assert (found == keys).all()
            assert (moved == keys).all()


def test_errors_of_cupy_become_the_programs_own(gpu_backend: Backend) -> None:
    """Also ahead of a launch, where CuPy makes contiguous arrays."""
    import cupy

    def full(nbytes: int) -> Any:
        raise cupy.cuda.memory.OutOfMemoryError(nbytes, 0)

    keys = cupy.arange(100)
    with cupy.cuda.using_allocator(full), pytest.raises(DeviceMemoryError, match="the GPU is out of memory"):
        gpumerge_cli.sort(keys[::2])
