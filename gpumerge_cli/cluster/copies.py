"""Compressed inputs of a cluster: before anything else, tasks decompress them to a shared folder, one each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpumerge_cli.cluster.folder import SharedFolder, place_of
from gpumerge_cli.cluster.outlets import CountOutlet
from gpumerge_cli.cluster.seeing import seen_of
from gpumerge_cli.cluster.shipment import Answer
from gpumerge_cli.cluster.unpacker import copy_name, unpacking
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.executor import Tasks
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.opening import is_packed
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.supply import Supply
from gpumerge_cli.engine.task import ChunkTask, Place
from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.extents import Copy
from gpumerge_cli.formats.format import Content
from gpumerge_cli.formats.naming import size_told
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.plan import Chunk
from gpumerge_cli.urls import shown

if TYPE_CHECKING:
    from gpumerge_cli.cluster.crew import Crew

_MARK = ".gpumerge-copies-"


@dataclass(frozen=True)
class Copies:
    """Copies inputs of a run by the tasks of a crew. See engine.machines.Machines.copier for the fields."""

    crew: Crew
    output: str
    resources: Resources

    @contextmanager
    def __call__(
        self,
        names: Sequence[str],
        formats: Sequence[Content],
        stopwatch: Stopwatch,
        told: Callable[[int], Callable[[float], None]],
    ) -> Iterator[tuple[Copy | None, ...]]:
        """See engine.inputs.Copier."""
        packed = [number for number, chosen in enumerate(formats) if is_packed(names[number], chosen)]
        if not packed:
            yield ()
            return
        with SharedFolder(*self._place(names[packed[0]]), _MARK) as folder:
            inputs = tuple(seen_of(names[number]) for number in packed)
            sizes = [max(2, size_told(names[number])) for number in packed]  # of 2 bytes, no two are joined to one task
            starts = [sum(sizes[:at]) for at in range(len(sizes))]
            largest = sorted(range(len(packed)), key=lambda at: -sizes[at])  # that none of them is begun last
            site = Site(unpacking(inputs), (), CountOutlet())
            found: dict[int, Copy] = {}

            def task(turn: int, part: int, chunk: Chunk) -> ChunkTask:
                return ChunkTask(site.work, turn, chunk.ranges, Place(largest[turn], 0))

            def noted(task: ChunkTask, answer: Answer) -> None:
                at = task.place.part
                path = str(folder.path / copy_name(at))
                if not os.path.isfile(path) or os.path.getsize(path) != answer.result.written:
                    raise OutputError("a temporary file has become shorter", where=path)
                found[packed[at]] = Copy(path, answer.tag)
                told(packed[at])(1.0)

            shipment = self.crew.shipment_of(site.work, inputs, replace(self.resources, memory=None))
            hired = self.crew.hired(site, replace(shipment, folder=str(folder.path)), noted)
            chunks = [Chunk(((0, sizes[at]),), starts[at]) for at in largest]
            supply = Supply(lambda nbytes: iter([[chunks]]), 1, stopwatch)
            tasks = Tasks(supply, task, lambda turn: False, lambda result: None, lambda: None)
            hired.executor(tasks, stopwatch).run()
            yield tuple(found.get(number) for number in range(len(names)))

    def _place(self, first: str) -> tuple[str, Sequence[str]]:
        """Arguments of SharedFolder: a name, and the folders. Raises UsageError if no folder is known that all see."""
        why = "compressed inputs need a folder for their copies"
        if self.output:
            return place_of(self.output, self.resources.folders, why), self.resources.folders
        if not self.resources.folders and not self.crew.here:
            raise UsageError(why, way_out="name one with -T that all see")
        return os.path.basename(shown(first)), self.resources.folders or (tempfile.gettempdir(),)
