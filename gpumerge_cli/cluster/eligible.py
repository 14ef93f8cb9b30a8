"""The workers of a cluster that can do the tasks of a run. Those that come late are checked before they get any."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cluster import node
from gpumerge_cli.cluster.calls import await_call, load_error, workers_of
from gpumerge_cli.cluster.shipment import PackedShipment, WorkerStatus

if TYPE_CHECKING:
    from distributed import Client

_FRESH = 1.0
"""Seconds for which the list of workers is taken as it was."""


class EligibleWorkers:
    """The workers of a client that can do the tasks of a shipment. checked: addresses of those that are known to.

    refused: why workers that came late get no tasks, by their names.
    """

    def __init__(self, client: Client, packed: PackedShipment, checked: Iterable[str]) -> None:
        self.client = client
        self.refused: dict[str, str] = {}
        self._packed = packed
        self._eligible = set(checked)
        self._known = set(self._eligible)
        self._threads: dict[str, int] = {}
        self._listed = 0.0
        self._checking: set[asyncio.Task[None]] = set()

    def threads(self) -> dict[str, int]:
        """The threads of each eligible worker that is there now, by its address. Raises ClusterError if all is gone."""
        now = time.monotonic()
        if now - self._listed > _FRESH:
            there = workers_of(self.client)
            self._listed = now
            self._threads = {address: one.threads for address, one in there.items() if address in self._eligible}
            for address in there.keys() - self._known:
                self._known.add(address)
                self.client.loop.add_callback(self._begin, address, there[address].name)
        return self._threads

    def without(self, keys: Iterable[str]) -> list[str]:
        """The addresses of eligible workers without any of these tasks, by Dask's names. Raises TimeoutError."""
        at_work: dict[str, Any] = await_call(self.client, self.client.processing)
        wanted = set(keys)
        return [address for address in self.threads() if not wanted & {str(key) for key in at_work.get(address, ())}]

    def _begin(self, address: str, name: str) -> None:
        """Have a worker checked meanwhile. Called in the client's event loop."""
        task = asyncio.ensure_future(self._check(address, name))
        self._checking.add(task)
        task.add_done_callback(self._checking.discard)

    async def _check(self, address: str, name: str) -> None:
        try:
            answers = await self.client.run(node.probe_in_thread, self._packed, workers=[address], on_error="return")
            found = answers[address]
        except (Exception, asyncio.CancelledError) as error:
            found = error
        if isinstance(found, WorkerStatus):
            self._eligible.add(address)
            self._listed = 0.0
        elif isinstance(found, ImportError):
            self.refused[name] = str(load_error(found))
        elif isinstance(found, OSError | KeyError | asyncio.CancelledError):  # it has gone away
            self._known.discard(address)
        else:
            self.refused[name] = str(found)
