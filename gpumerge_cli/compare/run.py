"""A comparison: all variants and library baselines on the runs of a few files, right first, then timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

from gpumerge_cli.backends.base import (
    ALGORITHMS,
    Bytes,
    LaunchRequest,
    SortRequest,
    judge_recursion,
)
from gpumerge_cli.backends.compared import ComparedBackend, ComparedWorkspace
from gpumerge_cli.backends.variants import NAMES
from gpumerge_cli.compare.contest import Contest, contest, environment
from gpumerge_cli.compare.launches import launches
from gpumerge_cli.compare.oracle import oracle
from gpumerge_cli.compare.stats import with_ratios
from gpumerge_cli.compare.whole import whole_sorts
from gpumerge_cli.errors import UsageError
from gpumerge_cli.report.compared import CompareReport

if TYPE_CHECKING:
    from gpumerge_cli.engine.load import LoadedRuns
    from gpumerge_cli.engine.request import SortFilesRequest


def compare(
    loaded: LoadedRuns,
    backend: ComparedBackend,
    launch: LaunchRequest,
    *,
    repeat: int = 5,
    threads: int = 1,
    version: str = "",
) -> CompareReport:
    """Run and time every variant that `launch` leaves open on the runs of `loaded`, `repeat` times each.

    The runs must be in order. Raises UsageError if there is nothing to merge or no kernel can be launched as asked. A
    variant with a wrong output is no error here: its row says so, and it is not timed.
    """
    order, total = loaded.order, sum(run.size for run in loaded.runs)
    if total == 0:
        raise UsageError("--compare: the inputs are empty", way_out="name inputs with items in them")
    policies = launches(backend, order, launch, len(loaded.runs))
    truth = oracle(loaded.runs, order, threads=threads)
    workspace = backend.workspace(order, total, threads=threads)
    try:
        _upload(workspace, loaded.runs)
        found = contest(workspace, policies, truth, total, repeat)
    finally:
        workspace.close()
    return _report(loaded, backend, found, total, repeat, version)


def _report(
    loaded: LoadedRuns, backend: ComparedBackend, found: Contest, total: int, repeat: int, version: str
) -> CompareReport:
    info = backend.info()
    ceiling = median(found.copies)
    basic = next((median(row.seconds) for row in found.rows if row.name == NAMES[0] and row.seconds), 0.0)
    return CompareReport(
        inputs=loaded.inputs,
        items=sum(file.items for file in loaded.inputs),
        order=loaded.order.describe(),
        backend=backend.name,
        device=info.name,
        repeat=repeat,
        copy_seconds=found.copies,
        copy_nbytes=2 * total,
        rows=tuple(with_ratios(row, ceiling, basic) for row in found.rows),
        environment={**environment(), **info.details},
        version=version,
    )


def compare_sorts(
    loaded: LoadedRuns,
    backend: ComparedBackend,
    request: SortRequest,
    *,
    files: SortFilesRequest | None = None,
    repeat: int = 5,
    threads: int = 1,
    version: str = "",
) -> CompareReport:
    """Run and time every algorithm, or the one that `request` names, on all items of `loaded` in memory.

    files: what `loaded` was loaded from; then whole sorts of these files are timed, too. What an algorithm refuses at
    this size is not run. Raises UsageError as compare does.
    """
    order, total = loaded.order, sum(run.size for run in loaded.runs)
    if total == 0:
        raise UsageError("--compare: the inputs are empty", way_out="name inputs with items in them")
    policies, asked, refused = [], [], None
    for name in ALGORITHMS if request.algorithm == "auto" else (request.algorithm,):
        # The kernel asked for is one to merge with; what has no use for it runs as it does.
        launch = request.launch if name in ("merge", "bottom-up") else LaunchRequest()
        try:
            if name == "recursive":  # of lines nobody else knows how many they are
                judge_recursion(sum(file.items for file in loaded.inputs))
            policies.append(backend.resolve_sort(SortRequest(name, launch), order, total))
            asked.append(SortRequest(name, launch))
        except UsageError as error:
            refused = error
    if not policies:
        assert refused is not None
        raise refused
    truth = oracle(loaded.runs, order, threads=threads)
    workspace = backend.workspace(order, total, threads=threads)
    try:
        _upload(workspace, loaded.runs)
        found = contest(workspace, policies, truth, total, repeat)
    finally:
        workspace.close()
    report = replace(_report(loaded, backend, found, total, repeat, version), command="sort")
    if files is None:
        return report
    return replace(report, rows=whole_sorts(files, backend, asked, report.rows, threads=threads))


def _upload(workspace: ComparedWorkspace, runs: Sequence[Bytes]) -> None:
    staging = workspace.staging(sum(run.size for run in runs))
    start = 0
    for run in runs:
        staging[start : start + run.size] = run
        start += run.size
    workspace.upload([run.size for run in runs])
