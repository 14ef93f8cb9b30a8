"""The units that are compiled ahead of some work are those that its launches need."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.gpu import (
    ahead,
    checking,
    folding,
    launching,
    many_runs,
    merging,
    module,
    policy,
    sorting,
    text_kernels,
)
from gpumerge_cli.backends.gpu.sort_policy import resolve_sort
from gpumerge_cli.backends.gpu.source import compiler_options, flatten, moves_rows, row_macros, text_macros
from gpumerge_cli.backends.gpu.tree import NO_TEXT
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.fake_driver import put_driver

ORDERS = [
    Order.of("int32"), Order.of("uint8"), Order.of("float64", descending=True), Order.records(12, 0, 8),
    Order.records(100, 0, 10), Order.lines(), Order.lines(LineOrder((LineKey("numeric"),))),
]  # fmt: skip
COUNTS = (2, 5000, 10**6, 3 * 10**8)
Units = set[tuple[str, Any]]


class Compiled:
    """The units that are begun, and those of launches. Nothing is compiled or launched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: Units = set()
        self.launched: Units = set()

        def function(device: int, file: str, name: str, macros: Any, largest: int) -> Any:
            self.launched.add((file, compiler_options(macros)))
            return SimpleNamespace(ptr=1)

        monkeypatch.setattr(module, "_function", function)
        monkeypatch.setattr(
            module, "begin_compiling", lambda file, options, capability: self.begun.add((file, options))
        )
        put_driver(monkeypatch)
        monkeypatch.setattr(checking, "current_stream", lambda: 0)
        for cache in (merging.merge_of, many_runs.merge_of_many, sorting.sort_of):
            cache.cache_clear()

    def ahead(self, order: Order, *arguments: Any, **more: Any) -> Units:
        """The units that are compiled ahead, but not those that make and gather rows."""
        self.begun.clear()
        ahead.compile_ahead(module.Kernels(0, order, TUNED_ON), *arguments, **more)
        rows = {("rows.cu", compiler_options(row_macros(order)))} if moves_rows(order) else set()
        text = set() if order.item_bytes else {("text.cu", compiler_options(text_macros()))}
        assert {unit for unit in self.begun if unit[0] in ("rows.cu", "text.cu")} == rows | text
        return self.begun - rows - text


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Compiled:
    return Compiled(monkeypatch)


def room(nbytes: int) -> Any:
    return SimpleNamespace(ptr=1 << 40)


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("kernel", ["path", "basic", "tiled", "circular"])
def test_merges(order: Order, kernel: Any, compiled: Compiled) -> None:
    for runs in (2, 7) if kernel == "path" else (2,):
        launch = policy.resolve(LaunchRequest(kernel), order, TUNED_ON, runs)
        for count in COUNTS:
            kernels = module.Kernels(0, order, TUNED_ON)
            compiled.launched.clear()
            given = [(0, count // 2), (1 << 20, count - count // 2)]
            launching.queue(many_runs.MergeOfMany(kernels, launch).steps(given, 1 << 30, room), 0)
            assert compiled.ahead(order, launch, count) == compiled.launched
            checking.Checks(kernels).check((0, count), 0, 0)
            assert compiled.ahead(order, launch, count, check=True) == compiled.launched


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
def test_the_kernel_that_finds_equal_items(order: Order, compiled: Compiled) -> None:
    """It is compiled ahead without a check of the order, too."""
    for chosen in (policy.resolve(LaunchRequest(), order, TUNED_ON), resolve_sort(SortRequest(), order, TUNED_ON, 0)):
        without = set(compiled.ahead(order, chosen, 5000))
        compiled.launched.clear()
        launching.queue(checking.Checks(module.Kernels(0, order, TUNED_ON)).places((0, 5000), Equals.FIRST, 0), 0)
        assert compiled.ahead(order, chosen, 5000, equals=Equals.FIRST) == without | compiled.launched


@pytest.mark.parametrize("order", [Order.records(100, 0, 10), Order.lines()], ids=Order.describe)
def test_all_kernels_for_text_are_in_its_steps(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "begin_compiling", lambda *unit: None)
    named: list[str] = []
    kernels, ready = module.Kernels(0, order, TUNED_ON), module.Kernels.ready
    monkeypatch.setattr(
        module.Kernels,
        "ready",
        lambda self, name, *rest, **more: named.append(name) or ready(self, name, *rest, **more),
    )
    for _ in text_kernels.TextKernels(kernels).steps(10**6, room):
        pass
    files = ["rows.cu"] if order.item_bytes else ["text.cu", "rows.cu"]
    there = {name for file in files for name in re.findall(r"__launch_bounds__\(\w+\)\s+(\w+)\(", flatten(file))}
    of_records = set() if order.item_bytes else {"gather_records"}
    assert set(named) == there - of_records


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("equals", [Equals.UNION, Equals.DISTINCT_SYMMETRIC])
def test_sets(order: Order, equals: Equals, compiled: Compiled) -> None:
    for runs in (2, 3):
        kernels = module.Kernels(0, order, TUNED_ON)
        compiled.launched.clear()
        launch = folding.set_policy(order, TUNED_ON, runs)
        walk = folding.Fold(kernels, equals, runs)._walk
        launching.queue(walk.steps([(0, 5), (1 << 20, 7)], (1 << 30, 12), ([], 0), room, NO_TEXT, 0), 0)
        assert compiled.ahead(order, launch, 5000, equals=equals) == compiled.launched
        checking.Checks(kernels).check((0, 5000), 0, 0)
        assert compiled.ahead(order, launch, 5000, check=True, equals=equals) == compiled.launched


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("algorithm", ["merge", "bottom-up", "iterative", "recursive", "radix"])
def test_sorts(order: Order, algorithm: Any, compiled: Compiled) -> None:
    for count in (*COUNTS, 3 << 30):
        try:
            chosen = resolve_sort(SortRequest(algorithm), order, TUNED_ON, 0)
        except UsageError:
            assert algorithm == "radix"
            return
        if algorithm in ("iterative", "recursive") and count > 5000:
            return
        compiled.launched.clear()
        sort = sorting.Sort(module.Kernels(0, order, TUNED_ON), chosen)
        launching.queue(sort.steps((0, count), 1 << 40, room), 0)
        assert compiled.ahead(order, chosen, count) == compiled.launched


@pytest.mark.parametrize("runs", [17, 64, 1000])
def test_merges_of_many_runs(runs: int, compiled: Compiled) -> None:
    """The units of the steps, and no others: those of passes, or those of digits."""
    for dtype in ("int32", "int16"):
        order = Order.of(dtype)
        launch = replace(policy.resolve(LaunchRequest(), order, TUNED_ON, runs), runs=runs)
        for count in (1 << 22, 1 << 28):
            compiled.launched.clear()
            kernels = module.Kernels(0, order, TUNED_ON)
            edges = [count * run // runs for run in range(runs + 1)]
            given = [(order.width * start, end - start) for start, end in pairwise(edges)]
            launching.queue(many_runs.MergeOfMany(kernels, launch).steps(given, 1 << 40, room), 0)
            assert compiled.ahead(order, launch, count) == compiled.launched
            files = {file for file, _ in compiled.launched}
            if dtype == "int16":
                assert files == {"count_digits.cu", "sort_radix.cu"}
            else:
                assert files - {"partition.cu"} == {"merge_path.cu", "write_words.cu"}
