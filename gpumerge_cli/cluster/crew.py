"""A cluster as an executor: judges before anything is written that the workers can do a job, and has them do it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from gpumerge_cli import __version__
from gpumerge_cli.backends import select
from gpumerge_cli.cluster import node
from gpumerge_cli.cluster.calls import ANSWERS, Listed, await_workers, no_package, of_each, workers_of
from gpumerge_cli.cluster.copies import Copies
from gpumerge_cli.cluster.cutting import FarCuts
from gpumerge_cli.cluster.executor import ClusterExecutor, Noted, Pieces, Pool, RemoteWorker
from gpumerge_cli.cluster.fit import FitWorkers
from gpumerge_cli.cluster.pool import DaskPool
from gpumerge_cli.cluster.seeing import not_as_it_stands, not_written, seen_of
from gpumerge_cli.cluster.shipment import Answer, Packed, Seen, Shipment, Standing
from gpumerge_cli.cluster.sorting import RunsOfCluster, cluster_runs
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.executor import Ready, Runs
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.local_sorts import run_dtype
from gpumerge_cli.engine.outcome import About, Member, WorkerLog
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.supply import Spans
from gpumerge_cli.engine.task import Task
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.engine.workers import about, policy_of
from gpumerge_cli.errors import ClusterError, GpumergeError, UsageError
from gpumerge_cli.extents import PartsSpot, Spot
from gpumerge_cli.formats.base import Source
from gpumerge_cli.order import Order
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from distributed import Client

_STORES = 300.0
"""Seconds in which a first worker must have looked at stores, which may be slow, or ask for several tries."""
_MOST_TASK, _LEAST_TASK = 256 << 20, 1 << 20
_MOST_HELD = 64 << 20
_LEAST_PACE = 4e6
"""Compressed bytes of an input that a worker gets through in a second, at least."""
_TASKS = 12
"""Tasks for each thread, at least, so that all threads end at about the same time."""


class Cluster:
    """The workers of a connected client, as an executor. here: all of them are processes of this machine."""

    def __init__(self, client: Client, patience: float = 60.0, *, here: bool = False) -> None:
        self.client = client
        self.here = here
        self.patience = patience
        self.standings: dict[str, Standing] = {}
        self._mute: set[str] = set()  # addresses of workers that do not answer

    @property
    def threads(self) -> int:
        """Threads of all workers that were judged; of all that are there, before any was."""
        known = self.standings or workers_of(self.client)
        return max(1, sum(one.threads for one in known.values()))

    def judge(self, job: Job) -> None:
        """See Executor."""
        if job.operation.kind != "check" and job.operation.by_groups:
            raise UsageError("sets, counts and joins are made by one machine", way_out="leave --cluster out")
        if job.operation.kind == "sort" and job.resources.compress_program is not None:
            raise UsageError("--compress-program: a cluster keeps plain runs", way_out="leave one of the two out")

    def copier(self, job: Job, output: str) -> Copies:
        """See Executor."""
        return Copies(self, output, job)

    def team(
        self, job: Job, inputs: Inputs, clock: Clock, output: Output | None = None, sizes: Sequence[int] = ()
    ) -> ClusterTeam:
        """See Executor."""
        clock.start()
        if output is not None and job.operation.kind != "sort":
            output.take_room(job.operation, sizes, by_devices=False)  # workers are told whether files are mapped
        return ClusterTeam(self, job, inputs, output)

    def ready(self, work: Pass, shipment: Shipment, noted: Noted | None = None) -> Ready:
        """The workers for a shipment, each of which has seen that it can do its tasks. Raises ClusterError."""
        names = self.judge_workers(shipment)
        launch = About()
        if work.action != "unpack":
            launch = about("", policy_of(select.host(), work))
        members: list[Member] = []
        for address, one in self.standings.items():
            threads = f"{one.threads} thread{'s' if one.threads > 1 else ''}"
            there = replace(launch, device=f"{threads} of {one.host}")
            members.append(RemoteWorker(f"worker {names[address]}", one.threads, there))
        backend = shipment.job.resources.backend
        gpus = any(one.gpu for one in self.standings.values()) and backend != "cpu"
        if backend == "gpu" and not gpus:
            raise ClusterError(
                "no worker has a GPU", way_out="start workers with --resources GPU=1, or leave --backend out"
            )
        resources = {"GPU": 1} if gpus and work.action != "unpack" else {}
        pieces = pieces_of(work, shipment, self.task_bytes(work.nbytes))

        def do(tasks: Tasks) -> Sequence[WorkerLog]:
            executor = ClusterExecutor(members, tasks, self.pool(shipment, resources), pieces, noted)
            executor.run()
            return executor.logs

        return Ready(members, do)

    def task_bytes(self, nbytes: int) -> int:
        """Bytes of a task, of `nbytes` in all: no thread waits long at the end, and there are not too many tasks."""
        return max(_LEAST_TASK, min(_MOST_TASK, nbytes // (_TASKS * self.threads)))

    def pool(self, shipment: Shipment, resources: Mapping[str, float]) -> Pool:
        """Has tasks of a shipment done by the workers that can. resources: see DaskPool."""
        return DaskPool(self.fit(shipment.packed()), shipment, resources, self.patience)

    def fit(self, packed: Packed) -> FitWorkers:
        """The workers that can do the tasks of a shipment: those that were judged, and others that come."""
        return FitWorkers(self.client, packed, self.standings)

    def judge_workers(self, shipment: Shipment) -> dict[str, str]:
        """Have every worker see that it can do the tasks of a shipment; the workers' names by their addresses."""
        until = time.monotonic() + self.patience
        self.standings = {}
        packed, stored = shipment.packed(), shipment.part_bytes or shipment.reads_urls
        while not self.standings:
            await_workers(self.client, self.patience)
            told = self._probed(packed, _STORES if stored else ANSWERS)
            self.standings = {address: one for address, one in told.items() if isinstance(one, Standing)}
            if not self.standings and time.monotonic() > until:
                problem = "".join(f": {one}" for one in list(told.values())[:1])
                raise ClusterError(f"no worker answers{problem}", way_out="look into the logs of the workers")
        known = workers_of(self.client)
        return {address: known.get(address, Listed(address, 0)).name for address in self.standings}

    def _probed(self, packed: Packed, seconds: float) -> dict[str, Any]:
        """The standing of each worker, or an error of its connection. Raises the errors of all other kinds.

        seconds: in which the first one must answer. Workers that do not are not asked again while others answer: a
        frozen one would have each step of a sort wait. One that wakes is judged as those that come late.
        """

        async def probed(address: str) -> Any:
            return (await self.client.run(node.probed, packed, workers=[address], on_error="return"))[address]

        there = set(workers_of(self.client))
        told = of_each(self.client, there - self._mute or there, probed, seconds, ANSWERS)
        if told:
            self._mute = there - told.keys()
        for one in told.values():
            if isinstance(one, GpumergeError):
                raise one
            if not isinstance(one, Standing | OSError | KeyError):
                raise no_package(one)
        return told


@dataclass(frozen=True)
class ClusterTeam:
    """See Team. inputs, output: of the job."""

    cluster: Cluster
    job: Job
    inputs: Inputs
    output: Output | None
    why = "asked for"
    expected = None
    about = None

    def ready(self, work: Pass) -> Ready:
        """See Team."""
        shipment, output = self.shipment(work), self.output
        if output is None:
            return self.cluster.ready(work, shipment)
        if isinstance(work.outlet, RunsOfCluster):
            return self.cluster.ready(work, work.outlet.shipment(shipment), noted=work.outlet.noted)
        ready = self.cluster.ready(work, shipment, noted=partial(note_part, output))
        return replace(ready, spans=self._spans(work, shipment, output))

    def shipment(self, work: Pass) -> Shipment:
        """The shipment of a pass. Raises InputError for inputs that workers cannot read, OutputError for an output."""
        job, inputs = self.job, self.inputs
        spots = () if self.output is None else spots_of(self.output, here=self.cluster.here)
        operation = replace(job.operation, check=work.check, lenient=False)
        if job.operation.kind == "sort" and work.action == "merge":  # of runs
            names = tuple(source.name for source in work.sources)
            seen = tuple(seen_of(name) for name in names)
            job = replace(job, inputs=names, operation=operation, items=replace(job.items, shown=None))
            return replace(_shipment(work, job, seen, spots), runs=True, dtype=run_dtype(inputs.dtype))
        copies = inputs.copies or [None] * len(inputs.names)
        found = (seen_of(name if one is None else one.path) for name, one in zip(inputs.names, copies, strict=True))
        tagged = tuple(replace(one, tag=source.tag) for one, source in zip(found, work.sources, strict=True))
        names = tuple(map(_everywhere, inputs.names))
        items = replace(job.items, shown=None, copies=inputs.copies)
        return _shipment(work, replace(job, inputs=names, operation=operation, items=items), tagged, spots)

    def _spans(self, work: Pass, shipment: Shipment, output: Output) -> Spans:
        """Cuts a merge; the workers, which were judged, do if its inputs lie far from here."""
        if shipment.reads_urls:
            packed = shipment.packed()
            return FarCuts(self.cluster.fit(packed), packed, work.planner, work.parts)
        grid = (1, 0) if work.parts else output.grid
        return partial(work.planner_on(grid).spans, parts=work.parts)

    def runs(self, inputs: Inputs, stack: ExitStack, *, at_once: bool) -> Runs:
        """See Team."""
        assert self.output is not None
        return cluster_runs(self, inputs, self.output, stack)

    def block_bytes(self, source: Source, order: Order) -> int:
        """See Team."""
        return self.cluster.task_bytes(source.size)


def _shipment(work: Pass, job: Job, inputs: tuple[Seen, ...], spots: tuple[Spot | PartsSpot, ...]) -> Shipment:
    run, sizes = os.urandom(8).hex(), tuple(source.size for source in work.sources)
    return Shipment(run, __version__, job, work.action, work.order, work.item_bytes, inputs, sizes, spots)


def pieces_of(work: Pass, shipment: Shipment, nbytes: int) -> Pieces:
    """The pieces that the pass is cut into. nbytes: of each of them, about, if it is a merge to files."""
    if work.action == "unpack":
        return Pieces(1, pace=_LEAST_PACE)
    if work.action != "merge":
        return Pieces(1)  # they stay as they are
    least = shipment.part_bytes
    if least:  # a worker holds a part in memory
        nbytes = max(least + least // 4, min(nbytes, _MOST_HELD))
    return Pieces(nbytes, not work.equals.keeps_all, least)


def _everywhere(name: str) -> str:
    """A name that means the same to all machines that share a file system."""
    return name if is_url(name) else os.path.abspath(name)


def note_part(output: Output, task: Task, answer: Answer) -> None:
    """Take note of the part of an object that a task has sent."""
    if answer.tag:
        output.sinks[task.place.part].sent(task.place.offset, answer.result.written, answer.tag)


def spots_of(output: Output, *, here: bool) -> tuple[Spot | PartsSpot, ...]:
    """The places of an output for other processes. Raises OutputError if they cannot write it.

    here: all of them are on this machine, so they may map a file together. Machines that share a file may not.
    """
    spots = [sink.spot for sink in output.sinks]
    found = tuple(spot for spot in spots if spot is not None)
    if len(found) < len(spots):
        refused = output.sinks[0]
        raise not_written(refused.name) if refused.line_end is None else not_as_it_stands(refused.name)
    return found if here else tuple(_from_afar(one) if isinstance(one, Spot) else one for one in found)


def _from_afar(spot: Spot) -> Spot:
    """The place for other machines, where the same file system has another device."""
    return replace(spot, mapped=0, identity=None if spot.identity is None else (0, spot.identity[1]))
