"""One piece of a pass as pure data, which pickles, and its outcome.

A worker needs nothing but the task and its pass. It may be a thread of this process, the thread that feeds a GPU, or a
thread of another process, which opens the inputs by their names.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.measure import Span
from gpumerge_cli.plan import Chunk

Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Place:
    """The place of a task's result: it begins at byte `offset` of the items of part number `part`.

    An output that is one file is part 0. While pieces are sorted to runs, each run is a part of its own.
    """

    part: int
    offset: int


@dataclass(frozen=True)
class Task:
    """Work on these byte ranges, one per input, and put the result in its place.

    turn: the number of the task, in the order of the output. A task that is handed on keeps it. Where equal
    items are left out, the place of a result is known only after all results before it, so workers take tasks in this
    order.
    """

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

    def of(self, chunks: Sequence[Chunk]) -> Task:
        """The same task for neighbouring chunks alone, given in the order of the output."""
        chunk = chunks[0].joined(chunks[-1])
        return replace(self, ranges=chunk.ranges, place=self.place_of(chunk))

    def place_of(self, chunk: Chunk) -> Place:
        """The place of a chunk of the task."""
        return replace(self.place, offset=self.place.offset + chunk.offset - self.chunk.offset)


@dataclass
class Filled:
    """Items of a part of the output, and their bytes as they were written."""

    items: int = 0
    nbytes: int = 0


@dataclass
class TaskResult:
    """The outcome of a task. counts: items that each input gave. dropped: those left out. written: bytes put out.

    part: the part of the output to which they went; filled: what went to each, if there are several. chunks: how
    many pieces it was put out in. largest: bytes of the largest that was worked on at once. spans: the time of each
    stage. disorder: the position of the first item out of order that a check has found.
    """

    counts: list[int] = field(default_factory=list)
    dropped: int = 0
    written: int = 0
    nbytes: int = 0
    largest: int = 0
    spans: list[Span] = field(default_factory=list)
    part: int = 0
    filled: dict[int, Filled] = field(default_factory=dict)
    chunks: int = 1
    disorder: int | None = None


class UnfinishedError(Exception):
    """A worker could not carry a task out to its end.

    done: the outcome until then. rest: the task that is left to be done; None if it cannot be begun again. cause: the
    error.
    """

    def __init__(self, cause: BaseException, done: TaskResult, rest: Task | None) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.done = done
        self.rest = rest
