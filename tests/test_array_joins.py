"""join: pairs of indices of sorted arrays, held against a loop over all items."""

from __future__ import annotations

import random
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import sampled_from

import gpumerge_cli
from gpumerge_cli.arrays import equal_pairs as equal_pairs_of
from gpumerge_cli.arrays.equal_pairs import HOWS, How, equal_pairs, pairs_by_threads
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.strategies import key_runs

NOT_NUMPY = SimpleNamespace(**{name: getattr(np, name) for name in dir(np) if not name.startswith("_")})
"""NumPy under another name: it is taken for CuPy."""


def expected(a: list[Any], b: list[Any], how: str) -> Any:
    """The rows of a join of keys that Python compares, in order."""
    partners = {key: [at for at, other in enumerate(b) if other == key] for key in {*a, *b}}
    if how in ("anti", "semi"):
        return [at for at, key in enumerate(a) if bool(partners[key]) == (how == "semi")]
    rows = []
    for key in sorted({*a, *b}):
        here = [at for at, other in enumerate(a) if other == key]
        there = partners[key]
        if here and there:
            rows += [(left, right) for left in here for right in there]
        elif here and how in ("left", "outer"):
            rows += [(left, -1) for left in here]
        elif there and how in ("right", "outer"):
            rows += [(-1, right) for right in there]
    return rows


def rows_of(found: Any, how: str) -> Any:
    if how in ("anti", "semi"):
        assert found.dtype == np.int64
        return found.tolist()
    left, right = found
    assert left.dtype == right.dtype == np.int64
    return list(zip(left.tolist(), right.tolist(), strict=True))


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("xp", [np, NOT_NUMPY])
def test_arrays_out_of_order_have_some_result(how: How, xp: Any, seed: int) -> None:
    print("seed", seed)
    chance = np.random.default_rng(seed)
    pairs = [(np.array([5]), np.array([9, 1]))]
    pairs += [tuple(chance.integers(0, 9, chance.integers(0, 30)) for _ in range(2)) for _ in range(100)]
    for a, b in pairs:
        found = equal_pairs(xp, a, b, how, False)
        if isinstance(found, tuple):
            assert len(found[0]) == len(found[1])


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "S3", "V2", "M8[D]", ">i4"])
def test_every_dtype_and_kind(dtype: str, how: How, seed: int) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(6):
        drawn = [sorted(chance.choices(range(2 if dtype == "bool" else 8), k=chance.choice([0, 1, 20]))) for _ in "ab"]
        arrays = [np.array(keys, np.uint8 if dtype in ("S3", "V2") else dtype) for keys in drawn]
        if dtype in ("S3", "V2"):
            arrays = [np.array([bytes([65 + key]) * int(dtype[1]) for key in keys], dtype) for keys in drawn]
        assert rows_of(gpumerge_cli.join(*arrays, how=how), how) == expected(*drawn, how)
        turned = [[-key for key in keys[::-1]] for keys in drawn]
        found = gpumerge_cli.join(*(array[::-1] for array in arrays), how=how, descending=True)
        assert rows_of(found, how) == expected(*turned, how)


@pytest.mark.parametrize("how", HOWS)
@given(drawn=key_runs(most_runs=2))
def test_keys_at_the_edges_of_their_dtypes(how: How, drawn: tuple[list[Any], bool]) -> None:
    runs, descending = drawn
    a, b = runs[0], runs[-1]
    images = [Order.of(run.dtype, descending=descending).image(run).tolist() for run in (a, b)]
    wanted = expected(*images, how)
    assert rows_of(gpumerge_cli.join(a, b, how=how, descending=descending), how) == wanted
    assert rows_of(equal_pairs(NOT_NUMPY, a, b, how, descending), how) == wanted


@given(drawn=key_runs(most_runs=2), how=sampled_from(HOWS), piece=sampled_from([1, 2, 7]))
def test_pieces_make_the_whole(drawn: tuple[list[Any], bool], how: How, piece: int) -> None:
    """Whatever the cuts and the threads, the rows are those of one piece."""
    runs, descending = drawn
    a, b = runs[0], runs[-1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equal_pairs_of, "_PIECE", piece)
        found = pairs_by_threads(a, b, how, descending, 3)
    assert rows_of(found, how) == rows_of(equal_pairs(np, a, b, how, descending), how)


@pytest.mark.one_of_each
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("dtype", ["i4", "f8", "S3", "V2", "M8[D]", ">i4", "bool"])
def test_groups_across_pieces(dtype: str, how: How, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_pairs_of, "_PIECE", 10)
    for sizes in ((0, 90), (90, 0), (300, 200), (40, 900)):
        drawn = [np.sort(rng.integers(65, 67 if dtype == "bool" else 90, size)) for size in sizes]
        if dtype in ("S3", "V2"):
            arrays = [keys.astype(np.uint8).repeat(2).view("S2").astype(dtype) for keys in drawn]
        else:
            arrays = [(keys - 65).astype(dtype) for keys in drawn]
        found = gpumerge_cli.join(*arrays, how=how, threads=2)
        assert rows_of(found, how) == expected(*(keys.tolist() for keys in drawn), how)


def test_pieces_are_short_unless_items_are_equal(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_pairs_of, "_PIECE", 10)
    a, b = np.sort(rng.integers(0, 50, 400)), np.sort(rng.integers(20, 400, 900))
    for low, high in pairwise(equal_pairs_of.cuts(a, b, descending=False)):
        for keys, start, stop in ((a, low[0], high[0]), (b, low[1], high[1])):
            assert start <= stop
            assert stop in (0, len(keys)) or keys[stop - 1] != keys[stop]
            assert start == stop or stop - start <= 10 + (keys == keys[start]).sum()


def test_unsorted_arrays_touch_no_other_memory(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their rows mean nothing."""
    monkeypatch.setattr(equal_pairs_of, "_PIECE", 10)
    for how in HOWS:
        a, b = rng.integers(0, 50, 400), rng.integers(0, 50, 300)
        found = gpumerge_cli.join(a, b, how=how, threads=2)
        for indices, keys in zip(found if isinstance(found, tuple) else [found], (a, b), strict=False):
            assert ((indices >= -1) & (indices < len(keys))).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", HOWS)
def test_arrays_that_change_meanwhile_have_some_result(
    how: How, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each search may find other items than the one before: any ranks from 0 to the number of items."""

    def searched(xp: Any, runs: Any, wanted: Any, side: str, *, descending: bool = False) -> Any:
        return rng.integers(0, sum(map(len, runs)) + 1, wanted.shape)

    monkeypatch.setattr(equal_pairs_of, "_PIECE", 10)
    monkeypatch.setattr(equal_pairs_of, "search_ranks", searched)
    for _ in range(200):
        a, b = (np.arange(rng.integers(0, 60)) for _ in "ab")
        found = gpumerge_cli.join(a, b, how=how, threads=2)
        if isinstance(found, tuple):
            assert len(found[0]) == len(found[1])


def test_nan_and_nat_have_partners() -> None:
    for none, dtype in ((np.nan, "f4"), ("NaT", "M8[s]")):
        a, b = np.array([1, none, none]).astype(dtype), np.array([2, none]).astype(dtype)
        assert rows_of(gpumerge_cli.join(a, b), "inner") == [(1, 1), (2, 1)]
        assert gpumerge_cli.join(a[::-1], b[::-1], how="anti", descending=True).tolist() == [2]


def test_columns_of_tables() -> None:
    people = np.array([(1, "ada"), (2, "bob"), (4, "eve")], [("id", "i4"), ("name", "U3")])
    towns = np.array([(1, "oslo"), (1, "rome"), (4, "lima")], [("person", "i4"), ("town", "U4")])
    left, right = gpumerge_cli.join(people["id"], towns["person"])
    assert [*zip(people["name"][left], towns["town"][right], strict=True)] == [
        ("ada", "oslo"), ("ada", "rome"), ("eve", "lima"),
    ]  # fmt: skip


def test_many_rows(rng: np.random.Generator) -> None:
    a, b = (np.sort(rng.integers(0, 30_000, 100_000)) for _ in range(2))
    left, right = gpumerge_cli.join(a, b)
    counts = [np.bincount(keys, minlength=30_000) for keys in (a, b)]
    assert len(left) == int((counts[0] * counts[1]).sum())
    assert np.array_equal(a[left], b[right])
    assert len(np.unique(left * len(b) + right)) == len(left)
    assert (np.diff(left * len(b) + right) > 0).all()


@pytest.mark.parametrize(
    ("a", "b", "how", "said"),
    [
        ([1], [1], "cross", "how='cross' is not a kind of join; use inner, left"),
        ([1], [1.0], "inner", "different dtypes"),
        ([[1]], [[1]], "inner", "2 dimensions"),
        (["x"], ["y"], "inner", "arrays of strings cannot be keys"),
        (
            np.zeros(1, "i4,f8"),
            np.zeros(1, "i4,f8"),
            "inner",
            r"join does not accept records; give a field of each, as a\['f0'\]",
        ),
    ],
)
def test_what_is_refused(a: Any, b: Any, how: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        gpumerge_cli.join(np.array(a), np.array(b), how=how)


@pytest.mark.gpu
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f4", "?"])
def test_joins_on_a_gpu_are_those_of_the_host(
    gpu_backend: Backend, dtype: str, how: How, rng: np.random.Generator
) -> None:
    import cupy

    for sizes in ((0, 0), (0, 5), (5, 0), (300, 200)):
        for descending in (False, True):
            arrays = [
                gpumerge_cli.sort(rng.integers(0, 50, size).astype(dtype), descending=descending) for size in sizes
            ]
            found = gpumerge_cli.join(*map(cupy.asarray, arrays), how=how, descending=descending)
            assert all(isinstance(each, cupy.ndarray) for each in (found if isinstance(found, tuple) else [found]))
            host = [each.get() for each in found] if isinstance(found, tuple) else found.get()
            assert rows_of(host, how) == rows_of(gpumerge_cli.join(*arrays, how=how, descending=descending), how)
