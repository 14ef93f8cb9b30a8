"""counts=True of merges, sorts and sets of arrays, held against a count by Python."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import gpumerge_cli
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import SETS
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.strategies import key_runs


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "S3", "V2", "M8[D]"])
def test_every_dtype(dtype: str, descending: bool, seed: int) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    for name in ("merge", "sort", *SETS):
        sizes = [chance.choice([0, 1, 30]) for _ in range(1 if name == "sort" else chance.randint(1, 3))]
        drawn = [sorted(chance.choices(range(2 if dtype == "bool" else 6), k=size)) for size in sizes]
        arrays: list[Any] = [np.array(keys, np.int64).astype(dtype) for keys in drawn if dtype not in ("S3", "V2")]
        arrays = arrays or [np.array([bytes([65 + key]) * 2 for key in keys], dtype) for keys in drawn]
        arrays = [array[:: -1 if descending else 1] for array in arrays]
        call = getattr(gpumerge_cli, name)
        whole = call(*arrays, descending=descending)
        keys, counts = call(*arrays, descending=descending, counts=True)
        assert keys.dtype == whole.dtype
        assert counts.dtype == np.int64
        wanted = Counter(whole.tolist())  # in the order of their first occurrence
        assert (keys.tolist(), counts.tolist()) == ([*wanted], [*wanted.values()]), name


@given(drawn=key_runs(most_runs=3))
def test_keys_at_the_edges_of_their_dtypes(drawn: tuple[list[Any], bool]) -> None:
    """NaNs are equal, and so are zeros; of several equal keys the first stays, with its value."""
    runs, descending = drawn
    whole, places = gpumerge_cli.merge(
        *runs, descending=descending, values=[np.full(len(run), at) for at, run in enumerate(runs)]
    )
    images = Order.of(whole.dtype, descending=descending).image(whole).tolist()
    counts = Counter(images)
    first = [images.index(image) for image in counts]
    values = [np.full(len(run), at) for at, run in enumerate(runs)]
    keys, rows, found = gpumerge_cli.merge(*runs, descending=descending, values=values, counts=True)
    assert keys.tobytes() == whole[first].tobytes()
    assert rows.tolist() == places[first].tolist()
    assert found.tolist() == [*counts.values()]


def test_nats_are_equal_keys() -> None:
    a, b = np.array(["2024-01-01", "NaT", "NaT"], "M8[D]"), np.array(["NaT"], "M8[D]")
    keys, counts = gpumerge_cli.merge(a, b, counts=True)
    assert np.isnat(keys).tolist() == [False, True]
    assert counts.tolist() == [1, 3]


def test_structured_arrays_by_a_field() -> None:
    rows = np.array([(7, b"a"), (9, b"b"), (9, b"c")], [("id", "i4"), ("name", "S1")])
    for call in (gpumerge_cli.merge, gpumerge_cli.union):
        kept, counts = call(rows, rows[1:], key="id", counts=True)
        assert kept.tolist() == rows[:2].tolist()
        assert counts.tolist() == ([1, 4] if call is gpumerge_cli.merge else [1, 2])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda a: gpumerge_cli.merge(a, counts=True, out=np.empty(3, int)), "it cannot be combined with out"),
        (lambda a: gpumerge_cli.sort(a, counts=True, out=np.empty(3, int)), "it cannot be combined with out"),
        (lambda a: gpumerge_cli.sort(a, counts=True, devices=[0, 1]), "it cannot be combined with devices"),
        (lambda a: gpumerge_cli.union(a, counts=True, distinct=True), "it cannot be combined with distinct"),
    ],
)
def test_what_is_refused(call: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        call(np.arange(3))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f2", "f4", "f8", "?"])
def test_counts_on_a_gpu_are_those_of_the_host(gpu_backend: Backend, dtype: str, rng: np.random.Generator) -> None:
    import cupy

    for size in (0, 1, 300):
        for name in ("merge", "sort", *SETS):
            arrays = [np.sort(rng.integers(0, 20, size).astype(dtype)) for _ in range(1 if name == "sort" else 2)]
            if dtype[0] == "f" and size:
                arrays = [np.append(array, [np.nan, np.nan]).astype(dtype) for array in arrays]
            values = [np.arange(len(array)) for array in arrays]
            call = getattr(gpumerge_cli, name)
            on_device = [cupy.asarray(each) for each in values]
            found = call(*map(cupy.asarray, arrays), values=on_device[0] if name == "sort" else on_device, counts=True)
            wanted = call(*arrays, values=values[0] if name == "sort" else values, counts=True)
            for one, other in zip(found, wanted, strict=True):
                assert isinstance(one, cupy.ndarray)
                assert one.dtype == other.dtype
                assert one.get().tobytes() == other.tobytes()
