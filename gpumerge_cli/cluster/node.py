"""The work of a worker process: it opens the inputs and the output of a run once, and does tasks in any thread.

A task writes nothing but its own range of the output, so a task that is done twice leaves the same bytes.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from gpumerge_cli import __version__
from gpumerge_cli.backends import select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.cluster.file_checks import check_inputs
from gpumerge_cli.cluster.locale_checks import check_locale
from gpumerge_cli.cluster.open_runs import open_runs
from gpumerge_cli.cluster.range_tasks import RangeSetup
from gpumerge_cli.cluster.row_parts import RowParts
from gpumerge_cli.cluster.row_runs import RowRuns
from gpumerge_cli.cluster.shipment import PackedShipment, Reply, Shipment, WorkerStatus, shifted
from gpumerge_cli.cluster.store_checks import check_stores, check_upload
from gpumerge_cli.cluster.this_worker import has_gpu, worker_memory, worker_name, worker_threads
from gpumerge_cli.cluster.unpacker import Unpacker
from gpumerge_cli.cluster.writers import RangeWriter, RunFileWriter, SizeWriter, UploadWriter
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.engine.launches import budget_of
from gpumerge_cli.engine.memory import ChunkBudget, memory_of
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.row_sorts import purpose_of
from gpumerge_cli.engine.task import Task, TaskResult, UnfinishedError
from gpumerge_cli.engine.workers import PassSetup
from gpumerge_cli.errors import ClusterError, DeviceError, GpumergeError, InputError
from gpumerge_cli.extents import SinkLocation, UploadLocation
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.formats.output_range import OutputRange
from gpumerge_cli.formats.ranges import RangedSource
from gpumerge_cli.formats.sink import ItemSink
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.native.cuts import Cut
from gpumerge_cli.order.differences import Diff, DiffRequest
from gpumerge_cli.plan import Chunk, Planner, ends_of

if TYPE_CHECKING:
    from distributed import Worker

_MOST_OPEN = 4
"""Runs that a worker keeps open. Those of clients that went away without a word are closed when others come."""
_PATIENCE, _POLL = 10.0, 0.1
"""Seconds in which a file that another machine has just made must appear; and between two checks for it."""
_SHARED = "write to a file system that all machines have, under one path"


class _OpenRun:
    """The opened inputs and output of one run in this process."""

    def __init__(self, shipment: Shipment) -> None:
        self.shipment = shipment
        self.active = 0
        self._stack = ExitStack()
        self._setup: PassSetup | RangeSetup | None = None
        self._ranges: list[OutputRange] = []
        self._rows: RowParts | None = None
        self._runs: RowRuns | None = None
        self._shown: Callable[[bytes], Bytes] | None = None
        try:
            self._pass = self._opened()
            is_ranged = any(isinstance(source, RangedSource) for source in self._pass.sources)
            setup = (self._pass, _backend(self._pass), self._budget)
            ranged = (self._rows, self._runs, shipment.shown or self._shown)
            by_task = is_ranged or self._pass.sums_groups
            self._setup = RangeSetup(*setup, *ranged) if by_task else PassSetup(*setup)
        except BaseException:
            self.close()
            raise

    def _opened(self) -> Pass:
        shipment = self.shipment
        _check_files(shipment)
        sinks: list[Sink] = []
        spots = () if shipment.folder else shipment.spots
        for spot in (one for one in spots if isinstance(one, SinkLocation)):
            self._ranges.append(OutputRange(spot))
            self._stack.callback(self._ranges[-1].abort)
            sinks.append(ItemSink(self._ranges[-1], dtype=spot.dtype, start=spot.start))
        self.writer = RangeWriter(sinks, planned=shipment.work.job.operation.keeps_sizes)
        if shipment.folder:
            self.writer = RunFileWriter(shipment.folder, sums=shipment.finished_runs is not None)
        elif shipment.part_bytes:
            self.writer = UploadWriter([spot for spot in spots if isinstance(spot, UploadLocation)])
        elif not sinks:
            self.writer = SizeWriter()
        self._job = shipment.work.job
        sources = self._sources()
        return replace(shipment.work, job=self._job, sources=sources, writer=self.writer)

    def _sources(self) -> Sequence[Source]:
        """The inputs, opened by name. Raises InputError or ClusterError for one that is not as the client sees it."""
        shipment = self.shipment
        if shipment.merges_runs:
            paths = (one.path for one in shipment.inputs)
            first = self._inputs((shipment.first,))[0] if shipment.first else None
            runs = open_runs(paths, shipment.dtype, shipment.work.order, self._stack, first)
            self._rows = self._rows.over(runs, shipment.work.order) if self._rows is not None else None
            return runs
        sources = self._inputs(shipment.work.job.inputs)
        for source, size, seen in zip(sources, shipment.sizes, shipment.inputs, strict=True):
            if source.size != size:
                raise InputError(
                    f"it holds {source.size} bytes, the task says {size}", where=source.name,
                    way_out="merge it when nothing writes to it",
                )  # fmt: skip
            if source.tag != seen.tag:
                raise ClusterError(
                    f"the worker at {socket.gethostname()} has another object there", where=source.name,
                    way_out="merge it when nothing writes to it",
                )  # fmt: skip
        return sources[::-1] if self._job.operation.turned else sources

    def _inputs(self, names: Sequence[str]) -> Sequence[Source]:
        """Inputs of the job, opened. Raises InputError."""
        work, job = self.shipment.work, self.shipment.work.job
        memory = memory_of(job, worker_memory()) // worker_threads()
        purpose = replace(purpose_of(job, by_ranges=True), memory=memory)
        if isinstance(job.operation.join, Diff):
            purpose = replace(purpose, diff=DiffRequest(total=job.operation.join.only_counts))
        alike, on = not job.operation.takes_others, job.resources
        opening = open_inputs(names, job.items, resources=on, alike=alike, silent=True, purpose=purpose)
        inputs = self._stack.enter_context(opening)
        if inputs.join is not None:
            self._job = replace(job, operation=replace(job.operation, join=inputs.join))
        self._shown = inputs.written.shown if work.action == "merge" else None
        if inputs.written.rows is not None:
            inputs.written.rows.numbered = self.shipment.numbered
        if inputs.written.rows is not None and work.action == "sort":
            self._runs = RowRuns(job, inputs.sources, work.order)
        elif work.action == "merge":
            self._rows = RowParts.of(job, inputs, self.shipment.folder)
        return inputs.sources

    def _budget(self, backend: Backend, policy: LaunchPolicy | SortPolicy) -> ChunkBudget:
        work, threads, memory = self._pass, worker_threads(), memory_of(self._pass.job, worker_memory())
        return replace(budget_of(work, backend, policy, threads, memory), workers=threads)

    def do(self, task: Task) -> tuple[TaskResult, str]:
        """Do the task; its bytes are with the file system or store when it comes back, and the tag of their part.

        Raises UnfinishedError, OutputError.
        """
        known = (self.shipment.finished_runs or {}).get(task.position.part)
        if known is not None and isinstance(self.writer, RunFileWriter) and self.writer.has(task.position.part, known):
            return TaskResult(
                counts=list(known.counts), written=known.size, nbytes=task.nbytes, part=task.position.part
            ), ""
        self.writer.begin(task.position)
        assert self._setup is not None, "it is open"
        result = self._setup.do(task)
        if self.writer.is_over(task.turn):
            raise ClusterError("the run was stopped")
        for source in self._pass.sources:
            if source.extent is not None:  # other sources send their tags with every request
                source.check_unchanged()
        if self._ranges:
            self._ranges[task.position.part].finish(durable=self._pass.job.output.durable)
        return result, self.writer.end(task.position)

    @cached_property
    def planner(self) -> Planner:
        """Cuts the inputs."""
        return replace(self._pass, whole_groups=self._pass.sums_groups).planner

    def stop(self) -> None:
        """Have tasks under way end with their present piece."""
        self.writer.stop()

    def close(self) -> None:
        """Close all files and give all memory back."""
        if self._setup is not None:
            self._setup.close()
        self._stack.close()


_open_runs: OrderedDict[str, _OpenRun | Unpacker] = OrderedDict()
_over: OrderedDict[str, None] = OrderedDict()  # runs that have ended
_lock = threading.Lock()


@contextmanager
def _open_run(packed: PackedShipment) -> Iterator[_OpenRun | Unpacker]:
    """The opened files of a run, for one task."""
    shipment: Shipment | None = None
    with _lock:
        if packed.digest not in _open_runs:
            shipment = pickle.loads(packed.data)
            if shipment.run in _over:
                raise ClusterError("the run has ended")
            check_version(shipment.version)
            _open_runs[packed.digest] = (Unpacker if shipment.work.action == "unpack" else _OpenRun)(shipment)
            idle = [key for key, one in _open_runs.items() if not one.active and key != packed.digest]
            for key in idle[: max(0, len(_open_runs) - _MOST_OPEN)]:
                _open_runs.pop(key).close()
        open_run = _open_runs[packed.digest]
        _open_runs.move_to_end(packed.digest)
        open_run.active += 1
    try:
        yield open_run
    finally:
        with _lock:
            open_run.active -= 1
            ended = open_run.shipment.run in _over and not open_run.active
            if ended:
                _open_runs.pop(packed.digest, None)
        if ended:
            open_run.close()


def do_all(packed: PackedShipment, tasks: Sequence[Task]) -> list[Reply]:
    """Do tasks of a run, one after the other. See do."""
    return [do(packed, task) for task in tasks]


def do(packed: PackedShipment, task: Task) -> Reply:
    """Do a task of a run. Errors of this program come as a part of the answer, all others as they are."""
    began, start = time.time(), time.perf_counter()
    result = TaskResult(counts=[0] * len(task.chunk.ranges), part=task.position.part)
    answer = Reply(result, worker_name(), began, 0.0)
    try:
        with _open_run(packed) as open_run:
            answer.result, answer.tag = open_run.do(task)
            answer.crc = open_run.writer.crc if isinstance(open_run.writer, RunFileWriter) else 0
    except UnfinishedError as unfinished:
        if not isinstance(unfinished.cause, GpumergeError):
            raise unfinished.cause from None
        answer.error = unfinished.cause
    except GpumergeError as error:
        answer.error = error
    answer.again = isinstance(answer.error, DeviceError)
    answer.seconds = time.perf_counter() - start
    answer.result.spans = shifted(answer.result.spans, time.time() - time.perf_counter())
    return answer


def find_cuts(packed: PackedShipment, chunk: Chunk, targets: Sequence[int]) -> list[Cut]:
    """Cuts of the inputs of a run inside a chunk, near to targets. See Planner.near. Raises GpumergeError."""
    with _open_run(packed) as open_run:
        assert isinstance(open_run, _OpenRun)
        return open_run.planner.near(targets, *ends_of(chunk))


def probe(packed: PackedShipment, dask_worker: Worker | None = None) -> WorkerStatus | GpumergeError:
    """Check whether this worker can do the tasks of a run: it sees the same inputs, and can write to the output.

    dask_worker: this worker, which Dask fills in.
    """
    try:
        shipment: Shipment = pickle.loads(packed.data)
        check_version(shipment.version)
        _check_files(shipment)
        check_stores(shipment.inputs)
        for spot in shipment.spots:
            if isinstance(spot, UploadLocation):
                check_upload(spot)
                continue
            _await(spot.path, "the output's folder", _SHARED)
            if not os.access(spot.path, os.W_OK):
                raise _unwritten(spot.name)
            OutputRange(replace(spot, mapped=0)).abort()
        if shipment.folder:
            _await(shipment.folder, "the folder for temporary files", "name one with -T that all machines see")
            if not os.access(shipment.folder, os.W_OK | os.X_OK):
                raise _unwritten(shipment.folder)
        select.host()  # raises for a library that cannot be loaded
        check_locale(shipment.work.order)
        threads, memory = worker_threads(dask_worker), worker_memory(dask_worker)
        return WorkerStatus(socket.gethostname(), threads, memory, has_gpu(dask_worker))
    except GpumergeError as error:
        return error


async def probe_in_thread(packed: PackedShipment, dask_worker: Worker | None = None) -> WorkerStatus | GpumergeError:
    """See probe, in a thread: stores and file systems may be slow, and Dask must go on meanwhile."""
    return await asyncio.to_thread(probe, packed, dask_worker)


def forget(run: str) -> None:
    """The run has ended: its tasks stop, and its files are closed."""
    with _lock:
        _over[run] = None
        while len(_over) > 1000:
            _over.popitem(last=False)
        found = [key for key, one in _open_runs.items() if one.shipment.run == run]
        for key in found:
            _open_runs[key].stop()
        idle = [_open_runs.pop(key) for key in found if not _open_runs[key].active]
    for open_run in idle:
        open_run.close()


def check_version(version: str) -> None:
    """Raise ClusterError if the client's version is not this worker's."""
    if version != __version__:
        raise ClusterError(
            f"the worker at {socket.gethostname()} has gpumerge {__version__}, this is {version}",
            way_out="install one version on all machines",
        )


def _check_files(shipment: Shipment) -> None:
    """See check_inputs; waits a while for runs and copies that other machines have just made."""
    until = time.monotonic() + _PATIENCE
    new = shipment.merges_runs or any(shipment.work.job.items.copies)
    while new and time.monotonic() < until:
        with suppress(ClusterError):
            return check_inputs(shipment.inputs)
        time.sleep(_POLL)
    return check_inputs(shipment.inputs)


def _unwritten(where: str) -> ClusterError:
    """The error for a file, or folder, of the client that this worker may not write."""
    return ClusterError(
        f"the worker at {socket.gethostname()} may not write to it", where=where,
        way_out="run workers as the user who gives the command",
    )  # fmt: skip


def _await(path: str, what: str, way_out: str) -> None:
    """Wait a while until the file or folder is seen, which another machine has just made. Raises ClusterError.

    what: the folder that it lies in, in messages.
    """
    until = time.monotonic() + _PATIENCE
    while not os.path.exists(path):
        if not os.path.isdir(os.path.dirname(path)) or time.monotonic() > until:
            raise ClusterError(
                f"the worker at {socket.gethostname()} does not see {what}",
                where=os.path.dirname(path),
                way_out=way_out,
            )
        time.sleep(_POLL)


def _backend(work: Pass) -> Backend:
    """The backend of a worker: that of the job's options where it has a GPU to use, else the CPU's."""
    on = work.job.resources
    if not has_gpu() or work.is_for_cpu:
        return select.host()
    return select.select(on.backend, on.device, work.order, work.nbytes, sorts=work.sorts).backend
