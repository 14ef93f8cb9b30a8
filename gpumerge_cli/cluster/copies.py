"""Compressed inputs of a cluster: before anything else, tasks decompress them to a shared folder, one each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gpumerge_cli import __version__
from gpumerge_cli.cluster.file_checks import file_state
from gpumerge_cli.cluster.folder import SharedFolder, output_path
from gpumerge_cli.cluster.shipment import Reply, Shipment
from gpumerge_cli.cluster.unpacker import copy_name
from gpumerge_cli.cluster.workers import Workers
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.reading_progress import is_packed
from gpumerge_cli.engine.task import Task
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.extents import DecompressedCopy
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.naming import known_size
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder
from gpumerge_cli.plan import Chunk
from gpumerge_cli.urls import shown

_MARK = ".gpumerge-copies-"


@dataclass(frozen=True)
class Copies:
    """Has workers copy the compressed inputs of a job."""

    workers: Workers
    job: Job
    output: str
    """The name of the first file that the job writes, "" for none."""

    @contextmanager
    def __call__(
        self,
        names: Sequence[str],
        layouts: Sequence[Layout],
        stopwatch: Stopwatch,
        progress: Callable[[int], Callable[[float], None]],
    ) -> Iterator[tuple[DecompressedCopy | None, ...]]:
        """See engine.inputs.Copier."""
        packed = [number for number, layout in enumerate(layouts) if is_packed(names[number], layout)]
        if not packed:
            yield ()
            return
        packed.sort(key=lambda number: -known_size(names[number]))  # that the largest is not begun last
        with SharedFolder(*self._place(names[min(packed)]), _MARK) as folder:
            inputs = tuple(file_state(names[number]) for number in packed)
            # Sizes of at least 2 bytes, so that no two files are joined to one task.
            sizes = [max(2, known_size(names[number])) for number in packed]
            pieces = [Chunk(((0, size),), sum(sizes[:at])) for at, size in enumerate(sizes)]
            found: dict[int, DecompressedCopy] = {}

            def on_done(task: Task, answer: Reply) -> None:
                at = task.position.part
                path = str(folder.path / copy_name(at))
                if not os.path.isfile(path) or os.path.getsize(path) != answer.result.written:
                    raise OutputError("a temporary file has become shorter", where=path)
                found[packed[at]] = DecompressedCopy(path, answer.tag)
                progress(packed[at])(1.0)

            work = Pass(self.job, "unpack", (), Order.lines(LineOrder()), 1.0, NullWriter(), pieces=pieces)
            run = os.urandom(8).hex()
            plain = replace(self.job, items=Items())
            shipment = Shipment(run, __version__, work.detached(plain), inputs, folder=str(folder.path))
            self.workers.ready(work, shipment, on_done=on_done).do(Tasks(work, None, 1, stopwatch))
            yield tuple(found.get(number) for number in range(len(names)))

    def _place(self, first: str) -> tuple[str, Sequence[str]]:
        """Arguments of SharedFolder: a name, and the folders. Raises UsageError if no folder is known that all see."""
        folders = self.job.resources.folders
        why = "compressed inputs need a folder for their copies"
        if self.output:
            return output_path(self.output, folders, why), folders
        if not folders and not self.workers.here:
            raise UsageError(why, way_out="name one with -T that all machines see")
        return os.path.basename(shown(first)), folders or (tempfile.gettempdir(),)
