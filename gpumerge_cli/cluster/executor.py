"""A cluster as an executor: its workers do the tasks of a job, from the same files and to the same output."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from gpumerge_cli import __version__
from gpumerge_cli.backends.select import Choice
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.cluster.copies import Copies
from gpumerge_cli.cluster.file_checks import absolute_name, file_state, rewritten_error, unwritable_error
from gpumerge_cli.cluster.remote_cuts import RemoteCutter
from gpumerge_cli.cluster.row_parts import PartCollector, parts_folder
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
from gpumerge_cli.engine.outcome import WorkerLog
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.supply import ChunkCutter
from gpumerge_cli.engine.task import Task
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import UsageError
from gpumerge_cli.extents import SinkLocation, UploadLocation
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.ranges import RangedSource, StoredSource
from gpumerge_cli.order.differences import DiffRequest
from gpumerge_cli.order.equals import Margin
from gpumerge_cli.order.joins import Join
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.record_joins import JoinRules
from gpumerge_cli.order.row_joins import JoinRequest, PayloadJoin
from gpumerge_cli.urls import is_url

_WITH_GAPS = ("numeric", "human")
"""Kinds of keys whose texts without a number lie among the others. See LineAsof of kernels/cpu/asof_lines.hpp."""


class Cluster(Workers):
    """The workers of a connected client, as an executor."""

    by_ranges = True

    def check_job(self, job: Job) -> None:
        """See Executor."""
        operation = job.operation
        if operation.selects:
            what = "the first or last items of a sort are found by one machine"
            raise UsageError(what, way_out="leave --cluster out, or --head and --tail")
        if job.resources.backend == "gpu" and (why := by_cpu(job)):
            raise UsageError(why, way_out="leave --backend gpu out")
        if operation.keep_order:
            raise UsageError("--keep-order: the output is made by one machine", way_out="leave --cluster out")
        if operation.margin is not None and (what := _of_one_machine(operation.margin, job.output.name)):
            raise UsageError(f"{what} by one machine", way_out="leave --cluster out")
        if isinstance(operation.join, DiffRequest) and operation.join.changes is not None:
            raise UsageError("--changes: the file is written by one machine", way_out="leave --cluster out")
        if job.resources.backend == "gpu" and operation.by_groups:
            raise UsageError("a cluster makes sets and counts by the CPU alone", way_out="leave --backend gpu out")
        if operation.kind == "sort" and job.resources.compress_program is not None:
            raise UsageError("--compress-program: a cluster keeps plain runs", way_out="leave one of the two out")

    def copier(self, job: Job, output: str) -> Copies:
        """See Executor."""
        return Copies(self, job, output)

    def team(self, job: Job, inputs: Inputs, clock: Clock, output: Output | None = None) -> ClusterTeam:
        """See Executor."""
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
            return self.cluster.ready(work, shipment, on_done=partial(note_facts, work))
        rows = self.inputs.written.rows
        if rows is not None and work.action == "merge":
            row_bytes = sum(rows.nbytes) / max(1, sum(source.size for source in self.inputs.sources))
            shipment = replace(shipment, row_bytes=row_bytes, group_rows=rows.group_rows, numbered=rows.numbered)
            if not self._only_counts:
                return self._rows(work, shipment, output)
        if isinstance(work.writer, ClusterRunWriter):
            shipment, on_done = work.writer.shipment(shipment), work.writer.on_done
        else:
            on_done = partial(record_part, output)

        def done(task: Task, answer: Reply) -> None:
            note_facts(work, task, answer)
            on_done(task, answer)

        ready = self.cluster.ready(work, shipment, on_done=done)
        if isinstance(work.writer, ClusterRunWriter):
            return ready
        return replace(ready, spans=self._spans(work, shipment, output))

    @property
    def _only_counts(self) -> bool:
        """Whether it is a diff that counts differences, and writes nothing."""
        diff = self.inputs.layout.purpose.diff
        return diff is not None and diff.total

    def _rows(self, work: Pass, shipment: Shipment, output: Output) -> ReadyWorkers:
        """The workers for a merge of rows, whose parts this process puts together."""
        with ExitStack() as stack:
            folder = stack.enter_context(parts_folder(self.job, output, here=self.cluster.here))
            shipment = replace(shipment, folder=str(folder.path))
            ready = self.cluster.ready(work, shipment, on_done=PartCollector(output, folder.path).on_done)
            closes = stack.pop_all()

        def do(tasks: Tasks) -> Sequence[WorkerLog]:
            with closes:
                return ready.do(tasks)

        return replace(ready, do=do, spans=self._spans(work, shipment, output))

    def shipment(self, work: Pass) -> Shipment:
        """The shipment of a pass. Raises InputError for inputs that workers cannot read, OutputError for an output."""
        job, inputs = self.job, self.inputs
        is_here = self.output is None or inputs.layout.format.written_here
        if self.output is not None and not is_here and (sink := self.output.sinks[0]).line_end is not None:
            raise rewritten_error(sink.name, inputs.layout.format)
        is_unwritten = is_here or self.output is None or self._only_counts
        spots = () if is_unwritten or self.output is None else remote_spots(self.output, here=self.cluster.here)
        if job.operation.join is not None and any(isinstance(one, UploadLocation) for one in spots):
            what = f"a cluster writes the {job.operation.title} of lines or records to files, not to objects"
            raise UsageError(what, way_out="name a file, or leave --cluster out")
        _refuse_gaps(inputs, job.operation.join)
        operation = replace(job.operation, check=work.check, lenient=False)
        if inputs.join is not None:  # workers make it of their own sources
            purpose = inputs.layout.purpose
            operation = replace(operation, join=purpose.join or purpose.diff)
        if job.operation.kind == "sort" and work.action == "merge":  # of runs
            names = tuple(source.name for source in work.sources)
            seen = tuple(file_state(name) for name in names)
            job = replace(job, inputs=names, operation=operation, items=replace(job.items, shown=None))
            first = absolute_name(inputs.names[0]) if isinstance(inputs.sources[0], RangedSource) else ""
            items = replace(job.items, copies=inputs.layout.items.copies)
            shipment = _shipment(work, replace(job, items=items), seen, spots)
            merges = replace(shipment, merges_runs=True, dtype=run_dtype(inputs.dtype), first=first)
            return replace(merges, shown=self._shown)
        copies = inputs.layout.items.copies or [None] * len(inputs.names)
        found = (file_state(name if one is None else one.path) for name, one in zip(inputs.names, copies, strict=True))
        opened = work.sources[::-1] if operation.turned else work.sources
        tagged = tuple(replace(one, tag=source.tag) for one, source in zip(found, opened, strict=True))
        names = tuple(map(absolute_name, inputs.names))
        items = replace(job.items, shown=None, copies=inputs.layout.items.copies)
        made = _shipment(work, replace(job, inputs=names, operation=operation, items=items), tagged, spots)
        return replace(made, shown=self._shown if work.action == "merge" else None)

    @property
    def _shown(self) -> Callable[[bytes], Bytes] | None:
        """The way to the bytes of the output of stored sources, unless workers make it with their join."""
        is_stored = isinstance(self.inputs.sources[0], StoredSource) and self.inputs.join is None
        return self.inputs.written.shown if is_stored else None

    def _spans(self, work: Pass, shipment: Shipment, output: Output) -> ChunkCutter:
        """Cuts a merge; the workers, which were checked, do if its inputs lie far from here."""
        work = replace(work, whole_groups=work.sums_groups)
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
    sources = work.sources[::-1] if job.operation.turned else work.sources  # as the inputs are
    sizes = tuple(source.size for source in sources)
    return Shipment(os.urandom(8).hex(), __version__, work.detached(job), inputs, sizes, spots)


def _of_one_machine(margin: Margin, output: str) -> str:
    """The part of a margin that a cluster does not make, with its verb; "" if there is none."""
    if margin.title is not None:
        return "--source: the column is made"
    if margin.file is not None:
        return "--count-to: the file is written"
    return "--total: the last line of an object is written" if margin.total is not None and is_url(output) else ""


def _refuse_gaps(inputs: Inputs, join: JoinRules | JoinRequest | DiffRequest | None) -> None:
    """Raise UsageError for an as-of join that may have to look at more than one item beside each range of a source.

    Texts without a number lie among numbers, and are passed over.
    """
    if isinstance(join, Join | PayloadJoin) and join.asof is not None and isinstance(inputs.sources[1], RangedSource):
        text = join.orders[1].text
        last = None if text is None else text.keys[-1]
        if last is not None and join.asof.measure == "by kind" and last.compare in _WITH_GAPS:
            what = f"--type asof: some texts of {last.option_text} may have no number"
            way_out = "leave --cluster out, or store the key as numbers"
            raise UsageError(f"{what}, and a cluster cannot look past them", way_out=way_out)


def note_facts(work: Pass, task: Task, answer: Reply) -> None:
    """Have the sources of a pass take note of facts that a task has found. Raises InputError."""
    for source, facts in zip(work.sources, answer.result.facts, strict=False):
        if isinstance(source, RangedSource):
            source.note(facts)


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
