"""Comparisons: a result is checked first and then timed. A wrong one is shown as wrong and not timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.backends.variants.lookup import LADDER, requested_variant, variant_named
from gpumerge_cli.compare.contest import Effort, with_ratios
from gpumerge_cli.compare.oracle import oracle
from gpumerge_cli.compare.run import compare_kernels
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.results.compared import Measured
from gpumerge_cli.results.run import InputFile
from tests.linekeys import item_key
from tests.reference import ReferenceBackend, ReferenceWorkspace
from tests.rungs import RUNGS

INT32 = Order.of("int32")


@dataclass(frozen=True)
class Loaded:
    runs: list[np.ndarray]
    order: Order
    inputs: tuple[InputFile, ...]


def loaded(*runs: Sequence[int] | np.ndarray, order: Order = INT32) -> Loaded:
    arrays = [np.asarray(run, order.dtype) for run in runs]
    files = tuple(InputFile(f"{number}.bin", array.size, array.nbytes) for number, array in enumerate(arrays))
    return Loaded([array.view(np.uint8) for array in arrays], order, files)


def loaded_lines(*runs: bytes, order: Order) -> Loaded:
    files = tuple(InputFile(f"{number}.txt", run.count(b"\n"), len(run)) for number, run in enumerate(runs))
    return Loaded([np.frombuffer(run, np.uint8) for run in runs], order, files)


class FakeWorkspace(ReferenceWorkspace):
    """Gives wrong results where its backend says so, and counts its calls."""

    def __init__(self, order: Order, capacity: int, backend: FakeBackend) -> None:
        super().__init__(order, capacity)
        self._backend = backend

    def merge(self, policy: LaunchPolicy) -> None:
        self._backend.merged.append(policy)
        if policy.kernel in self._backend.failing:
            raise self._backend.failing[policy.kernel]
        if policy.kernel in self._backend.lazy:
            return
        super().merge(policy)
        if policy.kernel in self._backend.wrong:
            self._out = self._out[::-1].copy()

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        return {name: lambda name=name: self._baseline(name) for name in self._backend.libraries}

    def _baseline(self, name: str) -> None:
        if name == "huge":
            raise MemoryError
        super().merge(LaunchPolicy("path", 1, 1))
        if name == "broken":
            self._out = self._out[::-1].copy()


class FakeBackend(ReferenceBackend):
    name = "fake"

    def __init__(self, *wrong: str) -> None:
        self.wrong = wrong
        self.lazy: tuple[str, ...] = ()
        self.failing: dict[str, Exception] = {}
        self.libraries: tuple[str, ...] = ("library",)
        self.merged: list[LaunchPolicy] = []

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2) -> LaunchPolicy:
        if request.block_size and request.block_size > 1024:
            raise UsageError(f"--block-size {request.block_size}: at most 1024")
        if request.tile_size and "tile_size" not in requested_variant(replace(request, tile_size=None)).options:
            raise UsageError(f"--tile-size: the {request.kernel} kernel stages no tile")
        policy = super().resolve(request, order)
        load = request.tile_load or "full" if variant_named(policy.kernel).loads else None
        return replace(policy, block_size=request.block_size or 128, tile_size=request.tile_size or 0, tile_load=load)

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ReferenceWorkspace:
        return FakeWorkspace(order, capacity, self)


def run(backend: FakeBackend, data: Loaded, request: LaunchRequest | None = None) -> dict[str, Measured]:
    report = compare_kernels(data, backend, request or LaunchRequest(), Effort(3))  # type: ignore[arg-type]
    return {row.name: row for row in report.rows}


def test_all_variants_and_libraries_are_compared() -> None:
    report = compare_kernels(loaded([1, 3], [2, 4]), FakeBackend(), LaunchRequest(), Effort(3))  # type: ignore[arg-type]
    assert [row.name for row in report.rows] == [*RUNGS, "library"]
    assert all(row.right for row in report.rows)
    assert report.items == 4
    assert len(report.copy_seconds) == 3
    for row in report.rows:
        assert row.right
        assert len(row.seconds) == 3
        assert row.nbytes == report.copy_nbytes == 32
        assert row.median > 0
        assert row.share_of_copy > 0
        assert row.speed_up > 0
        assert row.library == (row.name == "library")
    assert report.rows[0].speed_up == pytest.approx(1)


@pytest.mark.parametrize("wrong", KERNELS)
def test_a_wrong_variant_is_shown_as_wrong_and_not_timed(wrong: str) -> None:
    backend = FakeBackend(wrong)
    rows = run(backend, loaded([1, 3], [2, 4]))
    for row in rows.values():
        assert row.right is not row.name.startswith(wrong)
        assert bool(row.seconds) is row.right
        assert bool(row.problem) is not row.right
    assert len([policy for policy in backend.merged if policy.kernel == wrong]) == (
        len(variant_named(wrong).loads) or 1
    )


def test_a_variant_that_leaves_the_output_of_the_one_before_is_caught() -> None:
    backend = FakeBackend()
    backend.lazy = ("circular",)
    assert not run(backend, loaded([1, 3], [2, 4]))["circular"].right


def test_a_failing_kernel_is_wrong_and_a_library_without_room_is_not_run() -> None:
    backend = FakeBackend()
    backend.failing = {"tiled": DeviceError("too much shared memory")}
    backend.libraries = ("huge", "broken")
    rows = run(backend, loaded([1], [2]))
    assert not rows["tiled full"].right
    assert rows["tiled full"].problem == "too much shared memory"
    assert rows["huge"].right
    assert rows["huge"].seconds == ()
    assert rows["huge"].problem == "not enough memory"
    assert not rows["broken"].right


def test_one_kernel_is_compared_with_basic() -> None:
    backend = FakeBackend()
    assert list(run(backend, loaded([1], [2]), LaunchRequest("circular"))) == ["basic", "circular", "library"]
    assert list(run(backend, loaded([1], [2]), LaunchRequest("basic"))) == ["basic", "library"]
    exact = list(run(backend, loaded([1], [2]), LaunchRequest(tile_load="exact")))
    assert exact == [*(rung for rung in RUNGS if not rung.endswith("full")), "library"]


def test_wishes_reach_the_kernels_that_can_take_them() -> None:
    backend = FakeBackend()
    run(backend, loaded([1], [2]), LaunchRequest(tile_size=64, block_size=32))
    shapes = {policy.kernel: (policy.block_size, policy.tile_size) for policy in backend.merged}
    assert shapes == {one.name: (32, 64 if "tile_size" in one.options else 0) for one in LADDER}


def test_a_wish_that_no_kernel_can_take_is_an_error() -> None:
    with pytest.raises(UsageError, match="--block-size 5000"):
        run(FakeBackend(), loaded([1], [2]), LaunchRequest(block_size=5000))


def test_a_wish_that_the_named_kernel_cannot_take_is_an_error() -> None:
    with pytest.raises(UsageError, match="stages no tile"):
        run(FakeBackend(), loaded([1], [2]), LaunchRequest("basic", tile_size=64))


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(UsageError, match="empty"):
        run(FakeBackend(), loaded([], []))


@pytest.mark.parametrize("numeric", [False, True])
@pytest.mark.parametrize("descending", [False, True])
def test_lines_are_compared(numeric: bool, descending: bool) -> None:
    order = Order.lines(numeric=numeric, descending=descending)
    runs = [b"".join(sorted([b"10\n", b"9\n", b"-3\n"], key=lambda line: item_key(order, line[:-1]))), b"7\n"]
    rows = run(FakeBackend("path"), loaded_lines(*runs, order=order))
    assert [name for name, row in rows.items() if not row.right] == ["path"]


class TestOracle:
    def judge(self, runs: list[np.ndarray], order: Order, merged: np.ndarray) -> tuple[bool, bool]:
        truth = oracle([run.view(np.uint8) for run in runs], order)
        return truth.exact(merged.view(np.uint8)), truth.equal_by_key(merged.view(np.uint8))

    def test_ties_that_differ_in_bytes_are_told_apart(self) -> None:
        runs = [np.array([-1.0, 0.0, 2.0]), np.array([-0.0, 3.0])]
        order = Order.of("float64")
        assert self.judge(runs, order, np.array([-1.0, 0.0, -0.0, 2.0, 3.0])) == (True, True)
        assert self.judge(runs, order, np.array([-1.0, -0.0, 0.0, 2.0, 3.0])) == (False, True)
        assert self.judge(runs, order, np.array([-1.0, 0.0, 0.0, 2.0, 3.0])) == (False, True)
        assert self.judge(runs, order, np.array([-1.0, 0.0, -0.0, 3.0, 2.0])) == (False, False)
        assert self.judge(runs, order, np.array([-1.0, 0.0, -0.0, 2.0])) == (False, False)

    @pytest.mark.parametrize("descending", [False, True])
    def test_it_agrees_with_a_stable_sort_of_positions(self, descending: bool) -> None:
        random = np.random.default_rng(0)
        order = Order.of("float32", descending=descending)
        values = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 1.0], np.float32)
        values = np.concatenate([values, np.array([0x7FC00001, 0xFFC00002], np.uint32).view(np.float32)])
        runs = []
        for _ in range(3):
            run = random.choice(values, 200)
            runs.append(run[np.argsort(order.image(run), kind="stable")])
        whole = np.concatenate(runs)
        merged = whole[np.argsort(order.image(whole), kind="stable")]
        assert self.judge(runs, order, merged) == (True, True)
        swapped = merged.copy()
        nans = np.flatnonzero(np.isnan(merged))
        swapped[nans] = merged[nans[::-1]]
        assert self.judge(runs, order, swapped) == (False, True)


def test_stats() -> None:
    row = with_ratios(Measured("path", "", True, (2.0, 1.0, 4.0)), ceiling=1.0, basic=6.0)
    assert (row.median, row.spread, row.share_of_copy, row.speed_up) == pytest.approx((2.0, 1.5, 0.5, 3.0))
    untimed = Measured("path", "", False)
    assert with_ratios(untimed, 1.0, 1.0) is untimed
