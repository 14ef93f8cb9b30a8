"""Library baselines of the CPU: the merge or the set by key, whatever the dtype and the number of runs."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gpumerge_cli.backends.cpu import baselines
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests import needs
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
    needs.library("polars")
    assert list(baselines.baselines([np.zeros(1, np.int32)] * 2, Order.of("int32"))) == [NUMPY, POLARS]


def test_polars_is_never_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "find_spec", lambda name: None)
    assert list(baselines.baselines([np.zeros(1, np.int32)] * 2, Order.of("int32"))) == [NUMPY]


SETS = [one for one in Equals if one.is_set]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("equals", SETS)
def test_they_give_sets(dtype: str, equals: Equals, rng: np.random.Generator) -> None:
    for count, descending in ((1, False), (2, False), (2, True), (4, False)):
        order = Order.of(dtype, descending=descending)
        runs = [np.sort(rng.integers(0, 9, size).astype(dtype)) for size in rng.integers(0, 40, count)]
        counts = [Counter(run.tolist()) for run in runs]
        wanted = []
        for key in sorted(set().union(*counts), reverse=descending):
            wanted += [key] * sum(high - low for low, high in equals.kept([each[key] for each in counts]))
        found = baselines.sets([run[:: -1 if descending else 1] for run in runs], order, equals)
        assert {name: make().tolist() for name, make in found.items()} == dict.fromkeys(found, wanted)
        assert len(found) == 1
        assert all(make().dtype == dtype for make in found.values())


@pytest.mark.parametrize("equals", SETS)
@pytest.mark.parametrize("descending", [False, True])
def test_nans_are_equal_or_refused(equals: Equals, descending: bool) -> None:
    """Else the difference of a run and itself would have the NaNs that the run has."""
    order = Order.of("float32", descending=descending)
    runs = [np.array(run, np.float32)[:: -1 if descending else 1] for run in ([1, np.nan, np.nan], [2, np.nan])]
    ((name, make),) = baselines.sets(runs, order, equals).items()
    if name in ("numpy intersect1d", "numpy setdiff1d", "numpy setxor1d"):
        with pytest.raises(DeviceError, match="treats them as unequal"):
            make()
    else:
        kept = sum(high - low for low, high in equals.kept([2, 1]))
        assert np.isnan(make()).sum() == kept
