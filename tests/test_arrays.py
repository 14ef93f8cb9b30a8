"""The Python interface."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import gpumerge_cli
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.errors import DeviceError, UsageError
from tests.oracles import merged_keys, same_bits
from tests.strategies import key_runs


@settings(max_examples=60)
@given(case=key_runs(most_runs=5))
def test_merge_and_is_sorted(backend: Backend, case: Any) -> None:
    runs, descending = case
    before = [run.copy() for run in runs]
    result = gpumerge_cli.merge(*runs, backend=backend.name, descending=descending)
    assert same_bits(result, merged_keys(runs, descending=descending))
    assert all(same_bits(run, old) for run, old in zip(runs, before, strict=True))
    assert gpumerge_cli.is_sorted(result, descending=descending)


@pytest.mark.parametrize("kernel", KERNELS)
def test_options_reach_the_kernel(backend: Backend, kernel: str, rng: np.random.Generator) -> None:
    a, b = (np.sort(rng.integers(0, 50, 10_000)) for _ in range(2))
    out = np.empty(20_000, np.int64)
    result = gpumerge_cli.merge(a, b, kernel=kernel, backend=backend.name, out=out, threads=2, block_size=2)
    assert result is out
    assert same_bits(out, merged_keys([a, b]))


def test_views_and_byte_orders(backend: Backend) -> None:
    a = np.arange(20, dtype=np.int32)[::2]
    b = np.arange(1, 20, 2).astype(">i4")
    c = np.arange(100, dtype=np.int32)[1:4]
    result = gpumerge_cli.merge(a, b, c, backend=backend.name)
    assert result.tolist() == sorted([*range(20), 1, 2, 3])


ROWS = np.dtype([("id", "<i4"), ("x", ">f4"), ("name", "S3"), ("in", [("n", "u2")]), ("many", "3u1")])


def rows(rng: np.random.Generator, count: int, key: str) -> np.ndarray:
    array = np.frombuffer(rng.bytes(count * ROWS.itemsize), ROWS).copy()
    array["x"] = rng.integers(-9, 9, count)
    array["id"] = rng.integers(-9, 9, count)
    return array[np.argsort(array[key], kind="stable")]


@pytest.mark.parametrize("key", ["id", "x", "name"])
def test_structured_arrays(backend: Backend, rng: np.random.Generator, key: str) -> None:
    runs = [rows(rng, count, key) for count in (400, 0, 77, 300)]
    result = gpumerge_cli.merge(*runs, key=key, backend=backend.name, threads=2)
    both = np.frombuffer(b"".join(run.tobytes() for run in runs), ROWS)
    assert same_bits(result, both[np.argsort(both[key], kind="stable")])
    assert gpumerge_cli.is_sorted(result, key=key)
    assert not gpumerge_cli.is_sorted(result[::-1], key=key)
    assert gpumerge_cli.is_sorted(result[::-1], key=key, descending=True)
    out = np.empty(len(both), ROWS)
    assert gpumerge_cli.merge(*runs, key=key, backend=backend.name, out=out) is out
    assert same_bits(out, result)


def test_arrays_of_bytes_and_fields_inside_fields(backend: Backend, rng: np.random.Generator) -> None:
    words = [np.sort(rng.integers(97, 99, (50, 5)).astype(np.uint8).view("S5").reshape(-1)) for _ in range(2)]
    assert same_bits(gpumerge_cli.merge(*words, backend=backend.name), np.sort(np.concatenate(words)))
    run = rows(rng, 90, "id")
    run = run[np.argsort(run["in"]["n"], kind="stable")][::3]
    assert same_bits(gpumerge_cli.merge(run, key="in.n", backend=backend.name), run.copy())


def test_is_sorted_tells() -> None:
    assert gpumerge_cli.is_sorted(np.array([1.0, np.nan]))
    assert not gpumerge_cli.is_sorted(np.array([np.nan, 1.0]))
    assert gpumerge_cli.is_sorted(np.array([np.nan, 1.0]), descending=True)
    assert gpumerge_cli.is_sorted(np.empty(0, np.uint8))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([], {}, "no arrays"),
        ([1, 2], {}, "expected an array, got int"),
        ([np.zeros((2, 2))], {}, "2 dimensions"),
        ([np.zeros(1), np.zeros(1, np.float32)], {}, "float32, float64"),
        ([np.array(["a"])], {}, "arrays of strings cannot be keys"),
        ([np.zeros(1, ROWS)], {}, "records need a key; name one of their fields as the key .* id, x, name, in, many"),
        ([np.zeros(1, ROWS)], {"key": "y"}, "have no field 'y'; its fields are id, x, name, in, many"),
        ([np.zeros(1, ROWS)], {"key": "many"}, r"the field is an array of \(3,\)"),
        ([np.zeros(1, ROWS)], {"key": "in"}, "the field has fields; name one, for example in.n"),
        ([np.zeros(1, ROWS), np.zeros(1, "i4,i4")], {"key": "id"}, "different dtypes"),
        ([np.zeros(1, ROWS)], {"key": "id", "out": np.zeros(1)}, "out is not"),
        ([np.zeros(1)], {"key": "id"}, "the items are float64, not records"),
        ([np.zeros(1, [("a", object), ("b", "i4")])], {"key": "b"}, "cannot be ordered"),
        ([np.zeros(2)], {"out": np.zeros(3)}, "out is not"),
        ([np.zeros(2)], {"out": np.zeros(4)[::2]}, "out is not"),
        ([np.zeros(2)], {"backend": "abacus"}, "backend='abacus' is not a backend"),
        ([np.zeros(2)], {"device": "x"}, "device='x' is not the number of a GPU"),
        ([np.zeros(2)], {"device": True}, "device=True is not the number of a GPU"),
        ([np.zeros(2)], {"device": -1}, "device=-1 is not the number of a GPU"),
        ([np.zeros(2)], {"threads": True}, "threads=True is not a whole number of 1 or more"),
        ([np.zeros(2)], {"kernel": "fast"}, "fast"),
        ([np.zeros(2)], {"out": np.broadcast_to(np.zeros(1), 2)}, "out is"),
        ([np.zeros(2)], {"threads": 0}, "threads=0"),
        ([np.zeros(2)], {"items_per_thread": 2.5}, "items_per_thread=2.5"),
    ],
)
def test_what_cannot_be_merged(arguments: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        gpumerge_cli.merge(*arguments, **options)


def test_out_must_not_overlap() -> None:
    both = np.arange(10)
    with pytest.raises(UsageError, match="shares memory"):
        gpumerge_cli.merge(both[:5], out=both[:5])


@pytest.mark.gpu
def test_cupy_arrays_stay_on_the_device(gpu_backend: Backend, rng: np.random.Generator) -> None:
    import cupy

    a, b, c = (np.sort(rng.integers(-9, 9, size)) for size in (1000, 0, 3001))
    arrays = [cupy.asarray(run) for run in (a, b, c)]
    result = gpumerge_cli.merge(*arrays)
    assert isinstance(result, cupy.ndarray)
    assert same_bits(result.get(), merged_keys([a, b, c]))
    assert same_bits(gpumerge_cli.merge(arrays[0][1:], arrays[2][3:]).get(), merged_keys([a[1:], c[3:]]))
    assert gpumerge_cli.is_sorted(result)
    assert not gpumerge_cli.is_sorted(result[::-1])
    with pytest.raises(UsageError, match="cannot work on CuPy arrays"):
        gpumerge_cli.merge(arrays[0], backend="cpu")
    with pytest.raises(UsageError, match="partly in host"):
        gpumerge_cli.merge(arrays[0], a)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize("kernel", KERNELS)
def test_more_than_two_to_the_31_items(kernel: str) -> None:
    a = np.zeros(1 << 30, np.uint8)
    b = np.zeros((1 << 30) + 5, np.uint8)
    a[-3:] = 1
    b[-2:] = 2
    out = gpumerge_cli.merge(a, b, backend="cpu", kernel=kernel)
    assert len(out) == len(a) + len(b) > 1 << 31
    assert out[:-5].max() == 0
    assert out[-5:].tolist() == [1, 1, 1, 2, 2]


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("power", [31, 32])
def test_long_arrays_on_the_device(gpu_backend: Backend, kernel: str, power: int) -> None:
    import cupy

    a = cupy.zeros(1 << (power - 1), np.uint8)
    b = cupy.zeros((1 << (power - 1)) + 5, np.uint8)
    a[-3:] = 1
    b[-2:] = 2
    out = gpumerge_cli.merge(a, b, kernel=kernel)
    assert len(out) == len(a) + len(b) > 1 << power
    assert not int(out[:-5].max())
    assert out[-5:].get().tolist() == [1, 1, 1, 2, 2]
    assert gpumerge_cli.is_sorted(out)


def test_masked_arrays_are_refused() -> None:
    keys = np.ma.masked_array([1, 2, 3], [False, True, False])
    for refused in (
        lambda: gpumerge_cli.merge(np.arange(3), keys),
        lambda: gpumerge_cli.sort(keys),
        lambda: gpumerge_cli.is_sorted(keys),
        lambda: gpumerge_cli.merge(np.arange(3), out=keys),
        lambda: gpumerge_cli.sort(np.arange(3), out=keys),
    ):
        with pytest.raises(UsageError, match=r"masked items have no order; give array.compressed\(\)"):
            refused()
    _, moved = gpumerge_cli.sort(np.array([3, 1, 2]), values=keys)
    assert moved.mask.tolist() == [True, False, False]


def test_a_key_is_a_name() -> None:
    array = np.zeros(3, [("a", "i4")])
    with pytest.raises(UsageError, match="key=3 is not the name of a field"):
        gpumerge_cli.merge(array, array, key=3)  # type: ignore[arg-type]


@settings(max_examples=40)
@given(case=key_runs(most_runs=3))
def test_sort(backend: Backend, case: Any) -> None:
    runs, descending = case
    keys = np.concatenate(runs)[::-1].copy()
    expected = merged_keys([keys], descending=descending)
    assert same_bits(gpumerge_cli.sort(keys, backend=backend.name, descending=descending), expected)
    values = np.arange(len(keys), dtype=np.uint16)
    found, moved = gpumerge_cli.sort(keys, values=values, backend=backend.name, descending=descending, threads=2)
    assert same_bits(found, expected)
    assert same_bits(keys[moved], expected)
    ties = [tuple(group) for group in np.split(moved, np.flatnonzero(found[1:] != found[:-1]) + 1)]
    assert all(list(group) == sorted(group) for group in ties)


@pytest.mark.parametrize("key", ["id", "x", "name"])
def test_sort_structured_arrays(backend: Backend, rng: np.random.Generator, key: str) -> None:
    array = rng.permutation(rows(rng, 500, "id"))
    result = gpumerge_cli.sort(array, key=key, backend=backend.name)
    assert result.tobytes() == array[np.argsort(array[key], kind="stable")].tobytes()


@pytest.mark.parametrize("part", [slice(None), slice(None, None, -1)])
def test_out_that_shares_memory_with_values_is_refused(backend: Backend, part: slice) -> None:
    keys, values = np.array([3, 1, 2]), np.array([30, 10, 20])
    with pytest.raises(UsageError, match="out shares memory"):
        gpumerge_cli.sort(keys, values=values[part], out=values, backend=backend.name)
    assert values.tolist() == [30, 10, 20]


def test_sort_says_what_does_not_fit() -> None:
    with pytest.raises(UsageError, match="values"):
        gpumerge_cli.sort(np.arange(3), values=np.arange(2))
    with pytest.raises(UsageError, match="algorithm"):
        gpumerge_cli.sort(np.arange(3), algorithm="bogo", backend="cpu")
    with pytest.raises(UsageError, match="dimensions"):
        gpumerge_cli.sort(np.zeros((2, 2)))


def test_strings_of_any_length_are_refused_in_one_line() -> None:
    words = np.array(["b", "a"], np.dtypes.StringDType())  # type: ignore[attr-defined,unused-ignore]
    numbers = np.array([1, 2])
    for refused in (
        lambda: gpumerge_cli.sort(words),
        lambda: gpumerge_cli.argsort(words),
        lambda: gpumerge_cli.merge(words, words),
        lambda: gpumerge_cli.merge(numbers, words),
        lambda: gpumerge_cli.is_sorted(words),
        lambda: gpumerge_cli.join(words, words),
        lambda: gpumerge_cli.sort(numbers, out=words),
    ):
        with pytest.raises(UsageError):
            refused()


def test_a_gpu_that_is_not_there_has_a_way_out_for_python(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpumerge_cli.backends.gpu import presence

    monkeypatch.setattr(presence, "is_present", lambda: False)
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError, match=r"or use the backend cpu$"):
        gpumerge_cli.sort(np.array([2, 1]), backend="gpu")
