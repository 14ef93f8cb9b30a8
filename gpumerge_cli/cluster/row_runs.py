"""Runs of a sort of rows by a cluster: a task sorts the rows of its ranges in memory, and writes them to a file."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.row_sorts import purpose_of
from gpumerge_cli.engine.task import Task, TaskResult
from gpumerge_cli.engine.writers import ResultWriter
from gpumerge_cli.measure import Span
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Source
    from gpumerge_cli.formats.tables.table_ranges import TableRanges


class RowRuns:
    """Makes the runs of a job's inputs. order: of their items."""

    def __init__(self, job: Job, sources: Sequence[Source], order: Order) -> None:
        self._sort = purpose_of(job).sort
        self._sources = cast("Sequence[TableRanges]", sources)
        self._order = order

    def do(self, task: Task, writer: ResultWriter) -> TaskResult:
        """Carry out a task. Raises InputError, OutputError."""
        from gpumerge_cli.formats.tables.runs import sorted_pieces

        start = time.perf_counter()
        ranges = task.chunk.ranges
        batches = [
            batch for source, (low, high) in zip(self._sources, ranges, strict=True) for batch in source.rows(low, high)
        ]
        spans = [Span("read", time.perf_counter() - start, task.nbytes)]
        first, counts = self._sources[0], [high - low for low, high in ranges]
        assert self._sort is not None, "of a sort"
        pieces = sorted_pieces(batches, first.table.schema, first.form, self._order, self._sort)  # type: ignore[arg-type]
        run = _Run(counts, spans, pieces)
        writer.put(task.turn, task.position, run, last=True)
        return TaskResult(
            counts=counts, written=run.merged_bytes, nbytes=task.nbytes, spans=spans, part=task.position.part
        )


class _Run:
    """The bytes of a run. See Merged."""

    dropped = 0
    merged_bytes = 0

    def __init__(self, counts: list[int], spans: list[Span], pieces: Iterable[Any]) -> None:
        self.counts = counts
        self.spans = spans
        self._pieces = pieces

    def outputs(self) -> Iterator[Bytes]:
        for piece in self._pieces:
            self.merged_bytes += len(piece)
            yield piece
