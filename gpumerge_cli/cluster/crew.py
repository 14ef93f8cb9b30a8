"""A crew of a cluster: judges before anything is written that the workers can do a run, and has them do it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpumerge_cli import __version__
from gpumerge_cli.backends import select
from gpumerge_cli.backends.base import SortPolicy
from gpumerge_cli.cluster import node
from gpumerge_cli.cluster.calls import ANSWERS, Listed, await_workers, no_package, of_each, workers_of
from gpumerge_cli.cluster.cutting import FarCuts
from gpumerge_cli.cluster.executor import ClusterExecutor, Pieces, RemoteWorker
from gpumerge_cli.cluster.fit import FitWorkers
from gpumerge_cli.cluster.pool import DaskPool
from gpumerge_cli.cluster.seeing import not_as_it_stands, not_written, seen_of
from gpumerge_cli.cluster.shipment import Answer, Packed, Seen, Shipment, Standing
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.executor import Executes, ExecutorOf, Tasks
from gpumerge_cli.engine.hiring import Hired
from gpumerge_cli.engine.job import Job, Resources
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.station import policy_of
from gpumerge_cli.engine.supply import Spans
from gpumerge_cli.engine.task import ChunkTask, TaskWork
from gpumerge_cli.engine.workers import About, Member
from gpumerge_cli.errors import ClusterError, GpumergeError
from gpumerge_cli.extents import PartsSpot, Spot
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from distributed import Client

Noted = Callable[[ChunkTask, Answer], None]
_STORES = 300.0
"""Seconds in which a first worker must have looked at stores, which may be slow, or ask for several tries."""
_MOST_TASK, _LEAST_TASK = 256 << 20, 1 << 20
_MOST_HELD = 64 << 20
_LEAST_PACE = 4e6
"""Compressed bytes of an input that a worker gets through in a second, at least."""
_TASKS = 12
"""Tasks for each thread, at least, so that all threads end at about the same time."""


class Crew:
    """The workers of a connected client. here: all of them are processes of this machine."""

    def __init__(self, client: Client, patience: float = 60.0, *, here: bool = False) -> None:
        self.client = client
        self.here = here
        self.patience = patience
        self.why = "asked for"
        self.standings: dict[str, Standing] = {}
        self._mute: set[str] = set()  # addresses of workers that do not answer

    @property
    def threads(self) -> int:
        """Threads of all workers that were judged."""
        return max(1, sum(one.threads for one in self.standings.values()))

    def hire(self, site: Site, output: Output, job: Job) -> Hired:
        """The workers for the tasks of a site, which write to `output`.

        Raises InputError, OutputError or ClusterError if they cannot; nothing is written by then.
        """
        shipment = self.shipment(site, job.resources, durable=job.output.durable)
        shipment = replace(shipment, spots=spots_of(output, here=self.here))
        return self.hired(site, shipment, partial(note_part, output))

    def shipment(self, site: Site, on: Resources, *, durable: bool = False) -> Shipment:
        """The shipment of a site, without its output. Raises InputError for inputs that workers cannot read."""
        names = [one.name for one in site.work.inputs]
        found = (seen_of(name if one is None else one.path) for name, one in zip(names, site.copies, strict=True))
        seen = tuple(replace(one, tag=source.tag) for one, source in zip(found, site.sources, strict=True))
        named = tuple(replace(one, name=_everywhere(one.name)) for one in site.work.inputs)
        return self.shipment_of(replace(site.work, inputs=named), seen, on, durable=durable)

    @staticmethod
    def shipment_of(work: TaskWork, inputs: tuple[Seen, ...], on: Resources, *, durable: bool = False) -> Shipment:
        """The shipment of a work, without its output. inputs: the files that workers read."""
        return Shipment(os.urandom(8).hex(), __version__, work, inputs, (), on, durable=durable)

    def hired(self, site: Site, shipment: Shipment, noted: Noted = lambda task, answer: None) -> Hired:
        """The workers for a shipment, each of which has seen that it can do its tasks. Raises ClusterError.

        noted: is told each task that is done.
        """
        names = self.judge(shipment)
        launch = _launch_of(site.work)
        workers: list[Member] = []
        for address, one in self.standings.items():
            threads = f"{one.threads} thread{'s' if one.threads > 1 else ''}"
            about = replace(launch, device=f"{threads} of {one.host}")
            workers.append(RemoteWorker(f"worker {names[address]}", one.threads, about))
        return Hired(workers, self.executor(site, shipment, workers, noted), spans=self.spans(site, shipment))

    def spans(self, site: Site, shipment: Shipment) -> Spans | None:
        """Has workers cut the inputs of a merge if they lie far from here; None if this machine cuts them."""
        if site.work.action != "merge" or not shipment.reads_urls:
            return None
        packed = shipment.packed()
        fit = FitWorkers(self.client, packed, self.standings)
        return FarCuts(fit, packed, site.planner, site.parts)

    def executor(self, site: Site, shipment: Shipment, workers: Sequence[Member], noted: Noted) -> ExecutorOf:
        """Makes the executor of a shipment, whose workers were judged. Raises ClusterError for a GPU nobody has."""
        gpus = any(one.gpu for one in self.standings.values()) and shipment.on.backend != "cpu"
        if shipment.on.backend == "gpu" and not gpus:
            raise ClusterError(
                "no worker has a GPU", way_out="start workers with --resources GPU=1, or leave --backend out"
            )
        resources = {"GPU": 1} if gpus and site.work.action != "unpack" else {}
        pieces = pieces_of(site, shipment, task_bytes(site.nbytes, self.threads))

        def made(job: Tasks, stopwatch: Stopwatch) -> Executes:
            fit = FitWorkers(self.client, shipment.packed(), self.standings)
            pool = DaskPool(fit, shipment, resources, self.patience)
            return ClusterExecutor(workers, job, stopwatch, pool, pieces, noted)

        return made

    def judge(self, shipment: Shipment) -> dict[str, str]:
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


def pieces_of(site: Site, shipment: Shipment, nbytes: int) -> Pieces:
    """The pieces that the work is cut into. nbytes: of each of them, about, if it is a merge to files."""
    if site.work.action == "unpack":
        return Pieces(1, pace=_LEAST_PACE)
    if site.work.action != "merge":
        return Pieces(1)  # they stay as they are
    least = shipment.part_bytes
    if least:  # a worker holds a part in memory
        nbytes = max(least + least // 4, min(nbytes, _MOST_HELD))
    return Pieces(nbytes, not site.work.equals.keeps_all, least)


def _launch_of(work: TaskWork) -> About:
    """The launch of the tasks of a work, as reports tell it."""
    if work.action == "unpack":
        return About()
    policy = policy_of(select.host(), work)
    kernel = policy.algorithm if isinstance(policy, SortPolicy) else policy.kernel
    return About("", kernel, policy.describe(), policy.why)


def _everywhere(name: str) -> str:
    """A name that means the same to all machines that share a file system."""
    return name if is_url(name) else os.path.abspath(name)


def note_part(output: Output, task: ChunkTask, answer: Answer) -> None:
    """Take note of the part of an object that a task has sent."""
    if answer.tag:
        output.sinks[task.place.part].sent(task.place.offset, answer.result.written, answer.tag)


def task_bytes(nbytes: int, threads: int) -> int:
    """Bytes of a task, of `nbytes` in all: small enough that no thread waits long at the end, and not too many."""
    return max(_LEAST_TASK, min(_MOST_TASK, nbytes // (_TASKS * threads)))


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
