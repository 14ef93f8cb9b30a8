"""One piece of a merge or sort as pure data, which pickles and prints as JSON, and its outcome.

A worker needs nothing but the task. It may be a thread of this process, the thread that feeds a GPU, or another
process, which opens the inputs by their names (engine.site.opened_site).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from gpumerge_cli.backends.base import LaunchRequest, SortRequest
from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.engine.job import Items
from gpumerge_cli.measure import Span
from gpumerge_cli.order import Order
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.record_joins import JoinRules
from gpumerge_cli.plan import Chunk

Action = Literal["merge", "sort", "check", "unpack"]
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class InputName:
    """An input of a task, by its name. format: the name of its format. size: bytes of its items as a stream."""

    name: str
    format: str
    size: int


@dataclass(frozen=True)
class Place:
    """The place of a task's result: it begins at byte `offset` of the items of part number `part`.

    An output that is one file is part 0. While pieces are sorted to runs, each run is a part of its own.
    """

    part: int
    offset: int


@dataclass(frozen=True)
class TaskWork:
    """The facts that all tasks of one merge or sort share.

    items: the way to read the inputs. order: compares items. equals: says which of equal items go out. check: the
    inputs' order is checked on the way. launch: the kernel asked for, and the algorithm if it is a sort.
    item_bytes: bytes of an item on average. margin: text beside each line that goes out. join: set if the inputs are
    joined; `order` is then that of the first one.
    """

    action: Action
    inputs: tuple[InputName, ...]
    items: Items
    order: Order
    equals: Equals
    check: bool
    launch: LaunchRequest | SortRequest
    item_bytes: float
    margin: Margin | None = None
    join: JoinRules | None = None

    @property
    def by_groups(self) -> bool:
        """See Operation."""
        return self.equals.groups or self.margin is not None

    @property
    def nbytes(self) -> int:
        """Bytes of all inputs."""
        return sum(one.size for one in self.inputs)

    def as_dict(self) -> dict[str, Any]:
        """The work as plain values, for JSON. Filters of what is written (`items.shown`) stay with the output."""
        from gpumerge_cli.engine.plain import plain

        told: dict[str, Any] = plain(replace(self, items=replace(self.items, shown=None)))
        del told["items"]["shown"]
        return told

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> TaskWork:
        """The work that `as_dict` wrote. Raises InputError for anything else."""
        from gpumerge_cli.engine.plain import restored

        return restored(cls, told)


@dataclass(frozen=True)
class ChunkTask:
    """Merge or sort these byte ranges, one per input, and put the result in its place.

    turn: the number of the task, in the order of the output. A task that is handed on keeps it. With `unique`
    the place of a task's result is known only after all results before it, so one worker must take tasks in this order.
    """

    work: TaskWork
    turn: int
    ranges: Ranges
    place: Place

    @property
    def chunk(self) -> Chunk:
        """The task's ranges, and the bytes of all inputs ahead of them."""
        return Chunk(self.ranges, sum(start for start, _ in self.ranges))

    @property
    def nbytes(self) -> int:
        """Bytes that go in."""
        return sum(stop - start for start, stop in self.ranges)

    def of(self, chunks: Sequence[Chunk]) -> ChunkTask:
        """The same task for neighbouring chunks alone, given in the order of the output."""
        chunk = chunks[0].joined(chunks[-1])
        return replace(self, ranges=chunk.ranges, place=self.place_of(chunk))

    def place_of(self, chunk: Chunk) -> Place:
        """The place of a chunk of the task."""
        return replace(self.place, offset=self.place.offset + chunk.offset - self.chunk.offset)

    def as_dict(self) -> dict[str, Any]:
        """The task as plain values, for JSON."""
        from gpumerge_cli.engine.plain import plain

        return {
            "work": self.work.as_dict(),
            "turn": self.turn,
            "ranges": [list(one) for one in self.ranges],
            "place": plain(self.place),
        }

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> ChunkTask:
        """The task that `as_dict` wrote. Raises InputError for anything else."""
        from gpumerge_cli.engine.plain import restored

        return restored(cls, told)


@dataclass
class TaskResult:
    """The outcome of a task. counts: items that each input gave. dropped: those left out. written: bytes put out.

    part: the part of the output to which they went. largest: bytes of the largest chunk that was worked on at once.
    spans: the time of each stage. disorder: the position of the first item out of order that a check has found.
    """

    counts: list[int] = field(default_factory=list)
    dropped: int = 0
    written: int = 0
    nbytes: int = 0
    largest: int = 0
    spans: list[Span] = field(default_factory=list)
    part: int = 0
    disorder: int | None = None

    def add(self, other: TaskResult) -> None:
        """Count a further piece of the task, too."""
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)] if self.counts else other.counts
        self.dropped += other.dropped
        self.written += other.written
        self.nbytes += other.nbytes
        self.largest = max(self.largest, other.largest)
        self.spans += other.spans


class UnfinishedError(Exception):
    """A worker could not carry a task out to its end.

    done: the outcome until then. rest: the task that is left to be done; None if it cannot be begun again. cause: the
    error.
    """

    def __init__(self, cause: BaseException, done: TaskResult, rest: ChunkTask | None) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.done = done
        self.rest = rest


class Doer(Protocol):
    """A worker, or anything else that can carry out a task."""

    def do(self, task: ChunkTask) -> TaskResult:
        """Carry it out to its last byte. Raises UnfinishedError, which tells how far it came."""


def run(task: ChunkTask, worker: Doer) -> TaskResult:
    """Have any kind of worker carry out the task. Raises UnfinishedError."""
    return worker.do(task)
