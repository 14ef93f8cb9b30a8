"""unique of arrays, held against plain Python."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_types import DTYPES


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("dtype", ["i1", "u2", ">i4", "i8", "f2", "f8", "bool", "S3", "M8[s]"])
def test_each_dtype(dtype: str, keep: Any, seed: int) -> None:
    chance = random.Random(seed)
    drawn = [chance.randrange(chance.choice([1, 2, 9])) for _ in range(chance.choice([0, 1, 70]))]
    array = np.array([str(one) for one in drawn] if dtype == "S3" else drawn, dtype)
    for descending in (False, True):
        kept: dict[Any, int] = {}
        for at, one in enumerate(array.tolist()):
            kept[one] = at if keep == "last" else kept.get(one, at)
        wanted = sorted(kept, reverse=descending)
        counts = [array.tolist().count(one) for one in wanted]
        options: dict[str, Any] = {"keep": keep, "descending": descending}
        assert gpumerge_cli.unique(array, **options).tolist() == wanted
        found, numbers = gpumerge_cli.unique(array, counts=True, **options)
        assert (found.tolist(), numbers.tolist(), numbers.dtype) == (wanted, counts, np.int64)
        values = np.arange(2 * len(array)).reshape(-1, 2)
        found, rows, numbers = gpumerge_cli.unique(array, values=values, counts=True, **options)
        assert found.dtype == gpumerge_cli.sort(array).dtype
        assert (found.tolist(), numbers.tolist()) == (wanted, counts)
        assert rows.tolist() == [[2 * kept[one], 2 * kept[one] + 1] for one in wanted]
        assert gpumerge_cli.unique(array, values=values, **options)[1].tolist() == rows.tolist()


def test_zeros_and_nans_are_equal() -> None:
    found = gpumerge_cli.unique(np.array([0.0, np.nan, -0.0, np.nan]), keep="last")
    assert str(found.tolist()) == "[-0.0, nan]"


def test_fields_and_texts() -> None:
    array = np.array([(2, 20), (1, 10), (2, 21)], [("key", "i4"), ("value", "i4")])
    assert gpumerge_cli.unique(array, key="key", keep="last").tolist() == [(1, 10), (2, 21)]
    assert gpumerge_cli.unique(["2", "10", "02"], text="numeric", keep="last").tolist() == ["02", "10"]


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match='keep: invalid value \'newest\'; use "first" or "last"'):
        gpumerge_cli.unique([1], keep="newest")  # type: ignore[call-overload]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_a_gpu_gives_the_same(gpu_backend: Backend, dtype: str, rng: np.random.Generator) -> None:
    import cupy

    for count, most in ((0, 1), (1, 1), (40, 9), (5000, 100), (300_000, 1), (300_000, 90), (300_000, 1 << 30)):
        with np.errstate(over="ignore"):
            array = rng.integers(0, most, count).astype(dtype)
        if array.dtype.kind == "f":
            array[array == 0] *= rng.choice([1, -1], int((array == 0).sum())).astype(dtype)
            array[rng.random(count) < 0.1] = np.nan
        values = np.arange(count)
        for keep in ("first", "last"):
            for descending in (False, True):
                options: Any = {"keep": keep, "descending": descending, "counts": True}
                wanted = gpumerge_cli.unique(array, values=values, **options)
                found = gpumerge_cli.unique(cupy.asarray(array), values=cupy.asarray(values), **options)
                assert [each.get().tobytes() for each in found] == [each.tobytes() for each in wanted]
                keys, counts = gpumerge_cli.unique(cupy.asarray(array), **options)
                assert (counts.get() == wanted[2]).all()
                assert np.array_equal(keys.get(), wanted[0], equal_nan=array.dtype.kind == "f")
