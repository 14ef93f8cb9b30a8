"""The workers of a run, made as the cost model chose them, and not yet started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.select import Choice
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.executor import Executor, ExecutorOf
from gpumerge_cli.engine.resources import Shares
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.station import Station
from gpumerge_cli.engine.supply import Spans
from gpumerge_cli.engine.workers import CpuWorker, DeviceWorker, Member, Worker

Feed = Callable[[Backend, float], Shares]
"""Given a backend and its share of the memory, gives the hands that feed it, and the bytes of their chunks."""


@dataclass(frozen=True)
class Hired:
    """The workers of a run, as reports name them. executor: makes what has them do a job.

    station: shared by those on the CPU of this machine; None if none works there. spans: cuts a merge for them; None if
    the site's planner does.
    """

    workers: Sequence[Member]
    executor: ExecutorOf
    station: Station | None = None
    spans: Spans | None = None


def hired_here(workers: Sequence[Worker], station: Station | None = None) -> Hired:
    """Workers of this process."""
    return Hired(workers, partial(Executor, workers), station)


def hire(site: Site, choice: Choice, feed: Feed) -> Hired:
    """Make the workers that were chosen. Raises UsageError for a wish that the CPU cannot meet."""
    workers: list[Worker] = []
    station = None
    kinds = (choice.host is not None) + (len(choice.devices) > 0)
    if choice.host is not None:
        host = choice.host()
        station = Station(site, host, feed(host, 1 / kinds))
        chunks = -(-site.nbytes // station.shares.chunk_bytes)
        number = max(1, min(station.shares.workers, chunks))
        workers += [CpuWorker(each, station) for each in range(number)]
    share = 1 / kinds / max(1, len(choice.devices))
    for device in choice.devices:
        workers.append(DeviceWorker(device.name, site, device.create, partial(_fed, feed, share)))
    return hired_here(workers, station)


def _fed(feed: Feed, share: float, backend: Backend) -> Shares:
    return feed(backend, share)
