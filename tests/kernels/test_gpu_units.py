"""The units that are compiled ahead of some work are those that its launches need."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gpumerge_cli.backends.base import LaunchRequest, SortRequest
from gpumerge_cli.backends.gpu import policy
from gpumerge_cli.backends.gpu.sort_policy import resolve_sort
from gpumerge_cli.backends.gpu.sorting import Buffers, sort_items
from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order import Order
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.rules import LineKey, LineOrder

module = pytest.importorskip("gpumerge_cli.backends.gpu.module", reason="needs CuPy", exc_type=ImportError)
launching = pytest.importorskip("gpumerge_cli.backends.gpu.launching", reason="needs CuPy", exc_type=ImportError)
radix = pytest.importorskip("gpumerge_cli.backends.gpu.radix", reason="needs CuPy", exc_type=ImportError)
folding = pytest.importorskip("gpumerge_cli.backends.gpu.folding", reason="needs CuPy", exc_type=ImportError)
units_of = pytest.importorskip("gpumerge_cli.backends.gpu.units", reason="needs CuPy", exc_type=ImportError).units_of

ORDERS = [
    Order.of("int32"), Order.of("uint8"), Order.of("float64", descending=True), Order.records(12, 0, 8),
    Order.records(100, 0, 10), Order.lines(), Order.lines(LineOrder((LineKey("numeric"),))),
]  # fmt: skip
COUNTS = (2, 5000, 10**6, 3 * 10**8)
Launched = set[tuple[str, Any]]


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Launched:
    """The units of all launches. Nothing is compiled or launched."""
    found: Launched = set()

    class Function:
        ptr = 0

        def __call__(self, *arguments: Any, **more: Any) -> None: ...

    def function(device: int, file: str, name: str, macros: Any, largest: int) -> Any:
        found.add((file, macros))
        return Function()

    memory = SimpleNamespace(data=SimpleNamespace(ptr=0), ptr=0)
    runtime = SimpleNamespace(memsetAsync=lambda *arguments: None)

    def ready(find: Any, *shape: int) -> Any:
        find()
        return launching.Launch(find, *shape)

    monkeypatch.setattr(module, "_function", function)
    monkeypatch.setattr(module, "Launch", ready)
    monkeypatch.setattr(module, "begin", lambda *unit: None)
    monkeypatch.setattr(module, "cupy", SimpleNamespace(empty=lambda *shape: memory, int64=None))
    monkeypatch.setattr(module, "scratch_array", lambda *shape: memory)
    monkeypatch.setattr(module, "current_stream", lambda: 0)
    monkeypatch.setattr(radix, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(radix, "scratch", lambda *shape: memory)
    for launch in ("_launch_kernel", "launch_beside"):
        monkeypatch.setattr(launching, launch, lambda *arguments: None)
    return found


def ahead(order: Order, *arguments: Any, **more: Any) -> Launched:
    """The units that are compiled ahead, but not those that make and gather rows."""
    units = units_of(order, *arguments, **more)
    assert len(set(units)) == len(units)
    assert any(file == "rows.cu" for file, _ in units) == moves_rows(order)
    assert any(file == "text.cu" for file, _ in units) == (not order.item_bytes)
    return {unit for unit in units if unit[0] not in ("rows.cu", "text.cu")}


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("kernel", ["path", "basic", "tiled", "circular"])
def test_merges(order: Order, kernel: Any, launched: Launched) -> None:
    kernels = module.Kernels(0, order, TUNED_ON)
    for runs in (2, 7) if kernel == "path" else (2,):
        launch = policy.resolve(LaunchRequest(kernel), order, TUNED_ON, runs)
        for count in COUNTS:
            launched.clear()
            kernels.merge(launch, [(0, count // 2), (0, count - count // 2)], 0)
            assert ahead(order, launch, TUNED_ON, count) == launched
            kernels.check((0, count), 0, 0)
            assert ahead(order, launch, TUNED_ON, count, check=True) == launched


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("equals", [Equals.UNION, Equals.DISTINCT_SYMMETRIC])
def test_sets(order: Order, equals: Equals, launched: Launched) -> None:
    kernels = module.Kernels(0, order, TUNED_ON)
    for runs in (2, 3):
        launched.clear()
        launch = folding.set_policy(order, TUNED_ON, runs)
        folding.Fold(kernels, equals, runs)
        assert ahead(order, launch, TUNED_ON, 5000, equals=equals) == launched
        kernels.check((0, 5000), 0, 0)
        assert ahead(order, launch, TUNED_ON, 5000, check=True, equals=equals) == launched


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("algorithm", ["merge", "bottom-up", "radix"])
def test_sorts(order: Order, algorithm: Any, launched: Launched, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = module.Kernels(0, order, TUNED_ON)
    monkeypatch.setattr(kernels, "copy", lambda source, to, nbytes: None)
    for count in (*COUNTS, 3 << 30):
        try:
            sorting = resolve_sort(SortRequest(algorithm), order, TUNED_ON, 0)
        except UsageError:
            assert algorithm == "radix"
            return
        launched.clear()
        sort_items(kernels, sorting, (0, count), Buffers(0, 0, 16))
        assert ahead(order, sorting, TUNED_ON, count) == launched
