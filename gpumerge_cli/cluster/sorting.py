"""A sort by a cluster: tasks sort pieces to runs in a shared folder, and further tasks merge the runs to the output."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from gpumerge_cli.backends import select
from gpumerge_cli.cluster.crew import Crew, note_part, spots_of
from gpumerge_cli.cluster.folder import SharedFolder, place_of, remove
from gpumerge_cli.cluster.outlets import run_name
from gpumerge_cli.cluster.runlog import RunLog, piece_of, sort_name
from gpumerge_cli.cluster.runs import run_source
from gpumerge_cli.cluster.shipment import Answer, Known, Seen, Shipment
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.held import Spill
from gpumerge_cli.engine.machines import Sorting
from gpumerge_cli.engine.outlet import RunsOutlet, SinkOutlet
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.resources import default_memory
from gpumerge_cli.engine.runs import joined, part_of, pieces_of
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.stream import Advance, Outcome, carry_out, merge
from gpumerge_cli.engine.task import ChunkTask, InputName
from gpumerge_cli.errors import InputError, OutputError, UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.plan import Chunk, Planner
from gpumerge_cli.urls import is_url, shown

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype

_LEAST_PIECE = 1 << 20
_MEMORY = "/dev/shm"
"""A folder in memory for all processes of a machine: two sort 1 GB in 2.2 to 2.4 s with it, in 3 to 7 s with ext4."""
_MARK, _KEPT = ".gpumerge-runs-", ".gpumerge-kept-"
_RANDOM, _OF_RUNS = re.compile("[0-9a-f]{12}"), re.compile("lock|run-[0-9]{6,}([.][0-9a-f]{12})?")
"""The ends of the names of folders for runs, and the names in such folders."""


def sort(machines: Crew, sorting: Sorting, output: Output, stack: ExitStack, advance: Advance | None) -> Outcome:
    """Sort everything to the output. See engine.machines.Machines."""
    job, inputs = sorting.job, sorting.inputs
    if job.resources.compress_program is not None:
        raise UsageError("--compress-program: a cluster keeps plain runs", way_out="leave one of the two out")
    site = Site(replace(sorting.work, equals=Equals.ALL), inputs.sources, RunsOutlet(lambda parts: None))
    shipment = machines.shipment(site, job.resources, durable=job.output.durable)
    shipment = replace(shipment, spots=spots_of(output, here=machines.here))
    machines.judge(shipment)
    # Pieces must be those of the log, even if the workers are others now.
    size = (piece_of(job.resources.run_log) if job.resources.resume and job.resources.run_log else 0) or piece_bytes(
        machines, sorting
    )
    pieces = pieces_of(inputs.sources, size)
    log = _log(sorting, shipment, pieces, size)
    folders = run_folders(machines, sorting)
    place = place_of(output.names[0], folders, "a sort to an object needs a folder for its runs")
    folder = stack.enter_context(RunFolder(place, folders, log))
    Spill([str(folder.path)], None).check_room(inputs.nbytes if log is None or not log.known else 0, packs=False)
    shipment = replace(shipment, folder=str(folder.path), chunk_bytes=size, known=None if log is None else log.known)
    if job.operation.equals.keeps_all and len(output.sinks) == 1:
        output.reserve([inputs.nbytes])

    def noted(task: ChunkTask, answer: Answer) -> None:
        if log is not None:
            log.add(task.place.part, Known(answer.result.written, answer.crc, tuple(answer.result.counts)))

    half = part_of(advance, lambda done: done // 2)
    spans = lambda nbytes: iter([[pieces]])  # noqa: E731
    made = carry_out(site, machines.hired(site, shipment, noted), spans, sorting.stopwatch, half)
    for source in inputs.sources:
        source.check_unchanged()
    if not pieces:
        return made
    total = inputs.nbytes
    sources = folder.sources(len(pieces), sorting)
    for source in sources:
        stack.callback(source.close)
    told = part_of(advance, lambda done: (total + done) // 2)
    merged = _merged(machines, sorting, output, sources, told)
    return replace(
        merged,
        counts=made.counts,
        workers=max(made.workers, merged.workers),
        logs=joined(made.logs, merged.logs),
        began=made.began,
    )


def _log(sorting: Sorting, shipment: Shipment, pieces: Sequence[Chunk], size: int) -> RunLog | None:
    """The log that the job names, if any."""
    path, job = sorting.job.resources.run_log, sorting.job
    if path is None:
        return None
    pairs = zip(sorting.inputs.names, shipment.inputs, sorting.inputs.copies or repeat(None), strict=False)
    inputs = [one if copy is None else Seen(os.path.abspath(name), -1, 0, copy.tag) for name, one, copy in pairs]
    unknown = [one.path for one in inputs if is_url(one.path) and not one.tag]
    if job.resources.resume and unknown:
        raise InputError(
            "its server gives no tag that tells whether it is the same as before", where=shown(unknown[0]),
            way_out="leave --resume out, or copy it to a file",
        )  # fmt: skip
    return RunLog(path, sort_name(inputs, pieces, sorting.inputs.order), size, resume=job.resources.resume)


def _merged(
    machines: Crew, sorting: Sorting, output: Output, sources: Sequence[Source], advance: Advance | None
) -> Outcome:
    """Merge the runs to the output."""
    names = tuple(InputName(source.name, "run", source.size) for source in sources)
    items = replace(sorting.work.items, copies=())  # runs are read as they are
    work = replace(sorting.work, action="merge", inputs=names, items=items)
    parts = []
    if len(output.sinks) > 1:
        parts = Planner(sources, work.order).parts(len(output.sinks))
        if work.equals.keeps_all:
            output.reserve([part.nbytes for part in parts])
    site = Site(work, sources, SinkOutlet(output.sinks, work.equals), parts=parts, grid=output.grid)
    of_runs = machines.shipment(site, sorting.job.resources, durable=sorting.job.output.durable)
    dtype = None if sorting.inputs.dtype is None else _native(sorting.inputs.dtype)
    of_runs = replace(of_runs, spots=spots_of(output, here=machines.here), runs=True, dtype=dtype)
    hired = machines.hired(site, of_runs, partial(note_part, output))
    return merge(site, hired, sorting.stopwatch, advance, waits=True)


def _native(dtype: Dtype) -> Dtype:
    return dtype if dtype.kind in "SV" else dtype.newbyteorder("=")


def piece_bytes(machines: Crew, sorting: Sorting) -> int:
    """Bytes of a piece: as many as every thread of every worker has memory for, but a piece for each thread."""
    backend, order, item = select.host(), sorting.inputs.order, sorting.inputs.item_bytes
    each = backend.pace(order, 1, item).footprint + 1 + backend.sort_pace(order, item).room
    memory = sorting.job.resources.memory
    room = min((memory or one.memory) / one.threads for one in machines.standings.values())
    return max(_LEAST_PIECE, min(int(room / each), -(-sorting.inputs.nbytes // machines.threads)))


def run_folders(machines: Crew, sorting: Sorting) -> Sequence[str]:
    """The folders for runs: those of the job; else memory, if all workers are of this machine and it is enough."""
    resources, nbytes = sorting.job.resources, sorting.inputs.nbytes
    if resources.folders or resources.run_log or not machines.here or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return resources.folders
    allowed = default_memory() if resources.memory is None else resources.memory * len(machines.standings)
    fits = 2 * nbytes <= min(allowed, default_memory(), shutil.disk_usage(_MEMORY).free)
    return (_MEMORY,) if fits else ()


def _is_kept(folder: str, start: str) -> bool:
    """Whether a folder that a log names holds kept runs of this user, and nothing else, for an output of this name.

    Who knows what wrote the log: other folders are neither used nor removed. start: of the names of such folders.
    """
    name = Path(folder).name
    if not name.startswith(start) or _RANDOM.fullmatch(name[len(start) :]) is None:
        return False
    try:
        status = os.lstat(folder)
        own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        return own and all(_OF_RUNS.fullmatch(one) is not None for one in os.listdir(folder))
    except OSError:
        return False


class RunFolder(SharedFolder):
    """A folder for the runs of a sort to `output`; see SharedFolder.

    log: knows a folder to go on with, and has it kept where the sort fails.
    """

    def __init__(self, output: str, folders: Sequence[str], log: RunLog | None = None) -> None:
        self._log = log
        super().__init__(output, folders, _MARK if log is None else _KEPT)

    def _made(self, parent: Path, start: str) -> Path:
        log = self._log
        if log is None:
            return super()._made(parent, start)
        if _is_kept(log.folder, start):
            path = Path(log.folder)
        else:
            if _is_kept(log.earlier, start):
                remove(Path(log.earlier))
            path = self.path
            os.mkdir(path, 0o700)
        log.begin(str(path))
        return path

    def sources(self, number: int, sorting: Sorting) -> list[Source]:
        """The runs as sources. Raises OutputError if bytes of them are missing."""
        dtype = None if sorting.inputs.dtype is None else _native(sorting.inputs.dtype)
        found = [run_source(str(self.path / run_name(at)), dtype, sorting.inputs.order.end) for at in range(number)]
        if sum(source.size for source in found) != sorting.inputs.nbytes:
            raise OutputError("a temporary file has become shorter", where=str(self.path))
        return found

    def __exit__(self, kind: object, *_: object) -> None:
        if self._log is not None:
            self._log.close(done=kind is None)
        self.close(keep=self._log is not None and kind is not None)
