"""Sets of arrays from Python, held against the plain rule."""

from __future__ import annotations

import random
import sys
from collections import Counter
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays import prepared_calls
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import SETS, Equals
from tests.engine.fake_gpu import FakeWalk, stand_in

BEHIND = 3
"""Items of an `out` behind those that a set may have."""


def room_for(runs: list[Any], equals: Equals) -> Any:
    """An array for the keys of a set, with some more items, and all bytes of it are the same."""
    most = equals.most(list(map(len, runs))) + BEHIND
    return np.frombuffer(bytearray(b"\x01" * most * runs[0].itemsize), runs[0].dtype)


def expected(runs: list[Any], equals: Equals) -> list[tuple[Any, int, int]]:
    """(item, array, index) of the items that go out; items are as Python has them."""
    found = []
    for item in sorted({item for run in runs for item in run}):
        places = [[at for at, other in enumerate(run) if other == item] for run in runs]
        for array, (low, high) in enumerate(equals.kept(list(map(len, places)))):
            found += [(item, array, at) for at in places[array][low:high]]
    return found


def same_memory(found: Any, out: Any) -> bool:
    """Whether `found` is the front of `out`."""
    return bool(found.ctypes.data == out.ctypes.data and len(found) <= len(out) and found.dtype == out.dtype)


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float64", "bool", "S3", "M8[D]"])
def test_every_dtype(name: str, dtype: str, distinct: bool, seed: int) -> None:
    print("seed", seed)
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    combine, equals = getattr(gpumerge_cli, name), Equals.of_sets(name, distinct=distinct)
    for _ in range(6):
        sizes = [chance.choice([0, 1, 30]) for _ in range(chance.randint(1, 4))]
        drawn = [rng.integers(0, 2 if dtype == "bool" else 9, size) for size in sizes]
        runs = [np.sort((run.astype("U") if dtype == "S3" else run).astype(dtype)) for run in drawn]
        wanted = expected([run.tolist() for run in runs], equals)
        found = combine(*runs, distinct=distinct)
        assert found.dtype == runs[0].dtype
        assert found.tolist() == [item for item, _, _ in wanted]
        places = [np.array([(one, at) for at in range(len(run))], int).reshape(-1, 2) for one, run in enumerate(runs)]
        keys, rows = combine(*runs, distinct=distinct, values=places)
        assert keys.tolist() == found.tolist()
        assert rows.tolist() == [[array, at] for _, array, at in wanted]
        out = room_for(runs, equals)
        end = out[-BEHIND:].tobytes()
        for given in (None, places):
            result = combine(*runs, distinct=distinct, out=out, values=given)
            keys = result if given is None else result[0]
            assert same_memory(keys, out)
            assert keys.tobytes() == found.tobytes()
            assert out[-BEHIND:].tobytes() == end
            out[:] = out[-1]


@pytest.mark.parametrize("name", SETS)
def test_nan_and_nat_are_equal_items(name: str) -> None:
    combine, equals = getattr(gpumerge_cli, name), Equals.of_sets(name, distinct=False)
    for none, dtype in ((np.nan, "f4"), ("NaT", "M8[s]")):
        runs = [np.array([1, *[none] * count]).astype(dtype) for count in (3, 2, 2)]
        kept = sum(high - low for low, high in equals.kept([3, 2, 2]))
        for descending in (False, True):
            found = combine(*[run[:: -1 if descending else 1] for run in runs], descending=descending)
            ones = found[:-kept] if kept and not descending else found[kept:]
            assert np.isnan(found).sum() == kept if dtype == "f4" else np.isnat(found).sum() == kept
            assert not (ones != ones).any()


def test_structured_arrays_by_a_field() -> None:
    a, b = (np.array(rows, [("name", "S2"), ("price", "f8")]) for rows in ([("x", 1), ("y", 1), ("z", 2)], [("w", 1)]))
    assert gpumerge_cli.difference(a, b, key="price")["name"].tolist() == [b"y", b"z"]
    assert gpumerge_cli.union(a, b, key="price", threads=2)["name"].tolist() == [b"x", b"y", b"z"]


@pytest.mark.parametrize("name", SETS)
def test_large_arrays_by_threads(name: str) -> None:
    rng = np.random.default_rng(5)
    runs = [np.sort(rng.integers(0, 50_000, 200_000)) for _ in range(2)]
    counts = [Counter(run.tolist()) for run in runs]
    found = Counter(getattr(gpumerge_cli, name)(*runs, threads=4).tolist())
    folds = {
        "union": counts[0] | counts[1],
        "intersect": counts[0] & counts[1],
        "difference": counts[0] - counts[1],
        "symmetric": (counts[0] - counts[1]) + (counts[1] - counts[0]),
    }
    assert found == folds[name]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("none", ["nan", "NaT"])
def test_out_with_items_that_are_no_numbers(name: str, none: str) -> None:
    dtype = "f8" if none == "nan" else "M8[s]"
    runs = [np.array([1, *[none] * count]).astype(dtype) for count in (3, 2)]
    out = room_for(runs, Equals.of_sets(name, distinct=False))
    for descending in (False, True):
        given = [run[:: -1 if descending else 1] for run in runs]
        found = getattr(gpumerge_cli, name)(*given, descending=descending, out=out)
        assert same_memory(found, out)
        assert found.tobytes() == getattr(gpumerge_cli, name)(*given, descending=descending).tobytes()


def test_out_of_records() -> None:
    a, b = (np.array(rows, [("name", "S2"), ("price", ">f8")]) for rows in ([("x", 1), ("y", 2)], [("w", 1)]))
    out = np.zeros(3, a.dtype)
    assert same_memory(gpumerge_cli.union(a, b, key="price", out=out), out)
    assert out["name"].tolist() == [b"x", b"y", b""]


def test_out_with_just_the_room_for_the_most_items() -> None:
    a, b = np.array([1, 2, 2]), np.array([3, 4])
    for name, most in (("union", 5), ("intersect", 2), ("difference", 3), ("symmetric", 5)):
        call = getattr(gpumerge_cli, name)
        assert call(a, b, out=np.empty(most, int)).tolist() == call(a, b).tolist()
        with pytest.raises(UsageError, match=f"out is not a contiguous NumPy array of {most} or more items of int64"):
            call(a, b, out=np.empty(most - 1, int))


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (lambda a: a.base, "out shares memory with an input"),
        (lambda a: a.base[1:], "out shares memory with an input"),
        (lambda a: np.empty(20, np.int32), "out is not a contiguous NumPy array of 8 or more items of int64"),
        (
            lambda a: np.empty(20, ">i8"),
            "of 8 or more items of int64; its bytes are swapped: give one in the machine's",
        ),
        (lambda a: np.empty(20, int)[::2], "out is not a contiguous NumPy array"),
        (lambda a: np.empty((8, 1), int), "out is not a contiguous NumPy array"),
        (lambda a: [0] * 20, "out is not a contiguous NumPy array"),
        (lambda a: np.frombuffer(bytes(80), int), "out is read-only"),
    ],
)
def test_outs_that_are_refused(out: Any, said: str) -> None:
    a = np.arange(20)[:4]
    for name in ("union", "symmetric"):
        with pytest.raises(UsageError, match=said):
            getattr(gpumerge_cli, name)(a, np.arange(4), out=out(a))


@pytest.mark.parametrize("name", SETS)
def test_arrays_at_odd_addresses(name: str) -> None:
    """Arrays and an output that do not lie at multiples of their items' size."""
    combine = getattr(gpumerge_cli, name)
    a, b = np.arange(0, 90, 2), np.arange(0, 90, 3)
    odd = [np.frombuffer(b"." + run.tobytes(), np.uint8)[1:].view(np.int64) for run in (a, b)]
    out = np.zeros(8 * 80 + 1, np.uint8)[1:].view(np.int64)
    for distinct in (False, True):
        wanted = combine(a, b, distinct=distinct)
        assert np.array_equal(combine(*odd, distinct=distinct), wanted)
        assert np.array_equal(combine(*odd, distinct=distinct, out=out), wanted)
        assert np.array_equal(combine(odd[0], distinct=distinct, out=out), a)


def test_results_hold_no_more_memory_than_they_need() -> None:
    found = gpumerge_cli.intersect(np.arange(10**6), np.arange(10))
    assert (found if found.base is None else found.base).nbytes == 80


def test_out_shares_no_memory_with_values() -> None:
    values, keys = np.arange(9), np.arange(3)
    with pytest.raises(UsageError, match="out shares memory with an input"):
        gpumerge_cli.union(keys, values=[values[:3]], out=values)


@pytest.mark.parametrize("device", ["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float64", "bool", "M8[D]"])
@pytest.mark.parametrize("name", SETS)
def test_arrays_in_host_memory_go_to_a_gpu(
    name: str, dtype: str, device: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """backend="gpu" gives what the CPU gives, with values, NaTs and an `out`, too."""
    if device == "gpu":
        request.getfixturevalue("gpu_backend")
    else:
        stand_in(monkeypatch)
    rng, combine = np.random.default_rng(4), getattr(gpumerge_cli, name)
    for sizes in ((40,), (0, 0), (300, 200), (0, 90), (60, 50, 70)):
        drawn = [rng.integers(0, 2 if dtype == "bool" else 30, size) for size in sizes]
        runs = [np.sort(np.where(run == 9, "NaT", run.astype("U")) if dtype == "M8[D]" else run) for run in drawn]
        runs = [np.sort(run.astype(dtype)) for run in runs]
        values = [rng.integers(0, 99, len(run)) for run in runs]
        out = room_for(runs, Equals.of_sets(name, distinct=False))
        for distinct in (False, True):
            options: Any = {"distinct": distinct, "backend": "gpu", "device": 0}
            wanted, rows = combine(*runs, distinct=distinct, values=values)
            assert combine(*runs, **options).tobytes() == wanted.tobytes()
            assert combine(*runs, **options, out=out).tobytes() == wanted.tobytes()
            found, moved = combine(*runs, **options, values=values)
            assert found.tobytes() == wanted.tobytes()
            assert moved.tolist() == rows.tolist()


@pytest.mark.parametrize("device", ["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("name", SETS)
def test_records_in_host_memory_go_to_a_gpu(
    name: str, device: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    if device == "gpu":
        request.getfixturevalue("gpu_backend")
    else:
        stand_in(monkeypatch)
    combine = getattr(gpumerge_cli, name)
    for dtype, key in (("S20", None), ([("k", "i4"), ("v", "S3")], "k"), ([("k", ">f8"), ("v", "i8")], "k")):
        runs = [np.zeros(int(rng.integers(0, 60)), dtype) for _ in range(int(rng.integers(1, 4)))]
        for run in runs:
            drawn = np.sort(rng.integers(10, 30, len(run)))
            if key is None:
                run[:] = drawn.astype("S20")
            else:
                run["k"], run["v"] = drawn, rng.integers(0, 99, len(run)).astype(run.dtype["v"])
        values = [np.arange(len(run)) for run in runs]
        wanted, rows = combine(*runs, key=key, values=values)
        assert combine(*runs, key=key, backend="gpu").tobytes() == wanted.tobytes()
        found, moved = combine(*runs, key=key, backend="gpu", values=values)
        assert found.tobytes() == wanted.tobytes()
        assert moved.tolist() == rows.tolist()


class OnHost(np.ndarray):  # type: ignore[type-arg]
    """Stands for a CuPy array, in the host's memory."""

    device = type("Device", (nullcontext,), {"id": 0})()

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data, device_id=0)


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test ends, arrays of OnHost are CuPy's, and the CPU's library stands for the kernel of sets."""
    stand_in(monkeypatch)
    from gpumerge_cli.backends.gpu import backend, prepared, streams, walks

    def empty(shape: Any, dtype: Any) -> Any:
        return np.empty(shape, dtype).view(OnHost)

    cupy = SimpleNamespace(
        ndarray=OnHost,
        empty=empty,
        ascontiguousarray=lambda array: np.ascontiguousarray(array).view(OnHost),
        may_share_memory=np.may_share_memory,
        cuda=SimpleNamespace(runtime=SimpleNamespace(getDevice=lambda: 0)),
    )
    monkeypatch.setattr(prepared_calls, "_ready", {})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for module in (backend, prepared, walks):
        monkeypatch.setattr(module, "cupy", cupy)
    for name in ("temporaries", "lasting"):
        monkeypatch.setattr(streams, name, nullcontext)

    class Walk(FakeWalk):
        unit = 1

        def takes(self, total: int) -> bool:
            return True

    def walk_of(device: int, order: Any, limits: Any, equals: Equals, row: int | None) -> Walk:
        return Walk(SimpleNamespace(order=order), equals)  # type: ignore[arg-type]

    for module in (backend, walks):
        monkeypatch.setattr(module, "walk_of", walk_of)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("dtype", ["int8", "int32", "float64", "bool"])
@pytest.mark.parametrize("name", SETS)
def test_out_on_a_device(name: str, dtype: str, rng: np.random.Generator) -> None:
    combine = getattr(gpumerge_cli, name)
    for sizes in ((7,), (0, 0), (30, 20), (0, 9), (9, 0), (12, 30, 25), (30, 5, 20, 9)):
        runs = [np.sort(rng.integers(0, 2 if dtype == "bool" else 9, size).astype(dtype)) for size in sizes]
        given = [run.view(OnHost) for run in runs]
        for distinct in (False, True):
            wanted = combine(*runs, distinct=distinct)
            out = room_for(runs, Equals.of_sets(name, distinct=distinct)).view(OnHost)
            end = out[-BEHIND:].tobytes()
            found = combine(*given, distinct=distinct, out=out, backend="gpu")
            assert isinstance(found, OnHost)
            assert same_memory(found, out)
            assert found.tobytes() == wanted.tobytes()
            assert out[-BEHIND:].tobytes() == end
            for _ in range(2):  # the second call of a kind is prepared
                assert combine(*given, distinct=distinct).tobytes() == wanted.tobytes()


@pytest.mark.usefixtures("on_host")
def test_what_is_refused_on_a_device() -> None:
    run = np.arange(4).view(OnHost)
    for out, said in (
        (np.empty(9, int), "out is not a contiguous CuPy array of 4 or more items of int64"),
        (np.empty(3, int).view(OnHost), "out is not a contiguous CuPy array of 4 or more items of int64"),
        (run, "out shares memory with an input"),
    ):
        with pytest.raises(UsageError, match=said):
            gpumerge_cli.union(run, out=out)
    with pytest.raises(UsageError, match="backend 'cpu' cannot work on CuPy arrays"):
        gpumerge_cli.union(run, backend="cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int8", "int32", "float64", "bool"])
@pytest.mark.parametrize("name", SETS)
def test_out_on_a_gpu(gpu_backend: Backend, name: str, dtype: str, rng: np.random.Generator) -> None:
    import cupy

    combine = getattr(gpumerge_cli, name)
    for sizes in ((7,), (0, 0), (30_000, 20_000), (0, 9), (900, 3000, 2500)):
        runs = [np.sort(rng.integers(0, 2 if dtype == "bool" else 90, size).astype(dtype)) for size in sizes]
        values = [np.arange(size) for size in sizes]
        out = cupy.asarray(room_for(runs, Equals.of_sets(name, distinct=False)))
        end = out[-BEHIND:].get().tobytes()
        wanted, rows = combine(*runs, values=values)
        given = [cupy.asarray(run) for run in runs]
        found = combine(*given, out=out)
        assert found.data.ptr == out.data.ptr
        assert found.get().tobytes() == wanted.tobytes()
        found, moved = combine(*given, out=out, values=[cupy.asarray(each) for each in values])
        assert found.data.ptr == out.data.ptr
        assert found.get().tobytes() == wanted.tobytes()
        assert moved.get().tolist() == rows.tolist()
        assert out[-BEHIND:].get().tobytes() == end


@pytest.mark.parametrize("option", ["distinct", "counts"])
@pytest.mark.parametrize("value", ["no", 2, None, [], np.zeros(2), np.zeros((3, 3))])
def test_what_is_neither_true_nor_false(option: str, value: Any) -> None:
    calls: list[Any] = [getattr(gpumerge_cli, name) for name in SETS]
    for call in calls if option == "distinct" else [*calls, gpumerge_cli.merge, gpumerge_cli.sort]:
        with pytest.raises(UsageError, match=f"{option}=.* is neither true nor false; give True or False") as caught:
            call(np.arange(3), **{option: value})
        assert "\n" not in str(caught.value)


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="no arrays for union"):
        gpumerge_cli.union()
    with pytest.raises(UsageError, match="different dtypes"):
        gpumerge_cli.intersect(np.array([1]), np.array([1.0]))
    with pytest.raises(UsageError, match="2 arrays of values for 1 of keys"):
        gpumerge_cli.union(np.array([1]), values=[np.array([1]), np.array([2])])
    with pytest.raises(UsageError, match="backend='tpu' is not a backend; use auto, cpu, gpu"):
        gpumerge_cli.union(np.array([1]), backend="tpu")
    with pytest.raises(UsageError, match="counts=True leaves equal keys out, so it cannot be combined with out"):
        gpumerge_cli.union(np.array([1]), counts=True, out=np.empty(1, int))
    with pytest.raises(TypeError, match=r"difference\(\) got an unexpected keyword argument 'unique'"):
        gpumerge_cli.difference(np.array([1]), unique=True)  # type: ignore[call-arg]
