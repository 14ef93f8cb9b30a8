"""The data that goes to workers and back: the shipment of a run, which each worker keeps, and answers to its tasks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.task import TaskResult
from gpumerge_cli.errors import GpumergeError
from gpumerge_cli.extents import SinkLocation, UploadLocation
from gpumerge_cli.measure import Span
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.numbered import NumberColumns
    from gpumerge_cli.order.key_types import Dtype


@dataclass(frozen=True)
class FileState:
    """A file as the client sees it."""

    path: str
    """An absolute name, or a URL."""
    size: int
    """Bytes; -1 for a URL."""
    mtime: int
    """Nanoseconds since 1970; 0 for a URL."""
    tag: str = ""
    """See Source."""


@dataclass(frozen=True)
class FinishedRun:
    """A run that is complete."""

    size: int
    """Bytes."""
    crc: int
    """The CRC-32 of its bytes."""
    counts: tuple[int, ...]
    """Items that each input gave."""


@dataclass(frozen=True)
class Shipment:
    """The facts that all tasks of one pass share; a worker opens its inputs and outputs by it, once."""

    run: str
    """Names the pass, unlike any other."""
    version: str
    """This program's."""
    work: Pass
    """Without sources; see Pass.detached.

    The inputs of its job have absolute names, or are the names of runs; its memory is that of each worker."""
    inputs: tuple[FileState, ...]
    """The files that workers read."""
    sizes: tuple[int, ...] = ()
    """Bytes of the items of each input."""
    spots: tuple[SinkLocation | UploadLocation, ...] = ()
    """The parts of the output; none if results become runs in `folder`, or are not written."""
    folder: str = ""
    """The shared folder for runs or copies; "" if the results go elsewhere."""
    row_bytes: float = 0.0
    """About the bytes of a row, if positions are rows; else 0."""
    group_rows: int = 0
    """The most rows of a group of the output, if it has groups."""
    shown: Callable[[bytes], Bytes] | None = None
    """Turns whole items of stored sources into the bytes of the output; None if workers know it themselves."""
    numbered: NumberColumns | None = None
    """The columns of an output of rows that are made of numbers, if it has any."""
    merges_runs: bool = False
    """The inputs are runs, of items of `dtype`."""
    dtype: Dtype | None = None
    first: str = ""
    """The name of the first input of a sort whose runs are ranged sources, as inputs are; "" for others."""
    finished_runs: dict[int, FinishedRun] | None = None
    """Runs that need not be made again; None if checksums are not wanted."""

    @property
    def part_bytes(self) -> int:
        """Bytes that each task's result has at least, but for the last one; 0 if any number will do."""
        return max((spot.part_bytes for spot in self.spots if isinstance(spot, UploadLocation)), default=0)

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
    """A pickled shipment."""

    digest: str
    """Names it: a worker that knows the name leaves `data` as it is."""
    data: bytes = field(repr=False)
    """Not shown: it may hold the password of a URL, and Dask's logs show the arguments of calls that fail."""


@dataclass(frozen=True)
class WorkerStatus:
    """A worker that is able to do the tasks of a run."""

    host: str
    """The name of its machine."""
    threads: int
    """Those that Dask gives it."""
    memory: int
    """Bytes that its chunks may take."""
    gpu: bool
    """Whether it has a GPU to use."""


@dataclass
class Reply:
    """The outcome of a task, or of a part of it."""

    result: TaskResult
    """Its spans are on the clock of time.time."""
    worker: str
    """The name of the worker."""
    began: float
    """Seconds of time.time."""
    seconds: float
    """The duration."""
    error: GpumergeError | None = None
    """The error that ended the task; None if it is done."""
    again: bool = False
    """Whether another worker may do the task."""
    crc: int = 0
    """The CRC-32 of the run that the task made, if requested."""
    tag: str = ""
    """That of the part that the task sent to a store."""


def shifted(spans: list[Span], seconds: float) -> list[Span]:
    """The spans on a clock that is ahead by so many seconds."""
    return [Span(one.name, one.seconds, one.nbytes, one.stopped + seconds) for one in spans]
