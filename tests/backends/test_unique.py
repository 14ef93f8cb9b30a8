"""Only the first of several equal items goes out, or those at other places among them, on every backend."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import sampled_from

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.equals import SINGLE, Equals
from gpumerge_cli.order.kinds import Order
from tests.oracles import first_keys, first_lines, merged_keys, number_of, same_bits
from tests.strategies import as_text, key_runs, line_runs


def unique_merge(backend: Backend, order: Order, runs: list[bytes], equals: Equals) -> tuple[bytes, int]:
    """(the items that go out, the number of dropped items)."""
    workspace = backend.workspace(order, 1)
    try:
        workspace.staging(sum(map(len, runs)))[:] = np.frombuffer(b"".join(runs), np.uint8)
        workspace.upload([len(run) for run in runs])
        workspace.poison()
        workspace.merge(backend.resolve(LaunchRequest(), order), equals)
        return workspace.download().tobytes(), workspace.dropped
    finally:
        workspace.close()


@settings(max_examples=60)
@given(case=key_runs(most_runs=4))
def test_keys(backend: Backend, case: Any) -> None:
    runs, descending = case
    order = Order.of(runs[0].dtype, descending=descending)
    merged = merged_keys(runs, descending=descending)
    expected = first_keys(merged)
    for equals, there in ((Equals.FIRST, expected), (Equals.FIRST_CONTINUED, expected[1:])):
        data, dropped = unique_merge(backend, order, [run.tobytes() for run in runs], equals)
        assert same_bits(np.frombuffer(data, runs[0].dtype), there)
        assert dropped == len(merged) - len(there)


@settings(max_examples=60)
@given(case=line_runs(most_runs=3))
def test_lines(backend: Backend, case: Any) -> None:
    """Among lines with equal numbers the first one stays. It need not be the first one bytewise."""
    runs, numeric, descending = case
    if numeric:
        runs = [sorted(run, key=number_of, reverse=descending) for run in runs]
    order = Order.lines(numeric=numeric, descending=descending, stable=True)
    lines = [line for run in runs for line in run]
    merged = sorted(lines, key=number_of, reverse=descending) if numeric else sorted(lines, reverse=descending)
    expected = first_lines(merged, numeric=numeric)
    for equals, there in ((Equals.FIRST, expected), (Equals.FIRST_CONTINUED, expected[1:])):
        data, dropped = unique_merge(backend, order, list(map(as_text, runs)), equals)
        assert data == as_text(there)
        assert dropped == len(merged) - len(there)


PLACES = [rule for rule in Equals if rule.is_by_place]


def kept(equals: Equals, same: list[bool]) -> list[int]:
    """The indices that a rule of places keeps. same: whether each item but the first one equals the one ahead of it."""
    known = [equals.is_continued, *same, equals.is_followed]
    return [at for at, (x, y) in enumerate(pairwise(known)) if equals.value // SINGLE >> (x + 2 * y) & 1]


@settings(max_examples=150)
@given(case=key_runs(most_runs=4), equals=sampled_from(PLACES))
def test_places_of_keys(backend: Backend, case: Any, equals: Equals) -> None:
    runs, descending = case
    order = Order.of(runs[0].dtype, descending=descending)
    merged = merged_keys(runs, descending=descending)
    images = order.image(merged)
    there = merged[kept(equals, (images[1:] == images[:-1]).tolist())] if len(merged) else merged
    data, dropped = unique_merge(backend, order, [run.tobytes() for run in runs], equals)
    assert same_bits(np.frombuffer(data, runs[0].dtype), there)
    assert dropped == len(merged) - len(there)


@settings(max_examples=100)
@given(case=line_runs(most_runs=3), equals=sampled_from(PLACES))
def test_places_of_lines(backend: Backend, case: Any, equals: Equals) -> None:
    runs, numeric, descending = case
    if numeric:
        runs = [sorted(run, key=number_of, reverse=descending) for run in runs]
    order = Order.lines(numeric=numeric, descending=descending, stable=True)
    lines = [line for run in runs for line in run]
    merged = sorted(lines, key=number_of if numeric else None, reverse=descending)
    same = [number_of(x) == number_of(y) if numeric else x == y for x, y in pairwise(merged)]
    there = [merged[at] for at in kept(equals, same)] if merged else []
    data, dropped = unique_merge(backend, order, list(map(as_text, runs)), equals)
    assert data == as_text(there)
    assert dropped == len(merged) - len(there)


@pytest.mark.parametrize("order", [Order.of("int32"), Order.lines()])
def test_a_merge_of_all_follows_one_of_some(backend: Backend, order: Order) -> None:
    """Items that one merge drops do not show in the next merge of the same workspace."""
    run = np.array([5, 5, 6], np.int32).tobytes() if order.width else b"5\n5\n6\n"
    workspace = backend.workspace(order, 1)
    workspace.staging(len(run))[:] = np.frombuffer(run, np.uint8)
    workspace.upload([len(run)])
    policy = backend.resolve(LaunchRequest(), order)
    for equals, dropped in ((Equals.FIRST, 1), (Equals.ALL, 0), (Equals.FIRST_CONTINUED, 2), (Equals.ALL, 0)):
        workspace.merge(policy, equals)
        assert workspace.dropped == dropped
        assert len(workspace.download()) == len(run) * (3 - dropped) // 3
    workspace.close()
