"""Chunks through a backend: workers that each read a chunk, check it, merge it and write it in its place.

Chunks are independent, so the stages of different chunks overlap: while one worker reads, another merges and a third
writes. Nothing waits in a queue; memory is a workspace a worker.
"""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass

from gpumerge_cli.backends.base import Backend, Bytes, LaunchPolicy, Workspace
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.measure import Span, Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Chunk, Plan


@dataclass(frozen=True)
class Stream:
    """A merge that is ready to run. threads: host threads that may work on one chunk."""

    plan: Plan
    sources: Sequence[Source]
    sink: Sink
    order: Order
    backend: Backend
    policy: LaunchPolicy
    check: bool
    workers: int
    threads: int


class FoundDisorderError(DisorderError):
    """A chunk that is not in order; which disorder comes first in the file is for a scan of it to say."""

    def __init__(self, source: int) -> None:
        super().__init__("out of order")
        self.source = source


class _Turns:
    """Lets writers through in the order of their chunks, where the sink needs that."""

    def __init__(self, ordered: bool) -> None:
        self._ordered = ordered
        self._next = 0
        self._changed = threading.Condition()
        self._stopped = False

    def wait_for(self, turn: int) -> bool:
        """Wait until it is `turn`'s turn; False if the run was stopped meanwhile."""
        if not self._ordered:
            return not self._stopped
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._next == turn)
            return not self._stopped

    def done(self) -> None:
        with self._changed:
            self._next += 1
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def stopped(self) -> bool:
        return self._stopped


def run(stream: Stream, stopwatch: Stopwatch, advance: Callable[[int, int], None] | None = None) -> list[int]:
    """Merge every chunk of the plan into the sink; returns how many items each source gave.

    advance: as in merge_files. The first error of any worker is raised; the others stop.
    """
    counts = [0] * len(stream.sources)
    done, total = [0], stream.plan.nbytes
    turns = _Turns(ordered=not stream.sink.seekable)
    chunks = iter(enumerate(stream.plan.chunks))
    lock = threading.Lock()

    def work() -> None:
        try:
            workspace = stream.backend.workspace(stream.order, stream.plan.largest, threads=stream.threads)
            try:
                while not turns.stopped:
                    with lock:
                        turn, chunk = next(chunks, (-1, None))
                    if chunk is None:
                        return
                    _merge_chunk(stream, workspace, turn, chunk, turns, stopwatch)
                    with lock:
                        counts[:] = map(operator.add, counts, workspace.counts)
                        done[0] += chunk.nbytes
                        if advance is not None:
                            advance(done[0], total)
            finally:
                workspace.close()
        except BaseException:
            turns.stop()
            raise

    workers = min(stream.workers, len(stream.plan))
    if workers <= 1:
        work()
        return counts
    pool = ThreadPoolExecutor(workers, thread_name_prefix="gpumerge")
    futures = [pool.submit(work) for _ in range(workers)]
    try:
        pending = set(futures)
        while pending:
            # A timeout, so that signals are seen: a wait without one is not interrupted on every platform.
            _, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
    except BaseException:
        turns.stop()
        # A worker that writes to a pipe nobody reads never comes back; one that writes to a file does so soon.
        pool.shutdown(wait=stream.sink.seekable, cancel_futures=True)
        raise
    pool.shutdown()
    errors = [error for error in (future.exception() for future in futures) if error is not None]
    if errors:
        raise errors[0]
    return counts


def _merge_chunk(
    stream: Stream, workspace: Workspace, turn: int, chunk: Chunk, turns: _Turns, stopwatch: Stopwatch
) -> None:
    read_chunk(stream.sources, chunk, workspace, stopwatch)
    if stream.check:
        for number, (start, stop) in enumerate(chunk.ranges):
            if stop > start and falls_at(stream.sources[number], start, stream.order):
                raise FoundDisorderError(number)
    workspace.upload(chunk.lengths)
    if stream.check:
        disorder = workspace.disorder()
        if disorder is not None:
            raise FoundDisorderError(disorder.run)
    workspace.merge(stream.policy)
    merged = workspace.download()
    stopwatch.add(*workspace.spans)
    workspace.spans.clear()
    if turns.wait_for(turn):
        _write(stream.sink, chunk.offset, merged, stopwatch)
        turns.done()


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


def falls_at(source: Source, start: int, order: Order) -> bool:
    """Whether the item at `start` sorts before the one ahead of it: the check across a chunk's edge."""
    if start == 0:
        return False
    return bool(order.key(source.item_at(start)) < order.key(source.item_before(start)))


def _write(sink: Sink, offset: int, data: Bytes, stopwatch: Stopwatch) -> None:
    start = time.perf_counter()
    sink.write_at(offset, data)
    stopwatch.add(Span("write", time.perf_counter() - start, len(data)))
