"""Keeps some of equal items where they stand: a sort's output without the sort.

A hash table holds the items that were seen. Items for which it has no room go to parts, which lie in temporary files.
Each part is decided in the same way. The inputs are read twice: once to decide, and once to write what stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from gpumerge_cli.buffers import Bytes, allocate
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.outcome import LaunchInfo
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.spool import Spool
from gpumerge_cli.engine.steps import FoundDisorderError
from gpumerge_cli.engine.task import PartTotal, Task, TaskResult
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.input import changed_error
from gpumerge_cli.measure import Span
from gpumerge_cli.native.calls import Disordered
from gpumerge_cli.native.seen import SeenItems, Taken
from gpumerge_cli.order.key_kinds import TEXT_PADDING

_LEAST_READ, _MOST_READ = 64 << 10, 4 << 20
_LEAST_ROOM, _MOST_ROOM = 4 << 10, 1 << 20
_LEAST_PARTS, _MOST_PARTS = 4, 64
_LEAST_MOST = 64 << 10
_SHARE = 8
"""Bits take this part of the memory, pieces of parts another one, and texts that are read and written a third one."""
_TABLE_SHARE = 2
_USUAL_MEMORY = 32 << 20
"""Bytes of memory if nobody gives a limit. A larger table leaves the processor's caches, which costs more than
temporary files do: a fifth of the time for 20 million lines in 96 MB."""
_TABLE_BYTES = 64
"""Bytes of the table for each byte of items, at most."""


class FirstSeenWorker:
    """Does the only task of a pass. See threads.Worker.

    memory: bytes that it may take, unless a single item is longer.
    """

    name = "cpu 0"
    backend = "cpu"
    threads = 1

    def __init__(self, work: Pass, memory: int) -> None:
        self.chunk_bytes = max(1, work.nbytes)
        self._work = work
        self._memory = memory if work.job.resources.memory is not None else min(memory, _USUAL_MEMORY)

    def start(self) -> None:
        """See Worker."""

    def do(self, task: Task) -> TaskResult:
        """See Worker."""
        kept = _Kept(self._work, self._memory)
        try:
            kept.decide()
            for source in self._work.sources:
                source.check_unchanged()
            written = self._work.writer.put(task.turn, task.position, kept, last=True) or 0
        finally:
            kept.close()
        return TaskResult(
            counts=kept.counts,
            dropped=kept.dropped,
            written=written,
            nbytes=task.nbytes,
            largest=kept.window,
            spans=kept.spans,
            per_part={0: PartTotal(sum(kept.counts) - kept.dropped, written)},
            chunks=kept.chunks,
        )

    def launch_info(self) -> LaunchInfo:
        """See Worker."""
        return LaunchInfo()

    def close(self) -> None:
        """See Worker."""


class _Part:
    """Items of one part, in a temporary file of its own.

    folder: where the file is. depth: see SeenItems.begin.
    """

    def __init__(self, folder: str, depth: int) -> None:
        self.depth = depth
        self.size = 0
        self.name = folder
        self._spool = Spool(folder)
        self._spool.append(())  # which keeps it open

    def append(self, piece: Bytes) -> None:
        self.size += self._spool.append([piece])[1]
        self._spool.leave()

    def read_into(self, position: int, out: Bytes) -> None:
        self._spool.read_into(position, out)

    def close(self) -> None:
        self._spool.leave()


@dataclass(frozen=True)
class _Parts:
    """The parts to which items go in one walk."""

    depth: int
    """See SeenItems.begin."""
    files: list[_Part | None]
    """None for a part without items so far."""


class _Kept:
    """The items that go out. See writers.Merged.

    chunks: the pieces of the result so far.
    """

    merged_bytes = -1  # not known ahead

    def __init__(self, work: Pass, memory: int) -> None:
        share = memory // _SHARE
        self.counts = [0] * len(work.sources)
        self.dropped = self.chunks = 0
        self.spans: list[Span] = []
        self.window = max(_LEAST_READ, min(_MOST_READ, share // 2))
        self._work = work
        self._folders = work.job.resources.folders
        self._share = share
        self._most = min(max(_LEAST_MOST, memory // _TABLE_SHARE), _TABLE_BYTES * work.nbytes + _LEAST_MOST)
        self._left: list[_Part] = []  # parts that are still to be decided, the next one last
        self._made = 0  # temporary files so far
        self._done = 0  # see _tell
        items = work.nbytes // max(1, work.order.item_bytes)
        self._bits = None if items // 8 <= share else Spool(self._folder())
        if self._bits is not None:
            self._bits.append(())
        descriptor = -1 if self._bits is None else self._bits.descriptor
        self._seen = SeenItems(work.order, work.equals, self._most, max(share, _LEAST_READ), descriptor)

    def decide(self) -> None:
        """Go through all items once, and through those for which there was no room again."""
        start = time.perf_counter()
        parts = self._begin(self._work.nbytes, 0)
        for number, source in enumerate(self._work.sources):

            def take(text: Bytes, low: int, high: int, number: int = number) -> Taken:
                try:
                    taken = self._seen.take(text, low, high, records=False)
                except Disordered:
                    raise FoundDisorderError(number) from None
                self.counts[number] += taken.items
                return taken

            self._take_all(source, take, parts)
        self._flush(parts)
        while self._left:
            self._decide_part(self._left[-1])
        self.spans.append(Span("kernel", time.perf_counter() - start, self._work.nbytes))

    def outputs(self) -> Iterator[Bytes]:
        """The result by pieces, each valid until the next one is requested."""
        out = allocate(self.window)
        for source in self._work.sources:
            at, text = 0, allocate(self.window + TEXT_PADDING)
            while at < source.size:
                size = min(len(text) - TEXT_PADDING, source.size - at)
                source.read_into(at, text[:size])
                found = self._seen.put(text, 0, size, out)
                if not found.nbytes:
                    text = _larger(text, size, source.size - at, source.name)
                    out = allocate(len(text))
                    continue
                at += found.nbytes
                self._tell(found.nbytes)
                self.dropped += found.items - found.kept
                if found.piece:
                    self.chunks += 1
                    yield found.piece

    def close(self) -> None:
        """Give the memory and the temporary files back."""
        self._seen.close()
        for part in self._left:
            part.close()
        self._left.clear()
        if self._bits is not None:
            self._bits.leave()
            self._bits = None

    def _decide_part(self, part: _Part) -> None:
        parts = self._begin(part.size, part.depth)
        self._take_all(part, lambda text, low, high: self._seen.take(text, low, high, records=True), parts)
        self._left.remove(part)
        part.close()
        self._flush(parts)

    def _begin(self, nbytes: int, depth: int) -> _Parts:
        """Begin with items of so many bytes. Returns the parts that they go to."""
        count = _LEAST_PARTS
        while count < _MOST_PARTS and count * self._most < 4 * nbytes:
            count *= 2
        self._seen.begin(count, max(_LEAST_ROOM, min(_MOST_ROOM, self._share // count)), depth)
        return _Parts(depth + 1, [None] * count)

    def _write(self, taken: Taken, parts: _Parts) -> None:
        """Write a piece to its part, which gets a file if it has none."""
        part = parts.files[taken.part]
        if part is None:
            part = parts.files[taken.part] = _Part(self._folder(), parts.depth)
            self._left.append(part)
        part.append(taken.piece)

    def _flush(self, parts: _Parts) -> None:
        """Write what is left of the parts."""
        while (taken := self._seen.flush()).part >= 0:
            self._write(taken, parts)

    def _take_all(self, source: Source | _Part, take: Callable[[Bytes, int, int], Taken], parts: _Parts) -> None:
        """Read all bytes by windows, and have `take` take the whole items in text[low:high] of each."""
        text, at = allocate(self.window + TEXT_PADDING), 0
        while at < source.size:
            low, high = 0, min(len(text) - TEXT_PADDING, source.size - at)
            source.read_into(at, text[:high])
            while True:
                taken = take(text, low, high)
                low += taken.nbytes
                if taken.part < 0:
                    break
                self._write(taken, parts)
            if not low:
                text = _larger(text, high, source.size - at, source.name)
            at += low
            if parts.depth == 1:
                self._tell(low)

    def _folder(self) -> str:
        """The next folder for a temporary file."""
        folders: Sequence[str] = self._folders
        if not folders:
            import tempfile

            folders = (tempfile.gettempdir(),)
        self._made += 1
        return folders[self._made % len(folders)]

    def _tell(self, nbytes: int) -> None:
        """So many bytes of the inputs were gone through, which happens twice to each."""
        self._done += nbytes
        if self._work.advance is not None:
            self._work.advance(self._done // 2, self._work.nbytes)


def _larger(text: Bytes, held: int, left: int, name: str) -> Bytes:
    """More room for a text whose `held` bytes hold no whole item. left: bytes up to its end. Raises InputError."""
    if held == left:
        raise changed_error(name)
    return allocate(2 * len(text))


def check_kept(job: Job) -> None:
    """Raise UsageError for a job whose items cannot stay in the order of the inputs."""
    operation = job.operation
    if operation.equals.keeps_all:
        raise UsageError("--keep-order without --unique leaves everything as it is", way_out="add --unique or --only")
    if operation.margin is not None or operation.ranks is not None or job.output.parts is not None:
        what = "items in the order of the inputs have no counts, names of files or ranks, and one output"
        raise UsageError(what, way_out="leave --keep-order out, or the other options")
