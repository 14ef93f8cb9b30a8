"""A bench: all variants and libraries, compared in each of its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from math import inf
from statistics import median

import numpy as np

from gpumerge_cli.backends.compared import ComparedBackend, ComparedWorkspace
from gpumerge_cli.backends.ladder import NAMES as KERNELS
from gpumerge_cli.compare.bench_cases import Case
from gpumerge_cli.compare.contest import Effort, contest, environment, untimed_row, with_ratios
from gpumerge_cli.compare.launches import variants
from gpumerge_cli.compare.oracle import oracle
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.resources import available_memory
from gpumerge_cli.errors import DeviceMemoryError, Interrupted, UsageError
from gpumerge_cli.launch import Algorithm, KernelName, LaunchPolicy, SortPolicy, SortRequest
from gpumerge_cli.results.compared import CCCL, BenchReport, BenchRow, Measured
from gpumerge_cli.results.origin import origin_now
from gpumerge_cli.units import format_bytes

_SORTS: tuple[Algorithm, ...] = ("merge", "radix")
OnCase = Callable[[int, int, Case, Sequence[BenchRow]], None]
"""Called after each case: how many are done, how many there are, the case and its rows."""


def measure_cases(
    cases: Sequence[Case],
    backend: ComparedBackend,
    effort: Effort,
    *,
    kernels: Sequence[KernelName] = KERNELS,
    on_case: OnCase = lambda done, total, case, rows: None,
) -> BenchReport:
    """Run every case: the variants of `kernels` and all library baselines.

    A case that does not fit in memory is reported as not run, a wrong output as wrong. A signal ends the bench with the
    cases done so far. Raises Interrupted if there is none.
    """

    @cache
    def ceiling(nbytes: int) -> float:
        try:
            return backend.copy_ceiling(nbytes, threads=effort.threads)
        except (MemoryError, DeviceMemoryError):
            return inf

    rows: list[BenchRow] = []
    stopped = 0
    try:
        for done, case in enumerate(cases, 1):
            policies = _policies(case, backend, kernels)
            try:
                _check_room(case)
                found = _run(case, backend, policies, ceiling(case.nbytes), effort)
            except (MemoryError, DeviceMemoryError) as error:
                found = _not_run(case, policies, str(error) or "not enough memory")
            rows += found
            on_case(done, len(cases), case, found)
    except Interrupted as error:
        if not rows:
            raise
        stopped = error.signal_number
    info = backend.info()
    return BenchReport(
        backend.name,
        info.name,
        effort.repeat,
        effort.seed,
        effort.threads,
        tuple(rows),
        environment(backend),
        effort.version,
        stopped,
        origin=origin_now("bench of kernels and libraries"),
    )


def _policies(
    case: Case, backend: ComparedBackend, kernels: Sequence[KernelName]
) -> Sequence[LaunchPolicy | SortPolicy]:
    """The variants of `kernels`, or for a sort the algorithms that are fast at any size."""
    order = case.items.order
    if not case.sorts:
        return variants(backend, order, kernels, case.runs)
    found = []
    for algorithm in _SORTS:
        with suppress(UsageError):  # it does not sort such keys
            found.append(backend.resolve_sort(SortRequest(algorithm), order, case.nbytes))
    return found


def _check_room(case: Case) -> None:
    """Raise MemoryError for a case that would not fit: the system would end the process instead."""
    needed, available = case.footprint, available_memory()
    if needed > available:
        raise MemoryError(f"needs {format_bytes(needed)} of host memory, {format_bytes(available)} are available")


def _run(
    case: Case, backend: ComparedBackend, policies: Sequence[LaunchPolicy | SortPolicy], ceiling: float, effort: Effort
) -> list[BenchRow]:
    workspace: ComparedWorkspace = backend.workspace(case.items.order, case.nbytes, threads=effort.threads)
    try:
        runs = case.fill(np.asarray(workspace.staging(case.nbytes)), effort.seed, effort.threads)
        truth = oracle(runs, case.items.order, threads=effort.threads)
        workspace.upload([run.size for run in runs])
        found = contest(workspace, policies, truth, case.nbytes, effort.repeat)
    finally:
        workspace.close()
    copy = Measured("copy", "", True, found.copies, 2 * case.nbytes)
    # The merge's own memory is one more place.
    best = min(ceiling, median(found.copies))
    rows = _rows(case, found.rows, best, truth.how)
    return [*rows, replace(*_rows(case, [copy], best, ""), role="copy")]


def _rows(case: Case, measured: Iterable[Measured], ceiling: float, judged_by: str) -> list[BenchRow]:
    found = [_row(case, one, ceiling, judged_by) for one in measured]
    best = min((row.median for row in found if row.name.startswith(CCCL) and row.median > 0), default=0.0)
    return [replace(row, times_cccl=best / row.median if row.median > 0 else 0.0) for row in found]


def _row(case: Case, measured: Measured, ceiling: float, judged_by: str) -> BenchRow:
    one = with_ratios(measured, ceiling, 0.0)
    return BenchRow(
        items=case.items.name,
        shape=case.shape,
        runs=case.runs,
        size=case.size,
        count=sum(case.lengths),
        nbytes=one.nbytes,
        name=one.name,
        role="library" if one.library else "kernel",
        launch=one.launch,
        right=one.right,
        problem=one.problem,
        judged_by=judged_by,
        seconds=one.seconds,
        median=one.median,
        spread=one.spread,
        ceiling=ceiling,
        share_of_copy=one.share_of_copy,
    )


def _not_run(case: Case, policies: Sequence[LaunchPolicy | SortPolicy], problem: str) -> list[BenchRow]:
    return _rows(case, (replace(untimed_row(policy, case.nbytes), problem=problem) for policy in policies), 0.0, "")
