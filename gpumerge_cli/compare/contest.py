"""A contest: kernel variants and library baselines on the same resident data, right first, then timed.

The repeats are interleaved: every round runs each contestant once, and the copy that they are held against, so that a
machine that slows down slows all of them.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median

import numpy as np

from gpumerge_cli.backends.compared import ComparedBackend, ComparedWorkspace
from gpumerge_cli.compare.oracle import Oracle
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import DeviceError, GpumergeError
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.results.compared import Measured


@dataclass(frozen=True)
class Effort:
    """The effort of a comparison or bench."""

    repeat: int = 5
    """Timings of each contestant."""
    threads: int = 1
    """Host threads that make runs, check outputs and, on the CPU, merge."""
    seed: int = 0
    """The seed of synthetic runs."""
    version: str = ""
    """The version of the program, for the report."""


@dataclass(frozen=True)
class Contest:
    """The result of a contest: a row for each contestant, and the seconds of every copy of the same bytes."""

    rows: tuple[Measured, ...]
    copies: tuple[float, ...]


@dataclass(frozen=True)
class _Contestant:
    row: Measured
    work: Callable[[], None]


def contest(
    workspace: ComparedWorkspace,
    policies: Sequence[LaunchPolicy | SortPolicy],
    truth: Oracle,
    nbytes: int,
    repeat: int,
    equals: Equals = Equals.ALL,
) -> Contest:
    """Check and time `policies`, all of merges or all of sorts, and the baselines of `workspace`, `repeat` times each.

    The runs must have been uploaded to it. nbytes: bytes of all runs. equals: the set that merges make, ALL for none.
    Medians and ratios of the rows are not filled in. A wrong output raises nothing: its row says so, and it is not
    timed. A library that lacks memory is not run.
    """
    if equals.is_set:
        rows = [Measured("walk", "", True) for _ in policies]
    else:
        rows = [untimed_row(policy, nbytes) for policy in policies]
    works = [_work(workspace, policy, equals) for policy in policies]
    for name, work in _baselines(workspace, policies, equals).items():
        rows.append(Measured(name, "", True, library=True))
        works.append(work)
    contestants = [
        _Contestant(replace(row, nbytes=nbytes + truth.nbytes), work) for row, work in zip(rows, works, strict=True)
    ]
    return _timed([_verified(contestant, workspace, truth) for contestant in contestants], workspace, repeat)


def _work(workspace: ComparedWorkspace, policy: LaunchPolicy | SortPolicy, equals: Equals) -> Callable[[], None]:
    if isinstance(policy, SortPolicy):
        return partial(workspace.sort, policy)
    return partial(workspace.merge, policy, equals) if equals.is_set else partial(workspace.merge, policy)


def _baselines(
    workspace: ComparedWorkspace, policies: Sequence[LaunchPolicy | SortPolicy], equals: Equals
) -> Mapping[str, Callable[[], None]]:
    if equals.is_set:
        return workspace.set_baselines(equals)
    sorts = any(isinstance(policy, SortPolicy) for policy in policies)
    return workspace.sort_baselines() if sorts else workspace.baselines()


def untimed_row(policy: LaunchPolicy | SortPolicy, nbytes: int) -> Measured:
    """The row of a variant that merges or sorts `nbytes`, before it is run."""
    if isinstance(policy, SortPolicy):
        return Measured(policy.algorithm, policy.describe(), True, nbytes=2 * nbytes)
    return Measured(policy.name, policy.describe(), True, nbytes=2 * nbytes)


def _verified(contestant: _Contestant, workspace: ComparedWorkspace, truth: Oracle) -> _Contestant:
    row = contestant.row
    try:
        workspace.poison()
        contestant.work()
        merged = np.asarray(workspace.download())
        right = truth.equal_by_key(merged) if row.library else truth.exact(merged)
        verdict = replace(row, right=right, problem="" if right else "its output is not correct")
    except (MemoryError, DeviceError) as error:
        verdict = replace(row, right=row.library, problem=str(error) or "not enough memory")
    except GpumergeError as error:
        verdict = replace(row, right=False, problem=str(error))
    workspace.spans.clear()
    return replace(contestant, row=verdict)


def _timed(contestants: Sequence[_Contestant], workspace: ComparedWorkspace, repeat: int) -> Contest:
    """Time each contestant without a problem, and the copy, `repeat` times; a round before these warms up."""
    seconds: list[list[float]] = [[] for _ in contestants]
    copies: list[float] = []
    for _ in range(repeat + 1):
        copies.append(workspace.time(workspace.copy))
        for contestant, series in zip(contestants, seconds, strict=True):
            if not contestant.row.problem:
                series.append(workspace.time(contestant.work))
        workspace.spans.clear()
    rows = [replace(one.row, seconds=tuple(series[1:])) for one, series in zip(contestants, seconds, strict=True)]
    return Contest(tuple(rows), tuple(copies[1:]))


def with_ratios(row: Measured, ceiling: float, basic: float) -> Measured:
    """`row` with median, spread and ratios filled in from its `seconds`; unchanged if it was not timed.

    The spread is (slowest - fastest) / median. ceiling: seconds of a copy of the same bytes. basic: median seconds of
    the basic kernel, 0 if it was not timed. A ratio without a meaning is 0.
    """
    if not row.seconds:
        return row
    middle = median(row.seconds)
    return replace(
        row,
        median=middle,
        spread=(max(row.seconds) - min(row.seconds)) / middle if middle > 0 else 0.0,
        share_of_copy=ceiling / middle if middle > 0 else 0.0,
        copies=middle / ceiling if ceiling > 0 else 0.0,
        speed_up=basic / middle if middle > 0 else 0.0,
    )


def environment(backend: ComparedBackend) -> dict[str, str]:
    """Names and versions that timings depend on."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        **backend.versions(),
        **backend.info().details,
    }
