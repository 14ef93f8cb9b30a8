"""Library baselines of the CPU: the merge by key, whatever the dtype and the number of runs."""

from __future__ import annotations

import numpy as np
import pytest

from gpumerge_cli.backends.cpu import baselines
from gpumerge_cli.order import DTYPES, Order
from tests.oracles import merged_keys

NUMPY, POLARS = "numpy stable sort", "polars merge_sorted"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_they_give_the_merge(dtype: str, descending: bool, count: int, rng: np.random.Generator) -> None:
    order = Order.of(dtype, descending=descending)
    runs = [
        merged_keys([rng.integers(0, 100, size).astype(dtype)], descending=descending)
        for size in rng.integers(1, 500, count)
    ]
    found = baselines.baselines(runs, order)
    assert POLARS not in found or not descending
    for name, merge in found.items():
        for _ in range(2):
            assert np.array_equal(merge(), merged_keys(runs, descending=descending)), name


def test_polars_merges_where_it_is_installed() -> None:
    pytest.importorskip("polars", reason="an optional library")
    assert list(baselines.baselines([np.zeros(1, np.int32)] * 2, Order.of("int32"))) == [NUMPY, POLARS]


def test_polars_is_never_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "find_spec", lambda name: None)
    assert list(baselines.baselines([np.zeros(1, np.int32)] * 2, Order.of("int32"))) == [NUMPY]
