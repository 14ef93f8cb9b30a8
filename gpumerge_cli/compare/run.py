"""A comparison: all variants and library baselines on the same resident data, right first, then timed.

The repeats are interleaved: every round runs each contestant once, and the copy that they are held against, so that a
machine that slows down slows all of them.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from gpumerge_cli.backends.base import Backend, Bytes, LaunchPolicy, LaunchRequest, Workspace
from gpumerge_cli.compare.launches import launches
from gpumerge_cli.compare.oracle import Oracle, oracle
from gpumerge_cli.compare.stats import with_ratios
from gpumerge_cli.errors import DeviceError, GpumergeError, Interrupted, UsageError
from gpumerge_cli.report.model import CompareReport, Measured

if TYPE_CHECKING:
    from gpumerge_cli.engine.load import LoadedRuns


@dataclass(frozen=True)
class _Contestant:
    row: Measured
    work: Callable[[], None]


def compare(
    loaded: LoadedRuns,
    backend: Backend,
    launch: LaunchRequest,
    *,
    repeat: int = 5,
    threads: int = 1,
    version: str = "",
) -> CompareReport:
    """Run and time every variant that `launch` leaves open on the runs of `loaded`, `repeat` times each.

    The runs must be in order. Raises UsageError if there is nothing to merge or no kernel can be launched as asked. A
    variant with a wrong output is no error here: its row
    says so, and it is not timed.
    """
    order, total = loaded.order, sum(run.size for run in loaded.runs)
    if total == 0:
        raise UsageError("--compare: the inputs are empty", way_out="name inputs with items in them")
    policies = launches(backend, order, launch)
    workspace = backend.workspace(order, total, threads=threads)
    try:
        _upload(workspace, loaded.runs)
        contestants = [_Contestant(_row(policy, total), partial(workspace.merge, policy)) for policy in policies]
        contestants += [
            _Contestant(Measured(name, "", True, nbytes=2 * total, library=True), work)
            for name, work in workspace.baselines().items()
        ]
        truth = oracle(loaded.runs, order)
        judged = [_judged(contestant, workspace, truth) for contestant in contestants]
        rows, copies = _timed(judged, workspace, repeat)
    finally:
        workspace.close()
    info = backend.info()
    ceiling = median(copies)
    basic = next((median(row.seconds) for row in rows if row.name == "basic" and row.seconds), 0.0)
    return CompareReport(
        inputs=loaded.inputs,
        items=sum(file.items for file in loaded.inputs),
        order=order.describe(),
        backend=backend.name,
        device=info.name,
        repeat=repeat,
        copy_seconds=copies,
        copy_nbytes=2 * total,
        rows=tuple(with_ratios(row, ceiling, basic) for row in rows),
        environment={**_environment(), **info.details},
        version=version,
    )


def _row(policy: LaunchPolicy, total: int) -> Measured:
    name = f"tiled {policy.tile_load}" if policy.kernel == "tiled" else policy.kernel
    return Measured(name, policy.describe(), True, nbytes=2 * total)


def _upload(workspace: Workspace, runs: Sequence[Bytes]) -> None:
    staging = workspace.staging(sum(run.size for run in runs))
    start = 0
    for run in runs:
        staging[start : start + run.size] = run
        start += run.size
    workspace.upload([run.size for run in runs])


def _judged(contestant: _Contestant, workspace: Workspace, truth: Oracle) -> _Contestant:
    """The contestant with the verdict on its output. A library that the machine has no room for is not run."""
    row = contestant.row
    try:
        workspace.poison()
        contestant.work()
        merged = workspace.download()
        right = truth.equal_by_key(merged) if row.library else truth.exact(merged)
        verdict = replace(row, right=right, problem="" if right else "its output is not the merge of the inputs")
    except Interrupted:
        raise
    except (MemoryError, DeviceError) as error:
        verdict = replace(row, right=row.library, problem=str(error) or "not enough memory")
    except GpumergeError as error:
        verdict = replace(row, right=False, problem=str(error))
    workspace.spans.clear()
    return replace(contestant, row=verdict)


def _timed(
    contestants: Sequence[_Contestant], workspace: Workspace, repeat: int
) -> tuple[list[Measured], tuple[float, ...]]:
    """All rows, those without a problem with `repeat` timings, and as many timings of the copy; one round warms up."""
    seconds: list[list[float]] = [[] for _ in contestants]
    copies: list[float] = []
    for _ in range(repeat + 1):
        copies.append(workspace.time(workspace.copy))
        for contestant, series in zip(contestants, seconds, strict=True):
            if not contestant.row.problem:
                series.append(workspace.time(contestant.work))
        workspace.spans.clear()
    rows = [replace(one.row, seconds=tuple(series[1:])) for one, series in zip(contestants, seconds, strict=True)]
    return rows, tuple(copies[1:])


def _environment() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
    }
