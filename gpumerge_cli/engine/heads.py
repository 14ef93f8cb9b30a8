"""A merge by looking at the inputs' next lines only: what GNU sort -m does with any input, in order or not.

It always takes the least of the inputs' next lines, of equal ones that of the first input. Of sorted inputs this gives
what every merge gives. Here it goes on where a merge in chunks has met a line out of order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpumerge_cli.backends import cpu
from gpumerge_cli.backends.base import Bytes, Unique
from gpumerge_cli.backends.cpu.comparison import key_by
from gpumerge_cli.engine.parts import by_lines
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.engine.stream import Outcome, Stream, read_chunk
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk

_LEAST, _MOST_LEAST = 1 << 12, 1 << 16
_LEAST_ROOM = 1 << 20  # below it, more goes into starting on windows than into merging them
_MORE = 18  # bytes a line, beyond what any merge takes


def merge_heads(
    stream: Stream,
    outcome: Outcome,
    memory: int,
    item_bytes: float,
    stopwatch: Stopwatch,
    advance: Callable[[int, int], None] | None = None,
) -> None:
    """Merge to the sink what `outcome`, which is brought up to date, has left of the stream.

    memory: bytes that it may take, but where single lines are longer. item_bytes: of a line on average.
    """
    assert outcome.rest is not None
    sources, sink = stream.sources, stream.sink
    starts, position = [start for start, _ in outcome.rest.ranges], outcome.rest.offset
    last = _last_before(stream, starts) if stream.unique else None
    assert stream.order.text is not None
    end = stream.order.text.terminator
    windows = _Windows(stream, memory, item_bytes)
    backend = cpu.create()
    workspace = backend.workspace(stream.order, min(windows.room, stream.nbytes), threads=cores())
    try:
        while any(start < source.size for start, source in zip(starts, sources, strict=True)):
            chunk = windows.next(starts)
            read_chunk(sources, chunk, workspace, stopwatch)
            workspace.upload(chunk.lengths)
            goes_on = [stop < source.size for (_, stop), source in zip(chunk.ranges, sources, strict=True)]
            taken = workspace.merge_heads(goes_on, _what_of_equals(stream, starts, last))
            outputs = workspace.outputs() if workspace.merged_bytes else ()
            for merged in by_lines(outputs, end if stream.unique else sink.line_end):
                if stream.unique:
                    last = _last_line(merged, stream)
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
                advance(sum(starts), stream.nbytes)
    finally:
        workspace.close()
    outcome.counts[:] = [source.count() for source in sources]
    outcome.written = position


class _Windows:
    """What is looked at of each source at once: the more, the more of it went out last.

    room: bytes of all windows together. taken: bytes that went out of each source's last window.
    """

    def __init__(self, stream: Stream, memory: int, item_bytes: float) -> None:
        pace = cpu.create().pace(stream.order, len(stream.sources), item_bytes)
        self._sources = stream.sources
        self.room = max(1, int(memory / (pace.footprint + _MORE / item_bytes)))
        self._least = min(_MOST_LEAST, max(_LEAST, max(_LEAST_ROOM, self.room) // len(stream.sources)))
        self.taken: Sequence[int] = [source.size for source in stream.sources]

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


def _what_of_equals(stream: Stream, starts: Sequence[int], last: bytes | None) -> Unique:
    """What of lines that compare equal goes out, where `last` was the last line that did."""
    if not stream.unique:
        return None
    if last is None:
        return "first"
    key = key_by(stream.order)
    places = zip(stream.sources, starts, strict=True)
    head = min(key(source.item_at(at)) for source, at in places if at < source.size)
    return "ahead" if head == key(last) else "first"


def _last_before(stream: Stream, starts: Sequence[int]) -> bytes | None:
    """The line that a merge put out last when it had come to `starts`, of sources in order up to there."""
    ahead = [source.item_before(start) for source, start in zip(stream.sources, starts, strict=True) if start > 0]
    return max(ahead, key=key_by(stream.order), default=None)


def _last_line(merged: Bytes, stream: Stream) -> bytes:
    """The last of the merged lines, without its end."""
    end, size = stream.order.end, _LEAST
    while size < len(merged) and end not in merged[-size:-1].tobytes():
        size *= 2
    return merged[-size:-1].tobytes().rpartition(end)[2]
