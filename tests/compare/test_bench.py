"""Benches: the cases are as planned, the runs have their shapes, and every contestant is checked before it is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.compare import bench as benches
from gpumerge_cli.compare.bench import measure_cases
from gpumerge_cli.compare.bench_cases import MERGED_SHAPES, SHUFFLED, Axes, Case, items_named, preset
from gpumerge_cli.compare.contest import Effort
from gpumerge_cli.errors import DeviceMemoryError, Interrupted, UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.results.compared import BenchRow
from tests.reference import ReferenceBackend, ReferenceWorkspace
from tests.rungs import GPU_RUNGS, RUNGS


def kernels_of(backend: Backend) -> list[str]:
    """The rungs for int32, of which a newer device runs path in two ways. The reference has one way of everything."""
    if isinstance(backend, ReferenceBackend):
        return list(KERNELS)
    if backend.name == "cpu":
        by_vectors = backend.resolve(LaunchRequest("vector"), items_named("int32").order).kernel == "vector"
        return [rung for rung in RUNGS if by_vectors or rung != "vector"]
    found = list(GPU_RUNGS)
    if backend.resolve(LaunchRequest("path"), items_named("int32").order, 2).transfer == "bulk":
        found.insert(found.index("path"), "path, vector loads")
    return found


@pytest.mark.parametrize("shape", MERGED_SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("runs", [1, 2, 5])
def test_runs_are_sorted_and_fill_the_memory(shape: str, dtype: str, runs: int) -> None:
    case = Case(items_named(dtype), shape, runs, 5003)
    staging = np.full(case.nbytes, 0xA5, np.uint8)
    made = case.fill(staging, 7, 3)
    order = Order.of(dtype)
    assert [run.size // order.width for run in made] == list(case.lengths)
    assert 5003 - runs < sum(case.lengths) <= 5003
    assert b"".join(run.tobytes() for run in made) == staging.tobytes()
    for run in made:
        images = order.image(run.view(dtype))
        assert (images[1:] >= images[:-1]).all()
    again = np.empty(case.nbytes, np.uint8)
    case.fill(again, 7, 1)
    assert again.tobytes() == staging.tobytes()


def test_shuffled_keys_are_one_run_in_no_order() -> None:
    case = Case(items_named("int32"), SHUFFLED, 1, 5003)
    staging = np.empty(case.nbytes, np.uint8)
    (run,) = case.fill(staging, 7, 3)
    keys = run.view(np.int32)
    assert keys.size == 5003
    assert (keys[1:] < keys[:-1]).sum() > 1000
    with pytest.raises(UsageError, match="2 shuffled runs cannot be merged; use 1"):
        Case(items_named("int32"), SHUFFLED, 2, 5003)
    assert {(one.shape, one.runs) for one in Axes(("int8",), (9,), ("few", SHUFFLED), (2, 3)).cases()} == {
        ("few", 2), ("few", 3), (SHUFFLED, 1),
    }  # fmt: skip


def test_tiny_runs_are_tiny() -> None:
    items = items_named("int32")
    assert Case(items, "tiny", 2, 1 << 20).lengths == ((1 << 20) - 512, 512)
    assert Case(items, "tiny", 3, 10).lengths == (8, 1, 1)
    assert Case(items, "uniform", 3, 10).lengths == (3, 3, 3)


@pytest.mark.parametrize(
    ("case", "words"),
    [(("round", 2, 10), "'round'"), (("uniform", 0, 10), "0 runs"), (("uniform", 4, 3), "too few for 4 runs")],
)
def test_what_is_no_case(case: tuple[str, int, int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Case(items_named("int32"), *case)


@pytest.mark.parametrize("name", ["complex64", "int33", "int33+4"])
def test_what_are_no_items(name: str) -> None:
    with pytest.raises(UsageError, match="not a dtype"):
        items_named(name)


def test_a_key_with_a_payload_is_a_small_record() -> None:
    found = items_named("int32+8")
    assert (found.name, found.nbytes) == ("int32+8", 12)
    assert found.order == Order.records(12, 0, np.dtype("int32"))
    with pytest.raises(UsageError, match="'\\+4' has no key"):
        items_named("+4")
    for name in ("int32+", "int32+0", "int32+x"):
        with pytest.raises(UsageError, match="has no payload size"):
            items_named(name)


def test_the_cases_of_axes_are_their_product() -> None:
    cases = Axes(("int32", "float16"), (10, 20), ("uniform", "few"), (2, 3)).cases()
    assert len(cases) == len(set(cases)) == 16
    assert cases[0].describe() == "int32, uniform, 2 runs, 10 items"


@pytest.mark.parametrize("backend", ["gpu", "cpu", "reference"])
@pytest.mark.parametrize("quick", [False, True])
def test_presets_vary_every_axis_once(backend: str, quick: bool) -> None:
    found = preset(backend, quick=quick)
    cases = found.cases()
    assert len(cases) == len(set(cases))
    swept = found.swept
    for axis, values in {
        "shape": set(swept.shapes),
        "runs": set(swept.runs),
        "size": set(swept.sizes),
    }.items():
        assert {getattr(case, axis) for case in cases} == values
    assert {case.items.name for case in cases} == set(swept.items)
    assert len(cases) < 30


def test_presets_merge_records_of_no_more_than_can_be_sorted_to_judge_them() -> None:
    for name, size in (("gpu", 1 << 24), ("cpu", 1 << 24)):
        cases = preset(name, quick=False).cases()
        records = {(case.items.name, case.size) for case in cases if case.items.order.record}
        assert records == {("int32+4", size), ("int64+8", size)}
        assert not any(case.items.order.record for case in preset(name, quick=True).cases())


def rows_of(backend: Backend, *cases: Case, **keywords: Any) -> list[BenchRow]:
    return list(measure_cases(cases, backend, Effort(2, 2), **keywords).rows)


@pytest.mark.parametrize("runs", [1, 2, 3, 8])
@pytest.mark.parametrize("shape", MERGED_SHAPES)
def test_every_contestant_is_right_and_timed(backend: Backend, shape: str, runs: int) -> None:
    case = Case(items_named("float32"), shape, runs, 3000)
    told: list[Any] = []
    report = measure_cases([case], backend, Effort(2, 2, 3, "1"), on_case=lambda *seen: told.append(seen))
    assert report.backend == backend.name
    assert (report.repeat, report.seed, report.threads, report.version) == (2, 3, 2, "1")
    assert report.environment["numpy"] == np.__version__
    assert report.wrong == ()
    names = [row.name for row in report.rows if row.role == "kernel"]
    assert names == kernels_of(backend)
    libraries = [row.name for row in report.rows if row.role == "library"]
    if backend.name == "gpu":
        assert libraries[0] == "cupy.sort"
        if "left out" not in report.environment["CCCL"]:
            assert libraries[1:] == ["cccl tree" if runs > 2 else "cccl"]
    elif backend.name == "cpu":
        assert "numpy stable sort" in libraries
    assert [row.name for row in report.rows if row.role == "copy"] == ["copy"]
    for row in report.rows:
        assert row.case == ("float32", shape, runs, 3000)
        assert row.problem == ""
        assert len(row.seconds) == 2
        assert row.nbytes == 2 * case.nbytes == 2 * 4 * row.count
        assert 0 < row.ceiling < float("inf")
        assert row.share_of_copy == row.ceiling / row.median
        assert row.throughput == row.nbytes / row.median
        assert row.judged_by == ("" if row.role == "copy" else "stable sort")
    assert told == [(1, 1, case, list(report.rows))]


@pytest.mark.parametrize("items", ["uint16", "float32", "int32+4"])
def test_shuffled_items_are_sorted(backend: Backend, items: str) -> None:
    report = measure_cases([Case(items_named(items), SHUFFLED, 1, 3000)], backend, Effort(2, 2))
    assert report.wrong == ()
    names = [row.name for row in report.rows if row.role == "kernel" and row.seconds]
    assert "merge" in names
    assert set(names) <= {"merge", "radix"}
    libraries = {row.name for row in report.rows if row.role == "library"}
    if backend.name == "gpu" and "left out" not in report.environment["CCCL"]:
        assert {"cccl radix sort", "cccl merge sort"} <= libraries
    assert all(row.shape == SHUFFLED and row.runs == 1 for row in report.rows)


def test_kernels_are_those_asked_for(backend: Backend) -> None:
    rows = rows_of(
        backend, Case(items_named("int16"), "uniform", 2, 100), kernels=("path", "tiled")
    )  # run in the ladder's order
    found = [row.name for row in rows if row.role == "kernel"]
    assert found == [name for name in kernels_of(backend) if name.startswith(("tiled", "path"))]


def test_many_keys_are_judged_by_sums(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpumerge_cli.compare.oracle.SORTED", 1000)
    rows = rows_of(backend, Case(items_named("float16"), "few", 3, 50_000))
    assert {row.judged_by for row in rows} == {"order and sums", ""}
    assert all(row.right and row.seconds for row in rows)


@pytest.mark.parametrize("nbytes", [1, 1000, 1 << 20])
def test_the_ceiling_of_copies(backend: Backend, nbytes: int) -> None:
    assert 0 < backend.copy_ceiling(nbytes, threads=2) < 10


class WithCccl(ReferenceBackend):
    """A backend with two ways of CCCL, one much slower than the other, and a fixed clock."""

    def versions(self) -> dict[str, str]:
        return {"CCCL": "3.6.0"}

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ReferenceWorkspace:
        return Clocked(order, capacity)


class Clocked(ReferenceWorkspace):
    def baselines(self) -> Mapping[str, Callable[[], None]]:
        return {name: partial(self._as_kernel, name) for name in ("cccl slow", "cccl")}

    def _as_kernel(self, name: str) -> None:
        super().merge(LaunchPolicy("path", 1, 1))

    def time(self, work: Callable[[], None]) -> float:
        work()
        of_library = getattr(work, "args", ("",))[0]
        return {"cccl slow": 8.0, "cccl": 3.0}.get(of_library, 2.0)


def test_rows_are_held_against_the_fastest_way_of_cccl() -> None:
    report = measure_cases([Case(items_named("int32"), "uniform", 2, 100)], WithCccl(), Effort(1), kernels=("path",))
    assert report.environment["CCCL"] == "3.6.0"
    found = {row.name: row.times_cccl for row in report.rows}
    assert found == {"path": 1.5, "cccl slow": 0.375, "cccl": 1.0, "copy": 0.0}


class Workspace(ReferenceWorkspace):
    """A backend with a wrong circular kernel, and a library that needs more memory than there is."""

    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL) -> None:
        super().merge(policy, equals)
        if policy.kernel == "circular":
            self._out = self._out[::-1].copy()

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        def huge() -> None:
            raise MemoryError

        return {"huge": huge}


class Broken(ReferenceBackend):
    def copy_ceiling(self, nbytes: int, *, threads: int = 1) -> float:
        raise DeviceMemoryError("none left")

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ReferenceWorkspace:
        if capacity > 1000:
            raise DeviceMemoryError("out of memory")
        return Workspace(order, capacity)


def by_name(rows: Sequence[BenchRow]) -> dict[str, BenchRow]:
    return {row.name: row for row in rows}


def test_what_is_wrong_is_told_and_not_timed() -> None:
    report = measure_cases([Case(items_named("int32"), "uniform", 2, 100)], Broken(), Effort(2))
    rows = by_name(report.rows)
    assert [row.name for row in report.wrong] == ["circular"]
    assert rows["circular"].seconds == rows["huge"].seconds == ()
    assert rows["circular"].median == rows["huge"].share_of_copy == 0
    assert rows["huge"].problem == "not enough memory"
    # With no room for other places, the workspace's own is the best.
    assert rows["copy"].share_of_copy == 1


def test_a_case_without_room_is_told_and_the_next_one_runs() -> None:
    large, small = (Case(items_named("int32"), "uniform", 2, size) for size in (1000, 100))
    report = measure_cases([large, small], Broken(), Effort(2))
    first = [row for row in report.rows if row.size == 1000]
    assert [row.name for row in first] == kernels_of(Broken())
    assert {row.problem for row in first} == {"out of memory"}
    assert all(row.right for row in first)
    assert by_name(report.rows[len(first) :])["path"].seconds


def test_a_case_beyond_the_machines_memory_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benches, "available_memory", lambda: 1000)
    (row, *_) = rows_of(ReferenceBackend(), Case(items_named("int8"), "uniform", 2, 200))
    assert row.problem == "needs 1.80 kB of host memory, 1.00 kB are available"


@pytest.mark.parametrize(
    ("items", "runs", "size", "measured"),
    [
        ("uint8", 2, 8_000_000, 8.7),
        ("int32", 2, 8_000_000, 7.1),
        ("int32", 8, 8_000_000, 9.8),
        ("uint8", 8, 8_000_000, 14.4),
        ("int64", 2, 8_000_000, 6.7),
        ("float64", 8, 8_000_000, 13.9),
        ("int8+1", 8, 8_000_000, 27.9),
        ("int64+8", 8, 8_000_000, 7.2),
        ("int64+92", 8, 8_000_000, 4.6),
        ("uint8", 2, 34_000_000, 6.6),
        ("int32", 2, 34_000_000, 4.6),
        ("int32", 8, 34_000_000, 7.8),
        ("float64", 2, 20_000_000, 4.6),
        ("float64", 8, 20_000_000, 7.8),
        ("float16", 2, 8_000_000, 10.2),
        ("float64", 2, 8_000_000, 10.1),
        ("int8+1", 2, 8_000_000, 19.2),
        ("int32+4", 2, 8_000_000, 7.9),
        ("int32+4", 8, 8_000_000, 9.8),
        ("int64+8", 2, 8_000_000, 6.3),
        ("int64+92", 2, 8_000_000, 4.8),
    ],
)
def test_the_memory_that_is_asked_for_is_what_was_measured_and_a_little_more(
    items: str, runs: int, size: int, measured: float
) -> None:
    """measured: growth of the resident set, in bytes of all runs, on the CPU backend."""
    case = Case(items_named(items), "uniform", runs, size)
    assert measured < case.footprint / case.nbytes < 1.6 * measured


def test_a_signal_ends_it_with_the_cases_so_far() -> None:
    cases = [Case(items_named("int8"), "uniform", runs, 20) for runs in (1, 2, 3)]

    def stop(done: int, total: int, case: Case, rows: Sequence[BenchRow]) -> None:
        if done == 2:
            raise Interrupted(15)

    report = measure_cases(cases, ReferenceBackend(), Effort(1), on_case=stop)
    assert report.stopped == 15
    assert {row.runs for row in report.rows} == {1, 2}


def test_a_signal_before_the_first_case_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(case: Case) -> None:
        raise Interrupted(2)

    monkeypatch.setattr(benches, "_check_room", stop)
    with pytest.raises(Interrupted):
        rows_of(ReferenceBackend(), Case(items_named("int8"), "uniform", 2, 20))
