"""Key shapes: right count, dtype, order and interleaving; the same from the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpumerge_cli.compare.key_shapes import BLOCK, SHAPES, Family
from gpumerge_cli.compare.lines import DIGITS, lines
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.linekeys import key_of

families = st.builds(
    Family,
    shape=st.sampled_from(SHAPES),
    dtype=st.sampled_from(DTYPES).map(np.dtype),
    count=st.one_of(st.integers(0, 200), st.integers(0, 20_000)),
    runs=st.integers(1, 5),
    seed=st.integers(0, 2**32),
    shuffled=st.booleans(),
    descending=st.booleans(),
)


def all_keys(family: Family) -> list[NDArray[Any]]:
    return [family.keys(run) for run in range(family.runs)]


@given(family=families)
@settings(max_examples=150, deadline=None)
def test_a_family_has_the_asked_count_dtype_and_order(family: Family) -> None:
    order = Order.of(family.dtype, descending=family.descending)
    for keys in all_keys(family):
        assert keys.dtype == family.dtype
        assert keys.shape == (family.count,)
        if not family.shuffled:
            images = order.image(keys)
            assert (images[1:] >= images[:-1]).all()


@given(family=families)
@settings(max_examples=30, deadline=None)
def test_the_same_seed_makes_the_same_keys(family: Family) -> None:
    assert family.keys(0).tobytes() == family.keys(0).tobytes()


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape not in ("equal", "few", "blocky")])
def test_another_seed_and_another_run_make_other_keys(shape: str) -> None:
    family = Family(shape, np.dtype(np.int64), 100)  # type: ignore[arg-type]
    other = Family(shape, np.dtype(np.int64), 100, seed=1)  # type: ignore[arg-type]
    assert not np.array_equal(family.keys(0), other.keys(0))
    assert not np.array_equal(family.keys(0), family.keys(1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("shuffled", [False, True])
def test_runs_longer_than_a_block_go_on_where_the_block_ended(shape: str, shuffled: bool) -> None:
    family = Family(shape, np.dtype(np.uint16), 2 * BLOCK + 7, shuffled=shuffled)  # type: ignore[arg-type]
    blocks = list(family.blocks(1))
    assert [block.size for block in blocks] == [BLOCK, BLOCK, 7]
    keys = np.concatenate(blocks)
    assert shuffled or (keys[1:] >= keys[:-1]).all()


def switches(family: Family) -> int:
    """The number of neighbours in the merged output that come from different runs."""
    origin = np.repeat(np.arange(family.runs), family.count)
    keys = np.concatenate(all_keys(family))
    return int(np.count_nonzero(np.diff(origin[np.argsort(keys, kind="stable")])))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float16", "float32", "float64"])
def test_shapes_interleave_as_they_are_called(dtype: str) -> None:
    def family(shape: str) -> Family:
        return Family(shape, np.dtype(dtype), 30_000, runs=3)  # type: ignore[arg-type]

    assert len(np.unique(np.concatenate(all_keys(family("equal"))))) == 1
    assert len(np.unique(np.concatenate(all_keys(family("few"))))) <= 16
    assert switches(family("disjoint")) == 2
    for earlier, later in zip(all_keys(family("disjoint"))[:-1], all_keys(family("disjoint"))[1:], strict=True):
        assert earlier[-1] < later[0]
    assert 4 < switches(family("blocky")) < switches(family("uniform"))
    first, second, third = all_keys(family("one-sided"))
    assert np.ptp(second.astype(float)) <= np.ptp(first.astype(float)) / 100
    assert np.ptp(third.astype(float)) <= np.ptp(first.astype(float)) / 100


def test_uniform_keys_fill_the_range() -> None:
    keys = Family("uniform", np.dtype(np.int32), 100_000).keys(0).astype(float)
    assert keys[0] < -(2**31) * 0.99
    assert 2**31 * 0.95 < keys[-1] < 2**31


def test_blocky_stretches_have_many_lengths() -> None:
    family = Family("blocky", np.dtype(np.int64), 200_000)
    origin = np.repeat([0, 1], family.count)[np.argsort(np.concatenate(all_keys(family)), kind="stable")]
    lengths = np.diff(np.flatnonzero(np.diff(origin)))
    assert len(set(lengths.tolist())) > 10
    assert lengths.max() > 100 * lengths.min()


def test_a_dtype_without_an_order_is_refused() -> None:
    with pytest.raises(UsageError, match="complex"):
        Family("uniform", np.dtype(np.complex128), 1)


@pytest.mark.parametrize("numeric", [False, True])
@given(family=families)
@settings(max_examples=30, deadline=None)
def test_lines_are_in_their_order(numeric: bool, family: Family) -> None:
    order = Order.lines(numeric=numeric, descending=family.descending)
    text = b"".join(block.tobytes() for block in lines(family, 0, numeric=numeric))
    items = text.split(b"\n")
    assert items.pop() == b""
    assert len(items) == family.count
    assert family.shuffled or sorted(items, key=key_of(order)) == items
    assert numeric or all(len(item) == DIGITS and item.isdigit() for item in items)
