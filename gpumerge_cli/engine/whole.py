"""A sort of everything at once: read by parts into where it is sorted, sorted there, written by parts from there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from gpumerge_cli.backends.base import Backend, SortPolicy, Workspace
from gpumerge_cli.engine.executor import WorkerLog
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.parts import lines_that_begin
from gpumerge_cli.engine.places import Places
from gpumerge_cli.engine.resources import Shares
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.station import policy_of
from gpumerge_cli.engine.stream import Outcome
from gpumerge_cli.engine.task import ChunkTask, Place, TaskResult, UnfinishedError, run
from gpumerge_cli.engine.workers import About
from gpumerge_cli.errors import DeviceError, DeviceMemoryError
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.measure import Span, Stopwatch


class WholeWorker:
    """Sorts all items of a site's sources to a sink, as one task. See engine.workers.Worker.

    shares: how many threads read and write, and bytes of what each reads or writes at once: whole items unless those
    are lines. advance: called with the bytes that were read or written, from any thread but one at a time. chunks: how
    many parts were written.
    """

    def __init__(
        self, site: Site, sink: Sink, backend: Backend, shares: Shares, stopwatch: Stopwatch,
        advance: Callable[[int], None],
    ) -> None:  # fmt: skip
        self.backend = backend.name
        self.name = f"{backend.name} 0"
        self.hands, self._part = shares.workers, shares.chunk_bytes
        self.chunk_bytes = site.work.nbytes
        self._site = site
        self._sink = sink
        self._on = backend
        self._policy = policy_of(backend, site.work)
        self._stopwatch = stopwatch
        self._advance = advance
        self._workspace: Workspace | None = None
        self._lock = threading.Lock()
        self._written = 0
        self.chunks = 0
        self._places = Places(planned=sink.exact, seekable=sink.seekable)

    def start(self, threads: int = 1) -> None:
        """Take the memory for all of it. threads: how many the sort itself may take. Raises DeviceError."""
        self._workspace = self._on.workspace(self._site.work.order, self.chunk_bytes, threads=threads)

    def do(self, task: ChunkTask) -> TaskResult:
        """Read, sort, write. Raises UnfinishedError for a lack of memory ahead of writing anything, if at all."""
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
        workspace, sink, sources = self._memory, self._sink, self._site.sources
        sizes = [stop - start for start, stop in task.ranges]
        for_each(self._parts(sources, sizes), self._bring, self.hands)
        for source in sources:
            source.check_unchanged()  # not later: what is written may go to one of them
        self._sort(sizes)
        self.chunks = -(-workspace.merged_bytes // self._part)
        # A worker that writes to a pipe nobody reads never comes back.
        for_each(range(self.chunks), self._write, self.hands, wait=sink.seekable)
        return TaskResult(
            counts=list(workspace.counts),
            dropped=workspace.dropped,
            written=self._written,
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

    def _write(self, turn: int) -> None:
        try:
            low = turn * self._part
            high = min(self._memory.merged_bytes, low + self._part)
            start = time.perf_counter()
            end = self._sink.line_end
            if end is None:
                data = self._memory.receive(low, high - low)
            else:
                data = lines_that_begin(self._memory, low, high, end)
            if self._memory.remote:
                self._took("download", start, high - low)
            start = time.perf_counter()
            encoded = self._sink.encode(data)
            if not self._sink.exact:
                self._took("compress", start, high - low)
            with self._places.place(turn, low, len(encoded), last=True) as place:
                if place is None:
                    return
                start = time.perf_counter()
                self._sink.write_at(place, encoded)
                self._took("write", start, len(encoded))
            with self._lock:
                self._written += len(encoded)
                self._advance(high - low)
        except BaseException:
            self._places.stop()
            raise

    def _took(self, stage: str, start: float, nbytes: int) -> None:
        self._stopwatch.name_lane(self.name)
        self._stopwatch.add(Span(stage, time.perf_counter() - start, nbytes))


def sort_whole(site: Site, sink: Sink, worker: WholeWorker, threads: int) -> Outcome:
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
        if sink.seekable or isinstance(cause, DeviceMemoryError):
            worker.close()
        if cause is not error:
            raise cause from None
        raise
    log.last = time.perf_counter()
    log.busy, log.chunks, log.nbytes = log.last - log.first, 1, result.nbytes
    worker.close()
    return Outcome(
        result.counts,
        result.dropped,
        result.written,
        chunks=worker.chunks,
        largest=result.largest,
        workers=worker.hands,
        logs=[log],
        began=log.first,
    )
