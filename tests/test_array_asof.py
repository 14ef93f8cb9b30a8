"""asof_join of arrays, held against a loop over all items and against pandas."""

from __future__ import annotations

from datetime import timedelta
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.arrays.asof_pairs import (
    AsofRequest,
    check_groups,
    grouped,
    in_one_order,
    limit_of,
    partners,
)
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.order.asof import DIRECTIONS, AsofDirection
from gpumerge_cli.order.key_types import DTYPES
from tests import needs

NOT_NUMPY = SimpleNamespace(**{name: getattr(np, name) for name in dir(np) if not name.startswith("_")})
"""NumPy under another name: it is taken for CuPy."""
MANY = [*DTYPES, "bool", ">i4", ">f8", "M8[s]", "m8[ms]"]


def expected(a: Any, b: Any, direction: str, limit: Any, by: Any = None) -> list[int]:
    """Each item's partner, by a look at every item."""
    left, right = (
        [None if one != one else one for one in (each.view("i8") if each.dtype.kind in "mM" else each).tolist()]
        for each in (a, b)
    )
    if a.dtype.kind in "mM":
        left, right = (
            [None if missing else one for one, missing in zip(ones, np.isnat(each), strict=True)]
            for ones, each in ((left, a), (right, b))
        )
    found = []
    for i, x in enumerate(left):
        ahead = behind = -1
        for j, y in enumerate(right):
            if x is None or y is None or (by is not None and by[0][i] != by[1][j]):
                continue
            if y <= x and (ahead < 0 or y >= right[ahead]):
                ahead = j
            if y >= x and (behind < 0 or y < right[behind]):
                behind = j
        chosen = ahead if direction == "backward" else behind
        if direction == "nearest":
            nearer = ahead < 0 or (behind >= 0 and gap(right[behind], x) < gap(x, right[ahead]))
            chosen = behind if nearer else ahead
        found.append(chosen if chosen >= 0 and (limit is None or gap(x, right[chosen]) <= limit) else -1)
    return found


def gap(x: Any, y: Any) -> Any:
    return 0 if x == y else abs(x - y)


def drawn(dtype: str, count: int, rng: np.random.Generator) -> Any:
    """Sorted keys: some equal, some NaN or NaT, infinities, the ends of the range."""
    kind = np.dtype(dtype).kind
    keys = rng.integers(0, 2 if kind == "b" else int(rng.choice([2, 12, 100])), count)
    found = keys.astype(dtype)
    if kind in "iu" and rng.random() < 0.3:
        ends = np.iinfo(dtype)
        found[rng.random(count) < 0.3] = ends.max
        found[rng.random(count) < 0.2] = ends.min
    if kind == "f" and rng.random() < 0.5:
        found[rng.random(count) < 0.2] = rng.choice([np.nan, inf, -inf, -0.0])
    if kind in "mM" and rng.random() < 0.5:
        found[rng.random(count) < 0.2] = "NaT"
    return gpumerge_cli.sort(found)


def spans(dtype: str, limit: Any) -> Any:
    """The tolerance for keys of a dtype."""
    if limit is None or np.dtype(dtype).kind not in "mM":
        return limit
    return np.timedelta64(limit, np.datetime_data(np.dtype(dtype))[0])


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("dtype", MANY)
def test_every_dtype(dtype: str, direction: AsofDirection, rng: np.random.Generator) -> None:
    for _ in range(4):
        a, b = (drawn(dtype, int(rng.choice([0, 1, 7, 40])), rng) for _ in "ab")
        for limit in (None, 0, 3):
            given: Any = {"direction": direction, "tolerance": spans(dtype, limit)}
            found = gpumerge_cli.asof_join(a, b, **given)
            assert found.dtype == np.int64
            assert found.tolist() == expected(a, b, direction, limit)
            by = tuple(rng.integers(0, 3, len(each)) for each in (a, b))
            assert gpumerge_cli.asof_join(a, b, by=by, **given).tolist() == expected(a, b, direction, limit, by)


@pytest.mark.parametrize("direction", ["backward", "forward"])
def test_bytes(direction: AsofDirection, rng: np.random.Generator) -> None:
    for dtype in ("S3", "V2"):
        for _ in range(10):
            a, b = (
                np.sort(rng.integers(65, 70, 2 * count).astype("u1").view("S2")) for count in rng.integers(0, 20, 2)
            )
            by = tuple(rng.integers(0, 3, len(each)) for each in (a, b))
            numbers = [each.view(">u2").astype("i8") for each in (a, b)]
            for keys in (None, by):
                found = gpumerge_cli.asof_join(a.astype(dtype), b.astype(dtype), by=keys, direction=direction)
                assert found.tolist() == expected(*numbers, direction, None, keys)


@pytest.mark.one_of_each
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("dtype", ["i8", "u1", "f4", "f8", "M8[ns]"])
def test_many_items_by_threads(dtype: str, direction: AsofDirection, rng: np.random.Generator) -> None:
    """The library's walk equals the searches of the other processor's way."""
    for sizes in ((70_000, 50_000), (50, 60_000), (60_000, 3), (60_000, 0)):
        high = 120 if dtype == "u1" else int(rng.choice([500, 1 << 20, 1 << 24]))
        a, b = (np.sort(rng.integers(0, high, size)).astype(dtype) for size in sizes)
        if dtype == "f8":
            a[-5:] = b[-7:] = np.nan
        for limit in (None, 2):
            tolerance = spans(dtype, limit)
            request = AsofRequest(direction, limit_of(tolerance, a.dtype, direction), None, False)
            found = gpumerge_cli.asof_join(a, b, direction=direction, tolerance=tolerance, threads=3)
            assert np.array_equal(found, partners(NOT_NUMPY, (a, b), (a, b), None, request))
            groups = grouped(NOT_NUMPY, tuple(rng.integers(0, 50, size) for size in sizes), gpumerge_cli.argsort)
            x, y = (keys[places] for keys, places in zip((a, b), groups.places, strict=True))
            wanted = partners(NOT_NUMPY, (x, y), in_one_order(NOT_NUMPY, (x, y), groups), groups.numbers, request)
            by = [np.empty(size, np.int64) for size in sizes]
            for each, places, numbers in zip(by, groups.places, groups.numbers, strict=True):
                each[places] = numbers
            found = gpumerge_cli.asof_join(a, b, by=by, direction=direction, tolerance=tolerance, threads=2)
            assert np.array_equal(found, groups.ungrouped(NOT_NUMPY, wanted))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_pandas_gives_the_same(direction: AsofDirection, rng: np.random.Generator) -> None:
    pandas = needs.library("pandas")
    for _ in range(12):
        sizes = rng.integers(1, 60, 2)
        a, b = (np.sort(rng.integers(0, 60, size)) for size in sizes)
        by = [rng.integers(0, 3, size) for size in sizes]
        left = pandas.DataFrame({"t": a, "by": by[0]})
        right = pandas.DataFrame({"t": b, "by": by[1], "at": np.arange(len(b))})
        tolerance = [None, 0, 4][rng.integers(3)]
        for keys in (None, by):
            joined = pandas.merge_asof(
                left, right if keys else right.drop(columns="by"), on="t", by="by" if keys else None,
                direction=direction, tolerance=tolerance,
            )  # fmt: skip
            wanted = joined["at"].fillna(-1).astype("i8").to_numpy()
            found = gpumerge_cli.asof_join(a, b, by=keys, direction=direction, tolerance=tolerance)
            # Of equal items pandas may choose another one, which is as near.
            assert np.array_equal(found < 0, wanted < 0)
            assert np.array_equal(b[found[found >= 0]], b[wanted[wanted >= 0]])


def test_rows_sorted_by_exact_keys_first() -> None:
    """The order within each exact key matters alone."""
    a, b = np.array([1, 5, 2]), np.array([4, 1, 3])
    by = (np.array(["x", "x", "y"]), np.array(["x", "y", "y"]))
    assert gpumerge_cli.asof_join(a, b, by=by, check=True).tolist() == [-1, 0, 1]
    nans = (np.array([np.nan, 1.0, 1.0]), np.array([np.nan, 2.0, 2.0]))
    assert gpumerge_cli.asof_join(a, b, by=nans).tolist() == [-1, -1, -1]
    assert gpumerge_cli.asof_join(a, b, by=nans, direction="forward").tolist() == [0, -1, -1]


@pytest.mark.parametrize(
    ("dtype", "tolerance", "limit"),
    [
        ("i4", 1.9, 1),
        ("i4", np.float32(2.5), 2),
        ("u8", 1e300, (1 << 64) - 1),
        ("u8", inf, (1 << 64) - 1),
        ("f4", 1, 1.0),
        ("f8", None, inf),
        ("M8[s]", np.timedelta64(2, "m"), 120),
        ("M8[m]", timedelta(seconds=119), 1),
        ("M8[25s]", np.timedelta64(1, "m"), 2),
        ("m8[ns]", np.timedelta64(300, "D"), 300 * 86_400 * 10**9),
        ("M8[M]", np.timedelta64(2, "Y"), 24),
    ],
)
def test_tolerances(dtype: str, tolerance: Any, limit: Any) -> None:
    found = limit_of(tolerance, np.dtype(dtype), "backward")
    assert (found, type(found)) == (limit, type(limit))


def test_unsorted_arrays_touch_no_other_memory(rng: np.random.Generator) -> None:
    for _ in range(10):
        a, b = (rng.integers(0, 50, size) for size in rng.integers(0, 40_000, 2))
        for direction in DIRECTIONS:
            for by in (None, (a % 3, b % 3)):
                found = gpumerge_cli.asof_join(a, b, by=by, direction=direction, threads=2)
                assert len(found) == len(a)
                assert ((found >= -1) & (found < len(b))).all()


def test_disorder_is_found_where_it_is_asked_for() -> None:
    a, b = np.array([1, 3, 2]), np.array([1, 2, 3])
    with pytest.raises(DisorderError, match="array 0, index 2: disorder: 2 comes after 3"):
        gpumerge_cli.asof_join(a, b, check=True)
    with pytest.raises(
        DisorderError, match="array 0, index 2: disorder: it should come before the item at index 1, which has"
    ):
        gpumerge_cli.asof_join(a, b, by=([0, 1, 1], [0, 0, 0]), check=True)
    groups = grouped(np, (np.zeros(3, "i4"), np.zeros(2, "i4")), gpumerge_cli.argsort)
    with pytest.raises(DisorderError, match="array 1, index 1"):
        check_groups(np, (np.array([1.0, np.nan, np.nan]), np.array([np.nan, 5.0])), groups)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"direction": "back"}, "direction='back' is not one; use backward, forward, nearest"),
        ({"tolerance": "3"}, "tolerance='3' is not a distance of int64; give a number"),
        ({"tolerance": True}, "tolerance=True is not a distance of int64"),
        ({"tolerance": float("nan")}, "tolerance=nan is not a distance"),
        ({"tolerance": -1}, "tolerance=-1 is negative; give 0 or more"),
        ({"tolerance": np.timedelta64(1, "s")}, "is not a distance of int64; give a number"),
        ({"by": [1, 2]}, r"by=\[1, 2\] is not two arrays; give one for each side"),
        ({"by": ([1], [1, 2])}, "by: 1 keys for the 2 items of a; give one for each"),
        ({"by": ([1, 2], [1.5])}, "by: 1 keys for the 2 items of b"),
        ({"by": (np.array([1, 2]), np.array([1.0, 2.0]))}, "by: arrays of different dtypes"),
        ({"by": (np.zeros(2, "i4,i4"), np.zeros(2, "i4,i4"))}, "by: "),
        ({"check": 2}, "check=2 is neither true nor false"),
    ],
)
def test_what_is_refused(options: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        gpumerge_cli.asof_join(np.array([1, 2]), np.array([1, 2]), **options)


def test_which_arrays_are_refused() -> None:
    dates = np.array(["2024-01-01"], "M8[D]")
    for tolerance in (1, np.timedelta64("NaT", "s"), np.timedelta64(1, "Y")):
        with pytest.raises(UsageError, match=r"is not a distance of datetime64\[D\]; give a time span"):
            gpumerge_cli.asof_join(dates, dates, tolerance=tolerance)
    texts = np.array(["a"], "S1")
    with pytest.raises(UsageError, match="direction='nearest': bytes have no distances"):
        gpumerge_cli.asof_join(texts, texts, direction="nearest")
    with pytest.raises(UsageError, match="tolerance: bytes have no distances"):
        gpumerge_cli.asof_join(texts, texts, tolerance=1)
    with pytest.raises(UsageError, match="asof_join does not accept records; give a field of each"):
        gpumerge_cli.asof_join(np.zeros(1, "i4,f8"), np.zeros(1, "i4,f8"))


@pytest.mark.thorough
def test_random_cases(rng: np.random.Generator) -> None:
    for _ in range(10_000):
        dtype, direction = str(rng.choice(MANY)), DIRECTIONS[rng.integers(3)]
        a, b = (drawn(dtype, int(rng.integers(0, 30)), rng) for _ in "ab")
        limit = [None, 0, 1, 7][rng.integers(4)]
        by = None if rng.random() < 0.5 else tuple(rng.integers(0, 4, len(each)) for each in (a, b))
        found = gpumerge_cli.asof_join(a, b, by=by, direction=direction, tolerance=spans(dtype, limit))
        assert found.tolist() == expected(a, b, direction, limit, by)


@pytest.mark.gpu
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_a_gpu_gives_the_same(
    gpu_backend: Backend, dtype: str, direction: AsofDirection, rng: np.random.Generator
) -> None:
    import cupy

    for sizes in ((0, 0), (0, 5), (5, 0), (300, 200), (20_000, 30_000)):
        a, b = (drawn(dtype, size, rng) for size in sizes)
        by = tuple(rng.integers(0, 9, size) for size in sizes)
        for limit in (None, 2):
            for keys in (None, by):
                given: Any = {"direction": direction, "tolerance": limit}
                on_gpu = None if keys is None else tuple(map(cupy.asarray, keys))
                found = gpumerge_cli.asof_join(cupy.asarray(a), cupy.asarray(b), by=on_gpu, **given)
                assert isinstance(found, cupy.ndarray)
                assert np.array_equal(found.get(), gpumerge_cli.asof_join(a, b, by=keys, **given))
    a = cupy.asarray(np.array([1, 0], dtype))
    with pytest.raises(DisorderError):
        gpumerge_cli.asof_join(a, a, by=(cupy.zeros(2), cupy.zeros(2)), check=True)
    with pytest.raises(UsageError, match="partly in host and partly in device"):
        gpumerge_cli.asof_join(a, a, by=(np.zeros(2), np.zeros(2)))
