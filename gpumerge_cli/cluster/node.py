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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from gpumerge_cli import __version__
from gpumerge_cli.backends import select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.cluster.look import judge_stores, judge_upload
from gpumerge_cli.cluster.outlets import CountOutlet, FolderOutlet, PartsOutlet, RangeOutlet
from gpumerge_cli.cluster.own import has_gpu, own_memory, own_threads, worker_name
from gpumerge_cli.cluster.runs import run_sources
from gpumerge_cli.cluster.seeing import judge_inputs
from gpumerge_cli.cluster.shipment import Answer, Packed, Shipment, Standing, shifted
from gpumerge_cli.cluster.unpacker import Unpacker
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.inputs import opened
from gpumerge_cli.engine.launches import chunk_sizes_of
from gpumerge_cli.engine.memory import Shares, shares
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.task import Task, TaskResult, UnfinishedError
from gpumerge_cli.engine.workers import Setup, Slots
from gpumerge_cli.errors import ClusterError, DeviceError, GpumergeError, InputError
from gpumerge_cli.extents import PartsSpot, Spot
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.formats.output_range import OutputRange
from gpumerge_cli.formats.sink import ItemSink
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.plan import Chunk, Cut, Planner, ends_of

_MOST_OPEN = 4
"""Runs that a worker keeps open. Those of clients that went away without a word are closed when others come."""
_PATIENCE, _LOOK = 10.0, 0.1
"""Seconds in which a file that another machine has just made must come to be seen; and between two looks for it."""
_SHARED = "write to a file system that all machines have, under one path"


class _Bench:
    """The opened inputs and output of one run in this process."""

    def __init__(self, shipment: Shipment) -> None:
        self.shipment = shipment
        self.active = 0
        self._stack = ExitStack()
        self._slots: Slots | None = None
        self._ranges: list[OutputRange] = []
        try:
            self._work = self._opened()
            setup = Setup(self._work, _backend(self._work), self._shares)
            setup.open()
            self._slots = Slots(setup)
        except BaseException:
            self.close()
            raise

    def _opened(self) -> Pass:
        shipment = self.shipment
        _judge_files(shipment)
        sinks: list[Sink] = []
        spots = () if shipment.folder else shipment.spots
        for spot in (one for one in spots if isinstance(one, Spot)):
            self._ranges.append(OutputRange(spot))
            self._stack.callback(self._ranges[-1].abort)
            sinks.append(ItemSink(self._ranges[-1], dtype=spot.dtype, start=spot.start))
        self.outlet = RangeOutlet(sinks, planned=shipment.work.equals.keeps_all)
        if shipment.folder:
            self.outlet = FolderOutlet(shipment.folder, sums=shipment.known is not None)
        elif shipment.part_bytes:
            self.outlet = PartsOutlet([spot for spot in spots if isinstance(spot, PartsSpot)])
        elif not sinks:
            self.outlet = CountOutlet()
        return replace(shipment.work, sources=self._sources(), outlet=self.outlet)

    def _sources(self) -> Sequence[Source]:
        """The inputs, opened by name. Raises InputError or ClusterError for one that is not as the client sees it."""
        shipment = self.shipment
        if shipment.runs:
            paths = (one.path for one in shipment.inputs)
            return run_sources(paths, shipment.dtype, shipment.work.order.end, self._stack)
        job = shipment.work.job
        inputs = self._stack.enter_context(opened(job.inputs, job.items, folders=job.resources.folders, silent=True))
        for source, size, seen in zip(inputs.sources, shipment.sizes, shipment.inputs, strict=True):
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
        return inputs.sources

    def _shares(self, backend: Backend, policy: LaunchPolicy | SortPolicy) -> Shares:
        work = self._work
        threads, memory = own_threads(), work.job.resources.memory or own_memory()
        if work.shares is not None:
            return Shares(threads, work.shares.chunk_bytes)
        sizes, number = chunk_sizes_of(backend, work, policy), len(work.sources)
        return replace(shares(sizes, work.nbytes, number, threads, memory), workers=threads)

    def do(self, task: Task) -> tuple[TaskResult, str]:
        """Do the task; its bytes are with the file system or store when it comes back, and the tag of their part.

        Raises UnfinishedError, OutputError.
        """
        known = (self.shipment.known or {}).get(task.place.part)
        if known is not None and isinstance(self.outlet, FolderOutlet) and self.outlet.has(task.place.part, known):
            return TaskResult(list(known.counts), written=known.size, nbytes=task.nbytes, part=task.place.part), ""
        self.outlet.begin(task.place)
        assert self._slots is not None, "it is open"
        result = self._slots.do(task)
        if self.outlet.is_over(task.turn):
            raise ClusterError("the run was stopped")
        for source in self._work.sources:
            if source.extent is not None:  # others are asked for by their tags, again and again
                source.check_unchanged()
        if self._ranges:
            self._ranges[task.place.part].finish(durable=self._work.job.output.durable)
        return result, self.outlet.end(task.place)

    @property
    def planner(self) -> Planner:
        """Cuts the inputs."""
        return self._work.planner

    def stop(self) -> None:
        """Have tasks under way end with their present piece."""
        self.outlet.stop()

    def close(self) -> None:
        """Close all files and give all memory back."""
        if self._slots is not None:
            self._slots.close()
        self._stack.close()


_benches: OrderedDict[str, _Bench | Unpacker] = OrderedDict()
_over: OrderedDict[str, None] = OrderedDict()  # runs that have ended
_lock = threading.Lock()


@contextmanager
def _bench(packed: Packed) -> Iterator[_Bench | Unpacker]:
    """The bench of a run, for one task."""
    shipment: Shipment | None = None
    with _lock:
        if packed.digest not in _benches:
            shipment = pickle.loads(packed.data)
            if shipment.run in _over:
                raise ClusterError("the run has ended")
            judge_version(shipment.version)
            _benches[packed.digest] = (Unpacker if shipment.work.action == "unpack" else _Bench)(shipment)
            idle = [key for key, one in _benches.items() if not one.active and key != packed.digest]
            for key in idle[: max(0, len(_benches) - _MOST_OPEN)]:
                _benches.pop(key).close()
        bench = _benches[packed.digest]
        _benches.move_to_end(packed.digest)
        bench.active += 1
    try:
        yield bench
    finally:
        with _lock:
            bench.active -= 1
            ended = bench.shipment.run in _over and not bench.active
            if ended:
                _benches.pop(packed.digest, None)
        if ended:
            bench.close()


def do_all(packed: Packed, tasks: Sequence[Task]) -> list[Answer]:
    """Do tasks of a run, one after the other. See do."""
    return [do(packed, task) for task in tasks]


def do(packed: Packed, task: Task) -> Answer:
    """Do a task of a run. Errors of this program come as a part of the answer, all others as they are."""
    began, start = time.time(), time.perf_counter()
    result = TaskResult([0] * len(task.chunk.ranges), part=task.place.part)
    answer = Answer(result, worker_name(), threading.get_ident(), began, 0.0)
    try:
        with _bench(packed) as bench:
            answer.result, answer.tag = bench.do(task)
            answer.crc = bench.outlet.crc if isinstance(bench.outlet, FolderOutlet) else 0
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


def cuts(packed: Packed, chunk: Chunk, targets: Sequence[int]) -> list[Cut]:
    """Cuts of the inputs of a run inside a chunk, near to targets. See Planner.near. Raises GpumergeError."""
    with _bench(packed) as bench:
        assert isinstance(bench, _Bench)
        return bench.planner.near(targets, *ends_of(chunk))


def probe(packed: Packed, dask_worker: Any = None) -> Standing | GpumergeError:
    """See whether this worker can do the tasks of a run: it sees the same inputs, and can write to the output.

    dask_worker: this worker, which Dask fills in.
    """
    try:
        shipment: Shipment = pickle.loads(packed.data)
        judge_version(shipment.version)
        _judge_files(shipment)
        judge_stores(shipment.inputs)
        for spot in shipment.spots:
            if isinstance(spot, PartsSpot):
                judge_upload(spot)
                continue
            _await(spot.path, "the output's folder", _SHARED)
            if not os.access(spot.path, os.W_OK):
                raise _unwritten(spot.name)
            OutputRange(replace(spot, mapped=0)).abort()
        if shipment.folder:
            _await(shipment.folder, "the folder for temporary files", "name one with -T that all machines see")
            if not os.access(shipment.folder, os.W_OK | os.X_OK):
                raise _unwritten(shipment.folder)
        backend = select.host()
        host = socket.gethostname()
        threads, memory = own_threads(dask_worker), own_memory(dask_worker)
        return Standing(__version__, host, threads, memory, has_gpu(dask_worker), backend.info().name)
    except GpumergeError as error:
        return error


async def probed(packed: Packed, dask_worker: Any = None) -> Standing | GpumergeError:
    """See probe, in a thread: stores and file systems may be slow, and Dask must go on meanwhile."""
    return await asyncio.to_thread(probe, packed, dask_worker)


def forget(run: str) -> None:
    """The run has ended: its tasks stop, and its files are closed."""
    with _lock:
        _over[run] = None
        while len(_over) > 1000:
            _over.popitem(last=False)
        found = [key for key, one in _benches.items() if one.shipment.run == run]
        for key in found:
            _benches[key].stop()
        idle = [_benches.pop(key) for key in found if not _benches[key].active]
    for bench in idle:
        bench.close()


def judge_version(version: str) -> None:
    """Raise ClusterError if the client's version is not this worker's."""
    if version != __version__:
        raise ClusterError(
            f"the worker at {socket.gethostname()} has gpumerge {__version__}, this is {version}",
            way_out="install one version on all machines",
        )


def _judge_files(shipment: Shipment) -> None:
    """See judge_inputs; waits a while for runs and copies that other machines have just made."""
    until = time.monotonic() + _PATIENCE
    new = shipment.runs or any(shipment.work.job.items.copies)
    while new and time.monotonic() < until:
        with suppress(ClusterError):
            return judge_inputs(shipment.inputs)
        time.sleep(_LOOK)
    return judge_inputs(shipment.inputs)


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
        time.sleep(_LOOK)


def _backend(work: Pass) -> Backend:
    """The backend of a worker: that of the job's options where it has a GPU to use, else the CPU's."""
    on = work.job.resources
    if not has_gpu():
        return select.host()
    return select.select(on.backend, on.device, work.order, work.nbytes, sorts=work.sorts).backend
