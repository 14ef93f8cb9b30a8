"""A merge that only looks at the inputs' next lines, as GNU sort -m does with any input, in order or not.

It always takes the least of the inputs' next lines; among equal ones, that of the first input. For sorted inputs the
result is that of every merge. This merge goes on where a merge in chunks has met a line out of order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gpumerge_cli.backends.cpu.comparison import key_by
from gpumerge_cli.backends.cpu.heads import Heads, Wanted
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.stream import Filled, Outcome
from gpumerge_cli.formats.base import Sink
from gpumerge_cli.measure import Span, Stopwatch

_LEAST_WINDOW, _WINDOW = 4 << 10, 256 << 10
_OWN = 2  # the windows that the result, and the line that went out last, take


def merge_heads(
    site: Site,
    sink: Sink,
    outcome: Outcome,
    memory: int,
    stopwatch: Stopwatch,
    advance: Callable[[int, int], None] | None = None,
) -> None:
    """Merge the rest of the site's work, which `outcome` has left, to the sink, and bring `outcome` up to date.

    memory: bytes that it may take, unless single lines are longer.
    """
    assert outcome.rest is not None
    sources, work, unique = site.sources, site.work, not site.work.equals.keeps_all
    starts, position = [start for start, _ in outcome.rest.ranges], outcome.rest.offset
    windows = _Windows(site, starts, memory)
    reading = 0.0
    heads = Heads(work.order, len(sources), windows.size, unique=unique)
    try:
        last = _last_before(site, starts) if unique else None
        if last is not None:
            heads.follow(last)
        while (found := heads.next()) is not None:
            if isinstance(found, Wanted):
                start = time.perf_counter()
                windows.fill(heads, found)
                reading += time.perf_counter() - start
                continue
            data = sink.encode(found)
            sink.write_at(position, data)
            position += len(data)
            outcome.chunks += 1
            if advance is not None:
                advance(sum(windows.ends), work.nbytes)
        outcome.dropped += heads.dropped
        merged = heads.counts
    finally:
        heads.close()
    stopwatch.add(Span("read", reading, work.nbytes - sum(starts)))
    outcome.largest = max(outcome.largest, windows.largest)
    outcome.counts[:] = [
        source.count(start) + count for source, start, count in zip(sources, starts, merged, strict=True)
    ]
    outcome.written = position
    outcome.parts = {0: Filled(sum(outcome.counts) - outcome.dropped, position)}


class _Windows:
    """The bytes of each source that are in memory.

    size: bytes of a window. ends: what lies ahead of them in each source was read. largest: bytes of the largest one.
    """

    def __init__(self, site: Site, starts: Sequence[int], memory: int) -> None:
        self._sources = site.sources
        self.ends = list(starts)
        self.size = max(_LEAST_WINDOW, min(_WINDOW, memory // (len(starts) + _OWN)))
        self.largest = 0

    def fill(self, heads: Heads, wanted: Wanted) -> None:
        """Read the next bytes that are wanted; all of a line that is longer than half of a window."""
        source, start = self._sources[wanted.run], self.ends[wanted.run]
        end = min(start + self.size - min(wanted.held, self.size // 2), source.size)
        if wanted.held > self.size // 2:
            end = max(end, source.item_end(start))
        room = heads.room(wanted.run, end - start, last=end == source.size)
        if end > start:
            source.read_into(start, room)
        self.ends[wanted.run] = end
        self.largest = max(self.largest, wanted.held + end - start)


def _last_before(site: Site, starts: Sequence[int]) -> bytes | None:
    """The line that a merge put out last when it had come to `starts`, of sources in order up to there."""
    ahead = [source.item_before(start) for source, start in zip(site.sources, starts, strict=True) if start > 0]
    return max(ahead, key=key_by(site.work.order), default=None)
