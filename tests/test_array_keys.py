"""merge, sort, argsort and is_sorted, held against NumPy's stable sort: dtypes, layouts, ties, NaN and NaT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import gpumerge_cli
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.ladder import NAMES as KERNELS
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import ALGORITHMS
from gpumerge_cli.order.key_types import DTYPES
from tests import needs
from tests.oracles import same_bits
from tests.strategies import special_values

Array = NDArray[Any]
DATES = ("M8[ns]", "M8[D]", "m8[s]", "m8[us]")
ALL = (*DTYPES, "bool", *DATES)
LAYOUTS = ("plain", "every other", "reversed", "read-only", "unaligned", "other byte order", "field")


def drawn(rng: np.random.Generator, dtype: np.dtype[Any], size: int) -> Array:
    """Items of few or of many values, edges of the dtype among them."""
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if dtype.kind in "mM":
        nat, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        few = np.array([nat, nat, -3, 0, 1, most, nat + 1], np.int64).view(dtype)
        return rng.choice(few if rng.random() < 0.5 else few[2:], size)
    if rng.random() < 0.5:
        return rng.choice(special_values(dtype), size)
    return rng.integers(0, 100, size).astype(dtype)


def laid(items: Array, layout: str) -> Array:
    """The same items, in memory in some other way."""
    there: Array = items
    if layout == "every other":
        there = np.zeros(2 * len(items), items.dtype)[::2]
    elif layout == "reversed":
        there = np.zeros_like(items)[::-1]
    elif layout == "unaligned":
        there = np.zeros(items.nbytes + 1, np.uint8)[1:].view(items.dtype)
    elif layout == "other byte order":
        there = np.zeros(len(items), items.dtype.newbyteorder())
    elif layout == "field":
        there = np.zeros(len(items), [("other", "u1"), ("it", items.dtype)])["it"]
    there[:] = items
    if layout == "read-only":
        there = items.copy()
        there.flags.writeable = False
    return there


def places(items: Array, descending: bool) -> NDArray[np.int64]:
    """The stable order, by NumPy."""
    if not descending:
        return np.argsort(items, kind="stable")
    return np.argsort(-np.unique(items, return_inverse=True, equal_nan=True)[1], kind="stable")


@st.composite
def cases(draw: st.DrawFn, most_runs: int = 1) -> tuple[list[Array], str, bool, int]:
    """(runs of one dtype in no order, layout, descending, threads)."""
    dtype = np.dtype(draw(st.sampled_from(ALL)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    most = draw(st.sampled_from([0, 1, 2, 40, 3000]))
    runs = [drawn(rng, dtype, int(rng.integers(0, most + 1))) for _ in range(draw(st.integers(1, most_runs)))]
    return runs, draw(st.sampled_from(LAYOUTS)), draw(st.booleans()), draw(st.integers(1, 4))


@settings(max_examples=150)
@given(case=cases())
def test_sorts_are_numpys(backend: Backend, case: Any) -> None:
    (items,), layout, descending, threads = case
    array = laid(items, layout)
    expected = places(items, descending)
    how = {"descending": descending, "backend": backend.name, "threads": threads}
    assert same_bits(gpumerge_cli.sort(array, **how), items[expected])
    ranks = gpumerge_cli.argsort(array, **how)
    assert ranks.dtype == np.int64
    assert ranks.tolist() == expected.tolist()
    keys, moved = gpumerge_cli.sort(array, values=np.arange(len(items)), **how)
    assert same_bits(keys, items[expected])
    assert moved.tolist() == expected.tolist()
    in_order = bool((expected == np.arange(len(items))).all())
    assert gpumerge_cli.is_sorted(array, descending=descending) is in_order
    assert gpumerge_cli.is_sorted(items[expected], descending=descending)
    if not descending:
        assert same_bits(gpumerge_cli.sort(array, **how), np.sort(items, kind="stable"))


@settings(max_examples=150)
@given(case=cases(most_runs=6))
def test_merges_are_numpys(backend: Backend, case: Any) -> None:
    runs, layout, descending, threads = case
    runs = [run[places(run, descending)] for run in runs]
    both = np.concatenate(runs)
    expected = places(both, descending)
    arrays = [laid(run, layout) for run in runs]
    how = {"descending": descending, "backend": backend.name, "threads": threads}
    assert same_bits(gpumerge_cli.merge(*arrays, **how), both[expected])
    ends = np.cumsum([len(run) for run in runs])
    numbers = [np.arange(end - len(run), end, dtype=np.uint16) for run, end in zip(runs, ends, strict=True)]
    out = np.empty_like(both)
    keys, moved = gpumerge_cli.merge(*arrays, values=numbers, out=out, **how)
    assert keys is out
    assert same_bits(out, both[expected])
    assert moved.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["i8", "f4", "?", "M8[s]"])
def test_threads_share_the_work(rng: np.random.Generator, dtype: str) -> None:
    items = [drawn(rng, np.dtype(dtype), size) for size in (200_000, 70_001, 3)]
    both = np.concatenate(items)
    expected = np.argsort(both, kind="stable")
    for threads in (2, 5):
        assert (gpumerge_cli.argsort(both, backend="cpu", threads=threads) == expected).all()
        runs = [gpumerge_cli.sort(each, backend="cpu", threads=threads) for each in items]
        merged, ranks = np.concatenate(runs), np.argsort(np.concatenate(runs), kind="stable")
        assert same_bits(gpumerge_cli.merge(*runs, backend="cpu", threads=threads), merged[ranks])
        _, moved = gpumerge_cli.merge(
            *runs, values=np.split(np.arange(270_004), [200_000, 270_001]), backend="cpu", threads=threads
        )
        assert (moved == ranks).all()


PAYLOADS = ("u1", "c16", "U3", "S5", "O", "M8[s]", ">f8", [("a", ">i4"), ("b", "S3")])


@pytest.mark.parametrize("dtype", PAYLOADS, ids=str)
@pytest.mark.parametrize("shape", [(), (2,), (0,), (2, 3)])
def test_values_of_any_dtype_and_shape(backend: Backend, rng: np.random.Generator, dtype: Any, shape: Any) -> None:
    runs = [np.sort(rng.integers(0, 9, size).astype(np.int16)) for size in (40, 0, 25)]
    values = [np.zeros((len(run), *shape), dtype) for run in runs]
    for each in values:
        each.flat = rng.integers(0, 99, each.size).astype("S2") if np.dtype(dtype).kind in "SU" else 7
        if np.dtype(dtype).kind not in "SUV":
            each[...] = np.arange(each.size).reshape(each.shape)
    both = np.concatenate(runs)
    expected = np.empty((len(both), *shape), dtype)
    expected[:40], expected[40:] = values[0], values[2]
    expected = expected[np.argsort(both, kind="stable")]
    keys, moved = gpumerge_cli.merge(*runs, values=values, backend=backend.name)
    assert same_bits(keys, np.sort(both))
    assert moved.dtype == dtype
    assert moved.shape == expected.shape
    assert (moved == expected).all()
    _, moved = gpumerge_cli.merge(*runs[:1], values=iter([values[0][::-1]]), backend=backend.name)
    assert (moved == values[0][::-1]).all()


def test_masks_of_values_go_along() -> None:
    masked = np.ma.masked_array([1, 2, 3], [False, True, False])
    _, moved = gpumerge_cli.merge(np.array([1, 5, 9]), np.array([2, 3]), values=[masked, np.array([7, 8])])
    assert moved.tolist() == [1, 7, 8, None, 3]


ROWS = np.dtype([("id", "u1"), ("when", "<M8[s]"), ("in", [("on", ">M8[D]"), ("is", "?")]), ("took", "m8[ms]")])


@pytest.mark.parametrize("key", ["when", "in.on", "in.is", "took"])
@pytest.mark.parametrize("descending", [False, True])
def test_dates_and_bools_in_records(backend: Backend, rng: np.random.Generator, key: str, descending: bool) -> None:
    array = np.zeros(600, ROWS)
    array["id"] = rng.integers(0, 200, 600)
    for name in ("when", "took"):
        array[name] = rng.integers(-4, 4, 600)
    array["in"]["on"] = rng.integers(-4, 4, 600)
    array["in"]["is"] = rng.integers(0, 2, 600)
    for name in ("when", "took"):
        array[name][rng.integers(0, 600, 50)] = "NaT"
    array["in"]["on"][:30] = "NaT"
    field = array["in"][key[3:]] if key.startswith("in.") else array[key]
    expected = places(field.astype(field.dtype.newbyteorder("=")), descending)
    how: dict[str, Any] = {"key": key, "descending": descending}
    found = gpumerge_cli.sort(array, backend=backend.name, **how)
    assert found.dtype == ROWS
    assert found.tobytes() == array[expected].tobytes()
    assert gpumerge_cli.argsort(array, backend=backend.name, **how).tolist() == expected.tolist()
    runs = [gpumerge_cli.sort(part, backend=backend.name, **how) for part in np.split(array, [100, 100, 450])]
    assert all(gpumerge_cli.is_sorted(run, **how) for run in runs)
    assert not gpumerge_cli.is_sorted(array, **how)
    merged = gpumerge_cli.merge(*runs, backend=backend.name, threads=2, **how)
    assert merged.tobytes() == found.tobytes()
    numbers = np.split(np.arange(600), [100, 100, 450])
    keys, moved = gpumerge_cli.merge(*runs, values=numbers, backend=backend.name, **how)
    assert keys.tobytes() == found.tobytes()
    assert sorted(moved) == list(range(600))


def test_values_of_rows_and_bytes(backend: Backend, rng: np.random.Generator) -> None:
    words = rng.integers(97, 99, (200, 3)).astype(np.uint8).view("S3").reshape(-1)
    expected = np.argsort(words, kind="stable")
    keys, moved = gpumerge_cli.sort(words, values=np.arange(200), backend=backend.name)
    assert keys.tolist() == words[expected].tolist()
    assert moved.tolist() == expected.tolist()
    assert gpumerge_cli.argsort(words, backend=backend.name).tolist() == expected.tolist()


def test_nats_alone_and_in_no_order() -> None:
    nats = np.full(5, "NaT", "M8[s]")
    for descending in (False, True):
        assert gpumerge_cli.is_sorted(nats, descending=descending)
        assert np.isnat(gpumerge_cli.merge(nats, nats[:2], descending=descending)).all()
        assert gpumerge_cli.argsort(nats, descending=descending).tolist() == list(range(5))
    mixed = np.array(["2001", "NaT", "2000"], "M8[Y]")
    assert not gpumerge_cli.is_sorted(mixed)
    assert not gpumerge_cli.is_sorted(mixed[::-1], descending=True)
    unsorted = gpumerge_cli.merge(mixed, mixed)
    assert same_bits(np.sort(unsorted), np.sort(np.concatenate([mixed, mixed])))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_algorithms_give_the_same_places(backend: Backend, rng: np.random.Generator, algorithm: Any) -> None:
    keys = rng.integers(0, 50, 3000).astype("m8[s]")
    keys[::7] = "NaT"
    found = gpumerge_cli.argsort(keys, algorithm=algorithm, backend=backend.name)
    assert found.tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_merge_values(backend: Backend, rng: np.random.Generator, kernel: Any) -> None:
    runs = [np.sort(rng.integers(0, 50, 3000)) for _ in range(3)]
    values = np.split(np.arange(9000), 3)
    _, moved = gpumerge_cli.merge(*runs, values=values, kernel=kernel, backend=backend.name)
    assert moved.tolist() == np.argsort(np.concatenate(runs), kind="stable").tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (3, "values=3 is not a list of arrays"),
        ([np.zeros(2)], "1 arrays of values for 2 of keys"),
        ([np.zeros(2), np.zeros(4)], r"values of shape \(4,\) for 3 keys"),
        ([np.zeros(2), np.zeros((3, 2))], r"different dtypes or shapes: float64, float64 \(2,\)"),
        ([np.zeros(2), np.zeros(3, int)], "different dtypes or shapes: float64, int64"),
        ([np.zeros(2), 3], "expected an array, got int"),
        ([np.zeros(2), np.float64(1)], r"values of shape \(\) for 3 keys"),
    ],
)
def test_values_that_do_not_fit(values: Any, message: str) -> None:
    with pytest.raises(gpumerge_cli.UsageError, match=message):
        gpumerge_cli.merge(np.arange(2), np.arange(3), values=values)


def test_units_of_dates_must_agree() -> None:
    with pytest.raises(gpumerge_cli.UsageError, match=r"different dtypes: datetime64\[ms\], datetime64\[s\]"):
        gpumerge_cli.merge(np.zeros(1, "M8[s]"), np.zeros(1, "M8[ms]"))


def test_no_such_option() -> None:
    with pytest.raises(TypeError, match=r"merge\(\) got an unexpected keyword argument 'blocksize'"):
        gpumerge_cli.merge(np.arange(2), blocksize=3)  # type: ignore[call-arg]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("descending", [False, True])
def test_cupy_arrays_of_all_dtypes(
    gpu_backend: Backend, rng: np.random.Generator, dtype: str, descending: bool
) -> None:
    cupy = needs.library("cupy")
    runs = [drawn(rng, np.dtype(dtype), size) for size in (3000, 0, 1, 700)]
    runs = [run[places(run, descending)] for run in runs]
    both = np.concatenate(runs)
    expected = places(both, descending)
    arrays, whole = [cupy.asarray(run) for run in runs], cupy.asarray(both)
    numbers = cupy.arange(2 * len(both)).reshape(-1, 2)
    parts = cupy.split(numbers, [3000, 3000, 3001])
    assert same_bits(gpumerge_cli.merge(*arrays, descending=descending).get(), both[expected])
    out = cupy.empty_like(whole)
    keys, moved = gpumerge_cli.merge(*arrays, values=parts, out=out, descending=descending)
    assert keys is out
    assert same_bits(keys.get(), both[expected])
    assert moved[:, 0].get().tolist() == (2 * expected).tolist()
    assert same_bits(
        gpumerge_cli.sort(whole[::-1], descending=descending).get(), both[::-1][places(both[::-1], descending)]
    )
    ranks = gpumerge_cli.argsort(whole, descending=descending)
    assert ranks.dtype == np.int64
    assert ranks.get().tolist() == expected.tolist()
    assert gpumerge_cli.is_sorted(keys, descending=descending)


@pytest.mark.gpu
def test_values_and_out_lie_where_keys_do(gpu_backend: Backend) -> None:
    cupy = needs.library("cupy")
    keys = cupy.arange(3)
    with pytest.raises(gpumerge_cli.UsageError, match="values and keys are not on one side"):
        gpumerge_cli.merge(keys, values=[np.arange(3)])
    with pytest.raises(gpumerge_cli.UsageError, match="out is not a contiguous CuPy array of 3 items of int64"):
        gpumerge_cli.merge(keys, out=np.empty(3, np.int64))
    with pytest.raises(gpumerge_cli.UsageError, match="out is not a contiguous NumPy array of 3 items of int64"):
        gpumerge_cli.merge(keys.get(), out=keys)


@pytest.mark.parametrize(("key", "told"), [(None, r"as the key \(key=\): a, b"), ("c", r"^key=c: ")])
def test_errors_name_the_parameter(key: str | None, told: str) -> None:
    items = np.zeros(3, [("a", "i4"), ("b", "f8")])
    with pytest.raises(UsageError, match=told) as caught:
        gpumerge_cli.sort(items, key=key)
    assert "--" not in str(caught.value)
