"""Inputs that are made to be hard for sorts: every algorithm of every backend is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.launch import ALGORITHMS, LaunchRequest, SortRequest
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.adversarial import BANKS, bank_conflicts, merged_from
from tests.backends.test_sort import sorted_by
from tests.linekeys import key_of
from tests.strategies import as_text

_MERGING = [
    SortRequest(),
    *(SortRequest("merge", LaunchRequest(kernel)) for kernel in KERNELS),
    *(SortRequest(algorithm) for algorithm in ALGORITHMS if algorithm not in ("merge", "recursive")),
]


def name_of(request: SortRequest) -> str:
    return f"{request.algorithm}-{request.launch.kernel}"


@pytest.mark.parametrize("items_per_thread", [15, 16, 17, 23])
@pytest.mark.parametrize("fan_in", [2, 4, 16])
def test_the_inputs_are_what_they_are_said_to_be(items_per_thread: int, fan_in: int) -> None:
    tile, levels = 2 * items_per_thread * BANKS, 2
    items = bank_conflicts(tile, fan_in, levels, items_per_thread)
    assert sorted(items) == list(range(tile * fan_in**levels))
    for of_run in merged_from(items, tile, fan_in):
        assert np.bincount(of_run).tolist() == [len(of_run) // fan_in] * fan_in
        # In the first segment run 0 is what threads read first; a warp's threads start in two banks, not in 32.
        segment = of_run[: len(of_run) // fan_in]
        starts = np.concatenate([[0], np.cumsum(segment == 0)])[: items_per_thread * BANKS : items_per_thread]
        assert len(set((starts % BANKS).tolist())) == (2 if items_per_thread >= BANKS // 2 else BANKS)


@pytest.mark.parametrize("request_", _MERGING, ids=name_of)
@pytest.mark.parametrize("dtype", ["uint32", "float64"])
def test_bank_conflicts(backend: Backend, request_: SortRequest, dtype: str) -> None:
    order = Order.of(dtype)
    policy = backend.resolve_sort(request_, order, 1 << 22)
    fan_in = max(2, policy.launch.fan_in)
    tile = min(max(policy.tile, 64), 1 << 14)
    levels = 1
    while tile * fan_in ** (levels + 1) <= 1 << 16:
        levels += 1
    for items_per_thread in {policy.launch.items_per_thread, 17} if policy.launch.items_per_thread <= 256 else {17}:
        items = bank_conflicts(tile, fan_in, levels, max(1, items_per_thread))
        for given in (items, np.append(items, items[:777])):  # all of whole tiles, and not
            keys = given.astype(dtype)
            result = sorted_by(backend, order, keys.tobytes(), request_)
            assert result == np.sort(keys, kind="stable").tobytes()


def _equal(count: int) -> list[bytes]:
    return [b"the same line everywhere"] * count


_LINES: dict[str, Callable[[int], list[bytes]]] = {
    "equal": _equal,
    "equal but for the last": lambda count: [*_equal(count - 1), b"the same line everywherd"],
    "equal starts": lambda count: [
        b"every line starts with this, " + b"%07d" % (i * 7919 % count) for i in range(count)
    ],
    "equal starts of many lengths": lambda count: [b"x" * (9 + i % 500) + b"%d" % (i % 7) for i in range(count // 8)],
    "equal numbers but for the 20th digit": lambda count: [
        b"1234567890123456789%d" % (i * 7919 % 10) for i in range(count)
    ],
    "equal first fields": lambda count: [b"same-first-field %d" % (i * 7919 % count) for i in range(count)],
}
_ORDERS = {
    "": LineOrder(),
    "-r": LineOrder(reverse=True),
    "-s -k1,1": LineOrder((LineKey(end_field=0),), stable=True),
    "-n": LineOrder((LineKey("numeric"),)),
    "-s -k2,2nr": LineOrder((LineKey("numeric", 1, end_field=1, reverse=True),), stable=True),
}


@pytest.mark.parametrize("options", _ORDERS)
@pytest.mark.parametrize("shape", _LINES)
def test_prefixes_that_decide_nothing(backend: Backend, shape: str, options: str) -> None:
    order = Order.lines(_ORDERS[options])
    lines = _LINES[shape](5_000)
    expected = as_text(sorted(lines, key=key_of(order)))
    for request in (SortRequest(), SortRequest("merge"), SortRequest("bottom-up")):
        assert sorted_by(backend, order, as_text(lines), request) == expected, request


@pytest.mark.thorough
@pytest.mark.parametrize("last", [b"the same line everywhere", b"the same line everywherd"])
def test_a_million_equal_lines(backend: Backend, last: bytes) -> None:
    count = 1_000_000
    data = as_text([b"the same line everywhere"] * (count - 1))
    lower = last < b"the same line everywhere"
    expected = as_text([last]) + data if lower else data + as_text([last])
    order = Order.lines(LineOrder())
    assert sorted_by(backend, order, data + as_text([last]), SortRequest()) == expected
    stable: Any = Order.lines(LineOrder((LineKey("numeric"),), stable=True))
    assert sorted_by(backend, stable, data + as_text([last]), SortRequest()) == data + as_text([last])
