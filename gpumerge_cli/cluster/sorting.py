"""A sort by a cluster: tasks sort pieces to runs in a shared folder, and further tasks merge the runs to the output."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path

from gpumerge_cli.backends import select
from gpumerge_cli.cluster.folder import SharedFolder, output_path, remove_folder
from gpumerge_cli.cluster.open_runs import open_runs
from gpumerge_cli.cluster.runlog import RunLog, logged_piece_bytes, sort_digest
from gpumerge_cli.cluster.shipment import FileState, FinishedRun, Reply, Shipment
from gpumerge_cli.cluster.workers import Workers
from gpumerge_cli.cluster.writers import run_name
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.executor import RunPlan
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.local_sorts import run_dtype, sort_pieces
from gpumerge_cli.engine.memory import ChunkBudget, memory_of, piece_footprint
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.resources import default_memory
from gpumerge_cli.engine.run_files import Spill
from gpumerge_cli.engine.task import Task
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import InputError, OutputError, UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.plan import Chunk
from gpumerge_cli.urls import is_url, shown

_LEAST_PIECE = 1 << 20
_COPIES_OF_ROWS, _COPIES_OF_ITEMS = 3, 6
"""The copies of rows: as decoded, in one piece, and sorted. Those of items: see formats.tables.runs."""
_MEMORY = "/dev/shm"
"""A folder in memory for all processes of a machine: two sort 1 GB in 2.2 to 2.4 s with it, in 3 to 7 s with ext4."""
_MARK, _KEPT = ".gpumerge-runs-", ".gpumerge-kept-"
_RANDOM, _OF_RUNS = re.compile("[0-9a-f]{12}"), re.compile("lock|run-[0-9]{6,}([.][0-9a-f]{12})?")
"""The ends of the names of folders for runs, and the names in such folders."""


class ClusterRunWriter(NullWriter):
    """Workers put the runs of a sort into a folder themselves. See ResultWriter.

    folder: theirs. log: takes note of runs that are finished, if there is one.
    """

    def __init__(self, folder: RunFolder, log: RunLog | None) -> None:
        super().__init__()
        self._folder = folder
        self._log = log

    def shipment(self, shipment: Shipment) -> Shipment:
        """The shipment of the pass that makes the runs."""
        known = None if self._log is None else self._log.known
        return replace(shipment, folder=str(self._folder.path), finished_runs=known)

    def on_done(self, task: Task, answer: Reply) -> None:
        """A run is finished."""
        if self._log is not None:
            run = FinishedRun(answer.result.written, answer.crc, tuple(answer.result.counts))
            self._log.add(task.position.part, run)


def plan_cluster_runs(
    workers: Workers, work: Pass, shipment: Shipment, inputs: Inputs, output: Output, stack: ExitStack
) -> RunPlan:
    """See JobTeam.runs. work: a sort of the inputs. shipment: its."""
    job = shipment.work.job
    if inputs.written.rows is not None and job.resources.run_log is not None:
        raise UsageError("--run-log: a cluster logs no runs of rows", way_out="leave it out")
    workers.check_workers(shipment)
    # Pieces must be those of the log, even if the workers are others now.
    path = job.resources.run_log if job.resources.resume else None
    size = (logged_piece_bytes(path) if path else 0) or piece_bytes(workers, job, inputs)
    pieces = sort_pieces(inputs.sources, size)
    log = _log(inputs, shipment, pieces, size)
    folders = run_folders(workers, job, _run_bytes(inputs))
    position = output_path(output.names[0], folders, "a sort to an object needs a folder for its runs")
    folder = stack.enter_context(RunFolder(position, folders, log))
    Spill([str(folder.path)], None).check_space(_run_bytes(inputs) if log is None or not log.known else 0, packs=False)
    if job.operation.equals.keeps_all and len(output.sinks) == 1:
        output.reserve([inputs.nbytes])

    def sources() -> list[Source]:
        return folder.sources(len(pieces), inputs, stack)

    work = replace(work, writer=ClusterRunWriter(folder, log), pieces=pieces, budget=ChunkBudget(workers.threads, size))
    return RunPlan(work, sources)


def _run_bytes(inputs: Inputs) -> int:
    """About the bytes of all runs."""
    return inputs.nbytes if inputs.written.rows is None else sum(inputs.written.rows.nbytes)


def _log(inputs: Inputs, shipment: Shipment, pieces: Sequence[Chunk], size: int) -> RunLog | None:
    """The log that the job names, if any."""
    on = shipment.work.job.resources
    path, resume = on.run_log, on.resume
    if path is None:
        return None
    pairs = zip(inputs.names, shipment.inputs, inputs.layout.items.copies or repeat(None), strict=False)
    seen = [one if copy is None else FileState(os.path.abspath(name), -1, 0, copy.tag) for name, one, copy in pairs]
    unknown = [one.path for one in seen if is_url(one.path) and not one.tag]
    if resume and unknown:
        raise InputError(
            "its server gives no tag, so a change cannot be detected", where=shown(unknown[0]),
            way_out="leave --resume out, or copy it to a file",
        )  # fmt: skip
    return RunLog(path, sort_digest(seen, pieces, inputs.order), size, resume=resume)


def piece_bytes(workers: Workers, job: Job, inputs: Inputs) -> int:
    """Bytes of a piece: as many as every thread of every worker has memory for, but a piece for each thread."""
    room = min(memory_of(job, one.memory) / one.threads for one in workers.statuses.values())
    rows = inputs.written.rows
    each = 1.0 if rows is None else max(1.0, sum(rows.nbytes) / max(1, inputs.nbytes))  # of a position
    if rows is not None:
        fits = int(room / (_COPIES_OF_ROWS * each + _COPIES_OF_ITEMS * inputs.mean_bytes))
    else:
        fits = int(room / piece_footprint(select.host(), inputs))
    return max(1, int(_LEAST_PIECE / each), min(fits, -(-inputs.nbytes // workers.threads)))


def run_folders(workers: Workers, job: Job, nbytes: int) -> Sequence[str]:
    """The folders for runs: those of the job; else memory, if all workers are of this machine and it is enough."""
    on = job.resources
    if on.folders or on.run_log or not workers.here or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return on.folders
    allowed = default_memory() if on.memory is None else on.memory * len(workers.statuses)
    fits = 2 * nbytes <= min(allowed, default_memory(), shutil.disk_usage(_MEMORY).free)
    return (_MEMORY,) if fits else ()


def _is_kept(folder: str, start: str) -> bool:
    """Whether a folder that a log names holds kept runs of this user, and nothing else, for an output of this name.

    The log may be foreign: other folders are neither used nor removed. start: of the names of such folders.
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
                remove_folder(Path(log.earlier))
            path = self.path
            os.mkdir(path, 0o700)
        log.begin(str(path))
        return path

    def sources(self, number: int, inputs: Inputs, stack: ExitStack) -> list[Source]:
        """The runs as sources, which the stack closes. Raises OutputError if bytes of them are missing."""
        paths = (str(self.path / run_name(at)) for at in range(number))
        found = open_runs(paths, run_dtype(inputs.dtype), inputs.order, stack, inputs.sources[0])
        if sum(source.size for source in found) != inputs.nbytes:
            raise OutputError("a temporary file has become shorter", where=str(self.path))
        return found

    def __exit__(self, kind: object, *_: object) -> None:
        if self._log is not None:
            self._log.close(done=kind is None)
        self.close(keep=self._log is not None and kind is not None)
