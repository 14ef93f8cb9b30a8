"""An external sort: tasks sort pieces of the inputs to runs, in memory or spilled, and further tasks merge the runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.executor import WorkerLog
from gpumerge_cli.engine.held import MemoryFile, PackedFile, Spill, SpilledFile
from gpumerge_cli.engine.hiring import hired_here
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.outlet import RunsOutlet
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.resources import Shares, shares, with_room_for
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.station import Station, sorts_again
from gpumerge_cli.engine.stream import Advance, Outcome, carry_out, merge
from gpumerge_cli.engine.task import InputName, TaskWork
from gpumerge_cli.engine.workers import CpuWorker, DeviceWorker, Worker
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.fixed_source import FixedSource
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.plan import Chunk, Planner, blocks_of

Held = MemoryFile | SpilledFile | PackedFile


@dataclass(frozen=True)
class External:
    """A sort by runs that is ready to run.

    work: the sort as a whole. pieces: what is sorted to a run each, in the order of the inputs. shares: how many
    pieces are sorted at once, and bytes of each but where one item is longer. memory: bytes of the host's that the
    merge may take. threads: how many the user asked for. spill: takes the runs; None if they stay in memory.
    """

    inputs: Inputs
    work: TaskWork
    backend: Backend
    pieces: Sequence[Chunk]
    shares: Shares
    memory: int
    threads: int | None
    spill: Spill | None

    def sort(self, output: Output, stack: ExitStack, stopwatch: Stopwatch, advance: Advance | None) -> Outcome:
        """Sort everything to the output. stack: closes at the end all that must stay open until then."""
        total = self.inputs.nbytes
        outlet = RunsOutlet(MemoryFile.of) if self.spill is None else RunsOutlet(self.spill.keep, self.spill.stop)
        made = self._runs(outlet, stopwatch, part_of(advance, lambda done: done // 2))
        sources = [self._source(outlet.runs[number]) for number in sorted(outlet.runs)]
        for source in sources:
            stack.callback(source.close)
        for original in self.inputs.sources:
            original.check_unchanged()  # not later: what is written may go to one of them
        if not sources:
            return made
        told = part_of(advance, lambda done: (total + done) // 2)
        merged = self._merge(sources, output, stopwatch, told)
        return replace(
            merged,
            counts=made.counts,
            workers=max(made.workers, merged.workers),
            logs=joined(made.logs, merged.logs),
            began=made.began,
        )

    def _runs(self, outlet: RunsOutlet, stopwatch: Stopwatch, advance: Advance | None) -> Outcome:
        site = Site(replace(self.work, equals=Equals.ALL, margin=None), self.inputs.sources, outlet)
        number = max(1, min(self.shares.workers, len(self.pieces)))
        workers = self._workers(site, Shares(number, self.shares.chunk_bytes))
        try:
            return carry_out(site, hired_here(workers), lambda nbytes: iter([[list(self.pieces)]]), stopwatch, advance)
        except BaseException:
            outlet.close()
            raise

    def _merge(
        self, sources: Sequence[Source], output: Output, stopwatch: Stopwatch, advance: Advance | None
    ) -> Outcome:
        names = tuple(InputName(f"run {number}", "run", source.size) for number, source in enumerate(sources))
        work = replace(self.work, action="merge", inputs=names)
        order, item_bytes = work.order, work.item_bytes
        pace = self.backend.pace(order, len(sources), item_bytes)
        if sorts_again(self.backend, work):
            pace = replace(pace, footprint=pace.footprint + self.backend.sort_pace(order, item_bytes).room)
        chosen = shares(pace, work.nbytes, len(sources), self.threads, self.memory)
        chosen = with_room_for(order.item_bytes, chosen, self.memory)
        parts = []
        if len(output.sinks) > 1:
            parts = Planner(sources, order, groups=work.by_groups).parts(len(output.sinks))
            if work.equals.keeps_all:
                output.reserve([part.nbytes for part in parts])
        site = Site(work, sources, output.outlet(work.equals), parts=parts)
        number = max(1, min(chosen.workers, -(-work.nbytes // chosen.chunk_bytes)))
        workers = self._workers(site, Shares(number, chosen.chunk_bytes))
        return merge(site, hired_here(workers), stopwatch, advance, waits=output.seekable)

    def _workers(self, site: Site, chosen: Shares) -> list[Worker]:
        if self.backend.remote:
            return [DeviceWorker(f"{self.backend.name} 0", site, lambda: self.backend, lambda backend: chosen)]
        station = Station(site, self.backend, chosen)
        return [CpuWorker(number, station) for number in range(chosen.workers)]

    def _source(self, held: Held) -> Source:
        """A run as an input of the merge."""
        dtype = self.inputs.dtype
        if dtype is None:
            return LineSource(held, self.inputs.order.end[0])  # type: ignore[arg-type]
        native = dtype if dtype.kind in "SV" else dtype.newbyteorder("=")
        return FixedSource(held, native, 0, held.size)  # type: ignore[arg-type]


def pieces_of(sources: Sequence[Source], size: int) -> list[Chunk]:
    """The inputs cut into pieces of about `size` bytes, in order."""
    sizes = [source.size for source in sources]
    ends: list[tuple[int, int]] = []  # of pieces: the number of a source, and a position in it
    held = 0
    for number, source in enumerate(sources):
        for start, stop in blocks_of(source, size):
            if ends and held + stop - start <= size:
                ends[-1], held = (number, stop), held + stop - start
            else:
                ends.append((number, stop))
                held = stop - start
    cuts = [(0,) * len(sizes), *((*sizes[:at], stop, *(0,) * (len(sizes) - at - 1)) for at, stop in ends)]
    return [Chunk(tuple(zip(low, high, strict=True)), sum(low)) for low, high in pairwise(cuts)]


def part_of(advance: Advance | None, done_of: Callable[[int], int]) -> Advance | None:
    """A function that takes the progress of one of the two passes."""
    return None if advance is None else (lambda done, total: advance(done_of(done), total))


def joined(first: Sequence[WorkerLog], second: Sequence[WorkerLog]) -> list[WorkerLog]:
    """The work of workers with the same names in both passes, added."""
    found = {log.worker.name: log for log in first}
    for log in second:
        one = found.setdefault(log.worker.name, log)
        if one is not log:
            one.chunks, one.nbytes, one.busy = one.chunks + log.chunks, one.nbytes + log.nbytes, one.busy + log.busy
            one.first = min(one.first or log.first, log.first or one.first)
            one.last, one.note = max(one.last, log.last), one.note or log.note
    return list(found.values())
