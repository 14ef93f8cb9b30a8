"""Sets of arrays from Python, held against the plain rule."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import SETS, Equals


def expected(runs: list[Any], equals: Equals) -> list[tuple[Any, int, int]]:
    """(item, array, index) of the items that go out; items are as Python has them."""
    found = []
    for item in sorted({item for run in runs for item in run}):
        places = [[at for at, other in enumerate(run) if other == item] for run in runs]
        for array, (low, high) in enumerate(equals.kept(list(map(len, places)))):
            found += [(item, array, at) for at in places[array][low:high]]
    return found


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


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match="no arrays for union"):
        gpumerge_cli.union()
    with pytest.raises(UsageError, match="different dtypes"):
        gpumerge_cli.intersect(np.array([1]), np.array([1.0]))
    with pytest.raises(UsageError, match="2 arrays of values for 1 of keys"):
        gpumerge_cli.union(np.array([1]), values=[np.array([1]), np.array([2])])
    with pytest.raises(TypeError, match=r"difference\(\) got an unexpected keyword argument 'unique'"):
        gpumerge_cli.difference(np.array([1]), unique=True)  # type: ignore[call-arg]
