"""Tasks of a worker that are passes of their own: over items made of ranges of files, or with sums of whole groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.cluster.row_parts import RowParts
from gpumerge_cli.cluster.row_runs import RowRuns
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.launches import BudgetFunction
from gpumerge_cli.engine.parts import by_lines
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.sum_writer import SumWriter
from gpumerge_cli.engine.task import Position, Task, TaskResult
from gpumerge_cli.engine.workers import PassSetup
from gpumerge_cli.engine.writers import Merged, NullWriter, ResultWriter, SideBytes
from gpumerge_cli.formats.ranges import RangedSource, RangeItems, StoredSource
from gpumerge_cli.measure import Span
from gpumerge_cli.plan import Chunk


class RangeSetup:
    """Does tasks of a pass, each as a pass of its own: over the items of its ranges, if the sources are ranged."""

    def __init__(
        self,
        work: Pass,
        backend: Backend,
        feed: BudgetFunction,
        rows: RowParts | None,
        runs: RowRuns | None,
        shown: Callable[[bytes], Bytes] | None,
    ) -> None:
        self._work = work
        self._backend = backend
        self._feed = feed
        self._rows = rows
        self._runs = runs
        self._shown = shown
        self._behind = work.looks_behind
        self._rules = None if work.margin is None else work.margin.rules

    def do(self, task: Task) -> TaskResult:
        """Carry out the task. Raises UnfinishedError, InputError."""
        if self._runs is not None:
            return self._runs.do(task, self._work.writer)
        sources = self._work.sources
        with ExitStack() as stack:
            made = []
            for source, (low, high) in zip(sources, task.chunk.ranges, strict=True):
                if not isinstance(source, RangedSource):
                    made.append(RangeItems(source, low, high))
                    continue
                made.append(source.items(low, high, behind=self._behind))
                stack.callback(made[-1].source.close)
                if made[-1].left_out is not None and self._work.keeps_bytes:
                    raise made[-1].left_out
            ranges = tuple((one.start, one.stop) for one in made)
            ranged = replace(task, chunk=Chunk(ranges, task.chunk.offset))
            rows = None if self._rows is None else self._rows.begun(task, self._work.writer)
            if rows is not None:
                stack.callback(rows.close)
                ranged = replace(ranged, turn=0, position=Position(0, 0))
            writer = rows or self._work.writer
            stored = self._shown or sources[0].stored if isinstance(sources[0], StoredSource) else None
            sums = None
            if rows is None and self._rules is not None:
                writer = sums = SumWriter([_Onward(writer, stored)], self._rules)
                ranged = replace(ranged, turn=0, position=Position(0, 0))
            elif stored is not None:
                writer = _StoredWriter(writer, stored, self._work.order.end)
            work = replace(self._work, sources=[one.source for one in made], writer=writer)
            setup = PassSetup(work, self._backend, self._feed)
            stack.callback(setup.close)
            done = setup.do(ranged)
            if self._work.writer.is_over(task.turn):
                return done
            if sums is not None:
                done.written += sums.end()
            if rows is not None:
                done.rows, done.part = rows.end(), task.position.part
            if done.disorder is not None and isinstance(sources[0], RangedSource):
                done.disorder = sources[0].position_of(made[0], task.chunk.ranges[0][0], done.disorder)
            done.facts = tuple(one.facts for one in made)
            done.nbytes = task.nbytes
            return done

    def close(self) -> None:
        """It keeps nothing."""


class _Onward:
    """Hands sums to the writer of a task. See SumSink.

    stored: gives what files hold of whole items; None if they are written as they are.
    """

    seekable, exact = True, False

    def __init__(self, writer: ResultWriter, stored: Callable[[bytes], Bytes] | None) -> None:
        self._writer = writer
        self._stored = stored

    def encode(self, data: Bytes) -> Bytes:
        """See SumSink."""
        return data if self._stored is None else self._stored(bytes(data))

    def write_at(self, start: int, data: Bytes) -> None:
        """See SumSink."""
        self._writer.put(0, Position(0, start), SideBytes(data, len(data), []), last=False)


class _StoredWriter(NullWriter):
    """Writes what the files hold of items. See ResultWriter. stored: gives that of whole items."""

    def __init__(self, writer: ResultWriter, stored: Callable[[bytes], Bytes], end: bytes) -> None:
        super().__init__()
        self._writer = writer
        self._stored = stored
        self._end = end[0] if end else None

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        pieces = [self._stored(piece) for piece in by_lines(merged.outputs(), self._end)]
        stored = _Stored(merged.counts, merged.dropped, sum(map(len, pieces)), merged.spans, pieces)
        return self._writer.put(turn, position, stored, last=last)

    def is_over(self, turn: int) -> bool:
        return self._writer.is_over(turn)


@dataclass
class _Stored:
    """A result as files hold it. See Merged."""

    counts: list[int]
    dropped: int
    merged_bytes: int
    spans: list[Span]
    pieces: Sequence[Bytes]

    def outputs(self) -> Iterable[Bytes]:
        return self.pieces
