"""Sorts by this process: at once if everything fits and that is faster, else by pieces that become runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.executor import RunPlan
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.memory import ChunkBudget, piece_footprint
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.parallel import FEEDING_THREADS, PART_BYTES
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.engine.run_files import MemoryFile, PackedFile, Spill, SpilledFile
from gpumerge_cli.engine.writers import RunWriter
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.fixed_source import FixedSource
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.plan import Chunk, chunks_between, item_blocks

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype

RunFile = MemoryFile | SpilledFile | PackedFile | SeekableInput
"""A run: in memory, or in a file."""

LEAST_PIECE = 64 << 10
"""Bytes below which a further thread sorts nothing faster."""
_LEAST_ROOM = 32 << 20  # for the piece of each worker, in addition to runs that stay in memory


def plan_local_runs(
    job: Job, inputs: Inputs, backend: Backend, memory: int, output: Output, stack: ExitStack, *, at_once: bool
) -> RunPlan:
    """See JobTeam.runs. memory: bytes that the sort may take."""
    whole = _budget_at_once(job, inputs, backend, memory) if at_once else None
    if whole is not None:
        return _whole(job, inputs, output, whole)
    chosen, spilled = _budget_by_pieces(job, inputs, backend, memory)
    named = job.operation.margin is not None and job.operation.margin.title is not None
    pieces = sort_pieces(inputs.sources, chosen.chunk_bytes, apart=named)
    if _need_no_merge(job, inputs, backend, pieces, chosen.chunk_bytes):
        return _whole(job, inputs, output, ChunkBudget(chosen.workers, min(chosen.chunk_bytes, PART_BYTES)))
    writer = RunWriter(MemoryFile.of)
    if spilled and inputs.nbytes > chosen.chunk_bytes:
        spill = Spill(job.resources.folders, job.resources.compress_program)
        spill.check_space(inputs.nbytes)
        writer = RunWriter(spill.keep, spill.stop)
    stack.callback(writer.close)

    def sources() -> list[Source]:
        dtype, end = run_dtype(inputs.dtype), inputs.order.end
        found = [run_source(writer.runs[number], dtype, end) for number in sorted(writer.runs)]
        for source in found:
            stack.callback(source.close)
        return found

    number = max(1, min(chosen.workers, len(pieces)))
    work = Pass.of(job, "sort", inputs, writer)
    work = replace(work, pieces=pieces, budget=ChunkBudget(number, chosen.chunk_bytes))
    return RunPlan(work, sources, [_only_source(piece) for piece in pieces] if named else ())


def _whole(job: Job, inputs: Inputs, output: Output, chosen: ChunkBudget) -> RunPlan:
    everything = Chunk(tuple((0, source.size) for source in inputs.sources), 0)
    # Once all is sorted, the offsets of its pieces are known, whatever was left out.
    work = Pass.of(job, "whole", inputs, output.writer(planned=True))
    return RunPlan(replace(work, pieces=[everything], budget=chosen), list)


def _budget_at_once(job: Job, inputs: Inputs, backend: Backend, memory: int) -> ChunkBudget | None:
    """The threads that read and write a sort at once, and bytes of a part; None if it should not be."""
    order, nbytes = inputs.order, inputs.nbytes
    # Equals are counted where runs are merged.
    if not nbytes or job.resources.always_spill or job.operation.margin is not None:
        return None
    threads = job.resources.threads or min(cores(), FEEDING_THREADS if backend.remote else cores())
    item = max(1, order.item_bytes)
    part = max(1, PART_BYTES // item) * item  # of lines any bytes
    needed = backend.whole_sort(order, nbytes, inputs.mean_bytes, part, threads)
    if needed is None or needed > memory:
        return None
    return ChunkBudget(min(threads, -(-nbytes // part)), part)


def _budget_by_pieces(job: Job, inputs: Inputs, backend: Backend, memory: int) -> tuple[ChunkBudget, bool]:
    """The pieces at once and bytes of each, and whether runs go to temporary files."""
    order, nbytes, on = inputs.order, inputs.nbytes, job.resources
    sizes = backend.piece_sizes(order, inputs.mean_bytes)
    workers = on.threads or sizes.workers or cores()
    each = piece_footprint(backend, inputs)
    workers = max(1, min(workers, int(memory / (max(1, order.item_bytes) * each))))  # a piece has an item at least
    spilled = nbytes + min(nbytes, workers * _LEAST_ROOM) * each > memory or on.always_spill
    wanted = sizes.piece
    if sizes.runs:
        wanted = memory if spilled else max(wanted, -(-nbytes // sizes.runs))
    room = int((memory if spilled else memory - nbytes) / (workers * each))
    piece = max(LEAST_PIECE, min(wanted, room, max(LEAST_PIECE, -(-nbytes // workers))))
    return ChunkBudget(max(1, min(workers, -(-nbytes // piece))), piece), spilled


def _need_no_merge(job: Job, inputs: Inputs, backend: Backend, pieces: Sequence[Chunk], size: int) -> bool:
    """Whether there is one piece; or one line is longer than a piece may be, and all others fit into one.

    A run of that line alone takes more time and memory.
    """
    sizes = backend.piece_sizes(inputs.order, inputs.mean_bytes)
    if not sizes.outgrows or job.resources.always_spill or job.operation.margin is not None or not pieces:
        return False
    if len(pieces) == 1:
        return True
    longest = max(piece.nbytes for piece in pieces)
    return longest > size and inputs.nbytes - longest <= size


def run_dtype(dtype: Dtype | None) -> Dtype | None:
    """The dtype of the items of runs: that of the inputs, in native byte order; None for lines."""
    return dtype if dtype is None or dtype.kind in "SV" else dtype.newbyteorder("=")


def run_source(held: RunFile, dtype: Dtype | None, end: bytes) -> Source:
    """A run as an input of the merge. dtype: of its items; None for lines that end with `end`."""
    if dtype is None:
        return LineSource(held, end[0])  # type: ignore[arg-type]
    return FixedSource(held, dtype, 0, held.size)  # type: ignore[arg-type]


def _only_source(piece: Chunk) -> int:
    """The number of the only source in a piece."""
    return next(number for number, (start, stop) in enumerate(piece.ranges) if start < stop)


def sort_pieces(sources: Sequence[Source], size: int, *, apart: bool = False) -> list[Chunk]:
    """The inputs cut into pieces of about `size` bytes, in order. apart: no piece has items of two inputs."""
    sizes = [source.size for source in sources]
    ends: list[tuple[int, int]] = []  # of pieces: the number of a source, and a position in it
    held = 0
    for number, source in enumerate(sources):
        for start, stop in item_blocks(source, size):
            if ends and held + stop - start <= size and (not apart or ends[-1][0] == number):
                ends[-1], held = (number, stop), held + stop - start
            else:
                ends.append((number, stop))
                held = stop - start
    cuts = ((*sizes[:at], stop, *(0,) * (len(sizes) - at - 1)) for at, stop in ends)
    return chunks_between([(0,) * len(sizes), *cuts])
