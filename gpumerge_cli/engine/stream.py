"""Chunks through a backend: workers that each read a chunk, check it, merge it and write it in its place.

Chunks are independent, so the stages of different chunks overlap: while one worker reads, another merges and a third
writes. Nothing waits in a queue; memory is a workspace a worker. A chunk that the device has no memory for is cut in
two, and so are all that come after it.
"""

from __future__ import annotations

import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Protocol

from gpumerge_cli.backends.base import Backend, Bytes, LaunchPolicy, SortPolicy, Unique, Workspace
from gpumerge_cli.backends.calls import ChunkCalls, ChunkWork, ChunkWorker, Disordered
from gpumerge_cli.backends.cpu.comparison import Comparison, key_by
from gpumerge_cli.engine.parts import by_lines
from gpumerge_cli.engine.places import Places
from gpumerge_cli.engine.resources import Shares
from gpumerge_cli.engine.supply import Supply
from gpumerge_cli.errors import DeviceMemoryError, DisorderError
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.measure import Span, Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Chunk, Planner

# A device without memory for a chunk of this size has none for the merge.
_LEAST_CHUNK = 64 << 10


@dataclass(frozen=True)
class Stream:
    """A merge that is ready to run.

    policy: how a chunk's runs are merged, or sorted again, which gives the same. unique: of items that compare equal
    only the first goes out. lenient: an item out of order ends the run, which then tells how far it came; otherwise it
    is an error.
    """

    sources: Sequence[Source]
    sink: Sink
    order: Order
    backend: Backend
    policy: LaunchPolicy | SortPolicy
    shares: Shares
    check: bool
    unique: bool
    lenient: bool = False

    @property
    def nbytes(self) -> int:
        """Bytes of all sources."""
        return sum(source.size for source in self.sources)


@dataclass
class Outcome:
    """What a stream did. counts: items that each source gave. dropped: those left out. written: bytes of the output.

    limit: bytes of the largest chunk that was tried once the device had run out of memory; 0 if it never did. chunks,
    largest: how many there were, and bytes of the largest. workers: how many worked on them. rest: where a lenient run
    met disorder: what lies ahead of its ranges was put out, up to its offset in the output.
    """

    counts: list[int]
    dropped: int = 0
    written: int = 0
    limit: int = 0
    chunks: int = 0
    largest: int = 0
    workers: int = 1
    rest: Chunk | None = None


class FoundDisorderError(DisorderError):
    """A chunk that is not in order; which disorder comes first in the file is for a scan of it to say."""

    def __init__(self, source: int) -> None:
        super().__init__("out of order")
        self.source = source


def run(stream: Stream, stopwatch: Stopwatch, advance: Callable[[int, int], None] | None = None) -> Outcome:
    """Merge every chunk into the sink.

    advance: as in merge_files. The first error of any worker is raised; the others stop.
    """
    shared = _Shared(stream, stopwatch, advance)
    workers = shared.outcome.workers
    if workers == 1:
        _Worker(shared).work()
        return shared.outcome
    from concurrent.futures import FIRST_COMPLETED, wait

    from gpumerge_cli.engine.parallel import Crew

    crew = Crew(lambda: _Worker(shared).work(), workers)
    try:
        futures = crew.start()
        pending = set(futures)
        while pending:
            # A timeout, so that signals are seen: a wait without one is not interrupted on every platform.
            _, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
    except BaseException:
        shared.places.stop()
        # A worker that writes to a pipe nobody reads never comes back; one that writes to a file does so soon.
        crew.stop(wait=stream.sink.seekable)
        raise
    crew.close()
    errors = [error for error in (future.exception() for future in futures) if error is not None]
    if errors:
        raise errors[0]
    return shared.outcome


@dataclass
class _Shared:
    """What the workers of one run have in common."""

    stream: Stream
    stopwatch: Stopwatch
    advance: Callable[[int, int], None] | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: int = 0
    left: float = inf  # the first chunk that is not in order

    def __post_init__(self) -> None:
        stream, sink = self.stream, self.stream.sink
        size = stream.shares.chunk_bytes
        self.total = stream.nbytes
        workers = max(1, min(stream.shares.workers, -(-self.total // size)))
        self.planner = Planner(stream.sources, stream.order)
        self.supply = Supply(self.planner.spans(size), 2 * workers, self.stopwatch)
        self.outcome = Outcome([0] * len(stream.sources), workers=workers)
        self.places = Places(planned=sink.exact and not self.stream.unique, seekable=sink.seekable)
        planned = sink.exact and sink.seekable and not stream.unique
        target = sink.target if planned else None
        work = ChunkWork(stream.sources, stream.order, stream.policy, stream.check, stream.unique, target)
        self.calls: ChunkCalls | None = stream.backend.chunk_calls(work)
        self.written_by_calls = self.calls is not None and target is not None

    @property
    def limit(self) -> int:
        """Bytes of the largest chunk that may be tried."""
        return self.outcome.limit or 2 * self.stream.shares.chunk_bytes

    def shrink(self, failed: int, tried: int) -> bool:
        """Take note that the device had no memory for a chunk of `failed` bytes; False if nothing smaller can help.

        tried: the limit that the chunk was cut to, as far as its lines let it.
        """
        with self.lock:
            if self.limit < tried:
                return True  # another worker took note meanwhile
            if self.limit <= _LEAST_CHUNK:
                return False
            self.outcome.limit = max(_LEAST_CHUNK, min(self.limit, failed) // 2)
            return True

    def leave(self, turn: int, rest: Chunk) -> None:
        """Chunk number `turn` is not in order: `rest` is what it has not put out."""
        # All ahead of it have been placed then.
        with self.places.place(turn, rest.offset, 0, last=False) as place:
            if place is None:
                return
            with self.lock:
                if turn < self.left:
                    self.left = turn
                    self.outcome.rest = replace(rest, offset=place)
            self.places.leave(turn)

    def finished(self, piece: Chunk, merged: _Merged, written: int) -> None:
        with self.lock:
            self.outcome.counts[:] = map(operator.add, self.outcome.counts, merged.counts)
            self.outcome.dropped += merged.dropped
            self.outcome.written += written
            self.outcome.chunks = self.supply.handed_out
            self.outcome.largest = max(self.outcome.largest, piece.nbytes)
            self.done += piece.nbytes
            if self.advance is not None:
                self.advance(self.done, self.total)


class _Merged(Protocol):
    """What a chunk came to. counts: items of each source. dropped: those left out. merged_bytes: of the result."""

    counts: list[int]
    dropped: int
    merged_bytes: int
    spans: list[Span]

    def outputs(self) -> Iterable[Bytes]:
        """The result by parts. See Workspace."""


class _Worker:
    """Takes chunk after chunk until there are none left."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._stream = shared.stream
        self._workspace: Workspace | None = None
        self._caller: ChunkWorker | None = None
        self._capacity = 0

    def work(self) -> None:
        try:
            while True:
                taken = self._shared.supply.take()
                if taken is None or self._shared.places.is_over(taken[0]):
                    return
                self._merge_chunk(*taken)
        except BaseException:
            self._shared.places.stop()
            raise
        finally:
            self._close()

    def _merge_chunk(self, turn: int, chunk: Chunk) -> None:
        """Merge and write the chunk, in pieces where the device has no memory for it as a whole."""
        pieces = deque([chunk])
        while pieces and not self._shared.places.is_over(turn):
            piece = pieces.popleft()
            limit = self._shared.limit
            if piece.nbytes > limit:
                parts = self._shared.planner.split(piece, limit)
                if len(parts) > 1:
                    pieces.extendleft(reversed(parts))
                    continue
            try:
                merged = self._merged(piece)
            except DeviceMemoryError:
                self._close()
                if not self._shared.shrink(piece.nbytes, limit):
                    raise
                pieces.appendleft(piece)
                continue
            except FoundDisorderError:
                if not self._stream.lenient:
                    raise
                self._shared.leave(turn, piece)
                return
            if self._shared.written_by_calls:
                self._shared.finished(piece, merged, merged.merged_bytes)
            else:
                self._write(turn, piece, merged, last=not pieces)
            self._shared.stopwatch.add(*merged.spans)
            merged.spans.clear()

    def _merged(self, piece: Chunk) -> _Merged:
        """The merge of the piece, by whom holds it or has written it."""
        stream = self._stream
        if stream.lenient and not self._shared.planner.is_cut([stop for _, stop in piece.ranges]):
            raise FoundDisorderError(0)
        capacity = self._room()
        if self._shared.calls is not None:
            return self._in_one_call(self._shared.calls, capacity, piece)
        if self._workspace is None:
            self._workspace = stream.backend.workspace(stream.order, capacity)
        workspace = self._workspace
        read_chunk(stream.sources, piece, workspace, self._shared.stopwatch)
        if stream.check and not stream.lenient:
            for number, (start, stop) in enumerate(piece.ranges):
                if stop > start and falls_at(stream.sources[number], start, stream.order):
                    raise FoundDisorderError(number)
        workspace.upload(piece.lengths)
        if stream.check:
            disorder = workspace.disorder()
            if disorder is not None:
                raise FoundDisorderError(disorder.run)
        unique = what_of_equals(stream.sources, piece, stream.order) if stream.unique else None
        if isinstance(stream.policy, SortPolicy):
            workspace.sort(stream.policy, unique)
        else:
            workspace.merge(stream.policy, unique)
        return workspace

    def _in_one_call(self, calls: ChunkCalls, capacity: int, piece: Chunk) -> _Merged:
        if self._caller is None:
            self._caller = calls.worker(capacity)
        try:
            self._caller.run(piece.ranges, piece.offset)
        except Disordered as found:
            raise FoundDisorderError(found.source) from None
        return self._caller

    def _write(self, turn: int, piece: Chunk, merged: _Merged, *, last: bool) -> None:
        sink, stopwatch = self._stream.sink, self._shared.stopwatch
        offset, left, written = piece.offset, merged.merged_bytes, 0
        for part in by_lines(merged.outputs(), sink.line_end):
            start = time.perf_counter()
            left -= len(part)
            data = sink.encode(part)
            if not sink.exact:
                stopwatch.add(Span("compress", time.perf_counter() - start, len(part)))
            with self._shared.places.place(turn, offset + written, len(data), last=last and not left) as place:
                if place is None:
                    return
                start = time.perf_counter()
                sink.write_at(place, data)
                stopwatch.add(Span("write", time.perf_counter() - start, len(data)))
            written += len(data)
        self._shared.finished(piece, merged, written)

    def _room(self) -> int:
        """The capacity for the next chunk: no more than the limit, or as large as chunks usually are."""
        capacity = min(self._shared.limit, self._stream.shares.chunk_bytes)
        if self._capacity > capacity:
            self._close()
        self._capacity = capacity
        return capacity

    def _close(self) -> None:
        for opened in (self._workspace, self._caller):
            if opened is not None:
                opened.close()
        self._workspace = self._caller = None


def read_chunk(sources: Sequence[Source], chunk: Chunk, workspace: Workspace, stopwatch: Stopwatch) -> None:
    """Read the chunk's ranges into the workspace's staging memory, back to back."""
    start = time.perf_counter()
    staging = workspace.staging(chunk.nbytes)
    position = 0
    for source, (low, high) in zip(sources, chunk.ranges, strict=True):
        if high > low:
            source.read_into(low, staging[position : position + high - low])
            position += high - low
    stopwatch.add(Span("read", time.perf_counter() - start, chunk.nbytes))


def falls_at(source: Source, start: int, order: Order, *, unique: bool = False) -> bool:
    """Whether the item at `start` sorts before the one ahead of it, or as it does if `unique`."""
    if start == 0:
        return False
    compared = Comparison(order)(source.item_at(start), source.item_before(start))
    return compared < (1 if unique else 0)


def what_of_equals(sources: Sequence[Source], chunk: Chunk, order: Order) -> Unique:
    """What of the chunk's equal items goes out: also the first like its first item, or did one like it go out before?

    The items before the chunk are those before its ranges, so the last of them is the greatest of their last ones.
    """
    ranges = list(zip(sources, chunk.ranges, strict=True))
    key = key_by(order)
    before = max((source.item_before(start) for source, (start, _) in ranges if start > 0), key=key, default=None)
    here = min((source.item_at(start) for source, (start, stop) in ranges if stop > start), key=key, default=None)
    return "ahead" if before is not None and here is not None and not key(before) < key(here) else "first"
