"""Machines that are this process, whose tasks are done late, twice, in any order, or not at all: without Dask."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from gpumerge_cli.cluster import node
from gpumerge_cli.cluster.dispatcher import Ticket
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.cluster.shipment import Reply, Shipment, WorkerStatus
from gpumerge_cli.errors import ClusterError


class KilledWorker(Exception):  # noqa: N818 - Dask's name
    """A stand-in for Dask's."""

    class last_worker:  # noqa: N801 - likewise
        name = "here"


@dataclass
class Troubled:
    """A pool that does tasks late, twice, in any order, or not at all. See executor.Pool.

    lost: of so many tasks one is lost. late: answers of twins, which come after the first ones.
    """

    shipment: Shipment
    chance: random.Random
    lost: int
    patience: float = 0.0
    together: int = 1
    refused: dict[str, str] = field(default_factory=dict)
    waiting: list[Ticket] = field(default_factory=list)
    late: list[tuple[Ticket, Reply | BaseException]] = field(default_factory=list)
    done: int = 0

    def threads(self) -> int:
        return 4

    def submit(self, tickets: Sequence[Ticket]) -> None:
        self.waiting.extend(tickets)

    def submit_elsewhere(self, tickets: Sequence[Ticket]) -> None:
        self.submit(tickets)

    def answers(self, seconds: float) -> list[tuple[Ticket, Reply | BaseException]]:
        found, self.late = self.late, []
        if self.waiting:
            ticket = self.waiting.pop(self.chance.randrange(len(self.waiting)))
            if self.lost and self.chance.randrange(self.lost) == 0:
                if self.chance.randrange(2):
                    self._do(ticket)  # it was done, and its answer was lost
                found.append((ticket, KilledWorker("a test")))
            else:
                found.append((ticket, self._do(ticket)))
                if self.chance.randrange(3) == 0:
                    self.late.append((ticket, self._do(ticket)))
        return found

    def _do(self, ticket: Ticket) -> Reply:
        self.done += 1
        shipment = replace(self.shipment, spots=()) if ticket.counts else self.shipment
        return node.do(shipment.packed(), ticket.task)

    def cancel(self) -> None:
        node.forget(self.shipment.run)


class Here(Cluster):
    """A cluster whose only worker is this process, with trouble."""

    def __init__(self, seed: int, lost: int) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.chance, self.lost = random.Random(seed), lost

    def check_workers(self, shipment: Shipment) -> dict[str, str]:
        standing = node.probe(shipment.packed())
        if not isinstance(standing, WorkerStatus):
            raise standing
        self.statuses = {"here": standing}
        return {"here": "here"}

    def task_bytes(self, nbytes: int) -> int:
        return 1 << 13

    def pool(self, shipment: Shipment, resources: object) -> Troubled:
        return Troubled(shipment, self.chance, self.lost)

    def eligible(self, packed: object) -> Any:
        """There are no workers that could cut."""
        return SimpleNamespace(client=None, threads=dict)


def failing_from(number: int) -> Any:
    """A stand-in for Troubled._do that fails from the task of that number on, counted from 0."""
    done, tasks = Troubled._do, iter(range(1 << 20))

    def do(pool: Troubled, ticket: Ticket) -> Reply:
        if next(tasks) >= number:
            raise ClusterError("a test")
        return done(pool, ticket)

    return do
