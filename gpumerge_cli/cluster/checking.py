"""A check by a cluster: each task looks at a piece of a file, and at the item ahead of it."""

from __future__ import annotations

from functools import partial
from math import inf

from gpumerge_cli.backends.base import LaunchRequest
from gpumerge_cli.cluster.crew import Crew, task_bytes
from gpumerge_cli.cluster.outlets import CountOutlet
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.disorder import disorder_error
from gpumerge_cli.engine.executor import Job
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.request import CheckRequest
from gpumerge_cli.engine.site import Site, work_of
from gpumerge_cli.engine.stream import Advance
from gpumerge_cli.engine.supply import Supply
from gpumerge_cli.engine.task import ChunkTask, Place, TaskResult
from gpumerge_cli.formats.base import Source
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.plan import Chunk, blocks_of


@dataclass
class _Found:
    """The findings so far. items: of the pieces that were looked at. first: the first disorder."""

    advance: Advance
    pieces: int
    items: int = 0
    done: int = 0
    first: float = inf

    def took(self, result: TaskResult) -> None:
        self.items += sum(result.counts)
        self.done += 1
        self.advance(self.done, self.pieces)
        if result.disorder is not None:
            self.first = min(self.first, result.disorder)


@dataclass(frozen=True)
class Check:
    """The check of one input by a cluster. advance: see Machines.check."""

    machines: Crew
    inputs: Inputs
    source: Source
    request: CheckRequest
    advance: Advance

    def items(self) -> int:
        """The number of items, which are in order. Raises DisorderError, InputError or ClusterError."""
        found = self._first(self.inputs.order, self.advance)
        self.source.check_unchanged()
        if found.first == inf:
            return found.items
        first_in = partial(self._first_in, advance=lambda done, total: None)
        beside = self.inputs.all_sources()
        offset, order = int(found.first), self.inputs.order
        raise disorder_error(self.source, offset, order, first_in, unique=self.request.unique, beside=beside)

    def _first_in(self, order: Order, advance: Advance) -> int | None:
        found = self._first(order, advance)
        return None if found.first == inf else int(found.first)

    def _first(self, order: Order, advance: Advance) -> _Found:
        request = self.request
        one = replace(self.inputs, sources=(self.source,))
        work = work_of(one, request.items, "check", LaunchRequest())
        work = replace(work, equals=Equals.of(request.unique), order=order)
        site = Site(work, one.sources, CountOutlet())
        hired = self.machines.hired(site, self.machines.shipment(site, request.on, request.memory, False))
        blocks = blocks_of(self.source, task_bytes(self.source.size, self.machines.threads))
        found = _Found(advance, len(blocks))
        starts = [start for start, _ in blocks]
        pieces = [Chunk((block,), block[0]) for block in blocks]

        def task(turn: int, part: int, chunk: Chunk) -> ChunkTask:
            return ChunkTask(work, turn, chunk.ranges, Place(0, chunk.offset))

        stopwatch = Stopwatch()
        supply = Supply(lambda nbytes: iter([[pieces]]), 1, stopwatch)
        job = Job(supply, task, lambda turn: found.first < starts[turn], found.took, lambda: None)
        hired.executor(job, stopwatch).run()
        return found
