"""The oracle of sums says what the oracle that sorts says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpumerge_cli.compare import oracle as oracles
from gpumerge_cli.compare import sum_oracle
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.oracles import merged_keys
from tests.strategies import key_runs


def bytes_of(runs: list[NDArray[Any]]) -> list[NDArray[np.uint8]]:
    return [run.view(np.uint8) for run in runs]


def changed(merged: NDArray[Any], how: str, at: int, to: int) -> NDArray[Any]:
    """The output of a merge that went wrong in one place."""
    wrong = merged.copy()
    if how == "swapped":
        wrong[[at, to]] = wrong[[to, at]]
    elif how == "doubled":
        wrong[at] = wrong[to]
    elif how == "flipped":
        wrong.view(np.uint8)[at * wrong.itemsize] ^= 1 << (to % 8)
    elif how == "sign":
        wrong.view(np.uint8)[(at + 1) * wrong.itemsize - 1] ^= 0x80
    elif how == "short":
        wrong = wrong[:-1]
    return wrong


@pytest.mark.one_in(2)
@pytest.mark.parametrize("threads", [1, 3])
@settings(max_examples=40)
@given(case=key_runs(most_runs=4), data=st.data())
def test_it_agrees_with_a_sort(threads: int, case: Any, data: st.DataObject) -> None:
    runs, descending = case
    order = Order.of(runs[0].dtype, descending=descending)
    merged = merged_keys(runs, descending=descending)
    truth = oracles.oracle(bytes_of(runs), order)
    assert truth.how == "stable sort"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sum_oracle, "_BLOCK", data.draw(st.sampled_from([3, 64, 10_000])))
        judge = sum_oracle.SumOracle(bytes_of(runs), order, threads)
        outputs = [merged]
        if len(merged):
            index = st.integers(0, len(merged) - 1)
            for how in ("swapped", "doubled", "flipped", "sign", "short"):
                outputs.append(changed(merged, how, data.draw(index), data.draw(index)))
        for output in (np.ascontiguousarray(output).view(np.uint8) for output in outputs):
            assert judge.exact(output) == truth.exact(output)
            assert judge.equal_by_key(output) == truth.equal_by_key(output)
    assert judge.exact(merged.view(np.uint8))


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_judges_more_keys_than_are_sorted(
    dtype: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(oracles, "SORTED", 1000)
    monkeypatch.setattr(sum_oracle, "_BLOCK", 256)
    order = Order.of(dtype)
    runs = [np.sort(rng.integers(0, 100, size).astype(dtype)) for size in (700, 0, 301)]
    truth = oracles.oracle(bytes_of(runs), order, threads=2)
    assert truth.how == "order and sums"
    merged = merged_keys(runs)
    assert truth.exact(merged.view(np.uint8))
    # Two wrongs that leave the plain sum of the keys, and their order, as they were.
    place = int(np.flatnonzero((merged[1:-2] == merged[2:-1]) & (merged[1:-2] > 1))[0]) + 1
    merged[place] -= 1
    merged[place + 1] += 1
    merged.sort()
    assert not truth.equal_by_key(merged.view(np.uint8))


def test_it_takes_memory_that_starts_anywhere() -> None:
    room = np.zeros(1 + 8 * 100, np.uint8)
    keys = np.arange(100, dtype=np.int64)
    room[1:] = keys.view(np.uint8)
    truth = sum_oracle.SumOracle([room[1:401], room[401:]], Order.of("int64"), 1)
    assert truth.exact(room[1:])


def test_zeros_and_nans_that_change_places_are_seen() -> None:
    order = Order.of("float32")
    nans = np.array([0x7FC00001, 0x7FC00002], np.uint32).view(np.float32)
    runs = [np.array([-0.0, nans[0]], np.float32), np.array([0.0, nans[1]], np.float32)]
    truth = sum_oracle.SumOracle(bytes_of(runs), order, 1)
    right = np.array([-0.0, 0.0, *nans], np.float32)
    right[2:] = nans
    for wrong in (right[[1, 0, 2, 3]], right[[0, 1, 3, 2]]):
        assert not truth.exact(wrong.view(np.uint8))
        assert truth.equal_by_key(wrong.view(np.uint8))
    assert truth.exact(right.view(np.uint8))
