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
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from gpumerge_cli.backends.base import Backend, Bytes, LaunchPolicy, SortPolicy, Unique, Workspace
from gpumerge_cli.engine.places import Places
from gpumerge_cli.engine.resources import Shares
from gpumerge_cli.engine.supply import Supply
from gpumerge_cli.errors import DeviceMemoryError, DisorderError
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.measure import Span, Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Chunk, spans_of, split

# A device without memory for a chunk of this size has none for the merge.
_LEAST_CHUNK = 64 << 10


@dataclass(frozen=True)
class Stream:
    """A merge that is ready to run.

    policy: how a chunk's runs are merged, or sorted again, which gives the same. unique: of items that compare equal
    only the first goes out.
    """

    sources: Sequence[Source]
    sink: Sink
    order: Order
    backend: Backend
    policy: LaunchPolicy | SortPolicy
    shares: Shares
    check: bool
    unique: bool

    @property
    def nbytes(self) -> int:
        """Bytes of all sources."""
        return sum(source.size for source in self.sources)


@dataclass
class Outcome:
    """What a stream did. counts: items that each source gave. dropped: those left out. written: bytes of the output.

    limit: bytes of the largest chunk that was tried once the device had run out of memory; 0 if it never did. chunks,
    largest: how many there were, and bytes of the largest. workers: how many worked on them.
    """

    counts: list[int]
    dropped: int = 0
    written: int = 0
    limit: int = 0
    chunks: int = 0
    largest: int = 0
    workers: int = 1


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
    pool = ThreadPoolExecutor(workers, thread_name_prefix="gpumerge")
    futures = [pool.submit(_Worker(shared).work) for _ in range(workers)]
    try:
        pending = set(futures)
        while pending:
            # A timeout, so that signals are seen: a wait without one is not interrupted on every platform.
            _, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
    except BaseException:
        shared.places.stop()
        # A worker that writes to a pipe nobody reads never comes back; one that writes to a file does so soon.
        pool.shutdown(wait=stream.sink.seekable, cancel_futures=True)
        raise
    pool.shutdown()
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

    def __post_init__(self) -> None:
        stream, sink = self.stream, self.stream.sink
        size = stream.shares.chunk_bytes
        self.total = stream.nbytes
        workers = max(1, min(stream.shares.workers, -(-self.total // size)))
        self.supply = Supply(spans_of(stream.sources, stream.order, size), 2 * workers, self.stopwatch)
        self.outcome = Outcome([0] * len(stream.sources), workers=workers)
        self.places = Places(planned=sink.exact and not self.stream.unique, seekable=sink.seekable)

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

    def finished(self, piece: Chunk, workspace: Workspace, written: int) -> None:
        with self.lock:
            self.outcome.counts[:] = map(operator.add, self.outcome.counts, workspace.counts)
            self.outcome.dropped += workspace.dropped
            self.outcome.written += written
            self.outcome.chunks = self.supply.handed_out
            self.outcome.largest = max(self.outcome.largest, piece.nbytes)
            self.done += piece.nbytes
            if self.advance is not None:
                self.advance(self.done, self.total)


class _Worker:
    """Takes chunk after chunk until there are none left."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._stream = shared.stream
        self._workspace: Workspace | None = None
        self._capacity = 0

    def work(self) -> None:
        try:
            while not self._shared.places.stopped:
                taken = self._shared.supply.take()
                if taken is None:
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
        while pieces and not self._shared.places.stopped:
            piece = pieces.popleft()
            limit = self._shared.limit
            if piece.nbytes > limit:
                parts = split(self._stream.sources, self._stream.order, piece, limit)
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
            self._write(turn, piece, merged, last=not pieces)

    def _merged(self, piece: Chunk) -> Bytes:
        """The merge of the piece, in memory of the workspace."""
        stream = self._stream
        workspace = self._opened()
        read_chunk(stream.sources, piece, workspace, self._shared.stopwatch)
        if stream.check:
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
        merged = workspace.download()
        self._shared.stopwatch.add(*workspace.spans)
        workspace.spans.clear()
        return merged

    def _write(self, turn: int, piece: Chunk, merged: Bytes, *, last: bool) -> None:
        sink, stopwatch = self._stream.sink, self._shared.stopwatch
        start = time.perf_counter()
        data = sink.encode(merged)
        if not sink.exact:
            stopwatch.add(Span("compress", time.perf_counter() - start, len(merged)))
        with self._shared.places.place(turn, piece.offset, len(data), last=last) as place:
            if place is None:
                return
            start = time.perf_counter()
            sink.write_at(place, data)
            stopwatch.add(Span("write", time.perf_counter() - start, len(data)))
        assert self._workspace is not None
        self._shared.finished(piece, self._workspace, len(data))

    def _opened(self) -> Workspace:
        """A workspace no larger than the limit, or as large as chunks usually are."""
        capacity = min(self._shared.limit, self._stream.shares.chunk_bytes)
        if self._workspace is None or self._capacity > capacity:
            self._close()
            self._workspace = self._stream.backend.workspace(self._stream.order, capacity)
            self._capacity = capacity
        return self._workspace

    def _close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None


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
    here, ahead = order.key(source.item_at(start)), order.key(source.item_before(start))
    return bool(here <= ahead if unique else here < ahead)


def what_of_equals(sources: Sequence[Source], chunk: Chunk, order: Order) -> Unique:
    """What of the chunk's equal items goes out: also the first like its first item, or did one like it go out before?

    The items before the chunk are those before its ranges, so the last of them is the greatest of their last ones.
    """
    ranges = list(zip(sources, chunk.ranges, strict=True))
    before = [order.key(source.item_before(start)) for source, (start, _) in ranges if start > 0]
    here = [order.key(source.item_at(start)) for source, (start, stop) in ranges if stop > start]
    return "ahead" if before and here and not max(before) < min(here) else "first"
