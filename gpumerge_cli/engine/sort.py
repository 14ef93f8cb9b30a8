"""Sort files: pieces of the input become sorted runs, in memory or in temporary files, and the runs are merged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace

from gpumerge_cli import __version__
from gpumerge_cli.backends.base import Backend, LaunchPolicy, SortPolicy, Workspace
from gpumerge_cli.backends.select import Selected
from gpumerge_cli.compiling import timed
from gpumerge_cli.engine.held import MemoryFile, PackedFile, Spill, SpilledFile
from gpumerge_cli.engine.inputs import Inputs, opened
from gpumerge_cli.engine.merge import ceilings_of, selected_for
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.request import SortFilesRequest
from gpumerge_cli.engine.resources import available_memory, cores, keep_no_freed_memory, peak_memory, shares
from gpumerge_cli.engine.stream import Outcome, Stream, run
from gpumerge_cli.engine.whole import Whole
from gpumerge_cli.errors import DeviceMemoryError
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.formats.fixed_source import FixedSource
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.measure import COMPILE, Span, Stopwatch
from gpumerge_cli.plan import blocks_of
from gpumerge_cli.report.model import MergeReport, Stage, bounded

Held = MemoryFile | SpilledFile | PackedFile
Piece = list[tuple[int, int, int]]
"""What is sorted at a time: (source, start, stop) of each part."""
_STAGES = (COMPILE, "read", "upload", "index", "sort", "kernel", "download", "spill", "compress", "write")
_LEAST_PIECE = 64 << 10
_LEAST_ROOM = 32 << 20  # for the piece of each worker, beside runs that stay in memory
_PART, _MOST_HANDS = 8 << 20, 8  # of a sort at once: what one thread reads or writes, and how many feed a device
_OWN_BYTES = 96 << 20
"""What the interpreter and its libraries take, with room to spare: small sorts take half of it in all."""


def sort_files(
    request: SortFilesRequest,
    *,
    since_start: float = 0.0,
    advance: Callable[[int, int], None] | None = None,
    settle: Callable[[], None] = lambda: None,
) -> MergeReport:
    """Sort the items of all inputs to the output, which appears whole or not at all; stably.

    The arguments are those of merge_files; progress counts every byte twice, once sorted and once merged. Raises
    UsageError, InputError, OutputError, DeviceError; the output is then as it was, and no temporary file is left.
    """
    called = time.perf_counter()
    stopwatch = Stopwatch(called - since_start)
    if request.memory is not None:
        keep_no_freed_memory()
    with (
        timed(stopwatch.add),
        opened(request.inputs, request.items, stopwatch, advance, output=request.output) as inputs,
        ExitStack() as stack,
    ):
        advance = inputs.rest(advance)
        on = request.on
        selected = selected_for(on, inputs)
        count = None if request.unique else inputs.order.count(inputs.nbytes)
        sink = open_sink(request.output, inputs.format, inputs.dtype, count, head=inputs.head)
        try:
            started = time.perf_counter()
            if not request.unique:
                sink.reserve(inputs.nbytes, on.threads)
            job = _Job.of(inputs, selected.backend, request, stopwatch)
            try:
                outcome = job.sort(sink, stack, advance)
            except DeviceMemoryError:
                if not job.whole:
                    raise
                job = _Job.of(inputs, selected.backend, request, stopwatch, whole=False)
                outcome = job.sort(sink, stack, advance)
            settle()
            sink.commit(count=sum(job.counts) - outcome.dropped, durable=request.durable)
        except BaseException:
            sink.abort()
            raise
        ended = time.perf_counter()
        measured = _report(
            request, inputs, selected, job, outcome, stopwatch,
            wall=since_start + ended - called,
            start_up=since_start + started - called,
            busy=ended - started,
        )  # fmt: skip
        return bounded(measured)


@dataclass
class _Job:
    """A sort that is ready to run.

    whole: everything is sorted at once, and `piece` is what goes in and out at once. Otherwise piece: bytes of a run,
    but where one item is longer. spill: where runs go, if they do not stay in memory. counts: items of each input, as
    far as known.
    """

    inputs: Inputs
    backend: Backend
    policy: SortPolicy
    request: SortFilesRequest
    stopwatch: Stopwatch
    workers: int
    piece: int
    memory: int
    spill: Spill | None
    counts: list[int]
    whole: bool = False

    @classmethod
    def of(
        cls, inputs: Inputs, backend: Backend, request: SortFilesRequest, stopwatch: Stopwatch, *, whole: bool = True
    ) -> _Job:
        order, nbytes = inputs.order, inputs.nbytes
        policy = backend.resolve_sort(request.sort, order, nbytes)
        memory = available_memory() // 2 if request.memory is None else request.memory
        pace = backend.sort_pace(order, inputs.item_bytes)
        workers = request.on.threads or pace.workers or cores()
        each = backend.pace(order, 1, inputs.item_bytes).footprint + 1 + pace.room
        memory = max(memory // 4, memory - _OWN_BYTES)
        counts = [0] * len(inputs.sources)
        if whole and nbytes and not request.always_spill:
            hands = request.on.threads or min(cores(), _MOST_HANDS if backend.remote else cores())
            item = max(1, order.item_bytes)
            part = max(1, _PART // item) * item  # of lines any bytes
            needed = backend.whole_sort(order, nbytes, inputs.item_bytes, part, hands)
            if needed is not None and needed <= memory:
                hands = min(hands, -(-nbytes // part))
                return cls(inputs, backend, policy, request, stopwatch, hands, part, memory, None, counts, whole=True)
        spilled = nbytes + min(nbytes, workers * _LEAST_ROOM) * each > memory or request.always_spill
        wanted = pace.piece
        if pace.runs:
            wanted = memory if spilled else max(wanted, -(-nbytes // pace.runs))
        room = int((memory if spilled else memory - nbytes) / (workers * each))
        piece = max(_LEAST_PIECE, min(wanted, room, max(_LEAST_PIECE, -(-nbytes // workers))))
        spill = None
        if spilled and nbytes > piece:
            spill = Spill(request.folders, request.compress_program)
            spill.check_room(nbytes)
        workers = max(1, min(workers, -(-nbytes // piece)))
        return cls(inputs, backend, policy, request, stopwatch, workers, piece, memory, spill, counts)

    def sort(self, sink: Sink, stack: ExitStack, advance: Callable[[int, int], None] | None) -> Outcome:
        """Sort it all to the sink. stack: closes at the end what must stay open until then."""
        if self.whole:
            return self._at_once(sink, advance)
        pieces = list(_pieces(self.inputs.sources, self.piece))
        if self._is_mostly_one_line(pieces):
            return self._at_once(sink, advance)
        sources = [self.source(held) for held in self.runs(pieces, advance)]
        for source in sources:
            stack.callback(source.close)
        for original in self.inputs.sources:
            original.check_unchanged()  # not later: what is written may go to one of them
        return _merged(self, sources, sink, advance)

    def _is_mostly_one_line(self, pieces: list[Piece]) -> bool:
        """Whether all but one long line fits into one piece. To keep that line as a run takes more time and memory."""
        pace = self.backend.sort_pace(self.inputs.order, self.inputs.item_bytes)
        if not pace.outgrows or self.request.always_spill or not pieces:
            return False
        return self.inputs.nbytes - max(map(_bytes_of, pieces)) <= self.piece

    def _at_once(self, sink: Sink, advance: Callable[[int, int], None] | None) -> Outcome:
        done, total = 0, self.inputs.nbytes

        def told(nbytes: int) -> None:
            nonlocal done
            done += nbytes
            if advance is not None:
                advance(done // 2, total)

        threads = self.request.on.threads or cores()
        workspace = self.backend.workspace(self.inputs.order, total, threads=threads)
        try:
            outcome = Whole(
                self.inputs.sources,
                sink,
                workspace,
                self.policy,
                unique=self.request.unique,
                part=self.piece,
                workers=self.workers,
                stopwatch=self.stopwatch,
                advance=told,
            ).run()
        except BaseException as error:
            # A stream's writers are not waited for, and use it until they end: then it is closed with the last of them.
            if sink.seekable or isinstance(error, DeviceMemoryError):
                workspace.close()
            raise
        workspace.close()
        self.counts[:] = outcome.counts
        return outcome

    def runs(self, pieces: list[Piece], advance: Callable[[int, int], None] | None) -> list[Held]:
        """Sort all pieces; the runs, in the order of the input."""
        held: list[Held | None] = [None] * len(pieces)
        own = threading.local()  # a workspace a thread
        lock = threading.Lock()
        done = 0

        def work(number: int) -> None:
            nonlocal done
            ranges = pieces[number]
            nbytes = _bytes_of(ranges)
            if not hasattr(own, "workspace"):
                own.workspace = self.backend.workspace(self.inputs.order, self.piece)
                with lock:
                    workspaces.append(own.workspace)
            held[number] = self._sorted(own.workspace, ranges, nbytes)
            with lock:
                done += nbytes
                if advance is not None:
                    advance(done // 2, self.inputs.nbytes)

        workspaces: list[Workspace] = []
        try:
            for_each(range(len(pieces)), work, self.workers)
        except BaseException:
            for each in held:
                if each is not None:
                    each.close()
            raise
        finally:
            for workspace in workspaces:
                workspace.close()
        return [each for each in held if each is not None]

    def _sorted(self, workspace: Workspace, ranges: Piece, nbytes: int) -> Held:
        start = time.perf_counter()
        staging = workspace.staging(nbytes)
        position = 0
        for number, low, high in ranges:
            self.inputs.sources[number].read_into(low, staging[position : position + high - low])
            position += high - low
        self.stopwatch.add(Span("read", time.perf_counter() - start, nbytes))
        workspace.upload([high - low for _, low, high in ranges])
        workspace.sort(self.policy)
        outputs = workspace.outputs()
        self.stopwatch.add(*[replace(s, name="sort") if s.name == "kernel" else s for s in workspace.spans])
        workspace.spans.clear()
        for (number, _, _), count in zip(ranges, workspace.counts, strict=True):
            self.counts[number] += count
        start = time.perf_counter()
        held: Held = MemoryFile.of(outputs) if self.spill is None else self.spill.keep(outputs)
        self.stopwatch.add(Span("spill", time.perf_counter() - start, nbytes))
        return held

    def source(self, held: Held) -> Source:
        """A run as what is merged."""
        dtype = self.inputs.dtype
        if dtype is None:
            return LineSource(held, self.inputs.order.end[0])  # type: ignore[arg-type]
        native = dtype if dtype.kind in "SV" else dtype.newbyteorder("=")
        return FixedSource(held, native, 0, held.size)  # type: ignore[arg-type]


def _pieces(sources: tuple[Source, ...], size: int) -> Iterator[Piece]:
    """The inputs cut into pieces of about `size` bytes, in order."""
    piece: Piece = []
    held = 0
    for number, source in enumerate(sources):
        for start, stop in blocks_of(source, size):
            if held and held + stop - start > size:
                yield piece
                piece, held = [], 0
            piece.append((number, start, stop))
            held += stop - start
    if piece:
        yield piece


def _bytes_of(piece: Piece) -> int:
    return sum(stop - start for _, start, stop in piece)


def _merged(job: _Job, sources: list[Source], sink: Sink, advance: Callable[[int, int], None] | None) -> Outcome:
    """Merge the runs to the sink."""
    if not sources:
        return Outcome([])
    order = job.inputs.order
    pace = job.backend.pace(order, len(sources), job.inputs.item_bytes)
    sorting = job.backend.sort_pace(order, job.inputs.item_bytes)
    policy: LaunchPolicy | SortPolicy = job.policy
    if 0 < sorting.resorts < len(sources) and job.policy.algorithm == "radix":
        pace = replace(pace, footprint=pace.footprint + sorting.room)
    else:
        policy = job.backend.resolve(job.request.sort.launch, order, len(sources))
    chosen = shares(pace, job.inputs.nbytes, len(sources), job.request.on.threads, job.memory)
    stream = Stream(
        sources,
        sink,
        order,
        job.backend,
        policy,
        chosen,
        check=False,
        unique=job.request.unique,
    )
    told = None if advance is None else (lambda done, total: advance((total + done) // 2, total))
    return run(stream, job.stopwatch, told)


def _report(
    request: SortFilesRequest,
    inputs: Inputs,
    selected: Selected,
    job: _Job,
    outcome: Outcome,
    stopwatch: Stopwatch,
    *,
    wall: float,
    start_up: float,
    busy: float,
) -> MergeReport:
    totals = [stopwatch.total(name) for name in _STAGES]
    stages = tuple(Stage(total.name, total.seconds, total.nbytes) for total in totals if total.seconds > 0)
    files, plan = inputs.files(job.counts), stopwatch.total("plan").seconds
    workers = max(job.workers, outcome.workers)
    return MergeReport(
        inputs=files,
        output=request.output,
        items=sum(file.items for file in files),
        nbytes=sum(file.nbytes for file in files),
        written=outcome.written,
        unique=request.unique,
        dropped=outcome.dropped,
        order=inputs.order.describe(),
        backend=selected.backend.name,
        device=selected.backend.info().name,
        backend_why=selected.why,
        kernel=job.policy.algorithm,
        launch=job.policy.describe(),
        launch_why=job.policy.why,
        chunks=outcome.chunks,
        chunk_bytes=outcome.largest,
        shrunk_to=outcome.limit,
        workers=workers,
        checked=False,
        wall=wall,
        start_up=start_up,
        plan=plan,
        busy=busy,
        stages=stages,
        peak_memory=peak_memory(),
        version=__version__,
        timeline=stopwatch.timeline(),
        ceilings=ceilings_of(selected.backend, inputs.order, workers),
        kind="sort",
    )
