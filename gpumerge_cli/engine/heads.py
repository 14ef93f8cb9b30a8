"""A merge that only compares the next lines of the inputs, as GNU sort -m does, whether they are in order or not.

It always takes the least of the inputs' next lines; among equal ones, that of the first input. For sorted inputs the
result is that of every merge. This merge goes on where a merge in chunks has met a line out of order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine.outcome import LaunchInfo, Outcome
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.steps import FoundDisorderError
from gpumerge_cli.engine.task import PartTotal, Task, TaskResult
from gpumerge_cli.formats.base import Source
from gpumerge_cli.measure import Span
from gpumerge_cli.native.calls import Disordered
from gpumerge_cli.native.comparison import key_by
from gpumerge_cli.native.heads import Heads, Wanted

_LEAST_WINDOW, _WINDOW = 4 << 10, 256 << 10
_EXTRA_WINDOWS = 2  # the windows that the result, and the last line that was written, take


class HeadsWorker:
    """Merges what a pass has left, as one task. See threads.Worker.

    memory: bytes that it may take, unless single lines are longer.
    """

    name = "cpu 0"
    backend = "cpu"
    threads = 1

    def __init__(self, work: Pass, memory: int) -> None:
        self.chunk_bytes = max(1, work.nbytes)
        self._work = work
        self._memory = memory

    def start(self) -> None:
        """See Worker."""

    def do(self, task: Task) -> TaskResult:
        """See Worker. Counts and bytes are those of the whole output, those written ahead of the task included."""
        merged = _Merged(self._work, task, self._memory)
        try:
            written = self._work.writer.put(task.turn, task.position, merged, last=True)
            end, counts, dropped = task.position.offset + (written or 0), merged.counts, merged.dropped
        finally:
            merged.close()
        return TaskResult(
            counts=counts,
            dropped=dropped,
            written=end,
            nbytes=task.nbytes,
            largest=merged.largest,
            spans=merged.spans,
            per_part={0: PartTotal(sum(counts) - dropped, end)},
            chunks=merged.chunks,
        )

    def launch_info(self) -> LaunchInfo:
        """See Worker."""
        return LaunchInfo()

    def close(self) -> None:
        """See Worker."""


class _Merged:
    """The merge of the next lines of a task's ranges. See writers.Merged.

    largest: bytes of the largest window. chunks: the pieces of the result so far.
    """

    merged_bytes = -1  # not known ahead

    def __init__(self, work: Pass, task: Task, memory: int) -> None:
        sources, starts = work.sources, [start for start, _ in task.chunk.ranges]
        unique = not work.equals.keeps_all
        self.spans: list[Span] = []
        self.largest = 0
        self.chunks = 0
        self._work = work
        self._starts = starts
        self._ends = list(starts)  # what lies ahead of them in each source was read
        self._window = max(_LEAST_WINDOW, min(_WINDOW, memory // (len(starts) + _EXTRA_WINDOWS)))
        self._heads = Heads(work.order, len(sources), self._window, unique=unique)
        last = _last_before(sources, starts, work) if unique else None
        if last is not None:
            self._heads.follow(last)

    def outputs(self) -> Iterator[Bytes]:
        """The result by pieces, each valid until the next one is requested."""
        reading = 0.0
        while (found := self._next()) is not None:
            if isinstance(found, Wanted):
                start = time.perf_counter()
                self._fill(found)
                reading += time.perf_counter() - start
                continue
            yield found
            self.chunks += 1
            if self._work.advance is not None:
                self._work.advance(sum(self._ends), self._work.nbytes)
        self.spans.append(Span("read", reading, sum(self._ends) - sum(self._starts)))

    def _next(self) -> Bytes | Wanted | None:
        """See Heads.next."""
        try:
            return self._heads.next()
        except Disordered as found:
            raise FoundDisorderError(found.source) from None

    @property
    def counts(self) -> list[int]:
        """Items of each source, those ahead of the task included."""
        pairs = zip(self._work.sources, self._starts, self._heads.counts, strict=True)
        return [source.count(start) + count for source, start, count in pairs]

    @property
    def dropped(self) -> int:
        """Those left out of the task."""
        return self._heads.dropped

    def _fill(self, wanted: Wanted) -> None:
        """Read the next bytes that are wanted; all of a line that is longer than half of a window."""
        source, start = self._work.sources[wanted.run], self._ends[wanted.run]
        end = min(start + self._window - min(wanted.held, self._window // 2), source.size)
        if wanted.held > self._window // 2:
            end = max(end, source.item_end(start))
        room = self._heads.room(wanted.run, end - start, last=end == source.size)
        if end > start:
            source.read_into(start, room)
        self._ends[wanted.run] = end
        self.largest = max(self.largest, wanted.held + end - start)

    def close(self) -> None:
        """Give the memory back."""
        self._heads.close()


def _last_before(sources: Sequence[Source], starts: Sequence[int], work: Pass) -> bytes | None:
    """The last line that a merge wrote up to `starts`, of sources in order up to there."""
    ahead = [source.item_before(start) for source, start in zip(sources, starts, strict=True) if start > 0]
    return max(ahead, key=key_by(work.order), default=None)


def combined_outcome(ahead: Outcome, rest: Outcome) -> Outcome:
    """The outcome of a merge that met disorder, and of the one that went on with the rest."""
    ahead.counts[:] = rest.counts
    ahead.dropped += rest.dropped
    ahead.written, ahead.per_part = rest.written, rest.per_part
    ahead.per_part[0].items -= ahead.dropped - rest.dropped
    ahead.chunks += rest.chunks
    ahead.largest = max(ahead.largest, rest.largest)
    return ahead
