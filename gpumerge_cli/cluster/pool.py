"""A pool of Dask workers: tasks go out as futures, and small answers come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cluster import node
from gpumerge_cli.cluster.executor import Ticket
from gpumerge_cli.cluster.shipment import Answer, Shipment
from gpumerge_cli.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client, Future

_FRESH = 1.0
"""Seconds for which the list of workers is taken as it was."""
_ANSWERS = 30.0
"""Seconds in which all workers must answer a call."""
_POLL = 0.005
"""Seconds of one wait for an answer, in which one may come unnoticed."""


class DaskPool:
    """Has the tasks of one shipment done by the workers of a Dask client. See executor.Pool.

    resources: what each task asks for, such as {"GPU": 1}.
    """

    def __init__(self, client: Client, shipment: Shipment, resources: Mapping[str, float], patience: float) -> None:
        from distributed import as_completed

        self.patience = patience
        self._client = client
        self._run = shipment.run
        counting = replace(shipment, spots=()) if not shipment.work.equals.keeps_all else shipment
        self._packed = {False: shipment.packed(), True: counting.packed()}
        self._resources = dict(resources) or None
        self._completed = as_completed(loop=client.loop, with_results=True, raise_errors=False)
        self._tickets: dict[Any, Ticket] = {}
        self._threads = 0
        self._looked = 0.0

    def threads(self) -> int:
        """See Pool."""
        now = time.monotonic()
        if now - self._looked > _FRESH:
            self._threads = sum(threads_of(self._client).values())
            self._looked = now
        return self._threads

    def submit(self, tickets: Sequence[Ticket]) -> None:
        """See Pool."""
        for counts in (False, True):
            alike = [ticket for ticket in tickets if ticket.counts is counts]
            if not alike:
                continue
            packed, tasks = self._packed[counts], [ticket.task for ticket in alike]
            futures: list[Future] = self._client.map(
                node.do,
                [packed] * len(alike),
                [task.turn for task in tasks],
                [task.ranges for task in tasks],
                [task.place for task in tasks],
                key=[f"gpumerge-{packed.digest}-{one.task.turn}-{one.tried}" for one in alike],
                pure=False,
                resources=self._resources,
            )
            self._tickets.update(zip(futures, alike, strict=True))
            self._completed.update(futures)

    def answers(self, seconds: float) -> list[tuple[Ticket, Answer | BaseException]]:
        """See Pool."""
        until = time.monotonic() + seconds
        while not self._completed.has_ready() and time.monotonic() < until:
            with self._completed.thread_condition:
                self._completed.thread_condition.wait(_POLL)
        judge_alive(self._client)
        return [
            (self._tickets.pop(future), self._told(result))
            for future, result in self._completed.next_batch(block=False)
        ]

    def _told(self, result: Any) -> Answer | BaseException:
        if isinstance(result, Answer):
            return result
        error = result[1] if isinstance(result, tuple) else result
        if not isinstance(error, BaseException):
            return ClusterError(f"a worker answered {error!r}")
        if isinstance(error, ImportError):
            raise no_package(error) from None
        return error

    def cancel(self) -> None:
        """See Pool. Tasks under way end with their present piece, and the workers close the run's files."""
        with suppress(Exception):
            self._client.cancel(list(self._tickets), force=True)
        with suppress(Exception):
            run_on_all(self._client, node.forget, self._run, on_error="ignore")
        self._tickets.clear()


def run_on_all(client: Client, function: Callable[[Any], Any], argument: Any, *, on_error: str) -> Any:
    """See Client.run. Raises TimeoutError if a worker that goes away at this moment never answers."""
    return client.sync(client._run, function, argument, on_error=on_error, callback_timeout=_ANSWERS)


def threads_of(client: Client) -> dict[str, int]:
    """The workers of a cluster by their addresses, and the threads of each. Raises ClusterError if it is gone."""
    judge_alive(client)
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except OSError:
        return {}
    return {address: int(told["nthreads"]) for address, told in workers.items()}


def await_workers(client: Client, patience: float, number: int = 1) -> None:
    """Wait until so many workers are there. Raises ClusterError if they do not come in `patience` seconds."""
    try:
        client.wait_for_workers(number, timeout=patience)
    except TimeoutError:
        raise ClusterError(
            f"no worker came in {patience:.0f} seconds",
            way_out="start some (dask worker ADDRESS), or wait longer with --cluster-wait",
        ) from None


def judge_alive(client: Client) -> None:
    """Raise ClusterError if the scheduler went away."""
    if client.status not in ("running", "connecting"):
        raise ClusterError("the scheduler has gone away", way_out="start it again, and look into its logs")


def no_package(error: BaseException) -> ClusterError:
    """The error for a worker that cannot load this program's part for workers."""
    told = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ClusterError(
        f"a worker cannot load gpumerge: {told}", way_out="install gpumerge[cluster] of one version on all machines"
    )
