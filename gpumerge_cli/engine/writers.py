"""Writers of results of tasks: to a sink, each chunk at its offset, or to sorted runs that are merged later."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, cast

from gpumerge_cli.backends.base import CountingWorkspace
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.parts import by_lines
from gpumerge_cli.engine.task import Position
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.extents import Target
from gpumerge_cli.formats.base import Sink
from gpumerge_cli.measure import Span
from gpumerge_cli.native.calls import CountingWorker

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.sink import RowSink
    from gpumerge_cli.order.kinds import Order

_COUNT_BYTES = 8


class Merged(Protocol):
    """The result of a chunk. counts: items of each source. dropped: those left out. merged_bytes: its size.

    merged_bytes is negative if the size is known, as the others are, only when all parts are made.
    """

    spans: list[Span]

    @property
    def counts(self) -> list[int]: ...

    @property
    def dropped(self) -> int: ...

    @property
    def merged_bytes(self) -> int: ...

    def outputs(self) -> Iterable[Bytes]:
        """The result by parts. See Workspace."""


class HalfWrittenError(Exception):
    """A piece of a result was written behind earlier output, and cannot be written again. cause: the error."""

    def __init__(self, cause: DeviceError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class ResultWriter(Protocol):
    """Takes the results of tasks, from any thread."""

    @property
    def targets(self) -> Sequence[Target]:
        """The files into which compiled code may write results itself, by the numbers of parts.

        Ask after space is reserved. Empty if only `put` takes results.
        """

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        """Take a piece of task number `turn`, the last one or not. Returns the bytes written, None if it is over.

        Adds its spans to those of `merged`.
        """

    def is_over(self, turn: int) -> bool:
        """Whether the result of task number `turn` is no longer wanted."""

    def finish_before(self, turn: int, position: Position) -> int | None:
        """Write the results ahead of task number `turn`, but not its own or those behind it.

        position: the one that the plan gives it. Returns its offset in its part, or None if it is over.
        """

    def stop(self) -> None:
        """Take no more results; threads that wait come back."""


class SinkWriter:
    """Writes results to a sink, or to one for each part of the output, which are alike. See ResultWriter.

    If sizes are those of the plan, and writes may come in any order, pieces are written at their planned offsets as
    they come. Otherwise a piece lies behind all pieces before it, so tasks take turns; where writes may come in any
    order, they do so only to take their offsets. planned: whether sizes are those of the plan. start: bytes that the
    only sink holds already.
    """

    def __init__(self, sinks: Sequence[Sink], *, planned: bool, start: int = 0) -> None:
        self._sinks = sinks
        self._seekable = sinks[0].seekable
        self._in_turns = not (sinks[0].exact and planned and self._seekable)
        self._turn = 0
        self._ends = [start] * len(sinks)  # of what each part holds already
        self._stopped = False
        self._over_from: float = inf  # the first task whose result is not wanted
        self._changed = threading.Condition()

    @property
    def targets(self) -> Sequence[Target]:
        found = [] if self._in_turns else [sink.target for sink in self._sinks]
        return [target for target in found if target is not None]

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        written, left, sink = 0, merged.merged_bytes, self._sinks[position.part]
        try:
            for piece in by_lines(merged.outputs(), sink.line_end):
                left -= len(piece)
                start = time.perf_counter()
                data = self._encoded(sink, piece)
                if not sink.exact:
                    merged.spans.append(Span("compress", time.perf_counter() - start, len(piece)))
                planned = Position(position.part, position.offset + written)
                with self._offset(turn, planned, len(data), last=last and not left) as at:
                    if at is None:
                        return None
                    start = time.perf_counter()
                    sink.write_at(at, data)
                    merged.spans.append(Span("write", time.perf_counter() - start, len(data)))
                written += len(data)
            if last and left:  # the end of a result that was made meanwhile
                end = Position(position.part, position.offset + written)
                with self._offset(turn, end, 0, last=True) as at:
                    if at is None:
                        return None
        except DeviceError as error:
            if self._in_turns and written:
                raise HalfWrittenError(error) from error
            raise
        return written

    def _encoded(self, sink: Sink, piece: Bytes) -> Bytes:
        return sink.encode(piece)

    def is_over(self, turn: int) -> bool:
        return self._stopped or turn >= self._over_from

    def finish_before(self, turn: int, position: Position) -> int | None:
        # All ahead of it have been placed then.
        with self._offset(turn, position, 0, last=False) as at:
            if at is not None:
                with self._changed:
                    self._over_from = min(self._over_from, turn)
                    self._changed.notify_all()
            return at

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        for sink in self._sinks:
            sink.stop()

    @contextmanager
    def _offset(self, turn: int, planned: Position, nbytes: int, *, last: bool) -> Iterator[int | None]:
        """The offset of a piece of `nbytes` of task number `turn`, for writing inside the body; None if it is over.

        planned: the position that the plan gives it. last: whether it is the task's last piece.
        """
        if not self._in_turns:
            yield None if self.is_over(turn) else planned.offset
            return
        with self._changed:
            self._changed.wait_for(lambda: self.is_over(turn) or self._turn == turn)
            offset = None
            if not self.is_over(turn):
                offset = self._ends[planned.part]
                self._ends[planned.part] += nbytes
            if last and self._seekable:
                self._next()
        yield offset
        if last and not self._seekable:
            with self._changed:
                self._next()

    def _next(self) -> None:
        self._turn += 1
        self._changed.notify_all()


class CountingWriter(SinkWriter):
    """Writes items to a sink, and the number of equals of each item to another one. See ResultWriter."""

    targets: Sequence[Target] = ()

    def __init__(self, sinks: Sequence[Sink], counts: Sink) -> None:
        super().__init__(sinks, planned=False)
        self._counts = SinkWriter([counts], planned=False)

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        written = super().put(turn, position, merged, last=last)
        if written is not None:
            counted = cast(CountingWorker | CountingWorkspace, merged)  # no others count
            nbytes = _COUNT_BYTES * (sum(merged.counts) - merged.dropped)
            self._counts.put(turn, position, SideBytes(counted.equals(), nbytes, merged.spans), last=last)
        return written

    def stop(self) -> None:
        super().stop()
        self._counts.stop()


class NumberedRowWriter(SinkWriter):
    """Writes rows with the number that a margin has for each, as a column of its own. See ResultWriter.

    order: of the items.
    """

    def __init__(self, sinks: Sequence[Sink], order: Order) -> None:
        super().__init__(sinks, planned=False)
        self._order = order
        self._of_thread = threading.local()

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        counted = cast(CountingWorker | CountingWorkspace, merged)  # no others count
        self._of_thread.left = counted.equals()
        return super().put(turn, position, merged, last=last)

    def _encoded(self, sink: Sink, piece: Bytes) -> Bytes:
        known, left = self._order.count(len(piece)), self._of_thread.left
        count = bytes(piece).count(self._order.end) if known is None else known
        self._of_thread.left = left[_COUNT_BYTES * count :]
        return cast("RowSink", sink).encode(piece, left[: _COUNT_BYTES * count])


@dataclass
class SideBytes:
    """Bytes for another sink that belong to the result of a chunk, as a result of their own. See Merged."""

    data: Bytes
    merged_bytes: int
    spans: list[Span]
    counts: list[int] = field(default_factory=list)
    dropped: int = 0

    def outputs(self) -> Iterable[Bytes]:
        return [self.data]


class NullWriter:
    """Writes nothing: for tasks without results, as those of checks. See ResultWriter.

    Writers whose results need no turns derive from it.
    """

    targets: Sequence[Target] = ()

    def __init__(self) -> None:
        self._stopped = False

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        return merged.merged_bytes

    def is_over(self, turn: int) -> bool:
        return self._stopped

    def finish_before(self, turn: int, position: Position) -> int | None:
        return None

    def stop(self) -> None:
        self._stopped = True


class RunWriter(NullWriter):
    """Keeps each task's result as a sorted run. See ResultWriter.

    keep: makes a run from its parts. halt: ends calls of `keep` under way. runs: by the numbers of their tasks.
    """

    def __init__(self, keep: Callable[[Iterable[Bytes]], Any], halt: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self._keep = keep
        self._halt = halt
        self.runs: dict[int, Any] = {}

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        start = time.perf_counter()
        outputs = merged.outputs()
        self.runs[position.part] = self._keep(outputs)
        merged.spans.append(Span("spill", time.perf_counter() - start, merged.merged_bytes))
        return merged.merged_bytes

    def stop(self) -> None:
        super().stop()
        self._halt()

    def close(self) -> None:
        """Close all runs."""
        for one in self.runs.values():
            one.close()
