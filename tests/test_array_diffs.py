"""diff of arrays, held against plain Python."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import gpumerge_cli
from gpumerge_cli.arrays import equal_pairs
from gpumerge_cli.arrays.host_asof import only_partners
from gpumerge_cli.arrays.key_pairs import diff_of, partners_in_order
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import DisorderError, InputError, UsageError
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order
from tests.strategies import key_runs

NOT_NUMPY = SimpleNamespace(**{name: getattr(np, name) for name in dir(np) if not name.startswith("_")})
"""NumPy under another name: it is taken for CuPy."""
MANY = [*DTYPES, "bool", ">i4", "S3", "V2", "M8[D]"]


def expected(a: list[Any], b: list[Any], values: Any = None) -> tuple[Any, ...]:
    """(added, removed, changed, unchanged) of keys that Python compares; the last two are lists of pairs."""
    added, removed, changed, unchanged = [], [], [], []
    left = {}
    for at, key in enumerate(b):
        left.setdefault(key, []).append(at)
    for at, key in enumerate(a):
        if not left.get(key):
            removed.append(at)
            continue
        pair = at, left[key].pop(0)
        same = values is None or values[0][pair[0]] == values[1][pair[1]]
        (unchanged if same else changed).append(pair)
    added = sorted(at for group in left.values() for at in group)
    return added, removed, changed, unchanged


def plain(found: Any) -> tuple[Any, ...]:
    added, removed, changed, unchanged = found
    for each in (added, removed, *changed, *unchanged):
        assert each.dtype == np.int64
    pairs = [list(zip(*(side.tolist() for side in each), strict=True)) for each in (changed, unchanged)]
    return added.tolist(), removed.tolist(), *pairs


def keys_of(drawn: list[int], dtype: str) -> Any:
    if dtype in ("S3", "V2"):
        return np.array([bytes([65 + key]) * int(dtype[1]) for key in drawn], dtype)
    return np.array(drawn, dtype)


def drawn(dtype: str, rng: np.random.Generator, *, unique: bool) -> list[int]:
    count = int(rng.choice([0, 1, 15, 40]))
    keys = rng.integers(0, 2 if dtype == "bool" else 25, count)
    return np.unique(keys).tolist() if unique else np.sort(keys).tolist()


@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("dtype", MANY)
def test_every_dtype(dtype: str, multi: bool, rng: np.random.Generator) -> None:
    for _ in range(6):
        keys = [drawn(dtype, rng, unique=not multi) for _ in "ab"]
        values = [rng.integers(0, 2, (len(side), 1)) for side in keys]
        a, b = (keys_of(side, dtype) for side in keys)
        wanted = expected(*keys, [side[:, 0].tolist() for side in values])
        assert plain(gpumerge_cli.diff(a, b, values=values, multi=multi, check=True)) == wanted
        assert plain(gpumerge_cli.diff(a, b, multi=multi)) == expected(*keys)
        turned = [side[::-1] for side in keys]
        found = gpumerge_cli.diff(a[::-1], b[::-1], multi=multi, descending=True)
        assert plain(found) == expected(*turned)


@pytest.mark.parametrize("xp", [np, NOT_NUMPY])
def test_pieces_make_the_whole(xp: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_pairs, "_PIECE", 10)
    for sizes in ((0, 90), (90, 0), (300, 200), (40, 900)):
        keys = [np.sort(rng.integers(0, 40, size)) for size in sizes]
        values = [rng.integers(0, 2, size) for size in sizes]
        wanted = expected(*(side.tolist() for side in keys), [side.tolist() for side in values])
        assert plain(gpumerge_cli.diff(*keys, values=values, multi=True, threads=2)) == wanted
        assert plain(diff_of(xp, partners_in_order(xp, *keys, descending=False), sizes[1], values)) == wanted


@given(drawn=key_runs(most_runs=2))
def test_the_walk_through_unique_keys_equals_the_searches(drawn: tuple[list[Any], bool]) -> None:
    runs, descending = drawn
    a, b = (gpumerge_cli.unique(run, descending=descending) for run in (runs[0], runs[-1]))
    found = only_partners(a, b, descending=descending, threads=2)
    assert np.array_equal(found, partners_in_order(np, a, b, descending))


def test_missing_keys_and_values_are_equal() -> None:
    a, b = np.array([-0.0, 1, np.nan]), np.array([0.0, np.nan])
    assert plain(gpumerge_cli.diff(a, b)) == ([], [1], [], [(0, 0), (2, 1)])
    dates = np.array(["2024-01-01", "NaT"], "M8[D]")
    assert plain(gpumerge_cli.diff(dates, dates[1:])) == ([], [0], [], [(1, 0)])
    old, new = np.array([np.nan, 1.0, -0.0, np.nan]), np.array([np.nan, np.nan, 0.0, 2.0])
    found = gpumerge_cli.diff(range_of(4), range_of(4), values=[old, new])
    assert plain(found) == ([], [], [(1, 1), (3, 3)], [(0, 0), (2, 2)])


def range_of(count: int) -> Any:
    return np.arange(count)


def test_values_of_each_kind() -> None:
    keys = range_of(3)
    for old, new, changed in (
        (np.array(["a", "b", "c"]), np.array(["a", "B", "c"]), [1]),
        (np.zeros((3, 2, 2)), np.stack([np.zeros((2, 2)), np.zeros((2, 2)), np.eye(2)]), [2]),
        (np.zeros((3, 0)), np.zeros((3, 0)), []),
        (np.zeros(3, "i4,2f8"), np.array([(0, (0, 0)), (1, (0, 0)), (0, (0, 2))], "i4,2f8"), [1, 2]),
        (np.array([None, "x", 3], object), np.array([None, "y", 3], object), [1]),
        (np.ma.array([1, 2, 3], mask=[1, 0, 0]), np.ma.array([7, 2, 3], mask=[1, 1, 0]), [1]),
        (np.array(["NaT", "2024", "2024"], "M8[Y]"), np.array(["NaT", "NaT", "2024"], "M8[Y]"), [1]),
    ):
        found = gpumerge_cli.diff(keys, keys, values=[old, new])
        assert found.changed[0].tolist() == found.changed[1].tolist() == changed
        assert len(found.unchanged[0]) == 3 - len(changed)


def test_texts_by_their_values() -> None:
    found = gpumerge_cli.diff(["1k", "2k", "1M"], ["1000", "1M", "3M"], text="size")
    assert plain(found) == ([2], [1], [], [(0, 0), (2, 1)])


def test_unsorted_arrays_touch_no_other_memory(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_pairs, "_PIECE", 10)
    for _ in range(100):
        sizes = rng.integers(0, 300, 2)
        a, b = (rng.integers(0, 50, size) for size in sizes)
        found = gpumerge_cli.diff(a, b, multi=True, values=[a, b], threads=2)
        for indices, keys in (
            (found.added, b), (found.removed, a), (found.changed[0], a), (found.changed[1], b),
            (found.unchanged[0], a), (found.unchanged[1], b),
        ):  # fmt: skip
            assert ((indices >= 0) & (indices < len(keys))).all()


def test_arrays_that_change_meanwhile_have_some_result(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpumerge_cli.arrays import key_pairs

    def searched(xp: Any, runs: Any, wanted: Any, side: str, *, descending: bool = False) -> Any:
        return rng.integers(0, sum(map(len, runs)) + 1, wanted.shape)

    for module in (equal_pairs, key_pairs):
        monkeypatch.setattr(module, "search_ranks", searched)
    for _ in range(200):
        a, b = (np.arange(rng.integers(0, 60)) for _ in "ab")
        found = gpumerge_cli.diff(a, b, multi=True)
        assert len(found.removed) + len(found.unchanged[0]) == len(a)


@pytest.mark.parametrize(
    ("a", "b", "options", "error", "said"),
    [
        (
            [1, 2, 2],
            [1],
            {},
            InputError,
            "array 0, index 2: its key equals the key of the item before it; give keys that are",
        ),
        ([1], [0.0, -0.0], {}, InputError, "array 1, index 1: its key equals the key"),
        ([1], [np.nan, np.nan], {}, InputError, "array 1, index 1: its key equals the key"),
        ([2, 1], [1], {"check": True}, DisorderError, "array 0, index 1: disorder: 1 comes after 2"),
        ([1], [1], {"multi": 3}, UsageError, "multi=3 is neither true nor false"),
        ([1], [1], {"values": [[1]]}, UsageError, "1 arrays of values for 2 of keys"),
        ([1], [1], {"values": [[1], ["x"]]}, UsageError, "values of different dtypes or shapes"),
        (
            np.zeros(1, "i4,f8"),
            np.zeros(1, "i4,f8"),
            {},
            UsageError,
            "diff does not accept records; give a field of each",
        ),
        (["x"], ["y"], {}, UsageError, "arrays of strings cannot be keys"),
    ],
)
def test_what_is_refused(a: Any, b: Any, options: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        gpumerge_cli.diff(a, b, **options)


@pytest.mark.thorough
def test_random_cases(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(10_000):
        monkeypatch.setattr(equal_pairs, "_PIECE", int(rng.integers(1, 30)))
        dtype, multi = str(rng.choice(MANY)), bool(rng.integers(2))
        keys = [drawn(dtype, rng, unique=not multi) for _ in "ab"]
        values = [rng.integers(0, 2, len(side)) for side in keys]
        found = gpumerge_cli.diff(*(keys_of(side, dtype) for side in keys), values=values, multi=multi, threads=2)
        assert plain(found) == expected(*keys, [side.tolist() for side in values])


@pytest.mark.gpu
@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_a_gpu_gives_the_same(gpu_backend: Backend, dtype: str, multi: bool, rng: np.random.Generator) -> None:
    import cupy

    for sizes in ((0, 0), (0, 5), (5, 0), (30, 20), (3000, 2000)):
        for descending in (False, True):
            order = Order.of(dtype, descending=descending)
            assert isinstance(order, KeyOrder)
            keys = [rng.integers(0, 100, size).astype(dtype) for size in sizes]
            keys = [gpumerge_cli.sort(side, descending=descending) if multi else unique(side, order) for side in keys]
            values = [rng.integers(0, 2, len(side)).astype("f4") for side in keys]
            options = {"multi": multi, "descending": descending}
            found = gpumerge_cli.diff(
                *map(cupy.asarray, keys), values=[cupy.asarray(side) for side in values], **options
            )
            assert all(isinstance(each, cupy.ndarray) for each in (found.added, *found.changed))
            host = [found.added.get(), found.removed.get()]
            host += [tuple(side.get() for side in pairs) for pairs in (found.changed, found.unchanged)]
            assert plain(host) == plain(gpumerge_cli.diff(*keys, values=values, **options))
    twice = cupy.asarray(np.array([1, 1], dtype))
    with pytest.raises(InputError, match="array 0, index 1"):
        gpumerge_cli.diff(twice, twice)


def unique(keys: Any, order: KeyOrder) -> Any:
    return gpumerge_cli.unique(keys, descending=order.descending)
