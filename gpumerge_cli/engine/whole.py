"""A sort of everything at once: read by parts into where it is sorted, sorted there, written by parts from there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from gpumerge_cli.backends.base import SortPolicy, Workspace
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.parts import lines_that_begin
from gpumerge_cli.engine.places import Places
from gpumerge_cli.engine.stream import Outcome
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.measure import Span, Stopwatch


@dataclass
class Whole:
    """A sort of all items of `sources` to the sink, through a workspace whose capacity is all their bytes.

    part: bytes, whole items unless those are lines, that go through host memory at once, for each of the workers.
    advance: called with the bytes that were read or written, from any thread but one at a time.
    """

    sources: Sequence[Source]
    sink: Sink
    workspace: Workspace
    policy: SortPolicy
    unique: bool
    part: int
    workers: int
    stopwatch: Stopwatch
    advance: Callable[[int], None]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _written: int = 0
    _places: Places = field(init=False)

    def run(self) -> Outcome:
        """Read, sort, write. Raises DeviceMemoryError before anything is written, if at all."""
        sizes = [source.size for source in self.sources]
        for_each(self._parts(sizes), self._bring, self.workers)
        for source in self.sources:
            source.check_unchanged()  # not later: what is written may go to one of them
        self._sort(sizes)
        workspace, sink = self.workspace, self.sink
        chunks = -(-workspace.merged_bytes // self.part)
        self._places = Places(planned=sink.exact, seekable=sink.seekable)
        # A worker that writes to a pipe nobody reads never comes back.
        for_each(range(chunks), self._write, self.workers, wait=sink.seekable)
        return Outcome(
            counts=list(workspace.counts),
            dropped=workspace.dropped,
            written=self._written,
            chunks=chunks,
            largest=min(self.part, workspace.merged_bytes),
            workers=self.workers,
        )

    def _parts(self, sizes: Sequence[int]) -> Iterator[tuple[Source, int, int, int]]:
        """(source, start and stop in it, start in the workspace) of all parts."""
        for source, size, first in zip(self.sources, sizes, accumulate(sizes, initial=0), strict=False):
            for at in range(0, size, self.part):
                yield source, at, min(at + self.part, size), first + at

    def _bring(self, part: tuple[Source, int, int, int]) -> None:
        source, low, high, position = part
        start = time.perf_counter()
        memory = self.workspace.part(position, high - low)
        source.read_into(low, memory)
        self._took("read", start, high - low)
        start = time.perf_counter()
        self.workspace.send(position, high - low)
        if self.workspace.remote:
            self._took("upload", start, high - low)
        with self._lock:
            self.advance(high - low)

    def _sort(self, sizes: Sequence[int]) -> None:
        workspace = self.workspace
        workspace.adopt(sizes)
        workspace.sort(self.policy, "first" if self.unique else None)
        workspace.synchronize()
        self.stopwatch.add(*[replace(s, name="sort") if s.name == "kernel" else s for s in workspace.spans])
        workspace.spans.clear()

    def _write(self, turn: int) -> None:
        try:
            low = turn * self.part
            high = min(self.workspace.merged_bytes, low + self.part)
            start = time.perf_counter()
            end = self.sink.line_end
            if end is None:
                data = self.workspace.receive(low, high - low)
            else:
                data = lines_that_begin(self.workspace, low, high, end)
            if self.workspace.remote:
                self._took("download", start, high - low)
            start = time.perf_counter()
            encoded = self.sink.encode(data)
            if not self.sink.exact:
                self._took("compress", start, high - low)
            with self._places.place(turn, low, len(encoded), last=True) as place:
                if place is None:
                    return
                start = time.perf_counter()
                self.sink.write_at(place, encoded)
                self._took("write", start, len(encoded))
            with self._lock:
                self._written += len(encoded)
                self.advance(high - low)
        except BaseException:
            self._places.stop()
            raise

    def _took(self, stage: str, start: float, nbytes: int) -> None:
        self.stopwatch.add(Span(stage, time.perf_counter() - start, nbytes))
