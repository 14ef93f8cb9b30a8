"""The launches of sets on a GPU, and the items that are counted there, with NumPy and a driver in name only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.gpu import checking, walks
from gpumerge_cli.backends.gpu.folding import Folds
from gpumerge_cli.backends.gpu.launching import Launch
from gpumerge_cli.backends.gpu.policy import item_bytes, partition_stretch
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.order.equals import CONTINUED, FOLLOWED, SINGLE, Equals
from gpumerge_cli.order.kinds import Order
from tests.fake_driver import FakeDriver, put_driver
from tests.fake_kernels import STREAM, memory, put_on_host

ORDERS = [Order.of("int32"), Order.records(12, 2, 6), Order.lines(), Order.records(100, 0, 10)]


class Launches:
    """Stands for Kernels: the kernels that it readies write down what they are told, and `kept` items go out."""

    limits = TUNED_ON

    def __init__(self, driver: FakeDriver, order: Order, kept: list[int]) -> None:
        self._driver, self.order, self.kept = driver, order, kept
        self.told: list[tuple[str, int, list[int]]] = []

    def ready(self, name: str, threads: int, macros: Any, shared: int = 0) -> Launch:
        def launch(blocks: int, stream: int, given: list[int], dependent: bool) -> None:
            assert stream == STREAM
            self.told.append((name, blocks, given))
            if name == "walk":
                memory(given[9], 8).view(np.int64)[0] = self.kept.pop(0)

        return Launch(lambda: self._driver.kernel(launch), threads, shared)


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
def test_walks_are_told_of_runs_and_their_text(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = Launches(put_on_host(monkeypatch), order, [70_000, 20_000])
    fold = Folds(kernels).of(Equals.UNION, 3)  # type: ignore[arg-type]
    runs, text = [(1 << 12, 50_000), (1 << 32, 40_000), (1 << 33, 30_000)], (1 << 40, 1 << 41)
    out, scratch = 1 << 42, 1 << 43
    taken: list[int] = []

    def take(nbytes: int) -> Any:
        taken.append(nbytes)
        return SimpleNamespace(ptr=scratch)

    assert fold(runs, out, take, text) == 20_000
    assert taken == [-(-120_000 * item_bytes(order) // 16) * 16]
    tile = walks.walk_shape(order, TUNED_ON).room
    (cut, first), (cut_again, last) = kernels.told[:2], kernels.told[2:]
    for cutting, walking, a, b, to in (
        (cut, first, runs[0], runs[1], scratch), (cut_again, last, (scratch, 70_000), runs[2], out),
    ):  # fmt: skip
        table, total = [a[0], b[0], a[1], b[1]], a[1] + b[1]
        edges = -(-total // tile) + 1
        name, blocks, (*given, cuts, number, stretch, length, at, starts) = cutting
        assert (name, given, number, length, (at, starts)) == ("partition", table, edges, tile, text)
        assert (blocks, stretch) == (-(-edges // stretch), partition_stretch(edges, 2, TUNED_ON))
        name, _, (*given, found, room, of_cuts, taken, said, _, at, starts) = walking
        assert (name, given, found, room, of_cuts, (at, starts)) == ("walk", table, to, total, cuts, text)
        assert said == taken + 8


class Array(np.ndarray[Any, Any]):
    """A NumPy array as far as it must be CuPy's."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)

    def get(self) -> Any:
        return np.asarray(self)


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("count", [0, 1, 2, 500])
def test_equals_are_counted(
    order: Order, count: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:  # fmt: skip
    """The first of equal neighbours go to the front. The kernel that marks them is NumPy's here."""
    width = item_bytes(order)
    memory_of = SimpleNamespace(
        UnownedMemory=lambda address, nbytes, owner: memory(address, nbytes),
        MemoryPointer=lambda held, offset: held[offset:],
    )

    def array_of(shape: tuple[int, int], dtype: str, memptr: Any) -> Any:
        return memptr.view(dtype).reshape(shape)

    cupy = SimpleNamespace(
        cuda=memory_of, empty=lambda count, dtype: np.empty(count, dtype).view(Array), uint8=np.uint8, bool_=np.bool_,
        ndarray=array_of, flatnonzero=lambda which: np.flatnonzero(which).view(Array),
    )  # fmt: skip
    monkeypatch.setattr(checking, "cupy", cupy)
    monkeypatch.setattr(checking, "current_stream", lambda: STREAM)
    driver = put_driver(monkeypatch)
    groups = np.cumsum(rng.integers(0, 2, count)) if count else np.arange(0)

    class Marks:
        """Stands for Kernels."""

        limits = TUNED_ON

        def ready(self, name: str, threads: int, *, file: str) -> Launch:
            def launch(blocks: int, stream: int, given: list[int], dependent: bool) -> None:
                address, items, rule, keeps, text, starts = given
                assert (name, file, address, items, text, starts) == (
                    "mark_places", "check.cu", there.ctypes.data, count, 3, 4
                )  # fmt: skip
                same = np.diff(groups) == 0
                ahead = np.concatenate([[bool(rule & CONTINUED)], same])
                behind = np.concatenate([same, [bool(rule & FOLLOWED)]])
                memory(keeps, items)[:] = rule // SINGLE >> (ahead + 2 * behind) & 1

            return Launch(lambda: driver.kernel(launch), threads)

    kernels = Marks()
    kernels.order = order  # type: ignore[attr-defined]
    checks = checking.Checks(kernels)  # type: ignore[arg-type]
    there = rng.integers(0, 256, (count, width), np.uint8)
    before = there.copy()
    found = checks.count_equals((there.ctypes.data, count), (3, 4))
    firsts, numbers = np.unique(groups, return_index=True, return_counts=True)[1:]
    assert found.tolist() == numbers.tolist()
    assert found.dtype == np.int64
    assert np.array_equal(there[: len(firsts)], before[firsts])
    if count:
        there[:] = before
        assert checks.keep((there.ctypes.data, count), Equals.FIRST, (3, 4)) == len(firsts)
        assert np.array_equal(there[: len(firsts)], before[firsts])
        there[:] = before
        assert checks.keep((there.ctypes.data, count), Equals.FIRST_CONTINUED, (3, 4)) == len(firsts) - 1
        assert np.array_equal(there[: len(firsts) - 1], before[firsts[1:]])
        there[:] = before
        lasts = firsts + numbers - 1
        assert checks.keep((there.ctypes.data, count), Equals.LAST_FOLLOWED, (3, 4)) == len(lasts) - 1
        assert np.array_equal(there[: len(lasts) - 1], before[lasts[:-1]])
