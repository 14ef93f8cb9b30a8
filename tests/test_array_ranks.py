"""rank and rank_of: ranks of a merge of arrays, held against the merge itself."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import gpumerge_cli
from gpumerge_cli.arrays import host_ranks, searching
from gpumerge_cli.arrays.host_ranks import as_keys
from gpumerge_cli.arrays.searching import co_ranks_of_images, search_ranks
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.keys import KeyOrder
from tests.strategies import key_runs

DTYPES = ["i1", "i4", ">i4", "u8", "f2", "f4", "f8", "?", "M8[s]", "m8[D]", "S3", "V3", "record"]


def check(runs: list[NDArray[Any]], **how: Any) -> None:
    """Compare co-ranks of all ranks, and the ranks of all items, with the indices that sort the joined runs."""
    total, number = sum(map(len, runs)), len(runs)
    whole = np.concatenate(runs)
    order = gpumerge_cli.argsort(whole, **how)
    owner = np.repeat(np.arange(number), [len(run) for run in runs])[order]
    expected = np.vstack([np.zeros(number, int), np.cumsum(owner[:, None] == np.arange(number), axis=0)])
    found = gpumerge_cli.rank(runs, np.arange(total + 1), **how)
    assert found.dtype == np.int64
    assert np.array_equal(found, expected)
    keys = whole[order][how["key"]] if how.get("key") else whole[order]
    if not total:
        return
    lower = gpumerge_cli.rank_of(runs, keys, **how)
    upper = gpumerge_cli.rank_of(runs, keys, side="right", **how)
    same = keys.view("S3") if keys.dtype.kind == "V" else keys
    equal = (same[1:] == same[:-1]) | ((same[1:] != same[1:]) & (same[:-1] != same[:-1]))
    starts = np.flatnonzero(np.concatenate([[True], ~equal]))
    group = np.searchsorted(starts, np.arange(total), "right") - 1
    assert np.array_equal(lower, starts[group])
    assert np.array_equal(upper, np.append(starts, total)[group + 1])


def drawn(dtype: str, rng: np.random.Generator) -> NDArray[Any]:
    numbers = rng.integers(0, 9, int(rng.integers(0, 150)) if rng.integers(4) else 0)
    if dtype == "record":
        rows = np.zeros(len(numbers), [("id", "<i4"), ("in", [("x", "<f4"), ("name", "S2")])])
        rows["id"], rows["in"]["x"] = rng.permutation(len(numbers)), numbers
        return rows
    if dtype in ("S3", "V3"):
        return np.array([b"%3d" % number for number in numbers], "S3").view(dtype)
    found = numbers.astype(dtype)
    if found.dtype.kind in "fmM":
        found[numbers == 3] = np.nan if found.dtype.kind == "f" else "NaT"
    return found


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks_are_those_of_the_merge(dtype: str, descending: bool, rng: np.random.Generator) -> None:
    key = "in.x" if dtype == "record" else None
    for number in (1, 2, 3, 7):
        runs = [drawn(dtype, rng) for _ in range(number)]
        ordered = [gpumerge_cli.sort(run, key=key, descending=descending) for run in runs]
        if key is None:
            check(ordered, descending=descending)
        else:
            total = sum(map(len, ordered))
            found = gpumerge_cli.rank(ordered, np.arange(total + 1), key=key, descending=descending)
            merged = gpumerge_cli.merge(*ordered, key=key, descending=descending)
            for rank, row in enumerate(found):
                first = [run[:count] for run, count in zip(ordered, row, strict=True)]
                assert np.array_equal(gpumerge_cli.merge(*first, key=key, descending=descending), merged[:rank])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u8", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("few", [0, 1024])
def test_searches_in_images_give_the_same_ranks(
    few: int, dtype: str, descending: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU's arrays are ranked by these functions, here with NumPy in place of CuPy."""
    monkeypatch.setattr(searching, "_FEW", few)
    order = KeyOrder.of_dtype(dtype, descending=descending)
    for number in (1, 2, 5):
        runs = [gpumerge_cli.sort(drawn(dtype, rng), descending=descending) for _ in range(number)]
        if order.kind == "float":
            runs[0] = gpumerge_cli.sort(np.append(runs[0], [-0.0, 0.0, -np.inf]).astype(dtype), descending=descending)
        images = [order.image_of_bits(run.view(order.unsigned)) for run in runs]
        ranks = rng.permutation(sum(map(len, runs)) + 1)
        found = co_ranks_of_images(np, images, ranks)
        assert found.dtype == np.int64
        assert np.array_equal(found, gpumerge_cli.rank(runs, ranks, descending=descending))
        keys = np.concatenate(runs)
        for side in ("left", "right"):
            found = search_ranks(np, images, order.image(keys), side)  # type: ignore[arg-type]
            expected = gpumerge_cli.rank_of(runs, keys, side=side, descending=descending)  # type: ignore[arg-type]
            assert np.array_equal(found, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "i8", "f2", "f4", "f8", "?"])
def test_ranks_on_a_gpu_are_those_of_the_host(
    gpu_backend: Backend, dtype: str, descending: bool, rng: np.random.Generator
) -> None:
    import cupy

    for number in (1, 2, 9):
        runs = [gpumerge_cli.sort(drawn(dtype, rng), descending=descending) for _ in range(number)]
        given, keys = [cupy.asarray(run) for run in runs], np.concatenate(runs)
        total = len(keys)
        for at in (np.arange(total + 1), np.zeros((0,), int), np.array([[0, total]]), total):
            found = gpumerge_cli.rank(given, at, descending=descending)
            assert isinstance(found, cupy.ndarray)
            expected = gpumerge_cli.rank(runs, at, descending=descending)
            assert found.dtype == np.int64
            assert found.shape == expected.shape
            assert np.array_equal(found.get(), expected)
        assert gpumerge_cli.rank(given, cupy.arange(total + 1), descending=descending).shape == (total + 1, number)
        for items in (keys, cupy.asarray(keys), keys.reshape(1, -1), *keys[:1]):
            for side in ("left", "right"):
                of = gpumerge_cli.rank_of(given, items, side=side, descending=descending)  # type: ignore[arg-type]
                assert isinstance(of, cupy.ndarray)
                expected = gpumerge_cli.rank_of(runs, items, side=side, descending=descending)  # type: ignore[arg-type]
                assert np.array_equal(of.get(), expected)
                assert of.shape == np.shape(expected)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int32", "float64", "uint8"])
def test_many_items_on_a_gpu_are_searched_in_order(
    gpu_backend: Backend, dtype: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    import cupy

    from gpumerge_cli.backends.gpu import ranking

    monkeypatch.setattr(ranking, "_MANY_ITEMS", 1000)
    monkeypatch.setattr(ranking, "_BEYOND_CACHE", 1000)
    for descending, most in ((False, 200), (True, 200), (False, 1 << 30), (True, 1 << 30)):
        sizes = rng.integers(1, 400_000), 0, 3000
        runs = [rng.integers(0, most, size).astype(dtype) for size in sizes]
        ordered = [gpumerge_cli.sort(run, descending=descending) for run in runs]
        given = [*map(cupy.asarray, ordered)]
        items = rng.integers(0, most + most // 4, (3, int(rng.integers(400, 9000)))).astype(dtype)
        nearly = gpumerge_cli.sort(items.reshape(-1), descending=descending)
        nearly[-2:] = nearly[:2]
        for some in (items, gpumerge_cli.sort(items.reshape(-1), descending=descending), nearly):
            for side in ("left", "right", "left"):  # some calls are prepared
                wanted = gpumerge_cli.rank_of(ordered, some, descending=descending, side=side)  # type: ignore[arg-type]
                found = gpumerge_cli.rank_of(given, cupy.asarray(some), descending=descending, side=side)  # type: ignore[arg-type]
                assert np.array_equal(found.get(), wanted)


@pytest.mark.gpu
def test_ranks_on_a_gpu_of_strided_arrays_and_what_is_refused(gpu_backend: Backend) -> None:
    import cupy

    a = cupy.arange(20, dtype=cupy.int32)
    assert gpumerge_cli.rank([a[::2], a[1::2]], 7).tolist() == [4, 3]
    assert gpumerge_cli.rank_of([a[::2], a[1::2]], [3, 40], side="right").tolist() == [4, 20]
    for call, said in (
        (lambda: gpumerge_cli.rank([a], 21), "a rank lies outside of 0 to 20"),
        (lambda: gpumerge_cli.rank_of([a], 1.5), "are not all values of int32"),
        (lambda: gpumerge_cli.rank_of([a], "x"), "are not all values of int32"),
        (lambda: gpumerge_cli.rank([a, np.arange(3, dtype=np.int32)], 2), "partly in host"),
    ):
        with pytest.raises(UsageError, match=said):
            call()


@settings(max_examples=60)
@given(key_runs(most_runs=4))
def test_ranks_of_keys_at_the_edges_of_their_dtypes(drawn_runs: tuple[list[Any], bool]) -> None:
    runs, descending = drawn_runs
    check(runs, descending=descending)


@given(st.lists(st.integers(-9, 9)), st.lists(st.integers(-9, 9)), st.lists(st.integers(-12, 12)))
def test_rank_of_is_searchsorted(a: list[int], b: list[int], items: list[int]) -> None:
    runs = [np.sort(np.array(each, np.int64)) for each in (a, b)]
    merged = np.sort(np.array(a + b, np.int64))
    for side in ("left", "right"):
        expected = np.searchsorted(merged, np.array(items, np.int64), side)  # type: ignore[call-overload]
        assert gpumerge_cli.rank_of(runs, np.array(items, np.int64), side=side).tolist() == expected.tolist()
        assert gpumerge_cli.rank_of(runs, np.array(items, np.int64)[:, None]).shape == (len(items), 1)


def test_items_of_the_arrays_dtype_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """To compare them with what the dtype holds would wait for a GPU."""
    items = SimpleNamespace(dtype=np.dtype(np.int32))
    monkeypatch.setattr(host_ranks, "is_cupy", lambda given: given is items)
    xp = SimpleNamespace(asarray=lambda given: given)
    assert as_keys(xp, items, np.dtype(np.int32)) is items
    for dtype in ("int32", "float64", "S3"):
        some = np.array([3, 1, 2]).astype(dtype)
        assert as_keys(np, some, some.dtype).tolist() == some.tolist()


LARGE = np.array([1, 2**63, 2**64 - 1], np.uint64)
WIDE = np.array([1.0, 2.0**53, 2.0**53 + 2])


def test_items_that_only_the_arrays_dtype_holds() -> None:
    """NumPy makes floats of lists that hold small and large integers, and rounds them."""
    for items, places in (([1, 2**64 - 1], [0, 2]), ([2**64 - 1], [2]), ((2.0, 2**63 + 1), [1, 2])):
        assert gpumerge_cli.rank_of([LARGE], items).tolist() == places
    assert gpumerge_cli.rank_of([WIDE], [2**53, np.nan], side="right").tolist() == [2, 3]
    assert gpumerge_cli.rank_of([WIDE], np.array([-(2**63), 2**62])).tolist() == [0, 3]


@pytest.mark.parametrize(
    ("array", "items"),
    [
        (WIDE, 2**53 + 1),
        (WIDE, 2**63 - 1),
        (WIDE, np.array([1, 2**64 - 1], np.uint64)),
        (WIDE, 1 + 0j),
        (LARGE, 2.0**64),
        (LARGE, [1, 2**64]),
        (LARGE, [1, 2**64 - 1, -1]),
        (LARGE, [1.5, 2**64 - 1]),
        (LARGE.astype(np.int64), 2.0**63),
    ],
)
def test_items_that_round_to_others_are_refused(array: Any, items: Any) -> None:
    with pytest.raises(UsageError, match=f"are not all values of {array.dtype}"):
        gpumerge_cli.rank_of([array], items)


def test_shapes_of_ranks() -> None:
    runs = [np.arange(5), np.arange(3)]
    assert gpumerge_cli.rank(runs, 8).tolist() == [5, 3]
    assert gpumerge_cli.rank(runs, [[8, 0], [2, 2]]).shape == (2, 2, 2)
    assert gpumerge_cli.rank(runs, []).shape == (0, 2)
    assert gpumerge_cli.rank(runs, [8, 0, 3]).tolist() == [[5, 3], [0, 0], [2, 1]]
    assert gpumerge_cli.rank_of(runs, 2).shape == ()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda runs: gpumerge_cli.rank(runs, 9), "a rank lies outside of 0 to 8"),
        (lambda runs: gpumerge_cli.rank(runs, -1), "a rank lies outside of 0 to 8"),
        (lambda runs: gpumerge_cli.rank(runs, 1.5), "at=1.5 is not a rank"),
        (lambda runs: gpumerge_cli.rank(runs, np.ones((9, 9))), "at=array([[1., 1., 1., "),
        (lambda runs: gpumerge_cli.rank(runs, [0, [1]]), "at=[0, [1]] is not an array of ranks"),
        (lambda runs: gpumerge_cli.rank(runs, np.ma.masked_array([0, 1], [0, 1])), "masked items have no order"),
        (lambda runs: gpumerge_cli.rank([], 0), "no arrays to rank"),
        (lambda runs: gpumerge_cli.rank(runs[0], 0), "arrays is not a list of arrays"),
        (lambda runs: gpumerge_cli.rank_of(None, 0), "arrays is not a list of arrays"),  # type: ignore[arg-type]
        (lambda runs: gpumerge_cli.rank_of(runs, np.ma.masked_array([0, 1], [0, 1])), "masked items have no order"),
        (lambda runs: gpumerge_cli.rank_of(runs, [0, [1]]), "items are not an array"),
        (lambda runs: gpumerge_cli.rank_of(runs, 1, side=runs[0]), "side=array([0, 1, 2, 3, 4]) is not a side"),
        (lambda runs: gpumerge_cli.rank_of(runs, 1.5), "items of float64 are not all values of int64"),
        (lambda runs: gpumerge_cli.rank_of(runs, "x"), "are not all values of int64"),
        (lambda runs: gpumerge_cli.rank_of(runs, 1, side="both"), "side='both' is not a side"),  # type: ignore[arg-type]
    ],
)
def test_what_has_no_rank(call: Any, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)) as caught:
        call([np.arange(5), np.arange(3)])
    assert "\n" not in str(caught.value)
