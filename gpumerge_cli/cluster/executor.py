"""A cluster as an executor: its workers do the tasks of a job, from the same files and to the same output."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial

from gpumerge_cli import __version__
from gpumerge_cli.backends.select import Choice
from gpumerge_cli.cluster.copies import Copies
from gpumerge_cli.cluster.file_checks import file_state, rewritten_error, unwritable_error
from gpumerge_cli.cluster.remote_cuts import RemoteCutter
from gpumerge_cli.cluster.shipment import FileState, Reply, Shipment
from gpumerge_cli.cluster.sorting import ClusterRunWriter, plan_cluster_runs
from gpumerge_cli.cluster.workers import Workers
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.executor import ReadyWorkers, RunPlan
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.local_sorts import run_dtype
from gpumerge_cli.engine.margins import by_cpu
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.supply import ChunkCutter
from gpumerge_cli.engine.task import Task
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import UsageError
from gpumerge_cli.extents import SinkLocation, UploadLocation
from gpumerge_cli.formats.base import Source
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.urls import is_url


class Cluster(Workers):
    """The workers of a connected client, as an executor."""

    def check_job(self, job: Job) -> None:
        """See Executor."""
        if job.operation.kind != "check" and job.operation.by_groups:
            raise UsageError("sets, counts and joins are made by one machine", way_out="leave --cluster out")
        if job.resources.backend == "gpu" and (why := by_cpu(job)):
            raise UsageError(why, way_out="leave --backend gpu out")
        if job.operation.margin is not None:
            raise UsageError("--source: the column is made by one machine", way_out="leave --cluster out")
        if job.operation.kind == "sort" and job.resources.compress_program is not None:
            raise UsageError("--compress-program: a cluster keeps plain runs", way_out="leave one of the two out")

    def copier(self, job: Job, output: str) -> Copies:
        """See Executor."""
        return Copies(self, job, output)

    def team(self, job: Job, inputs: Inputs, clock: Clock, output: Output | None = None) -> ClusterTeam:
        """See Executor."""
        if output is not None and not inputs.layout.format.in_cluster:
            raise rewritten_error(output.names[0], inputs.layout.format)
        clock.start()
        if output is not None and job.operation.kind != "sort":
            output.reserve_space(by_devices=False)  # workers must know whether files are mapped
        return ClusterTeam(self, job, inputs, output)


@dataclass(frozen=True)
class ClusterTeam:
    """The workers of a cluster for one job. See JobTeam."""

    cluster: Cluster
    job: Job
    inputs: Inputs
    """Those of the job, opened here."""
    output: Output | None
    """That of the job; None for a check."""
    choice = Choice(None, (), "asked for")

    def ready(self, work: Pass) -> ReadyWorkers:
        """See JobTeam."""
        shipment, output = self.shipment(work), self.output
        if output is None:
            return self.cluster.ready(work, shipment)
        if isinstance(work.writer, ClusterRunWriter):
            return self.cluster.ready(work, work.writer.shipment(shipment), on_done=work.writer.on_done)
        ready = self.cluster.ready(work, shipment, on_done=partial(record_part, output))
        return replace(ready, spans=self._spans(work, shipment, output))

    def shipment(self, work: Pass) -> Shipment:
        """The shipment of a pass. Raises InputError for inputs that workers cannot read, OutputError for an output."""
        job, inputs = self.job, self.inputs
        if self.output is not None and (sink := self.output.sinks[0]).line_end is not None:
            raise rewritten_error(sink.name, inputs.layout.format)
        spots = () if self.output is None else remote_spots(self.output, here=self.cluster.here)
        operation = replace(job.operation, check=work.check, lenient=False)
        if job.operation.kind == "sort" and work.action == "merge":  # of runs
            names = tuple(source.name for source in work.sources)
            seen = tuple(file_state(name) for name in names)
            job = replace(job, inputs=names, operation=operation, items=replace(job.items, shown=None))
            return replace(_shipment(work, job, seen, spots), merges_runs=True, dtype=run_dtype(inputs.dtype))
        copies = inputs.layout.items.copies or [None] * len(inputs.names)
        found = (file_state(name if one is None else one.path) for name, one in zip(inputs.names, copies, strict=True))
        tagged = tuple(replace(one, tag=source.tag) for one, source in zip(found, work.sources, strict=True))
        names = tuple(map(_absolute, inputs.names))
        items = replace(job.items, shown=None, copies=inputs.layout.items.copies)
        return _shipment(work, replace(job, inputs=names, operation=operation, items=items), tagged, spots)

    def _spans(self, work: Pass, shipment: Shipment, output: Output) -> ChunkCutter:
        """Cuts a merge; the workers, which were checked, do if its inputs lie far from here."""
        if shipment.reads_urls:
            packed = shipment.packed()
            return RemoteCutter(self.cluster.eligible(packed), packed, work.planner, work.parts)
        grid = (1, 0) if work.parts else output.grid
        return partial(replace(work, grid=grid).planner.spans, parts=work.parts)

    def runs(self, inputs: Inputs, stack: ExitStack, *, at_once: bool) -> RunPlan:
        """See JobTeam."""
        assert self.output is not None
        work = Pass.of(self.job, "sort", inputs, NullWriter())
        return plan_cluster_runs(self.cluster, work, self.shipment(work), inputs, self.output, stack)

    def block_bytes(self, source: Source, order: Order) -> int:
        """See JobTeam."""
        return self.cluster.task_bytes(source.size)


def _shipment(
    work: Pass, job: Job, inputs: tuple[FileState, ...], spots: tuple[SinkLocation | UploadLocation, ...]
) -> Shipment:
    run, sizes = os.urandom(8).hex(), tuple(source.size for source in work.sources)
    return Shipment(run, __version__, work.detached(job), inputs, sizes, spots)


def _absolute(name: str) -> str:
    """A name that means the same to all machines that share a file system."""
    return name if is_url(name) else os.path.abspath(name)


def record_part(output: Output, task: Task, answer: Reply) -> None:
    """Record the part of an object that a task has sent."""
    if answer.tag:
        output.sinks[task.position.part].sent(task.position.offset, answer.result.written, answer.tag)


def remote_spots(output: Output, *, here: bool) -> tuple[SinkLocation | UploadLocation, ...]:
    """The output as other processes find it. Raises OutputError if they cannot write it.

    here: all of them are on this machine, so they may map a file together. Machines that share a file may not.
    """
    spots = [sink.spot for sink in output.sinks]
    found = tuple(spot for spot in spots if spot is not None)
    if len(found) < len(spots):
        raise unwritable_error(output.sinks[0].name)
    return found if here else tuple(_unmapped(one) if isinstance(one, SinkLocation) else one for one in found)


def _unmapped(spot: SinkLocation) -> SinkLocation:
    """The file as other machines find it, where the same file system has another device."""
    return replace(spot, mapped=0, identity=None if spot.identity is None else (0, spot.identity[1]))
