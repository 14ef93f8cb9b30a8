"""A comparison: all variants and library baselines on the runs of a few files, right first, then timed."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from gpumerge_cli.backends.compared import ComparedBackend, ComparedWorkspace
from gpumerge_cli.backends.ladder import NAMES
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.compare.contest import Effort, contest, environment, with_ratios
from gpumerge_cli.compare.file_sorts import whole_sorts
from gpumerge_cli.compare.launches import launches
from gpumerge_cli.compare.oracle import oracle
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import ALGORITHMS, LaunchPolicy, LaunchRequest, SortPolicy, SortRequest, check_recursion
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.results.compared import CompareReport
from gpumerge_cli.results.origin import origin_now

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.engine.load import LoadedRuns


def compare_kernels(
    loaded: LoadedRuns,
    backend: ComparedBackend,
    launch: LaunchRequest,
    effort: Effort,
) -> CompareReport:
    """Run and time every variant that `launch` leaves open on the runs of `loaded`.

    The runs must be in order. Raises UsageError if there is nothing to merge or no kernel can be launched as requested.
    A variant with a wrong output raises nothing: its row says so, and it is not timed.
    """
    _refuse_empty(loaded)
    policies = launches(backend, loaded.order, launch, len(loaded.runs))
    return _compared(loaded, backend, policies, effort)


def _refuse_empty(loaded: LoadedRuns) -> None:
    if not any(run.size for run in loaded.runs):
        raise UsageError("--compare: the inputs are empty", way_out="name inputs with items in them")


def _compared(
    loaded: LoadedRuns,
    backend: ComparedBackend,
    policies: Sequence[LaunchPolicy | SortPolicy],
    effort: Effort,
    equals: Equals = Equals.ALL,
) -> CompareReport:
    total = sum(run.size for run in loaded.runs)
    truth = oracle(loaded.runs, loaded.order, equals, threads=effort.threads)
    workspace = backend.workspace(loaded.order, total, threads=effort.threads)
    try:
        _upload(workspace, loaded.runs)
        found = contest(workspace, policies, truth, total, effort.repeat, equals)
    finally:
        workspace.close()
    info = backend.info()
    ceiling = median(found.copies)
    basic = next((median(row.seconds) for row in found.rows if row.name == NAMES[0] and row.seconds), 0.0)
    return CompareReport(
        inputs=loaded.inputs,
        items=sum(file.items for file in loaded.inputs),
        order=loaded.order.describe(),
        backend=backend.name,
        device=info.name,
        repeat=effort.repeat,
        copy_seconds=found.copies,
        copy_nbytes=2 * total,
        rows=tuple(with_ratios(row, ceiling * row.nbytes / (2 * total), basic) for row in found.rows),
        environment=environment(backend),
        version=effort.version,
        origin=origin_now("comparison of kernels and libraries"),
    )


def compare_sets(loaded: LoadedRuns, backend: ComparedBackend, equals: Equals, effort: Effort) -> CompareReport:
    """Make the set `equals` of the runs of `loaded` by the backend and by libraries, and time it.

    The runs must be in order. Raises UsageError if there are no items.
    """
    _refuse_empty(loaded)
    policy = backend.resolve(LaunchRequest(), loaded.order, len(loaded.runs), equals)
    command = f"{equals.name_of_set}{' --distinct' * equals.is_distinct}"
    return replace(_compared(loaded, backend, [policy], effort, equals), command=command)


def compare_sorts(
    loaded: LoadedRuns,
    backend: ComparedBackend,
    request: SortRequest,
    effort: Effort,
    files: Job | None = None,
) -> CompareReport:
    """Run and time every algorithm, or the one that `request` names, on all items of `loaded` in memory.

    files: the sort of the files that `loaded` comes from; whole sorts of these are timed, too. Algorithms that refuse
    this size are not run. Raises UsageError as `compare_kernels` does.
    """
    _refuse_empty(loaded)
    total = sum(run.size for run in loaded.runs)
    policies, requests, refused = [], [], None
    for name in ALGORITHMS if request.algorithm == "auto" else (request.algorithm,):
        # Algorithms that do not merge do not use the requested launch.
        launch = request.launch if name in ("merge", "bottom-up") else LaunchRequest()
        try:
            if name == "recursive":  # the number of lines is known only here
                check_recursion(sum(file.items for file in loaded.inputs))
            policies.append(backend.resolve_sort(SortRequest(name, launch), loaded.order, total))
            requests.append(SortRequest(name, launch))
        except UsageError as error:
            refused = error
    if not policies:
        assert refused is not None
        raise refused
    report = replace(_compared(loaded, backend, policies, effort), command="sort")
    if files is None:
        return report
    return replace(report, rows=whole_sorts(files, backend, requests, report.rows, threads=effort.threads))


def _upload(workspace: ComparedWorkspace, runs: Sequence[Bytes]) -> None:
    staging = np.asarray(workspace.staging(sum(run.size for run in runs)))
    start = 0
    for run in runs:
        staging[start : start + run.size] = run
        start += run.size
    workspace.upload([run.size for run in runs])
