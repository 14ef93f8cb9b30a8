"""A sort of everything at once: read by parts into where it is sorted, sorted there, written by parts from there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from itertools import accumulate

from gpumerge_cli.backends.base import SortPolicy, Unique, Workspace
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.places import Places
from gpumerge_cli.engine.stream import Outcome
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.measure import Span, Stopwatch


def sort_whole(
    sources: Sequence[Source],
    sink: Sink,
    workspace: Workspace,
    policy: SortPolicy,
    *,
    unique: bool,
    part: int,
    workers: int,
    stopwatch: Stopwatch,
    advance: Callable[[int], None] | None = None,
) -> Outcome:
    """Sort all items of `sources` to the sink, through a workspace whose capacity is all their bytes.

    part: bytes, whole items unless those are lines, that go through host memory at once, for each of the workers.
    advance: called with the bytes that were read or written, from any thread but one at a time. Raises
    DeviceMemoryError before anything is written, if at all.
    """
    sizes = [source.size for source in sources]
    starts = list(accumulate(sizes, initial=0))
    lock = threading.Lock()

    def told(nbytes: int) -> None:
        if advance is not None:
            with lock:
                advance(nbytes)

    def bring(place: tuple[int, int, int]) -> None:
        number, low, high = place
        position, nbytes = starts[number] + low, high - low
        start = time.perf_counter()
        memory = workspace.part(position, nbytes)
        sources[number].read_into(low, memory)
        stopwatch.add(Span("read", time.perf_counter() - start, nbytes))
        start = time.perf_counter()
        workspace.send(position, nbytes)
        if workspace.remote:
            stopwatch.add(Span("upload", time.perf_counter() - start, nbytes))
        told(nbytes)

    places = ((number, at, min(at + part, size)) for number, size in enumerate(sizes) for at in range(0, size, part))
    for_each(places, bring, workers)
    workspace.adopt(sizes)
    first: Unique = "first" if unique else None
    workspace.sort(policy, first)
    workspace.synchronize()
    stopwatch.add(*[Span("sort", s.seconds, s.nbytes, s.stopped) if s.name == "kernel" else s for s in workspace.spans])
    workspace.spans.clear()

    total = workspace.merged_bytes
    turns = Places(planned=sink.exact, seekable=sink.seekable)
    written = 0

    def write(turn: int) -> None:
        nonlocal written
        try:
            low, high = turn * part, min(total, (turn + 1) * part)
            start = time.perf_counter()
            data = workspace.receive(low, high - low)
            if workspace.remote:
                stopwatch.add(Span("download", time.perf_counter() - start, high - low))
            encoded = sink.encode(data)
            with turns.place(turn, low, len(encoded), last=True) as place:
                if place is None:
                    return
                start = time.perf_counter()
                sink.write_at(place, encoded)
                stopwatch.add(Span("write", time.perf_counter() - start, len(encoded)))
            told(high - low)
            with lock:
                written += len(encoded)
        except BaseException:
            turns.stop()
            raise

    chunks = -(-total // part)
    # A worker that writes to a pipe nobody reads never comes back.
    for_each(range(chunks), write, workers, wait=sink.seekable)
    return Outcome(
        counts=list(workspace.counts),
        dropped=workspace.dropped,
        written=written,
        chunks=chunks,
        largest=min(part, total),
        workers=workers,
    )
