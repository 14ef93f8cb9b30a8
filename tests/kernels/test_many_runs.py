"""Merges of many runs on the GPU: when a sort by digits makes them, and what is launched for what addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.base import PieceSizes
from gpumerge_cli.backends.gpu import joining, many_runs
from gpumerge_cli.backends.gpu.launching import copy, zeros
from gpumerge_cli.backends.gpu.many_runs import (
    MergeOfMany,
    _costs,
    join_adjacent,
    may_go_by_digits,
    pays,
    reason_for_digits,
)
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.engine.job import Job, Operation
from gpumerge_cli.engine.launches import policy_of as policy_of_pass
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, SortRequest
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder

LARGE = 1 << 28


def policy_of(order: Order, runs: int) -> LaunchPolicy:
    return replace(resolve(LaunchRequest(), order, TUNED_ON, runs), runs=runs)


def goes_by_digits(dtype: str, runs: int, total: int, pieces: int = 1) -> bool:
    order = Order.of(dtype)
    return pays(order, policy_of(order, runs), runs, total, pieces)


MEASURED = [
    # dtype, runs, power of two of the items, ms by passes, ms by digits (runs together), on an H100
    ("int32", 20, 28, 1.87, 5.06),
    ("int32", 64, 28, 2.06, 5.09),
    ("int32", 256, 28, 3.00, 5.43),
    ("int32", 1000, 28, 3.87, 5.64),
    ("int64", 64, 28, 3.88, 17.0),
    ("int64", 256, 28, 5.03, 17.1),
    ("int64", 1000, 28, 6.87, 18.1),
    ("float32", 64, 28, 2.55, 5.57),
    ("float32", 256, 28, 3.44, 5.76),
    ("float32", 1000, 28, 4.99, 6.64),
    ("int16", 64, 28, 3.08, 2.31),
    ("uint8", 64, 29, 1.77, 2.04),
    ("int32", 64, 26, 0.665, 1.38),
    ("int32", 64, 22, 0.180, 0.182),
    ("int32", 1000, 22, 0.710, 0.768),
    ("int64", 64, 22, 0.291, 0.441),
]


@pytest.mark.parametrize(("dtype", "runs", "power", "passes", "digits"), MEASURED)
def test_what_was_measured(dtype: str, runs: int, power: int, passes: float, digits: float) -> None:
    """The choice is the one of less time, and the times are about right."""
    order = Order.of(dtype)
    assert goes_by_digits(dtype, runs, 1 << power) == (digits < passes)
    costs = _costs(order, policy_of(order, runs).fan_in, runs, 1)
    for cost, measured in zip(costs, (passes, digits), strict=True):
        assert 0.55 < cost.of(1 << power) * 1e3 / measured < 1.3


def test_other_choices() -> None:
    assert not goes_by_digits("int32", 16, LARGE)
    assert not goes_by_digits("int32", 1000, LARGE, pieces=1000)
    assert goes_by_digits("int16", 64, LARGE, pieces=64)
    assert not goes_by_digits("uint8", 64, 1 << 29, pieces=100_000)


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
    told = reason_for_digits(order, policy)
    most = [int(word) for word in told.split() if word.isdigit()]
    if most:
        assert pays(order, policy, runs, most[0] - 2)
        assert not pays(order, policy, runs, most[0] + 2)
    else:
        assert all(pays(order, policy, runs, total) == bool(told) for total in (1, LARGE))


def test_a_sort_that_merges_is_asked_for() -> None:
    """The runs of a sort by merging go by passes."""
    asked: list[int] = []

    class Backend:
        def piece_sizes(self, order: Order, item_bytes: float) -> PieceSizes:
            return PieceSizes(1, 1)

        def resolve(self, request: LaunchRequest, order: Order, runs: int) -> None:
            asked.append(runs)

    for algorithm in ("auto", "merge"):
        launch = SortRequest(algorithm)  # type: ignore[arg-type]
        work: Any = SimpleNamespace(
            job=Job((), operation=Operation("sort", launch=launch)),
            sorts=False,
            order=Order.of("int32"),
            sources=[0] * 40,
            mean_bytes=4,
        )
        policy_of_pass(Backend(), work)  # type: ignore[arg-type]
    assert asked == [40, 16]


def test_neighbours_are_one_run() -> None:
    assert join_adjacent([(100, 2), (108, 3), (120, 0), (120, 1), (200, 1), (196, 1)], 4) == [
        (100, 6),
        (200, 1),
        (196, 1),
    ]
    assert join_adjacent([(100, 2), (108, 3)], 2) == [(100, 2), (108, 3)]


class Memory:
    """Stands for a device's memory, and for Kernels that work on it. An address is an item's place.

    allocations: the runs, if each is an allocation of its own, which no copy by the driver may cross.
    """

    def __init__(self, order: Order, size: int) -> None:
        self.items = np.full(size, -1, np.int64)
        self.order, self.limits, self.sorted, self.merged = order, TUNED_ON, 0, 0
        self.allocations: list[Run] = []
        self.words: dict[int, int] = {}
        """Words of the device's memory, by their addresses."""

    def at(self, run: Run) -> Any:
        width = self.order.item_bytes
        return self.items[run[0] // width : run[0] // width + run[1]]

    def copy(self, source: int, to: int, nbytes: int) -> None:
        end, width = source + nbytes, self.order.item_bytes
        assert not any(source < at + count * width < end for at, count in self.allocations), "cudaErrorInvalidValue"
        self.at((to, nbytes // width))[:] = self.at((source, nbytes // width))

    def ready(self, name: str, threads: int, macros: Any = (), shared: int = 0, *, file: str = "") -> Any:
        launch = getattr(self, name)

        def queue(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            launch(dict(macros), *given)

        return queue

    def join_runs(self, macros: Any, *words: int) -> None:
        (*table, to), at, width = words, 0, self.order.item_bytes
        for address, end in zip(table[: joining.MAX_RUNS], table[joining.MAX_RUNS :], strict=True):
            count = (end - at) // width
            self.at((to + at, count))[:] = self.at((address, count))
            at = end

    def write_words(self, macros: Any, *given: int) -> None:
        *words, count, to = given
        self.words |= {to + 8 * at: word for at, word in enumerate(words[:count])}

    def merge_path(self, macros: Any, *words: int) -> None:
        fan_in = macros["RUNS"]
        if not macros.get("GROUPED"):
            self.merge(_runs(words, fan_in), words[2 * fan_in])
            return
        groups, _, count, out, *_ = words
        each = 2 * fan_in + 2
        found = [self.words[groups + 8 * at] for at in range(count * each)]
        for first in range(0, len(found), each):
            start = found[first + 2 * fan_in]
            self.merge(_runs(found[first:], fan_in), out + start * self.order.item_bytes)

    def merge(self, runs: Sequence[Run], out: int) -> None:
        self.merged += 1
        both = np.concatenate([self.at(run) for run in runs])
        self.at((out, len(both)))[:] = both[np.argsort(both // 1000, kind="stable")]

    def count_digits(self, macros: Any, *words: int) -> None:
        self.sorted += 1

    def sort_radix(self, macros: Any, items: int, out: int, scratch: int, count: int, digit: int, *rest: int) -> None:
        # Items in a buffer lie where all passes, if all are needed, begin.
        begin = scratch if self.order.prefix_bytes % 2 else out
        assert items in (begin, 0)
        assert scratch
        if digit == 0:
            self.merge([(items, count)], out)


def _runs(words: Sequence[int], fan_in: int) -> list[Run]:
    return list(zip(words[:fan_in], words[fan_in : 2 * fan_in], strict=True))


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("apart", [0, 1, 2])
@pytest.mark.parametrize("count", [2, 16, 17, 300])
@pytest.mark.parametrize("by_digits", [False, True])
def test_is_stable_and_spares_the_inputs(
    width: int, apart: int, count: int, by_digits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thousands of an item are its key, and the rest says which one it is.

    apart: 0 if the runs touch each other, 1 if none does, 2 if every second one touches the one ahead of it.
    """
    monkeypatch.setattr(many_runs, "pays", lambda order, policy, runs, *rest: by_digits and runs > policy.fan_in)
    order = Order.of(f"uint{8 * width}")
    memory = Memory(order, 40_000)
    runs, at = [], 0
    for number in range(count):
        length = number * 5 % 7
        runs.append((at * width, length))
        memory.at(runs[-1])[:] = np.arange(length) // 2 * 1000 + number
        at += length + (apart if apart < 2 else number % 2)
    memory.allocations = runs
    before = memory.items[:at].copy()
    everything = np.concatenate([memory.at(run) for run in runs])
    policy = policy_of(order, count) if count > 16 else resolve(LaunchRequest(), order, TUNED_ON, count)
    merge = MergeOfMany(memory, policy)  # type: ignore[arg-type]
    taken: list[int] = []

    def take(nbytes: int) -> Any:
        taken.append(nbytes)
        return SimpleNamespace(ptr=20_000 * width if len(taken) == 1 else len(taken) << 40)

    for do, size, words, dependent in merge.steps(runs, 10_000 * width, take):
        if do is copy:
            memory.copy(words[0], words[1], size)
        elif do is not zeros:
            do(size, 0, words, dependent)
    out = memory.at((10_000 * width, len(everything)))
    assert (out == everything[np.argsort(everything // 1000, kind="stable")]).all()
    assert (memory.items[:at] == before).all()
    filled = sum(length > 0 for _, length in runs)
    assert taken[:1] == [-(-len(everything) * width // 16) * 16] * (filled > 16)
    assert memory.sorted == (by_digits and filled > 16)
