"""A merge that only looks at the inputs' next lines, as GNU sort -m does with any input, in order or not.

It always takes the least of the inputs' next lines; among equal ones, that of the first input. For sorted inputs the
result is that of every merge. This merge goes on where a merge in chunks has met a line out of order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpumerge_cli.backends import cpu
from gpumerge_cli.backends.base import Unique
from gpumerge_cli.backends.cpu.comparison import key_by
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine.parts import by_lines
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.steps import read_chunk
from gpumerge_cli.engine.stream import Filled, Outcome
from gpumerge_cli.formats.base import Sink
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.plan import Chunk

_LEAST, _MOST_LEAST = 1 << 12, 1 << 16
_LEAST_ROOM = 1 << 20  # below it, more goes into starting on windows than into merging them
_MOST_ROOM, _GOOD_WINDOW = 2 << 20, 256 << 10  # what is larger leaves the caches, and the merge is slower
_MORE = 18  # bytes a line, beyond what any merge takes


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
    last = _last_before(site, starts) if unique else None
    end = work.order.end[0]
    windows = _Windows(site, memory)
    backend = cpu.create()
    workspace = backend.workspace(work.order, min(windows.room, work.nbytes), threads=cores())
    try:
        while any(start < source.size for start, source in zip(starts, sources, strict=True)):
            chunk = windows.next(starts)
            stopwatch.add(read_chunk(sources, chunk, workspace))
            workspace.upload(chunk.lengths)
            goes_on = [stop < source.size for (_, stop), source in zip(chunk.ranges, sources, strict=True)]
            taken = workspace.merge_heads(goes_on, _first_of_equals(site, starts, last))
            outputs = workspace.outputs() if workspace.merged_bytes else ()
            for merged in by_lines(outputs, end if unique else sink.line_end):
                if unique:
                    last = _last_line(merged, work.order)
                data = sink.encode(merged)
                sink.write_at(position, data)
                position += len(data)
            outcome.dropped += workspace.dropped
            outcome.largest = max(outcome.largest, chunk.nbytes)
            outcome.chunks += 1
            starts = [start + nbytes for start, nbytes in zip(starts, taken, strict=True)]
            windows.taken = taken
            stopwatch.add(*workspace.spans)
            workspace.spans.clear()
            if advance is not None:
                advance(sum(starts), work.nbytes)
    finally:
        workspace.close()
    outcome.counts[:] = [source.count() for source in sources]
    outcome.written = position
    outcome.parts = {0: Filled(sum(outcome.counts) - outcome.dropped, position)}


class _Windows:
    """The bytes to look at in each source: more, if more of it went out last.

    room: bytes of all windows together. taken: bytes that went out of each source's last window.
    """

    def __init__(self, site: Site, memory: int) -> None:
        item_bytes = site.work.item_bytes
        pace = cpu.create().pace(site.work.order, len(site.sources), item_bytes)
        self._sources = site.sources
        most = max(_MOST_ROOM, len(site.sources) * _GOOD_WINDOW)
        self.room = max(1, min(most, int(memory / (pace.footprint + _MORE / item_bytes))))
        self._least = min(_MOST_LEAST, max(_LEAST, max(_LEAST_ROOM, self.room) // len(site.sources)))
        self.taken: Sequence[int] = [source.size for source in site.sources]

    def next(self, starts: Sequence[int]) -> Chunk:
        """The next windows, from `starts` on: whole lines, at least one of each source that has one."""
        scale = self.room / max(1, sum(self.taken))
        rests = [source.size - start for source, start in zip(self._sources, starts, strict=True)]
        if sum(rests) > self.room:
            shares = [max(self._least, int(taken * scale)) for taken in self.taken]
            rests = [min(rest, share) for rest, share in zip(rests, shares, strict=True)]
        ends = [
            source.item_start(start + size) for source, start, size in zip(self._sources, starts, rests, strict=True)
        ]
        return Chunk(tuple(zip(starts, ends, strict=True)), sum(starts))


def _first_of_equals(site: Site, starts: Sequence[int], last: bytes | None) -> Unique:
    """The lines that go out of several that compare equal. `last` was the last line that went out."""
    if site.work.equals.keeps_all:
        return None
    if last is None:
        return "first"
    key = key_by(site.work.order)
    places = zip(site.sources, starts, strict=True)
    head = min(key(source.item_at(at)) for source, at in places if at < source.size)
    return "ahead" if head == key(last) else "first"


def _last_before(site: Site, starts: Sequence[int]) -> bytes | None:
    """The line that a merge put out last when it had come to `starts`, of sources in order up to there."""
    ahead = [source.item_before(start) for source, start in zip(site.sources, starts, strict=True) if start > 0]
    return max(ahead, key=key_by(site.work.order), default=None)


def _last_line(merged: Bytes, order: Order) -> bytes:
    """The last of the merged lines, without its end."""
    end, size = order.end, _LEAST
    while size < len(merged) and end not in bytes(merged[-size:-1]):
        size *= 2
    return bytes(merged[-size:-1]).rpartition(end)[2]
