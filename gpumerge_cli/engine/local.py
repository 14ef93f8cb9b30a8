"""This process as an executor: its threads, and the devices that they feed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property, partial

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.compared import ComparedBackend
from gpumerge_cli.backends.select import (
    Choice,
    ChosenGpu,
    choose,
    device_numbers,
    host,
    select,
    select_for_sort,
    sorts_on_devices,
)
from gpumerge_cli.costs import Mix
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.executor import ReadyWorkers, RunPlan
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.launches import budget_of
from gpumerge_cli.engine.margins import by_cpu
from gpumerge_cli.engine.memory import ChunkBudget, checking_threads, chunk_bytes_for, memory_for_items
from gpumerge_cli.engine.outcome import WorkerLog
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.engine.threads import Worker, WorkerThreads
from gpumerge_cli.engine.workers import CpuWorker, DeviceWorker, PassSetup
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.order.kinds import Order

_BY_CPU = "auto has the CPU make sets and counts"
_PLACES_BY_CPU = "auto has the CPU find last items, duplicates and singles"
_SHORT_LINE = 8


class Local:
    """See Executor."""

    by_ranges = False

    def check_job(self, job: Job) -> None:
        """See Executor."""
        if job.resources.backend == "gpu" and (why := by_cpu(job)):
            raise UsageError(why, way_out="leave --backend gpu out")

    def copier(self, job: Job, output: str) -> None:
        """See Executor: each input is opened as it is."""

    def team(self, job: Job, inputs: Inputs, clock: Clock, output: Output | None = None) -> LocalTeam:
        """See Executor."""
        on, order = job.resources, inputs.order
        if job.operation.kind == "sort":
            assert output is not None
            # A device may take a while to start; meanwhile room is taken.
            if not job.operation.selects:  # whose size is known late
                output.reserve_space(by_devices=sorts_on_devices(on.backend, order, inputs.nbytes))
            # No GPU has been measured on these rules for equal items, or on counts of files.
            operation = job.operation
            of_cpu = operation.margin is not None or operation.selects or operation.keep_order
            of_cpu = of_cpu or operation.equals.is_for_cpu
            backend = "cpu" if of_cpu and on.backend == "auto" else on.backend
            alone = select_for_sort(backend, on.devices, order, inputs.nbytes, sharing=on.sharing)
            clock.start()
            return LocalTeam(job, _alone(alone.backend, alone.why, alone.expected), output)
        if job.operation.kind == "check":
            device = 0 if on.backend == "cpu" else device_numbers(on.devices)[0]
            found = select(on.backend, device, order, inputs.nbytes, sharing=on.sharing)
            return LocalTeam(job, _alone(found.backend, found.why))
        choice = choice_of(job, inputs, inputs.nbytes if output is None else sum(output.sizes))
        clock.start()
        if output is not None:
            output.reserve_space(by_devices=choice.host is None)
        return LocalTeam(job, choice, output)

    def host(self, job: Job) -> LocalTeam:
        """The CPU of this process, for a check."""
        return LocalTeam(job, _alone(host(), "asked for"))


LOCAL: Local = Local()


def choice_of(job: Job, inputs: Inputs, nbytes: int) -> Choice:
    """The backends that are to do a merge, a set or a join of `nbytes`. Raises UsageError or DeviceError."""
    on = job.resources
    more = job.operation.equals.groups or job.operation.equals.is_for_cpu or job.operation.margin is not None
    if more and on.backend == "auto":  # no GPU has been measured on sets, places and counts of files
        chosen = choose("cpu", None, inputs.order, nbytes, threads=on.threads, sharing=on.sharing)
        return replace(chosen, why=by_cpu(job) or (_PLACES_BY_CPU if job.operation.equals.is_for_cpu else _BY_CPU))
    return choose(on.backend, on.devices, inputs.order, nbytes, threads=on.threads, sharing=on.sharing)


def _alone(backend: ComparedBackend, why: str, expected: Mix | None = None) -> Choice:
    """The choice of one backend, which is there already."""
    if backend.remote:
        return Choice(None, (ChosenGpu(f"{backend.name} 0", lambda: backend),), why, expected)
    return Choice(lambda: backend, (), why, expected)


@dataclass(frozen=True)
class LocalTeam:
    """The workers of this process for one job. See JobTeam."""

    job: Job
    choice: Choice
    """The backends."""
    output: Output | None = None
    """That of the job, if any."""

    @cached_property
    def memory(self) -> int:
        """Bytes of the host's that the items may take."""
        return memory_for_items(self.job)

    def ready(self, work: Pass) -> ReadyWorkers:
        """See JobTeam."""
        choice = self.choice
        if work.action == "heads":
            from gpumerge_cli.engine.heads import HeadsWorker

            return self.ready_with([HeadsWorker(work, self.memory)])
        if work.action == "whole":
            return self._whole(work)
        if work.action == "select":
            from gpumerge_cli.engine.selecting import selection_workers

            return self.ready_with(selection_workers(work, self.backend))
        if work.action == "first seen":
            from gpumerge_cli.engine.first_seen import FirstSeenWorker

            return self.ready_with([FirstSeenWorker(work, self.memory)])
        workers: list[Worker] = []
        kinds = (choice.host is not None) + (len(choice.devices) > 0)
        if choice.host is not None:
            backend = choice.host()
            setup = PassSetup(work, backend, partial(self.chunk_budget, work, 1 / kinds))
            chunks = -(-work.nbytes // setup.budget.chunk_bytes) if work.pieces is None else len(work.pieces)
            number = max(1, min(setup.budget.workers, chunks))
            workers += [CpuWorker(each, setup) for each in range(number)]
        share = 1 / kinds / max(1, len(choice.devices))
        feed = partial(self.chunk_budget, work, share)
        workers += [DeviceWorker(device.name, work, device.create, feed) for device in choice.devices]
        return self.ready_with(workers)

    def ready_with(self, workers: Sequence[Worker]) -> ReadyWorkers:
        """These workers, ready for a pass."""
        return ReadyWorkers(workers, partial(_done_by, workers))

    def _whole(self, work: Pass) -> ReadyWorkers:
        from gpumerge_cli.engine.local_sorts import LEAST_PIECE
        from gpumerge_cli.engine.whole import WholeWorker

        assert self.output is not None
        assert work.budget is not None
        threads = min(self.job.resources.threads or cores(), -(-work.nbytes // LEAST_PIECE))
        make = partial(WholeWorker, work, self.output, self.backend, work.budget, threads=threads)
        return ReadyWorkers([], lambda tasks: _done_by([make(tasks.stopwatch)], tasks))

    @property
    def backend(self) -> Backend:
        """The only backend, of a sort or a check."""
        return self.choice.host() if self.choice.host is not None else self.choice.devices[0].create()

    def chunk_budget(
        self, work: Pass, share: float, backend: Backend, policy: LaunchPolicy | SortPolicy
    ) -> ChunkBudget:
        """The tasks at once and the bytes of each for a backend that may take this share of the memory."""
        order, on, memory = work.order, self.job.resources, int(share * self.memory)
        if work.checks:
            return ChunkBudget(self._checking_threads(order), self.block_bytes(work.sources[0], order))
        return budget_of(work, backend, policy, on.threads, memory, on.device_memory)

    def _checking_threads(self, order: Order) -> int:
        return checking_threads(order, self.job.resources.threads, self.memory)

    def block_bytes(self, source: Source, order: Order) -> int:
        """See JobTeam."""
        sizes = self.backend.chunk_sizes(order, 1, order.item_bytes or _SHORT_LINE)
        return chunk_bytes_for(sizes, source.size, 1, self._checking_threads(order), self.memory)

    def runs(self, inputs: Inputs, stack: ExitStack, *, at_once: bool) -> RunPlan:
        """See JobTeam."""
        from gpumerge_cli.engine.local_sorts import plan_local_runs

        assert self.output is not None
        if self.job.operation.selects:
            from gpumerge_cli.engine.selecting import plan_selection

            return plan_selection(self.job, inputs, self.backend, self.memory, stack)
        return plan_local_runs(self.job, inputs, self.backend, self.memory, self.output, stack, at_once=at_once)


def _done_by(workers: Sequence[Worker], tasks: Tasks) -> Sequence[WorkerLog]:
    threads = WorkerThreads(workers, tasks)
    # Signals come to the main thread. Where compiled code calls Python to read, they would be lost on its way back.
    alone = len(workers) == 1 and not isinstance(workers[0], DeviceWorker) and tasks.work.action != "sort"
    if alone and all(source.extent is not None for source in tasks.work.sources):
        threads.run_here()
    else:
        threads.run()
    return threads.logs
