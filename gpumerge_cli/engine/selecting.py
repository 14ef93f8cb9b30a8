"""Sorts that write their first or last items alone: the pass that makes runs of candidates. See engine.selection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import cast

from gpumerge_cli.backends.base import Backend, SelectingWorkspace
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.executor import RunPlan
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.launches import launch_info, policy_of
from gpumerge_cli.engine.local_sorts import LEAST_PIECE, run_dtype, run_source, sort_pieces
from gpumerge_cli.engine.memory import ChunkBudget, piece_footprint
from gpumerge_cli.engine.outcome import LaunchInfo
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.engine.run_files import MemoryFile, RunSink, Spill, spill_folders
from gpumerge_cli.engine.selection import LEAST_ROOM, SHARE, CandidateRun, Candidates, Selection, SelectionBound
from gpumerge_cli.engine.steps import FoundDisorderError
from gpumerge_cli.engine.task import Position, Task, TaskResult
from gpumerge_cli.engine.writers import Merged, RunWriter, SinkWriter
from gpumerge_cli.formats.base import Sink, Source
from gpumerge_cli.launch import SortPolicy
from gpumerge_cli.plan import Chunk

_PIECES = 8
"""Pieces for each worker: then none waits long for the last one."""
_LEAST, _LARGEST = 4 << 20, 256 << 20
"""Bytes of a piece."""
_SHARE_OF_RUNS = 4
"""Runs in memory take one of so many shares of it."""


class KeptRunWriter(RunWriter):
    """Keeps runs of candidates in memory, and spills those beyond so many bytes. See ResultWriter."""

    def __init__(self, room: int, job: Job) -> None:
        super().__init__(MemoryFile.of)
        self._room = room
        self._job = job
        self._spill: Spill | None = None
        self._lock = threading.Lock()

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        with self._lock:
            fits = merged.merged_bytes <= self._room
            if fits:
                self._room -= merged.merged_bytes
            elif self._spill is None:
                self._spill = Spill(self._job.resources.folders, self._job.resources.compress_program)
                self._halt = self._spill.stop
        keep = MemoryFile.of if fits or self._spill is None else self._spill.keep
        self.runs[position.part] = keep(merged.outputs())
        return merged.merged_bytes


@dataclass(frozen=True)
class SelectionSetup:
    """The things that the workers of a selection share."""

    work: Pass
    backend: Backend
    policy: SortPolicy
    selection: Selection
    bound: SelectionBound
    room: tuple[int, int]
    """See Candidates."""

    @classmethod
    def of(cls, work: Pass, backend: Backend, room: int = 0) -> SelectionSetup:
        """That of a pass whose budget has the largest room. room: bytes, all of which are taken at once; 0 for none."""
        selection, policy = Selection.of(work.job.operation), policy_of(backend, work)
        assert selection is not None, "the sort writes a part"
        assert isinstance(policy, SortPolicy), "a selection sorts"
        assert work.budget is not None, "which its plan has"
        wanted = min(int(selection.count * work.mean_bytes), work.nbytes)
        rooms = (room, room) if room else (max(LEAST_ROOM, SHARE * wanted), work.budget.chunk_bytes)
        return cls(work, backend, policy, selection, SelectionBound(work.order, selection), rooms)

    def candidates(self, keep: Callable[[int, CandidateRun], None]) -> Candidates:
        """Room for the candidates of a thread. keep: see Candidates."""
        work = self.work

        def open_workspace(nbytes: int) -> SelectingWorkspace:
            return cast(SelectingWorkspace, self.backend.workspace(work.order, nbytes))

        return Candidates(work.order, self.selection, self.bound, open_workspace, self.policy, self.room, keep)


class SelectionWorker:
    """A thread that selects candidates. See threads.Worker."""

    backend = "cpu"
    threads = 1

    def __init__(self, number: int, setup: SelectionSetup) -> None:
        self.name = f"cpu {number}"
        self.chunk_bytes = setup.room[1]
        self._setup = setup
        self._turn = 0
        self._candidates: Candidates | None = None

    def start(self) -> None:
        """See Worker."""

    def do(self, task: Task) -> TaskResult:
        """See Worker. Its candidates become runs, by the places in all inputs behind their last items."""
        work, chunk, self._turn = self._setup.work, task.chunk, task.turn
        candidates = self._candidates = self._candidates or self._setup.candidates(self._keep)
        candidates.begin(chunk.offset)
        counts = [0] * len(chunk.ranges)
        for number, (start, stop) in enumerate(chunk.ranges):
            if start < stop and not work.writer.is_over(task.turn):
                if not candidates.read(work.sources[number], start, stop):
                    raise FoundDisorderError(number)
                counts[number] = candidates.counted - sum(counts)
        candidates.end()
        spans, candidates.spans = candidates.spans, []
        return TaskResult(counts=counts, nbytes=task.nbytes, largest=chunk.nbytes, spans=spans)

    def _keep(self, place: int, run: CandidateRun) -> None:
        self._setup.work.writer.put(self._turn, Position(place, 0), run, last=True)

    def launch_info(self) -> LaunchInfo:
        """See Worker."""
        return launch_info(self._setup.backend.info().name, self._setup.policy)

    def close(self) -> None:
        """See Worker."""
        if self._candidates is not None:
            self._candidates.close()
            self._candidates = None


def selection_workers(work: Pass, backend: Backend) -> list[SelectionWorker]:
    """The workers of a pass that selects."""
    assert work.budget is not None
    setup = SelectionSetup.of(work, backend)
    return [SelectionWorker(number, setup) for number in range(work.budget.workers)]


def plan_selection(job: Job, inputs: Inputs, backend: Backend, memory: int, stack: ExitStack) -> RunPlan:
    """The runs of a sort that writes some items. memory: bytes that it may take. See JobTeam.runs."""
    selection = Selection.of(job.operation)
    assert selection is not None, "the sort writes a part"
    item, each, on = max(1, inputs.order.item_bytes), piece_footprint(backend, inputs), job.resources
    workers = max(1, min(on.threads or cores(), int(memory / (max(LEAST_PIECE, item) * each))))
    named = job.operation.margin is not None
    size = max(_LEAST, min(_LARGEST, inputs.nbytes // (_PIECES * workers)))
    pieces = sort_pieces(inputs.sources, size, apart=named) if selection.count else []
    workers = max(1, min(workers, len(pieces)))
    share = memory // _SHARE_OF_RUNS
    room = max(LEAST_PIECE, item, int((memory - share) / (workers * each)))
    writer = KeptRunWriter(0 if on.always_spill else share, job)
    stack.callback(writer.close)
    work = Pass.of(job, "select", inputs, writer)
    work = replace(work, pieces=_spread(pieces, last=selection.last), budget=ChunkBudget(workers, room))
    origins: list[int] = []

    def sources() -> list[Source]:
        found = [writer.runs[place] for place in sorted(writer.runs)]
        dtype, end = run_dtype(inputs.dtype), inputs.order.end
        if named:
            origins.extend(_origin(inputs.sources, place) for place in sorted(writer.runs))
        made = [run_source(run, dtype, end) for run in found]
        if not named and len(made) > 1 and sum(source.size for source in made) <= room:
            made = [run_source(_selected_again(work, backend, made), dtype, end)]
        for source in made:
            stack.callback(source.close)
        return made

    return RunPlan(work, sources, origins)


def _selected_again(work: Pass, backend: Backend, runs: Sequence[Source]) -> MemoryFile:
    """The wanted items of runs that fit into the room, as one run."""
    found: list[MemoryFile] = []
    setup = SelectionSetup.of(work, backend, room=sum(run.size for run in runs))
    candidates = setup.candidates(lambda place, run: found.append(MemoryFile.of(run.parts)))
    candidates.begin(0)
    for run in runs:
        candidates.read(run, 0, run.size)
    candidates.end()
    candidates.close()
    return found[0]


def wanted_of_runs(
    work: Pass, inputs: Inputs, do: Callable[[Pass], object], stack: ExitStack
) -> tuple[Pass, Chunk | None]:
    """A pass over sorted runs, and the part of them that is written; None for all of the only one.

    With a rule for equal items, the runs become one first, of which `do` carries out the pass. stack: closes that.
    """
    job, ranks = work.job, work.job.operation.ranks
    if ranks is None or len(work.sources) < 2:
        return work, None
    if not work.equals.keeps_all:
        sink = RunSink(spill_folders(job.resources.folders)[0])
        stack.callback(sink.file.close)
        do(replace(work, writer=SinkWriter([cast(Sink, sink)], planned=False), advance=None))
        work = replace(work, sources=[run_source(sink.file, run_dtype(inputs.dtype), inputs.order.end)])
    from gpumerge_cli.engine.ranks import merge_ranks

    found = merge_ranks(replace(inputs, sources=tuple(work.sources)), job.resources.threads)
    return work, found.chunk(ranks.start, ranks.stop)


def _spread(pieces: Sequence[Chunk], *, last: bool) -> list[Chunk]:
    """The pieces in an order that soon finds a near bound, even if the inputs are sorted, or sorted the other way.

    The numbers of pieces are read with their bits reversed. The first piece comes first, or the last one.
    """
    bits = (len(pieces) - 1).bit_length()
    numbers = sorted(range(len(pieces)), key=lambda number: int(f"{number:0{bits}b}"[::-1], 2) if bits else 0)
    return [pieces[-1 - number if last else number] for number in numbers]


def _origin(sources: Sequence[Source], place: int) -> int:
    """The number of the source that holds the item ahead of a place in all of them."""
    for number, source in enumerate(sources):
        place -= source.size
        if place <= 0:
            return number
    raise AssertionError("the place lies in a source")
