"""A pool of Dask workers: tasks go out as futures, and small answers come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cluster import node
from gpumerge_cli.cluster.calls import ANSWER_SECONDS, await_call, check_alive, load_error, run_on_all
from gpumerge_cli.cluster.dispatcher import Ticket
from gpumerge_cli.cluster.eligible import EligibleWorkers
from gpumerge_cli.cluster.shipment import Reply, Shipment
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Future

_STOP = 3.0
"""Seconds in which the cluster must confirm that a run has ended: after Ctrl-C the user waits for it."""
_BUNDLE, _MOST_TOGETHER = 0.1, 64
"""Seconds that tasks sent as one take together, about, and the most of them: each sending costs milliseconds."""


class DaskPool:
    """Has the tasks of one shipment done by the workers of a Dask cluster that can. See executor.Pool.

    resources: what each task asks for, such as {"GPU": 1}.
    """

    def __init__(
        self, eligible: EligibleWorkers, shipment: Shipment, resources: Mapping[str, float], patience: float
    ) -> None:
        self.patience = patience
        self.together = 1
        self._eligible = eligible
        self._client = eligible.client
        self._run = shipment.run
        counting = shipment if shipment.work.equals.keeps_all else replace(shipment, spots=())
        self._packed = {False: shipment.packed(), True: counting.packed()}
        self._resources = dict(resources) or None
        self._ended: SimpleQueue[tuple[Future, Any]] = SimpleQueue()
        self._tickets: dict[Future, Sequence[Ticket]] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._done: dict[Future, float] = {}  # the times since which answers are under way
        self._sent = 0
        self._seconds = 0.0  # of a task, about
        self._backlog: list[Ticket] = []  # for which there is no worker at the moment
        self._there: frozenset[str] = frozenset()
        self._allowed: dict[Future, frozenset[str]] = {}

    def threads(self) -> int:
        """See Pool."""
        return sum(self._eligible.threads().values())

    @property
    def refused(self) -> Mapping[str, str]:
        """See Pool."""
        return self._eligible.refused

    def submit(self, tickets: Sequence[Ticket]) -> None:
        """See Pool."""
        there = self._eligible.threads()
        if there:
            self._submit(tickets, frozenset(there))
        else:
            self._backlog += tickets

    def submit_elsewhere(self, tickets: Sequence[Ticket]) -> None:
        """See Pool."""
        wanted = {ticket.key for ticket in tickets}
        keys = [str(future.key) for future, bundle in self._tickets.items() if wanted & {one.key for one in bundle}]
        with suppress(OSError):
            others = self._eligible.without(keys)
            if others:
                self._submit(tickets, frozenset(others))

    def _submit(self, tickets: Sequence[Ticket], to: frozenset[str]) -> None:
        """Have tasks done by the workers at these addresses."""
        size = min(self.together, -(-len(tickets) // max(1, self.threads())))
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
                [[one.task for one in bundle] for bundle in bundles],
                key=[f"gpumerge-{packed.digest}-{number}" for number in numbers],
                pure=False,
                resources=self._resources,
                workers=sorted(to),
            )
            self._allowed.update((future, to) for future in futures)
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

    def answers(self, seconds: float) -> list[tuple[Ticket, Reply | BaseException]]:
        """See Pool."""
        ended: list[tuple[Future, Any]] = []
        with suppress(Empty):
            ended.append(self._ended.get(timeout=seconds))
            while True:
                ended.append(self._ended.get_nowait())
        check_alive(self._client)
        there = self._eligible.threads()
        if there and self._backlog:
            backlog, self._backlog = self._backlog, []
            self._submit(backlog, frozenset(there))
        if not ended:
            ended = self._overdue() or self._stranded(frozenset(there))
        return [one for future, outcome in ended for one in self._replies(future, outcome)]

    def _overdue(self) -> list[tuple[Future, Any]]:
        """The tasks that were done long ago, and whose answers do not come."""
        now = time.monotonic()
        self._done = {one: self._done.get(one, now) for one in self._tickets if one.status == "finished"}
        return [(one, TimeoutError("no answer")) for one, since in self._done.items() if now - since > ANSWER_SECONDS]

    def _stranded(self, there: frozenset[str]) -> list[tuple[Future, Any]]:
        """The tasks that Dask would keep for ever, since none of the workers that may do them is there any more."""
        if there == self._there:
            return []
        self._there = there
        lost = [future for future in self._tickets if self._allowed[future].isdisjoint(there)]
        if lost:
            with suppress(Exception):
                await_call(self._client, lambda: self._client.cancel(lost, force=True), _STOP)
        return [(future, ConnectionError("its workers are gone")) for future in lost]

    def _replies(self, future: Future, outcome: Any) -> list[tuple[Ticket, Reply | BaseException]]:
        """The outcome of each task of a bundle."""
        bundle = self._tickets.pop(future, ())
        self._allowed.pop(future, None)
        if isinstance(outcome, list) and len(outcome) == len(bundle):
            for answer in outcome:
                self._seconds += (answer.seconds - self._seconds) / 8 if self._seconds else answer.seconds
            self.together = max(1, min(_MOST_TOGETHER, int(_BUNDLE / max(self._seconds, 1e-6))))
            return list(zip(bundle, outcome, strict=True))
        if isinstance(outcome, ImportError) and bundle:
            raise load_error(outcome) from None
        error = outcome if isinstance(outcome, BaseException) else ClusterError(f"a worker answered {outcome!r}")
        return [(ticket, error) for ticket in bundle]

    def cancel(self) -> None:
        """See Pool. Tasks under way end with their present piece, and the workers close the run's files."""
        client, left = self._client, list(self._tickets)
        self._tickets.clear()
        if left:
            with suppress(Exception):
                await_call(client, lambda: client.cancel(left, force=True), _STOP)
        with suppress(Exception):
            run_on_all(client, node.forget, self._run, on_error="ignore", seconds=_STOP)
