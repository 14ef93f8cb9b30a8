"""The workers of a cluster: each is checked before anything is written, and gets tasks if it can do them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.backends import select
from gpumerge_cli.cluster import node
from gpumerge_cli.cluster.calls import ANSWER_SECONDS, ListedWorker, await_workers, call_each, load_error, workers_of
from gpumerge_cli.cluster.dispatcher import Dispatcher, OnDone, Pool, RemoteWorker, TaskPolicy
from gpumerge_cli.cluster.eligible import EligibleWorkers
from gpumerge_cli.cluster.file_checks import name_as_given
from gpumerge_cli.cluster.pool import DaskPool
from gpumerge_cli.cluster.shipment import PackedShipment, Shipment, WorkerStatus
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.executor import ReadyWorkers
from gpumerge_cli.engine.launches import launch_info, policy_of
from gpumerge_cli.engine.outcome import LaunchInfo, Member, WorkerLog
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.errors import ClusterError, GpumergeError

if TYPE_CHECKING:
    from distributed import Client

_STORES = 300.0
"""Seconds in which a first worker must have checked the stores, which may be slow or need several tries."""
_MOST_TASK, _LEAST_TASK = 256 << 20, 1 << 20
_MOST_HELD = 64 << 20
_LEAST_PACE = 4e6
"""Compressed bytes of an input that a worker gets through in a second, at least."""
_TASKS = 12
"""Tasks for each thread, at least, so that all threads end at about the same time."""


class Workers:
    """The workers of a connected client. here: all of them are processes of this machine."""

    def __init__(self, client: Client, patience: float = 60.0, *, here: bool = False) -> None:
        self.client = client
        self.here = here
        self.patience = patience
        self.statuses: dict[str, WorkerStatus] = {}
        self._mute: set[str] = set()  # addresses of workers that do not answer

    @property
    def threads(self) -> int:
        """Threads of all workers that were checked; of all that are there, before any was."""
        known = self.statuses or workers_of(self.client)
        return max(1, sum(one.threads for one in known.values()))

    def ready(self, work: Pass, shipment: Shipment, on_done: OnDone | None = None) -> ReadyWorkers:
        """The workers for a shipment, each of which has checked that it can do its tasks. Raises ClusterError."""
        names = self.check_workers(shipment)
        launch = LaunchInfo()
        if work.action != "unpack":
            launch = launch_info("", policy_of(select.host(), work))
        members: list[Member] = []
        for address, one in self.statuses.items():
            threads = f"{one.threads} thread{'s' if one.threads > 1 else ''}"
            there = replace(launch, device=f"{threads} of {one.host}")
            members.append(RemoteWorker(f"worker {names[address]}", one.threads, there))
        backend = work.job.resources.backend
        gpus = any(one.gpu for one in self.statuses.values()) and backend != "cpu" and work.order.gpu
        gpus = gpus and not work.is_for_cpu
        if backend == "gpu" and not gpus:
            raise ClusterError(
                "no worker has a GPU", way_out="start workers with --resources GPU=1, or leave --backend out"
            )
        resources = {"GPU": 1} if gpus and work.action != "unpack" else {}
        nbytes = self.task_bytes(int(work.nbytes * (shipment.row_bytes or 1)))
        pieces = task_policy(work, shipment, nbytes)

        def do(tasks: Tasks) -> Sequence[WorkerLog]:
            executor = Dispatcher(members, tasks, self.pool(shipment, resources), pieces, on_done)
            try:
                executor.run()
            except GpumergeError as error:
                name_as_given(error, work.job.inputs)
                raise
            return executor.logs

        return ReadyWorkers(members, do)

    def task_bytes(self, nbytes: int) -> int:
        """Bytes of a task, of `nbytes` in all: no thread waits long at the end, and there are not too many tasks."""
        return max(_LEAST_TASK, min(_MOST_TASK, nbytes // (_TASKS * self.threads)))

    def pool(self, shipment: Shipment, resources: Mapping[str, float]) -> Pool:
        """Has tasks of a shipment done by the workers that can. resources: see DaskPool."""
        return DaskPool(self.eligible(shipment.packed()), shipment, resources, self.patience)

    def eligible(self, packed: PackedShipment) -> EligibleWorkers:
        """The workers that can do the tasks of a shipment: those that were checked, and others that come."""
        return EligibleWorkers(self.client, packed, self.statuses)

    def check_workers(self, shipment: Shipment) -> dict[str, str]:
        """Have every worker check that it can do the tasks of a shipment; the workers' names by their addresses."""
        until = time.monotonic() + self.patience
        self.statuses = {}
        packed, stored = shipment.packed(), shipment.part_bytes or shipment.reads_urls
        while not self.statuses:
            await_workers(self.client, self.patience)
            answers = self._probed(packed, _STORES if stored else ANSWER_SECONDS)
            self.statuses = {address: one for address, one in answers.items() if isinstance(one, WorkerStatus)}
            if not self.statuses and time.monotonic() > until:
                problem = "".join(f": {one}" for one in list(answers.values())[:1])
                raise ClusterError(f"no worker answers{problem}", way_out="look into the logs of the workers")
        known = workers_of(self.client)
        return {address: known.get(address, ListedWorker(address, 0)).name for address in self.statuses}

    def _probed(self, packed: PackedShipment, seconds: float) -> dict[str, WorkerStatus | BaseException]:
        """The standing of each worker, or an error of its connection. Raises the errors of all other kinds.

        seconds: in which the first one must answer. Workers that do not are not asked again while others answer: a
        frozen one would have each step of a sort wait. One that wakes is checked as those that come late.
        """

        async def probed(address: str) -> WorkerStatus | BaseException:
            run = self.client.run(node.probe_in_thread, packed, workers=[address], on_error="return")
            found: WorkerStatus | BaseException = (await run)[address]
            return found

        there = set(workers_of(self.client))
        answers = call_each(self.client, there - self._mute or there, probed, seconds, ANSWER_SECONDS)
        if answers:
            self._mute = there - answers.keys()
        for one in answers.values():
            if isinstance(one, GpumergeError):
                raise one
            if not isinstance(one, WorkerStatus | OSError | KeyError):
                raise load_error(one)
        return answers


def task_policy(work: Pass, shipment: Shipment, nbytes: int) -> TaskPolicy:
    """The pieces that the pass is cut into. nbytes: of each of them, about, if it is a merge to files."""
    if work.action == "unpack":
        return TaskPolicy(1, pace=_LEAST_PACE)
    if work.action != "merge":
        return TaskPolicy(1)  # they stay as they are
    if shipment.row_bytes:
        groups = max(1, round(nbytes / shipment.row_bytes / shipment.group_rows))
        return TaskPolicy(groups * shipment.group_rows)
    least = shipment.part_bytes
    if least:  # a worker holds a part in memory
        nbytes = max(least + least // 4, min(nbytes, _MOST_HELD))
    return TaskPolicy(nbytes, not work.job.operation.keeps_sizes and shipment.spots != (), least)
