"""A sort of everything at once: parts are read into one workspace, sorted there, and written from there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise

from gpumerge_cli.backends.base import Backend, SortPolicy, Workspace
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.executor import WorkerLog
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.parts import lines_that_begin, nearest_line_edge
from gpumerge_cli.engine.places import Places
from gpumerge_cli.engine.resources import Shares
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.station import policy_of
from gpumerge_cli.engine.stream import Filled, Outcome
from gpumerge_cli.engine.task import ChunkTask, Place, TaskResult, UnfinishedError, run
from gpumerge_cli.engine.workers import About
from gpumerge_cli.errors import DeviceError, DeviceMemoryError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.measure import Span, Stopwatch
from gpumerge_cli.plan import even_edges


@dataclass(frozen=True)
class _Piece:
    """Bytes `low` to `high` of the result, which are written in this turn, to this place."""

    turn: int
    low: int
    high: int
    place: Place


class WholeWorker:
    """Sorts all items of a site's sources to an output, as one task. See engine.workers.Worker.

    shares: how many threads read and write, and about how many bytes each reads or writes at once. advance: called with
    the bytes that were read or written, from any thread, but one at a time. chunks: the number of pieces written.
    filled: the outcome of each part of the output.
    """

    def __init__(
        self, site: Site, output: Output, backend: Backend, shares: Shares, stopwatch: Stopwatch,
        advance: Callable[[int], None],
    ) -> None:  # fmt: skip
        self.backend = backend.name
        self.name = f"{backend.name} 0"
        item = max(1, site.work.order.item_bytes)
        self.hands, self._part = shares.workers, max(1, shares.chunk_bytes // item) * item
        self.chunk_bytes = site.work.nbytes
        self._site = site
        self._output = output
        self._sink = output.sinks[0]  # which the others are like
        self._on = backend
        self._policy = policy_of(backend, site.work)
        self._stopwatch = stopwatch
        self._advance = advance
        self._workspace: Workspace | None = None
        self._lock = threading.Lock()
        self.chunks = 0
        self.filled = {number: Filled() for number in range(len(output.sinks))}
        self._places = Places(planned=self._sink.exact, seekable=output.seekable, parts=len(output.sinks))

    def start(self, threads: int = 1) -> None:
        """Take the memory for all of it. threads: how many the sort itself may take. Raises DeviceError."""
        work = self._site.work
        self._on.prepare(work.order, self._policy, int(work.nbytes / work.item_bytes))
        self._workspace = self._on.workspace(work.order, self.chunk_bytes, threads=threads)

    def do(self, task: ChunkTask) -> TaskResult:
        """Read, sort, write. Raises UnfinishedError if memory is short, and only before anything is written."""
        try:
            return self._do(task)
        except DeviceError as error:
            raise UnfinishedError(error, TaskResult(), None) from error

    def about(self) -> About:
        """See Worker."""
        policy = self._policy
        kernel = policy.algorithm if isinstance(policy, SortPolicy) else policy.kernel
        return About(self._on.info().name, kernel, policy.describe(), policy.why)

    def close(self) -> None:
        """Give the memory back."""
        if self._workspace is not None:
            self._workspace.close()

    @property
    def _memory(self) -> Workspace:
        assert self._workspace is not None, "a worker starts first"
        return self._workspace

    def _do(self, task: ChunkTask) -> TaskResult:
        workspace, sources = self._memory, self._site.sources
        sizes = [stop - start for start, stop in task.ranges]
        for_each(self._parts(sources, sizes), self._bring, self.hands)
        for source in sources:
            source.check_unchanged()  # not later: what is written may go to one of them
        self._sort(sizes)
        pieces = self._pieces()
        self.chunks = len(pieces)
        # A worker that writes to a pipe nobody reads never comes back.
        for_each(pieces, self._write, self.hands, wait=self._output.seekable)
        return TaskResult(
            counts=list(workspace.counts),
            dropped=workspace.dropped,
            written=sum(part.nbytes for part in self.filled.values()),
            nbytes=task.nbytes,
            largest=min(self._part, workspace.merged_bytes),
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
        self._took("read", start, high - low)
        start = time.perf_counter()
        self._memory.send(position, high - low)
        if self._memory.remote:
            self._took("upload", start, high - low)
        with self._lock:
            self._advance(high - low)

    def _sort(self, sizes: Sequence[int]) -> None:
        workspace = self._memory
        workspace.adopt(sizes)
        workspace.sort(self._policy, None if self._site.work.equals.keeps_all else "first")  # type: ignore[arg-type]
        workspace.synchronize()
        self._stopwatch.name_lane(self.name)
        self._stopwatch.add(*[replace(s, name="sort") if s.name == "kernel" else s for s in workspace.spans])
        workspace.spans.clear()

    def _pieces(self) -> list[_Piece]:
        """Pieces of the result, which is cut into the parts of the output: those of all parts in turn."""
        workspace, order, parts = self._memory, self._site.work.order, len(self.filled)
        edges = even_edges(workspace.merged_bytes, max(1, order.item_bytes), parts)
        if parts > 1:
            if not order.item_bytes:
                edges[1:-1] = [nearest_line_edge(workspace, edge, order.end[0]) for edge in edges[1:-1]]
            if self._site.work.equals.keeps_all:
                self._output.reserve([high - low for low, high in pairwise(edges)])
        in_turn = sorted(
            (at - low, part, at, min(at + self._part, high))
            for part, (low, high) in enumerate(pairwise(edges))
            for at in range(low, high, self._part)
        )
        return [_Piece(turn, low, high, Place(part, at)) for turn, (at, part, low, high) in enumerate(in_turn)]

    def _write(self, piece: _Piece) -> None:
        try:
            low, high, part = piece.low, piece.high, piece.place.part
            sink = self._output.sinks[part]
            start = time.perf_counter()
            end = self._sink.line_end
            if end is None:
                data = self._memory.receive(low, high - low)
            else:
                data = lines_that_begin(self._memory, low, high, end)
            if self._memory.remote:
                self._took("download", start, high - low)
            start = time.perf_counter()
            items = self._items(data)
            encoded = sink.encode(data)
            if not sink.exact:
                self._took("compress", start, high - low)
            with self._places.place(piece.turn, piece.place, len(encoded), last=True) as place:
                if place is None:
                    return
                start = time.perf_counter()
                sink.write_at(place, encoded)
                self._took("write", start, len(encoded))
            with self._lock:
                self.filled[part].items += items
                self.filled[part].nbytes += len(encoded)
                self._advance(high - low)
        except BaseException:
            self._places.stop()
            for sink in self._output.sinks:
                sink.stop()
            raise

    def _items(self, data: Bytes) -> int:
        """Items of a piece. Lines are counted only where it is not known how many went to a part."""
        order = self._site.work.order
        if order.item_bytes:
            items, rest = divmod(len(data), order.item_bytes)
            assert rest == 0, "pieces hold whole items"
            return items
        return data.tobytes().count(order.end) if len(self.filled) > 1 else 0

    def _took(self, stage: str, start: float, nbytes: int) -> None:
        self._stopwatch.name_lane(self.name)
        self._stopwatch.add(Span(stage, time.perf_counter() - start, nbytes))


def sort_whole(site: Site, output: Output, worker: WholeWorker, threads: int) -> Outcome:
    """Have the worker sort everything, as one task. threads: how many the sort itself may take.

    Raises DeviceMemoryError before anything is written, if at all.
    """
    ranges = tuple((0, source.size) for source in site.sources)
    task = ChunkTask(site.work, 0, ranges, Place(0, 0))
    log = WorkerLog(worker, started=True)
    log.first = time.perf_counter()
    try:
        worker.start(threads)
        result = run(task, worker)
    except BaseException as error:
        cause = error.cause if isinstance(error, UnfinishedError) else error
        # A stream's writers are not waited for, and use it until they end: then it is closed with the last of them.
        if output.seekable or isinstance(cause, DeviceMemoryError):
            worker.close()
        if cause is not error:
            raise cause from None
        raise
    log.last = time.perf_counter()
    log.busy, log.chunks, log.nbytes = log.last - log.first, 1, result.nbytes
    worker.close()
    if len(worker.filled) == 1:
        worker.filled[0].items = sum(result.counts) - result.dropped
    return Outcome(
        result.counts,
        result.dropped,
        result.written,
        chunks=worker.chunks,
        largest=result.largest,
        workers=worker.hands,
        logs=[log],
        parts=worker.filled,
        began=log.first,
    )
