"""The outcome of passes: what was written, and the work of each worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.engine.task import TaskResult
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.plan import Chunk
from gpumerge_cli.results.run import WorkerReport


@dataclass(frozen=True)
class LaunchInfo:
    """A worker's device and launch, for reports."""

    device: str = ""
    """The name of the device."""
    kernel: str = ""
    """The kernel, or the algorithm of a sort."""
    launch: str = ""
    """The launch in words."""
    launch_why: str = ""
    """The reason for it."""
    shrunk_to: int = 0
    """Bytes of the largest chunk after memory ran out; 0 if it never did."""


class Member(Protocol):
    """A worker as reports name it, wherever it is.

    name: "cpu 3", "gpu 0". backend: "cpu", "gpu", "cluster". threads: those that work at once, known once it has
    started.
    """

    @property
    def name(self) -> str: ...

    @property
    def backend(self) -> str: ...

    @property
    def threads(self) -> int: ...

    def launch_info(self) -> LaunchInfo:
        """Its device and launch, as far as it has started."""


@dataclass
class WorkerLog:
    """A worker, and the work that it has done."""

    worker: Member
    report: WorkerReport = field(init=False)
    """Its work so far. Its launch and threads are filled in at the end, see make_report."""
    started: bool = False
    lost: DeviceError | UsageError | None = None
    """The error that ended the worker."""
    tries: int = 0
    """The number of its tasks that failed, and were done again."""

    def __post_init__(self) -> None:
        self.report = WorkerReport(self.worker.name, self.worker.backend)

    def add_task(self, began: float, stopped: float, nbytes: int | None) -> None:
        """Add a task.

        began, stopped: its times, in seconds since the run began. nbytes: that it read; None if it only counted.
        """
        report = self.report
        report.busy += stopped - began
        report.first = min(report.first or began, began)
        report.last = max(report.last, stopped)
        if nbytes is not None:
            report.chunks += nbytes > 0
            report.nbytes += nbytes


@dataclass(kw_only=True)
class Outcome(TaskResult):
    """The outcome of a pass or of all passes of a job: that of its tasks, and who did them."""

    chunks: int = 0
    workers: int = 1
    """The number of threads that worked."""
    logs: list[WorkerLog] = field(default_factory=list)
    """The work of each worker."""
    began: float = 0.0
    """The time of the first task, in seconds of time.perf_counter; 0 if there was none."""
    rest: Chunk | None = None
    """The ranges that a lenient pass has left because it met disorder, and their offset in the output."""


def sort_outcome(made: Outcome, merged: Outcome) -> Outcome:
    """The outcome of a sort that has made runs and merged them."""
    return replace(
        merged,
        counts=made.counts,
        workers=max(made.workers, merged.workers),
        logs=_added(made.logs, merged.logs),
        began=made.began,
    )


def _added(first: Sequence[WorkerLog], second: Sequence[WorkerLog]) -> list[WorkerLog]:
    """The work of workers with the same names in both passes, added."""
    found = {log.report.name: log for log in first}
    for log in second:
        one, other = found.setdefault(log.report.name, log).report, log.report
        if one is not other:
            one.chunks += other.chunks
            one.nbytes += other.nbytes
            one.busy += other.busy
            one.first = min(one.first or other.first, other.first or one.first)
            one.last, one.note = max(one.last, other.last), one.note or other.note
    return list(found.values())
