"""Merges of many runs on the GPU: when a sort by digits makes them, and what is launched for what addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cupy", reason="the backend imports it", exc_type=ImportError)

from gpumerge_cli.backends.base import SortPace
from gpumerge_cli.backends.gpu.many_runs import joined, may_go_by_digits, merge_many, pays, said
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.gpu.units import units_of
from gpumerge_cli.backends.launch import LaunchPolicy, LaunchRequest, SortRequest
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.engine.station import policy_of as policy_of_work
from gpumerge_cli.order import Order
from gpumerge_cli.order.rules import LineOrder

LARGE = 1 << 28


def policy_of(order: Order, runs: int) -> LaunchPolicy:
    return replace(resolve(LaunchRequest(), order, TUNED_ON, runs), runs=runs)


def goes_by_digits(dtype: str, runs: int, total: int, copies: int = 0) -> bool:
    order = Order.of(dtype)
    return pays(order, policy_of(order, runs), runs, total, copies)


def test_what_was_measured() -> None:
    """2^28 int32 on an H200: 64 runs merge in 2.61 ms and 1,000 in 9.41; a sort takes 4.68, and 14.2 for int64."""
    assert not goes_by_digits("int32", 17, LARGE)
    assert not goes_by_digits("int32", 64, LARGE)
    assert not goes_by_digits("int64", 64, LARGE)
    assert goes_by_digits("int32", 1000, LARGE)
    assert goes_by_digits("int32", 1000, LARGE, copies=1000)
    assert goes_by_digits("int32", 1000, 1 << 22)
    assert not goes_by_digits("int32", 16, LARGE)


def test_no_kernel_that_was_asked_for_is_replaced() -> None:
    order = Order.of("int32")
    assert not pays(order, resolve(LaunchRequest("path"), order, TUNED_ON, 1000), 1000, LARGE)


def test_which_orders_may() -> None:
    assert may_go_by_digits(Order.of("float64"))
    assert may_go_by_digits(Order.records(12, 1, 3))
    assert not may_go_by_digits(Order.records(100, 0, 8))
    assert not may_go_by_digits(Order.records(16, 0, 12))
    assert not may_go_by_digits(Order.lines(LineOrder()))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float64"])
@pytest.mark.parametrize("runs", [17, 64, 256, 1000, 100_000])
def test_the_reason_is_the_choice(dtype: str, runs: int) -> None:
    order = Order.of(dtype)
    policy = policy_of(order, runs)
    told = said(order, policy)
    most = [int(word) for word in told.split() if word.isdigit()]
    if most:
        assert pays(order, policy, runs, most[0] - 2)
        assert not pays(order, policy, runs, most[0] + 2)
    else:
        assert all(pays(order, policy, runs, total) == bool(told) for total in (1, LARGE))


def test_what_is_compiled() -> None:
    order = Order.of("int32")
    policy = policy_of(order, 64)
    assert [file for file, _ in units_of(order, policy, TUNED_ON, 1 << 22)] == ["count_digits.cu", "sort_radix.cu"]
    assert [file for file, _ in units_of(order, policy, TUNED_ON, LARGE)] == ["merge_path.cu", "partition.cu"]


def test_a_sort_that_merges_is_asked_for() -> None:
    """The runs of a sort by merging go by passes."""
    asked: list[int] = []

    class Backend:
        def sort_pace(self, order: Order, item_bytes: float) -> SortPace:
            return SortPace(1, 1)

        def resolve(self, request: LaunchRequest, order: Order, runs: int) -> None:
            asked.append(runs)

    for algorithm in ("auto", "merge"):
        launch = SortRequest(algorithm)  # type: ignore[arg-type]
        work: Any = SimpleNamespace(
            action="merge", launch=launch, order=Order.of("int32"), inputs=[0] * 40, item_bytes=4
        )
        policy_of_work(Backend(), work)  # type: ignore[arg-type]
    assert asked == [40, 16]


def test_neighbours_are_one_run() -> None:
    assert joined([(100, 2), (108, 3), (120, 0), (120, 1), (200, 1), (196, 1)], 4) == [(100, 6), (200, 1), (196, 1)]
    assert joined([(100, 2), (108, 3)], 2) == [(100, 2), (108, 3)]


class Memory:
    """Stands for a device's memory, and for Kernels that work on it. An address is an item's place."""

    def __init__(self, order: Order, size: int) -> None:
        self.items = np.full(size, -1, np.int64)
        self.order, self.sorted, self.merged = order, 0, 0

    def at(self, run: Run) -> Any:
        width = self.order.item_bytes
        return self.items[run[0] // width : run[0] // width + run[1]]

    def copy(self, run: Run, to: int) -> None:
        self.at((to, run[1]))[:] = self.at(run)

    def merge(self, policy: LaunchPolicy, runs: Sequence[Run], out: int) -> None:
        self.merged += 1
        both = np.concatenate([self.at(run) for run in runs])
        self.at((out, len(both)))[:] = both[np.argsort(both // 1000, kind="stable")]

    def sort_digits(self, items: Run, out: int, scratch: int) -> None:
        # Items in a buffer lie where all passes, if all are needed, begin.
        begin = scratch if self.order.prefix_bytes % 2 else out
        assert items[0] in (begin, 0)
        assert scratch
        self.sorted += 1
        self.merge(replace(policy_of(self.order, 17)), [items], out)


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("count", [2, 16, 17, 300])
def test_is_stable_and_spares_the_inputs(width: int, apart: bool, count: int) -> None:
    """The thousands of an item are its key, and the rest says which one it is."""
    order = Order.of(f"uint{8 * width}")
    memory = Memory(order, 40_000)
    runs, at = [], 0
    for number in range(count):
        length = number * 5 % 7
        runs.append((at * width, length))
        memory.at(runs[-1])[:] = np.arange(length) // 2 * 1000 + number
        at += length + apart
    before = memory.items[:at].copy()
    everything = np.concatenate([memory.at(run) for run in runs])
    rooms: list[int] = []

    def room() -> int:
        rooms.append(20_000 * width)
        return rooms[0]

    policy = policy_of(order, count) if count > 16 else resolve(LaunchRequest(), order, TUNED_ON, count)
    merge_many(memory, policy, order, runs, 10_000 * width, room, memory.copy)
    out = memory.at((10_000 * width, len(everything)))
    assert (out == everything[np.argsort(everything // 1000, kind="stable")]).all()
    assert (memory.items[:at] == before).all()
    filled = sum(length > 0 for _, length in runs)
    assert len(rooms) == (filled > 16)
    assert memory.sorted == pays(order, policy, filled, len(everything), filled if apart else 0)
