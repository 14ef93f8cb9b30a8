"""Executors: who does the tasks of a job. The engine asks for no more than this; local.py and the cluster are two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol

from gpumerge_cli.backends.select import Choice
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.inputs import Copier, Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.outcome import Member, Outcome, WorkerLog
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.supply import ChunkCutter
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.formats.base import Source
from gpumerge_cli.order.kinds import Order

_LEAST_AHEAD = 64
"""Chunks to hold ready for several kinds of workers: some take many at once."""


@dataclass(frozen=True)
class ReadyWorkers:
    """Workers that are ready for the tasks of a pass."""

    members: Sequence[Member]
    do: Callable[[Tasks], Sequence[WorkerLog]]
    """Has them do all tasks, and returns the work of each.

    Raises the first error that no other worker makes up for; all workers then stop."""
    spans: ChunkCutter | None = None
    """Cuts the pass for them; None if its planner does."""


@dataclass(frozen=True)
class RunPlan:
    """The way in which a sort makes its runs."""

    work: Pass
    """Sorts pieces of the inputs, each to a run; or everything at once to the output, if its action is whole."""
    sources: Callable[[], list[Source]]
    """Gives the runs as the sources of the merge, once all are made; none if there are no runs."""
    origins: Sequence[int] = ()
    """See Pass; known once `sources` was called."""


class JobTeam(Protocol):
    """The workers chosen for one job. choice: why they were, and the backends of this process among them."""

    @property
    def choice(self) -> Choice: ...

    def ready(self, work: Pass) -> ReadyWorkers:
        """Get workers ready for a pass. Raises UsageError, InputError, OutputError, DeviceError or ClusterError."""

    def runs(self, inputs: Inputs, stack: ExitStack, *, at_once: bool) -> RunPlan:
        """Decide how a sort makes its runs. stack: closes at the end what must stay open until then.

        at_once: everything may be sorted at once.
        """

    def block_bytes(self, source: Source, order: Order) -> int:
        """Bytes of the blocks in which a source is checked for an order."""


class Executor(Protocol):
    """Does the work of jobs: this process, or a cluster."""

    by_ranges: bool
    """See Purpose."""

    def check_job(self, job: Job) -> None:
        """Raise UsageError for a job that it cannot do."""

    def copier(self, job: Job, output: str) -> Copier | None:
        """Copies compressed inputs to where all workers read them; None where each is opened as it is.

        output: the name of the first file that is written, "" if there is none.
        """

    def team(self, job: Job, inputs: Inputs, clock: Clock, output: Output | None = None) -> JobTeam:
        """Choose the workers of a job, start the clock, and reserve space for the output. Raises as JobTeam.ready."""


def run_pass(work: Pass, ready: ReadyWorkers, clock: Clock, *, waits: bool = True) -> Outcome:
    """Have the workers do all tasks of a pass. waits: see Tasks. Raises as ReadyWorkers.do."""
    kinds = {member.backend for member in ready.members}
    low = 2 * len(ready.members) if len(kinds) == 1 else max(_LEAST_AHEAD, 2 * len(ready.members))
    tasks = Tasks(work, ready.spans, low, clock.stopwatch, waits=waits)
    logs = list(ready.do(tasks))
    outcome = tasks.outcome
    outcome.logs = logs
    outcome.workers = max(1, sum(log.worker.threads for log in logs if log.started))
    return outcome
