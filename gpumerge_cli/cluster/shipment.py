"""The data that goes to workers and back: the shipment of a run, which each worker keeps, and answers to its tasks."""

from __future__ import annotations

import pickle
from hashlib import blake2b
from typing import Any

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.task import TaskResult
from gpumerge_cli.errors import GpumergeError
from gpumerge_cli.extents import PartsSpot, Spot
from gpumerge_cli.measure import Span
from gpumerge_cli.urls import is_url


@dataclass(frozen=True)
class FileState:
    """A file as the client sees it. mtime: nanoseconds since 1970. size: -1 of an input by URL. tag: see Source."""

    path: str
    size: int
    mtime: int
    tag: str = ""


@dataclass(frozen=True)
class FinishedRun:
    """A run that was finished. crc: the CRC-32 of its bytes. counts: items that each input gave."""

    size: int
    crc: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Shipment:
    """The facts that all tasks of one pass share; a worker opens its inputs and outputs by it, once."""

    run: str
    """Names the pass, unlike any other."""
    version: str
    """This program's."""
    work: Pass
    """Without sources; see Pass.elsewhere.

    The inputs of its job have absolute names, or are the names of runs; its memory is that of each worker."""
    inputs: tuple[FileState, ...]
    """The files that workers read."""
    sizes: tuple[int, ...] = ()
    """Bytes of the items of each input."""
    spots: tuple[Spot | PartsSpot, ...] = ()
    """The parts of the output; none if results become runs in `folder`, or are not put out."""
    folder: str = ""
    runs: bool = False
    """The inputs are runs, of items of `dtype`."""
    dtype: Any = None
    known: dict[int, FinishedRun] | None = None
    """Runs that need not be made again; None if nobody asks for their checksums."""

    @property
    def part_bytes(self) -> int:
        """Bytes that each task's result has at least, but for the last one; 0 if any number will do."""
        return max((spot.part_bytes for spot in self.spots if isinstance(spot, PartsSpot)), default=0)

    @property
    def reads_urls(self) -> bool:
        """Whether any input is a URL."""
        return any(is_url(one.path) for one in self.inputs)

    def packed(self) -> PackedShipment:
        """The shipment as it travels with every task."""
        data = pickle.dumps(self)
        return PackedShipment(blake2b(data, digest_size=16).hexdigest(), data)


@dataclass(frozen=True)
class PackedShipment:
    """A pickled shipment. digest: its name; a worker that knows it leaves `data` as it is.

    Dask's logs show the arguments of calls that fail. So `data`, which may have the password of a URL, is not shown.
    """

    digest: str
    data: bytes = field(repr=False)


@dataclass(frozen=True)
class WorkerStatus:
    """A worker that is able to do the tasks of a run.

    threads: those that Dask gives it. memory: bytes that its chunks may take. gpu: it has a GPU to use.
    """

    version: str
    host: str
    threads: int
    memory: int
    gpu: bool
    device: str


@dataclass
class Reply:
    """The outcome of a task, or of a part of it. worker: its name. error: that ended it; None if it is done.

    began: seconds of time.time. seconds: how long it took. again: whether another worker may do the task. crc: of the
    run that it made, if requested. tag: of the part that it sent to a store. The spans of `result` are on the clock of
    time.time.
    """

    result: TaskResult
    worker: str
    thread: int
    began: float
    seconds: float
    error: GpumergeError | None = None
    again: bool = False
    crc: int = 0
    tag: str = ""


def shifted(spans: list[Span], seconds: float) -> list[Span]:
    """The spans on a clock that is ahead by so many seconds."""
    return [Span(one.name, one.seconds, one.nbytes, one.stopped + seconds) for one in spans]
