"""One piece of a pass as pure data, which pickles, and its outcome.

A worker needs nothing but the task and its pass. It may be a thread of this process, the thread that feeds a GPU, or a
thread of another process, which opens the inputs by their names.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.measure import Span
from gpumerge_cli.plan import Chunk


@dataclass(frozen=True)
class Position:
    """The position at which the result of a task begins. An output that is one file is part 0.

    While pieces are sorted to runs, each run is a part of its own.
    """

    part: int
    """The number of the part."""
    offset: int
    """Bytes of items ahead of it in the part."""


@dataclass(frozen=True)
class Task:
    """Work on the byte ranges of a chunk, one per input, whose result goes to one position."""

    turn: int
    """The number of the task, in the order of the output. A task that goes to another worker keeps it.

    Where equal items are left out, the offset of a result is known only after all results before it, so workers take
    tasks in this order."""
    chunk: Chunk
    position: Position

    @property
    def nbytes(self) -> int:
        """Bytes that go in."""
        return self.chunk.nbytes

    def of(self, chunks: Sequence[Chunk]) -> Task:
        """The same task for neighbouring chunks alone, given in the order of the output."""
        chunk = chunks[0].joined(chunks[-1])
        return replace(self, chunk=chunk, position=self.position_of(chunk))

    def position_of(self, chunk: Chunk) -> Position:
        """The position of a chunk of the task."""
        return replace(self.position, offset=self.position.offset + chunk.offset - self.chunk.offset)


@dataclass
class PartTotal:
    """Items of a part of the output, and their bytes as they were written."""

    items: int = 0
    nbytes: int = 0


@dataclass(kw_only=True)
class TaskResult:
    """The outcome of a task, or of several."""

    counts: list[int] = field(default_factory=list)
    """Items that each source gave."""
    dropped: int = 0
    """Items left out."""
    changed: int = 0
    """Pairs of items of a diff that differ."""
    written: int = 0
    """Bytes that were written."""
    nbytes: int = 0
    """Bytes that were worked on."""
    largest: int = 0
    """Bytes of the largest piece that was worked on at once."""
    spans: list[Span] = field(default_factory=list)
    """The time of each stage, of one task."""
    part: int = 0
    """The part of the output that all of it went to, if `per_part` is empty."""
    per_part: dict[int, PartTotal] = field(default_factory=dict)
    """The result in each part of the output."""
    chunks: int = 1
    """The pieces in which it was written."""
    rows: Any = None
    """The rows of the result, if others put them into the output."""
    facts: tuple[Any, ...] = ()
    """The facts of the range of each source, see RangedSource.note; () for none."""
    disorder: int | None = None
    """The position of the first item out of order that a check has found."""

    def add(self, task: TaskResult) -> None:
        """Add the outcome of one more task, but for its spans."""
        self.counts[:] = map(operator.add, self.counts, task.counts)
        self.dropped += task.dropped
        self.changed += task.changed
        self.written += task.written
        self.nbytes += task.nbytes
        self.largest = max(self.largest, task.largest)
        if task.nbytes:
            self.chunks += task.chunks
        if task.per_part:
            self.per_part.update(task.per_part)
        else:
            part = self.per_part.setdefault(task.part, PartTotal())
            part.items += sum(task.counts) - task.dropped
            part.nbytes += task.written
        if task.disorder is not None:
            self.disorder = task.disorder if self.disorder is None else min(self.disorder, task.disorder)


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
