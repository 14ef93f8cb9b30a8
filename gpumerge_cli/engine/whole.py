"""A sort of everything at once: parts are read into one workspace, sorted there, and written from there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise

from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.launches import launch_info, policy_of
from gpumerge_cli.engine.memory import ChunkBudget
from gpumerge_cli.engine.outcome import LaunchInfo
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.parts import lines_that_begin, nearest_line_edge
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.steps import FoundDisorderError, named_sort
from gpumerge_cli.engine.task import PartTotal, Position, Task, TaskResult, UnfinishedError
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.measure import Span, Stopwatch
from gpumerge_cli.plan import even_edges


@dataclass
class _Piece:
    """Bytes of the result from `low` on. See writers.Merged."""

    workspace: Workspace
    turn: int
    """The number of the piece, in the order of writing."""
    low: int
    merged_bytes: int
    position: Position
    line_end: int | None
    """The byte that ends each line, for a sink that makes something of whole lines."""
    items_of: Callable[[Bytes], int]
    items: int = 0
    spans: list[Span] = field(default_factory=list)
    dropped: int = 0

    @property
    def counts(self) -> list[int]:
        return [self.items]

    def outputs(self) -> Iterator[Bytes]:
        start = time.perf_counter()
        if self.line_end is None:
            data = self.workspace.receive(self.low, self.merged_bytes)
        else:
            data = lines_that_begin(self.workspace, self.low, self.low + self.merged_bytes, self.line_end)
        if self.workspace.remote:
            self.spans.append(Span("download", time.perf_counter() - start, len(data)))
        self.items = self.items_of(data)
        yield data


def _say_nothing(stage: str) -> None:
    """Stands in for Pass.on_stage."""


class WholeWorker:
    """Sorts all items of a pass, as one task. See threads.Worker.

    shares: how many threads read and write, and about how many bytes each reads or writes at once. threads: those that
    the sort itself may take. output: whose parts the result is cut into.
    """

    def __init__(
        self, work: Pass, output: Output, backend: Backend, budget: ChunkBudget, stopwatch: Stopwatch, threads: int
    ) -> None:
        self.backend = backend.name
        self.name = f"{backend.name} 0"
        item = max(1, work.order.item_bytes)
        self.threads, self._part = budget.workers, max(1, budget.chunk_bytes // item) * item
        self.chunk_bytes = max(1, work.nbytes)
        self._work = work
        self._output = output
        self._on = backend
        self._policy = policy_of(backend, work)
        self._stopwatch = stopwatch
        self._threads = threads
        self._workspace: Workspace | None = None
        self._memory: Workspace  # that one, once it has started
        self._moved = 0  # bytes that were read or written
        self._lock = threading.Lock()
        self._is_used = False  # by threads that nobody waits for

    def start(self) -> None:
        """Take the memory for all of it. Raises DeviceError."""
        work = self._work
        self._on.prepare(work.order, self._policy, int(work.nbytes / work.mean_bytes))
        self._workspace = self._memory = self._on.workspace(work.order, work.nbytes, threads=self._threads)

    def do(self, task: Task) -> TaskResult:
        """Read, sort, write. Raises UnfinishedError if memory is short, and only before anything is written."""
        try:
            return self._do(task)
        except DeviceError as error:
            raise UnfinishedError(error, TaskResult(counts=[0] * len(task.chunk.ranges)), None) from error

    def launch_info(self) -> LaunchInfo:
        """See Worker."""
        return launch_info(self._on.info().name, self._policy)

    def close(self) -> None:
        """Give the memory back, unless threads that nobody waits for still use it: it goes with the last of them."""
        if self._workspace is not None and not self._is_used:
            self._workspace.close()

    def _do(self, task: Task) -> TaskResult:
        workspace, sources, say = self._memory, self._work.sources, self._work.on_stage or _say_nothing
        say("reading")
        sizes = [stop - start for start, stop in task.chunk.ranges]
        for_each(self._parts(sources, sizes), self._bring, self.threads)
        for source in sources:
            source.check_unchanged()  # not later: what is written may go to one of them
        say("sorting")
        workspace.adopt(sizes)
        fault = workspace.fault() if self._work.order.checks_values else None
        if fault is not None:
            raise FoundDisorderError(fault.run)
        workspace.sort(self._policy, self._work.equals)  # type: ignore[arg-type]
        workspace.synchronize()
        self._record(list(map(named_sort, workspace.spans)))
        workspace.spans.clear()
        say("writing")
        pieces = self._pieces()
        per_part = {number: PartTotal() for number in range(len(self._output.sinks))}
        waits = self._output.seekable
        self._is_used = not waits  # a thread that writes to a pipe nobody reads never comes back
        for_each(pieces, lambda piece: self._write(piece, per_part), self.threads, waits=waits)
        self._is_used = False
        if len(per_part) == 1:
            per_part[0].items = sum(workspace.counts) - workspace.dropped
        return TaskResult(
            counts=list(workspace.counts),
            dropped=workspace.dropped,
            written=sum(part.nbytes for part in per_part.values()),
            nbytes=task.chunk.nbytes,
            largest=min(self._part, workspace.merged_bytes),
            chunks=len(pieces),
            per_part=per_part,
        )

    def _parts(self, sources: Sequence[Source], sizes: Sequence[int]) -> Iterator[tuple[Source, int, int, int]]:
        """(source, start and stop in it, start in the workspace) of all parts."""
        for source, size, first in zip(sources, sizes, accumulate(sizes, initial=0), strict=False):
            for at in range(0, size, self._part):
                yield source, at, min(at + self._part, size), first + at

    def _bring(self, part: tuple[Source, int, int, int]) -> None:
        source, low, high, position = part
        start = time.perf_counter()
        memory = self._memory.part(position, high - low)
        source.read_into(low, memory)
        spans = [Span("read", time.perf_counter() - start, high - low)]
        start = time.perf_counter()
        self._memory.send(position, high - low)
        if self._memory.remote:
            spans.append(Span("upload", time.perf_counter() - start, high - low))
        self._record(spans)
        self._advance(high - low)

    def _pieces(self) -> list[_Piece]:
        """Pieces of the result, which is cut into the parts of the output: those of all parts in turn."""
        workspace, order, parts = self._memory, self._work.order, len(self._output.sinks)
        edges = even_edges(workspace.merged_bytes, max(1, order.item_bytes), parts)
        if parts > 1:
            if not order.item_bytes:
                edges[1:-1] = [nearest_line_edge(workspace, edge, order.end[0]) for edge in edges[1:-1]]
            if self._work.equals.keeps_all:
                self._output.reserve([high - low for low, high in pairwise(edges)])
        in_turn = sorted(
            (at - low, part, at, min(at + self._part, high))
            for part, (low, high) in enumerate(pairwise(edges))
            for at in range(low, high, self._part)
        )
        line_end = self._output.sinks[0].line_end  # which the others have, too
        return [
            _Piece(workspace, turn, low, high - low, Position(part, at), line_end, self._items)
            for turn, (at, part, low, high) in enumerate(in_turn)
        ]

    def _write(self, piece: _Piece, per_part: dict[int, PartTotal]) -> None:
        try:
            written = self._work.writer.put(piece.turn, piece.position, piece, last=True)
        except BaseException:
            self._work.writer.stop()
            raise
        self._record(piece.spans)
        if written is not None:
            self._advance(piece.merged_bytes, per_part[piece.position.part], piece.items, written)

    def _items(self, data: Bytes) -> int:
        """Items of a piece. Lines are counted only where it is not known how many went to a part."""
        order = self._work.order
        if order.item_bytes:
            items, rest = divmod(len(data), order.item_bytes)
            assert rest == 0, "pieces hold whole items"
            return items
        return data.tobytes().count(order.end) if len(self._output.sinks) > 1 else 0

    def _advance(self, nbytes: int, part: PartTotal | None = None, items: int = 0, written: int = 0) -> None:
        """So many bytes were read, or written as items of a part."""
        with self._lock:
            self._moved += nbytes
            if part is not None:
                part.items += items
                part.nbytes += written
            if self._work.advance is not None:
                self._work.advance(self._moved // 2, self._work.nbytes)

    def _record(self, spans: Sequence[Span]) -> None:
        self._stopwatch.name_lane(self.name)
        self._stopwatch.add(*spans)
