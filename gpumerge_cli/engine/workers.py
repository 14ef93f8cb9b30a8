"""Workers carry out tasks. A worker is a thread on the CPU, or a GPU with its streams."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from gpumerge_cli.backends.base import Backend, SortPolicy
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.resources import Shares
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.station import Hand, Station
from gpumerge_cli.engine.task import ChunkTask, TaskResult


@dataclass(frozen=True)
class About:
    """A worker's device and launch, for reports. shrunk_to: bytes of the largest chunk once memory had run out."""

    device: str = ""
    kernel: str = ""
    launch: str = ""
    launch_why: str = ""
    shrunk_to: int = 0


class Member(Protocol):
    """A worker as reports name it, wherever it is.

    name: "cpu 3", "gpu 0". backend: "cpu", "gpu", "cluster". hands: how many threads work at once, known once it has
    started.
    """

    @property
    def name(self) -> str: ...

    @property
    def backend(self) -> str: ...

    @property
    def hands(self) -> int: ...

    def about(self) -> About:
        """Its device and launch, as far as it has started."""


class Worker(Member, Protocol):
    """Carries out tasks in threads of its own. chunk_bytes: of the chunks that suit it, known once it has started."""

    chunk_bytes: int

    def start(self) -> None:
        """Get ready, in a thread that works for it. Raises DeviceError if it cannot, UsageError for a wrong wish."""

    def do(self, task: ChunkTask) -> TaskResult:
        """Carry out a task. Raises UnfinishedError."""

    def close(self) -> None:
        """Give all memory back. No thread works for it any more."""


class _StationWorker:
    """The common part of both kinds: each thread has a hand of the station."""

    def __init__(self, name: str, backend: str) -> None:
        self.name = name
        self.backend = backend
        self.hands = 1
        self.chunk_bytes = 0
        self._station: Station | None = None
        self._own = threading.local()
        self._all: list[Hand] = []
        self._lock = threading.Lock()

    def do(self, task: ChunkTask) -> TaskResult:
        hand: Hand | None = getattr(self._own, "hand", None)
        if hand is None:
            assert self._station is not None, "a worker starts first"
            hand = self._own.hand = Hand(self._station)
            with self._lock:
                self._all.append(hand)
        return hand.do(task)

    def about(self) -> About:
        station = self._station
        if station is None:
            return About()
        policy = station.policy
        kernel = policy.algorithm if isinstance(policy, SortPolicy) else policy.kernel
        return About(station.device, kernel, policy.describe(), policy.why, station.shrunk_to)

    def close(self) -> None:
        with self._lock:
            for hand in self._all:
                hand.close()
            self._all.clear()


class CpuWorker(_StationWorker):
    """A thread on the CPU. All of a run share one station, which is ready."""

    def __init__(self, number: int, station: Station) -> None:
        super().__init__(f"cpu {number}", station.backend.name)
        self._station = station
        self.chunk_bytes = station.shares.chunk_bytes

    def start(self) -> None:
        assert self._station is not None
        self._station.open()


class DeviceWorker(_StationWorker):
    """A device with its streams, each fed by a thread.

    create: makes its backend, which may take seconds. feed: gives its hands and the bytes of their chunks.
    """

    def __init__(
        self, name: str, site: Site, create: Callable[[], Backend], feed: Callable[[Backend], Shares],
    ) -> None:  # fmt: skip
        super().__init__(name, name.split()[0])
        self._site = site
        self._create = create
        self._feed = feed

    def start(self) -> None:
        backend = self._create()
        shares = self._feed(backend)
        station = Station(self._site, backend, shares)
        if self._site.work.action == "merge":
            station.warm_up()
        station.open()
        _ = station.device  # while it answers: a report names a device that was lost, too
        self.hands, self.chunk_bytes, self._station = shares.workers, shares.chunk_bytes, station
