"""Sorts of files: at once if everything fits and that is faster, else by pieces that become runs to be merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise

from gpumerge_cli.backends.base import Backend, SortRequest
from gpumerge_cli.backends.costs import Mix
from gpumerge_cli.backends.select import Selected, one_of, sorts_on_devices
from gpumerge_cli.compiling import timed
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.held import Spill
from gpumerge_cli.engine.inputs import Inputs, judge_memory, opened
from gpumerge_cli.engine.job import Job, Resources
from gpumerge_cli.engine.machines import Machines, Sorting
from gpumerge_cli.engine.margins import counts_of, judge_margin, judge_place
from gpumerge_cli.engine.outlet import SinkOutlet
from gpumerge_cli.engine.output import Output, output_names
from gpumerge_cli.engine.reporting import Clock, Ran, report
from gpumerge_cli.engine.resources import Shares, available_memory, cores, keep_no_freed_memory
from gpumerge_cli.engine.runs import External, pieces_of
from gpumerge_cli.engine.site import Site, work_of
from gpumerge_cli.engine.stream import Advance, Outcome
from gpumerge_cli.engine.task import TaskWork
from gpumerge_cli.engine.whole import WholeWorker, sort_whole
from gpumerge_cli.engine.workers import About
from gpumerge_cli.errors import DeviceMemoryError
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk, even_edges
from gpumerge_cli.report.model import MergeReport

_LEAST_PIECE = 64 << 10
_LEAST_ROOM = 32 << 20  # for the piece of each worker, beside runs that stay in memory
_PART, _MOST_HANDS = 8 << 20, 8  # of a sort at once: what one thread reads or writes, and how many feed a device
_OWN_BYTES = 96 << 20
"""Bytes of the interpreter and its libraries, with room to spare: small sorts take half of it in all."""


def sort_files(
    job: Job,
    *,
    since_start: float = 0.0,
    advance: Callable[[int, int], None] | None = None,
    settle: Callable[[], None] = lambda: None,
    machines: Machines | None = None,
) -> MergeReport:
    """Sort the items of all inputs to the output, which appears whole or not at all; stably.

    The arguments are those of merge_files; progress counts every byte twice, once sorted and once merged. Raises
    UsageError, InputError, OutputError, DeviceError, ClusterError; the output is then as it was, and no temporary file
    is left.
    """
    clock = Clock(since_start)
    stopwatch = Stopwatch(clock.called - since_start)
    names = output_names(job.output.name, job.output.parts)
    outputs = (*names, *counts_of(job))
    if job.resources.memory is not None:
        keep_no_freed_memory()
    copier = None if machines is None else machines.copier(names[0], job.resources)
    with (
        timed(stopwatch.add),
        opened(
            job.inputs, job.items, stopwatch, advance, folders=job.resources.folders, outputs=outputs, copier=copier
        ) as inputs,
        ExitStack() as stack,
    ):
        advance = inputs.rest(advance)
        judge_memory(inputs, available_memory() // 2 if job.resources.memory is None else job.resources.memory)
        judge_margin(job.operation.margin, inputs)
        if job.operation.margin is not None:
            judge_place(by_cluster=machines is not None)
        # Those of lines are known once the lines are sorted.
        edges = even_edges(inputs.nbytes, max(1, inputs.order.item_bytes), len(names))
        sizes = [high - low for low, high in pairwise(edges)]
        output = Output(
            names,
            inputs,
            sizes if job.operation.equals.keeps_all else None,
            job.resources.threads,
            job.operation.margin,
        )
        try:
            if machines is not None:
                clock.start()
                outcome = machines.sort(Sorting(inputs, _work(job, inputs), job, stopwatch), output, stack, advance)
                chosen = _Chosen(machines.why)
            else:
                selected = _selected(job, inputs, output, sizes)
                clock.start()
                chosen = _chosen(job, inputs, selected)
                ready = _Ready(inputs, _work(job, inputs), selected.backend, job, stopwatch)
                try:
                    outcome = ready.sort(output, stack, advance, whole=True)
                except _NoRoomError:
                    outcome = ready.sort(output, stack, advance, whole=False)
            output.finish(outcome, durable=job.output.durable)
            settle()
            output.commit(durable=job.output.durable)
        except BaseException:
            output.abort()
            raise
        parts = output.parts(outcome) if job.output.parts is not None else ()
        ran = Ran(
            "sort",
            job.output.name,
            not job.operation.equals.keeps_all,
            False,
            chosen.why,
            chosen.expected,
            parts,
            chosen.about,
        )
        return report(ran, inputs, outcome, stopwatch, clock)


@dataclass(frozen=True)
class _Chosen:
    """The choice of who sorts, for a report. See Ran."""

    why: str
    expected: Mix | None = None
    about: About | None = None


def _work(job: Job, inputs: Inputs) -> TaskWork:
    work = work_of(inputs, job.items, "sort", job.operation.launch)
    return replace(work, equals=job.operation.equals, margin=job.operation.margin)


def _chosen(job: Job, inputs: Inputs, selected: Selected) -> _Chosen:
    policy = selected.backend.resolve_sort(_sort_of(job), inputs.order, inputs.nbytes)
    about = About(selected.backend.info().name, policy.algorithm, policy.describe(), policy.why)
    return _Chosen(selected.why, selected.expected, about)


def _sort_of(job: Job) -> SortRequest:
    assert isinstance(job.operation.launch, SortRequest), "a sort asks for one"
    return job.operation.launch


def _selected(job: Job, inputs: Inputs, output: Output, sizes: Sequence[int]) -> Selected:
    """The backend, which may take a while to start; meanwhile room is taken for the output, if its size is known."""
    if job.operation.equals.keeps_all:
        output.reserve(sizes)
        if sorts_on_devices(job.resources.backend, inputs.order, inputs.nbytes):
            output.populate()
    on = job.resources
    if job.operation.margin is not None and on.backend == "auto":  # no GPU has been measured on counts of files
        on = replace(on, backend="cpu")
    return selected_for(on, inputs)


def selected_for(on: Resources, inputs: Inputs) -> Selected:
    """The backend that `on` asks for, or the one that sorts `inputs` fastest."""
    return one_of(on.backend, on.devices, inputs.order, inputs.nbytes, sharing=on.sharing)


class _NoRoomError(Exception):
    """The device has no memory for everything at once."""


@dataclass(frozen=True)
class _Sizes:
    """A sort's share of the machine.

    shares: the number of workers, and bytes of what each takes. whole: everything is sorted at once, and these are the
    threads that read and write, and bytes of a part. memory: bytes of the host's.
    """

    shares: Shares
    memory: int
    whole: bool = False
    spilled: bool = False


@dataclass(frozen=True)
class _Ready:
    """A sort that is ready to run."""

    inputs: Inputs
    work: TaskWork
    backend: Backend
    job: Job
    stopwatch: Stopwatch

    def sort(self, output: Output, stack: ExitStack, advance: Advance | None, *, whole: bool) -> Outcome:
        """Sort it all to the output. stack: closes at the end what must stay open until then. whole: at once if it may.

        Raises _NoRoomError if a sort at once was to have room, and has none.
        """
        sizes = (self._whole() if whole else None) or self._by_pieces()
        if sizes.whole:
            try:
                return self._at_once(output, sizes.shares, advance)
            except DeviceMemoryError as error:
                raise _NoRoomError from error
        pieces = pieces_of(self.inputs.sources, sizes.shares.chunk_bytes)
        if self._is_mostly_one_line(pieces, sizes.shares.chunk_bytes):
            return self._at_once(output, sizes.shares, advance)
        spill = None
        if sizes.spilled and self.inputs.nbytes > sizes.shares.chunk_bytes:
            spill = Spill(self.job.resources.folders, self.job.resources.compress_program)
            spill.check_room(self.inputs.nbytes)
        external = External(
            self.inputs, self.work, self.backend, pieces, sizes.shares, sizes.memory, self.job.resources.threads, spill
        )
        return external.sort(output, stack, self.stopwatch, advance)

    def _memory(self) -> int:
        memory = available_memory() // 2 if self.job.resources.memory is None else self.job.resources.memory
        return max(memory // 4, memory - _OWN_BYTES)

    def _whole(self) -> _Sizes | None:
        """The job that sorts everything at once; None if it should not be."""
        job, order, nbytes = self.job, self.inputs.order, self.inputs.nbytes
        # Equals are counted where runs are merged.
        if not nbytes or job.resources.always_spill or job.operation.margin is not None:
            return None
        memory = self._memory()
        hands = job.resources.threads or min(cores(), _MOST_HANDS if self.backend.remote else cores())
        item = max(1, order.item_bytes)
        part = max(1, _PART // item) * item  # of lines any bytes
        needed = self.backend.whole_sort(order, nbytes, self.inputs.item_bytes, part, hands)
        if needed is None or needed > memory:
            return None
        return _Sizes(Shares(min(hands, -(-nbytes // part)), part), memory, whole=True)

    def _by_pieces(self) -> _Sizes:
        """The job that sorts pieces."""
        job, order, nbytes = self.job, self.inputs.order, self.inputs.nbytes
        pace = self.backend.sort_pace(order, self.inputs.item_bytes)
        workers, memory = job.resources.threads or pace.workers or cores(), self._memory()
        each = self.backend.pace(order, 1, self.inputs.item_bytes).footprint + 1 + pace.room
        workers = max(1, min(workers, int(memory / (max(1, order.item_bytes) * each))))  # a piece has an item at least
        spilled = nbytes + min(nbytes, workers * _LEAST_ROOM) * each > memory or job.resources.always_spill
        wanted = pace.piece
        if pace.runs:
            wanted = memory if spilled else max(wanted, -(-nbytes // pace.runs))
        room = int((memory if spilled else memory - nbytes) / (workers * each))
        piece = max(_LEAST_PIECE, min(wanted, room, max(_LEAST_PIECE, -(-nbytes // workers))))
        return _Sizes(Shares(max(1, min(workers, -(-nbytes // piece))), piece), memory, spilled=spilled)

    def _is_mostly_one_line(self, pieces: list[Chunk], size: int) -> bool:
        """Whether one line is longer than a piece may be, and all others fit into one.

        A run of that line alone takes more time and memory.
        """
        pace = self.backend.sort_pace(self.inputs.order, self.inputs.item_bytes)
        if not pace.outgrows or self.job.resources.always_spill or self.job.operation.margin is not None or not pieces:
            return False
        longest = max(piece.nbytes for piece in pieces)
        return longest > size and self.inputs.nbytes - longest <= size

    def _at_once(self, output: Output, chosen: Shares, advance: Advance | None) -> Outcome:
        done, total = 0, self.inputs.nbytes

        def told(nbytes: int) -> None:
            nonlocal done
            done += nbytes
            if advance is not None:
                advance(done // 2, total)

        site = Site(self.work, self.inputs.sources, SinkOutlet(output.sinks, self.work.equals))
        worker = WholeWorker(site, output, self.backend, chosen, self.stopwatch, told)
        return sort_whole(site, output, worker, self.job.resources.threads or cores())
