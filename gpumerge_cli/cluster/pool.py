"""A pool of Dask workers: tasks go out as futures, and small answers come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
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
"""Seconds in which the cluster must answer a call, and in which the answer of a task that is done must come."""
_STOP = 3.0
"""Seconds in which the cluster must take the word that a run has ended: who pressed Ctrl-C waits for that."""
_BUNDLE, _MOST_TOGETHER = 0.1, 64
"""Seconds that tasks sent as one take together, about, and the most of them: each sending costs milliseconds."""


class DaskPool:
    """Has the tasks of one shipment done by the workers of a Dask client. See executor.Pool.

    resources: what each task asks for, such as {"GPU": 1}.
    """

    def __init__(self, client: Client, shipment: Shipment, resources: Mapping[str, float], patience: float) -> None:
        self.patience = patience
        self.together = 1
        self._client = client
        self._run = shipment.run
        counting = replace(shipment, spots=()) if not shipment.work.equals.keeps_all else shipment
        self._packed = {False: shipment.packed(), True: counting.packed()}
        self._resources = dict(resources) or None
        self._ended: SimpleQueue[tuple[Future, Any]] = SimpleQueue()
        self._tickets: dict[Future, Sequence[Ticket]] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._done: dict[Future, float] = {}  # the times since which answers are under way
        self._sent = 0
        self._seconds = 0.0  # of a task, about
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
        size = min(self.together, -(-len(tickets) // max(1, self._threads)))
        for counts in (False, True):
            alike = [ticket for ticket in tickets if ticket.counts is counts]
            bundles = [alike[at : at + size] for at in range(0, len(alike), size)]
            if not bundles:
                continue
            packed = self._packed[counts]
            numbers = range(self._sent, self._sent + len(bundles))
            self._sent += len(bundles)
            futures: list[Future] = self._client.map(
                node.do_all,
                [packed] * len(bundles),
                [[(one.task.turn, one.task.ranges, one.task.place) for one in bundle] for bundle in bundles],
                key=[f"gpumerge-{packed.digest}-{number}" for number in numbers],
                pure=False,
                resources=self._resources,
            )
            self._tickets.update(zip(futures, bundles, strict=True))
            self._client.loop.add_callback(self._watch, futures)

    def _watch(self, futures: Sequence[Future]) -> None:
        """Have the outcome of each put into the queue. Called in the client's event loop."""
        for future in futures:
            task = asyncio.ensure_future(self._outcome(future))
            self._watching.add(task)
            task.add_done_callback(self._watching.discard)

    async def _outcome(self, future: Future) -> None:
        """Put the outcome of a future into the queue, whatever it is.

        distributed.as_completed is not enough: it never tells of a task whose worker was lost before its answer was
        fetched, and whose second try was lost too.
        """
        outcome: Any = None
        try:
            outcome = await future.result()
        except (Exception, asyncio.CancelledError) as error:
            outcome = error
        self._ended.put((future, outcome))

    def answers(self, seconds: float) -> list[tuple[Ticket, Answer | BaseException]]:
        """See Pool."""
        ended: list[tuple[Future, Any]] = []
        with suppress(Empty):
            ended.append(self._ended.get(timeout=seconds))
            while True:
                ended.append(self._ended.get_nowait())
        judge_alive(self._client)
        if not ended:
            ended = self._overdue()
        return [one for future, outcome in ended for one in self._told(future, outcome)]

    def _overdue(self) -> list[tuple[Future, Any]]:
        """The tasks that were done long ago, and whose answers do not come."""
        now = time.monotonic()
        self._done = {one: self._done.get(one, now) for one in self._tickets if one.status == "finished"}
        return [(one, TimeoutError("no answer")) for one, since in self._done.items() if now - since > _ANSWERS]

    def _told(self, future: Future, outcome: Any) -> list[tuple[Ticket, Answer | BaseException]]:
        """The outcome of each task of a bundle."""
        bundle = self._tickets.pop(future, ())
        if isinstance(outcome, list) and len(outcome) == len(bundle):
            for answer in outcome:
                self._seconds += (answer.seconds - self._seconds) / 8 if self._seconds else answer.seconds
            self.together = max(1, min(_MOST_TOGETHER, int(_BUNDLE / max(self._seconds, 1e-6))))
            return list(zip(bundle, outcome, strict=True))
        if isinstance(outcome, ImportError) and bundle:
            raise no_package(outcome) from None
        error = outcome if isinstance(outcome, BaseException) else ClusterError(f"a worker answered {outcome!r}")
        return [(ticket, error) for ticket in bundle]

    def cancel(self) -> None:
        """See Pool. Tasks under way end with their present piece, and the workers close the run's files."""
        client, left = self._client, list(self._tickets)
        self._tickets.clear()
        if left:
            with suppress(Exception):
                asked(client, lambda: client.cancel(left, force=True), _STOP)
        with suppress(Exception):
            run_on_all(client, node.forget, self._run, on_error="ignore", seconds=_STOP)


def asked(client: Client, call: Callable[[], Awaitable[Any]], seconds: float = _ANSWERS) -> Any:
    """The outcome of a call of a client's method, made in its event loop, where it can be awaited.

    Raises TimeoutError if it does not come in time.
    """

    async def outcome() -> Any:
        return await call()

    return client.sync(outcome, callback_timeout=seconds)


def run_on_all(
    client: Client, function: Callable[[Any], Any], argument: Any, *, on_error: str, seconds: float = _ANSWERS
) -> Any:
    """See Client.run. Raises TimeoutError if a worker that goes away at this moment never answers."""
    return asked(client, lambda: client.run(function, argument, on_error=on_error), seconds)


def workers_of(client: Client) -> dict[str, dict[str, Any]]:
    """The workers of a cluster by their addresses, and what Dask tells of each. Raises ClusterError if it is gone."""
    judge_alive(client)
    try:
        workers: dict[str, dict[str, Any]] = asked(client, lambda: client.scheduler.identity(n_workers=-1))["workers"]
    except OSError:
        return {}
    except (AttributeError, KeyError):  # Dask takes the scheduler's answer away as it goes
        raise _gone() from None
    return workers


def threads_of(client: Client) -> dict[str, int]:
    """The threads of each worker, by addresses. Raises ClusterError if the cluster is gone."""
    return {address: int(told["nthreads"]) for address, told in workers_of(client).items()}


def await_workers(client: Client, patience: float, number: int = 1) -> None:
    """Wait until so many workers are there. Raises ClusterError if they do not come in `patience` seconds."""
    limit = max(patience, 0.01)  # 0 would be no limit
    try:
        asked(client, lambda: client.wait_for_workers(number, timeout=limit), limit + _ANSWERS)
    except (AttributeError, KeyError):  # see workers_of
        raise _gone() from None
    except TimeoutError:
        raise ClusterError(
            f"no worker came in {patience:.0f} seconds",
            way_out="start some (dask worker ADDRESS), or wait longer with --cluster-wait",
        ) from None


def judge_alive(client: Client) -> None:
    """Raise ClusterError if the scheduler went away."""
    if client.status not in ("running", "connecting"):
        raise _gone()


def _gone() -> ClusterError:
    return ClusterError("the scheduler has gone away", way_out="start it again, and look into its logs")


def no_package(error: BaseException) -> ClusterError:
    """The error for a worker that cannot load this program's part for workers."""
    told = str(error).splitlines()[0] if str(error) else type(error).__name__
    return ClusterError(
        f"a worker cannot load gpumerge: {told}", way_out="install gpumerge[cluster] of one version on all machines"
    )
