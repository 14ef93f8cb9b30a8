"""Sorts from file to file: the difference between algorithms that is left when reading and writing are counted."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from gpumerge_cli.backends.compared import ComparedBackend
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.run import run
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.compressed import suffix_of
from gpumerge_cli.formats.kinds.lookup import is_binary
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.results.compared import Measured

REPEAT = 3
"""Timings of each sort from file to file, in turns, after one turn that warms up."""


@dataclass(frozen=True)
class File:
    """The place of the sorted items while they are timed, and the device."""

    job: Job
    backend: ComparedBackend
    threads: int
    output: str

    def by_algorithm(self, request: SortRequest) -> None:
        """Sort as gpumerge sort does, with pieces read, sorted and written at the same time."""
        job = self.job
        resources = replace(job.resources, backend=self.backend.name)  # type: ignore[arg-type]
        operation = replace(job.operation, launch=request)
        run(replace(job, operation=operation, output=replace(job.output, name=self.output), resources=resources))

    def by_library(self, name: str) -> None:
        """Sort as a script would: read everything, sort it, write it."""
        with open_inputs(self.job.inputs, self.job.items, resources=self.job.resources) as inputs:
            workspace = self.backend.workspace(inputs.order, inputs.nbytes, threads=self.threads)
            try:
                staging = workspace.staging(inputs.nbytes)
                start = 0
                for source in inputs.sources:
                    source.read_into(0, staging[start : start + source.size])
                    start += source.size
                workspace.upload([source.size for source in inputs.sources])
                workspace.sort_baselines()[name]()
                result = workspace.download()
                count = inputs.nbytes // inputs.order.item_bytes
                sink = open_sink(self.output, inputs.layout, inputs.dtype, count, head=inputs.head)
                try:
                    sink.reserve(inputs.nbytes)
                    sink.write_at(0, sink.encode(result))
                    sink.commit(count=count)
                except BaseException:
                    sink.abort()
                    raise
            finally:
                workspace.close()


def whole_sorts(
    job: Job,
    backend: ComparedBackend,
    requests: Sequence[SortRequest],
    rows: Sequence[Measured],
    *,
    threads: int = 1,
) -> tuple[Measured, ...]:
    """`rows` with the seconds of whole sorts, from reading the files to writing the output.

    job: the inputs, and the folders of temporary files, of which the output is one. requests: the algorithms of the
    first rows; the other rows are the backend's libraries. Rows with a problem stay as they are; so do all rows if
    standard input is among the inputs, since it can be read only once. Raises as run does.
    """
    if STDIO in job.inputs:
        return tuple(rows)
    with tempfile.TemporaryDirectory(prefix="gpumerge-", dir=next(iter(job.resources.folders), None)) as folder:
        # If only a suffix says that items are binary, the output needs it, too.
        suffix = suffix_of(job.inputs[0])
        name = f"sorted{suffix}" if is_binary(suffix) else "sorted"
        file = File(job, backend, threads, os.path.join(folder, name))
        works: list[Callable[[], None]] = [
            partial(file.by_library, row.name) if row.library else partial(file.by_algorithm, one)
            for row, one in zip(rows, [*requests, *[SortRequest()] * (len(rows) - len(requests))], strict=True)
        ]
        seconds: list[list[float]] = [[] for _ in rows]
        for turn in range(REPEAT + 1):
            for row, work, series in zip(rows, works, seconds, strict=True):
                if row.seconds:
                    taken = _timed(work)
                    if turn:
                        series.append(taken)
    return tuple(
        replace(row, whole_seconds=tuple(series), whole=median(series)) if series else row
        for row, series in zip(rows, seconds, strict=True)
    )


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
