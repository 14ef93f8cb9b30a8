"""The output of a run: one file or stream, or the files of its parts, which appear all or not at all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.outcome import Outcome
from gpumerge_cli.engine.resources import available_memory, cores
from gpumerge_cli.engine.row_sorts import purpose_of
from gpumerge_cli.engine.task import PartTotal
from gpumerge_cli.engine.writers import CountingWriter, NumberedRowWriter, SinkWriter
from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.extents import SinkLocation
from gpumerge_cli.formats.base import Sink
from gpumerge_cli.formats.compressed import output_codec
from gpumerge_cli.formats.conversion import converted
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import format_named
from gpumerge_cli.formats.naming import codec_of_inputs
from gpumerge_cli.formats.output_items import OutputItems
from gpumerge_cli.formats.part_names import check_part_names, part_names
from gpumerge_cli.formats.ranges import StoredSource
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.order.differences import Diff
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import ItemType
from gpumerge_cli.results.run import OutputPart
from gpumerge_cli.temporary_files import remove_leftovers
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from gpumerge_cli.engine.changes import ChangesWriter

_MOST_AHEAD = 8  # 8 processes bring as many pages into memory as 16 do
_SHARE = 4  # of the memory that is available
COUNTS = Layout(format_named("raw"), Items("raw"), dtype=ItemType("u", 8))
"""The layout of a file of counts."""
_COUNT_BYTES = 8


def output_names(job: Job) -> tuple[str, ...]:
    """The names of the files of a job's output.

    Raises UsageError or OutputError for parts that cannot be files, and for names that contradict the compression.
    """
    names = part_names(job.output.name, job.output.parts)
    if job.output.parts is not None:
        check_part_names(names)
    output_codec(names[0], job.output.compression, plain=job.items.plain)
    return names


class Output:
    """An opened output. sinks: its parts, which are alike; one alone if it has none. Raises OutputError.

    names: those of the files. inputs, job: whose output it is. sizes: bytes of the items that each part would have if
    all went out.
    """

    def __init__(self, names: Sequence[str], inputs: Inputs, job: Job, sizes: Sequence[int]) -> None:
        self.names = names
        self.sizes = sizes
        self._operation = job.operation
        self._order = inputs.order
        self.sinks: list[Sink] = []
        self._counts: Sink | None = None
        self._changes: ChangesWriter | None = None
        self._all: list[Sink] = []  # with that of counts or changes
        self._threads = job.resources.threads
        self._reserved: Sequence[int] = ()
        known, margin = job.operation.equals.keeps_all, job.operation.margin
        most, items = max(sizes) if known else inputs.nbytes, int(inputs.nbytes / inputs.mean_bytes)
        most = most if margin is None else margin.most(most, items)
        compression = job.output.compression
        if compression is None and not job.items.plain:
            compression = codec_of_inputs(names[0], inputs.names)
        rows = converted(names[0], inputs.layout, _items_of(inputs, job), purpose_of(job))
        if (
            rows is None
            and inputs.written.rows is None
            and (job.output.level is not None or job.output.group is not None)
        ):
            option = "--compression-level" if job.output.level is not None else "--row-group-size"
            raise UsageError(f"{option}: the output is not a table", way_out="leave it out")
        by_workers = isinstance(inputs.sources[0], StoredSource)  # who have the bytes of an output
        written = replace(inputs.written, shown=None) if by_workers else inputs.written
        self._shown = inputs.written.shown if by_workers else None
        try:
            if len(names) > 1:
                remove_leftovers(name for name in names if not is_url(name))
            for number, name in enumerate(names):
                count = inputs.order.count(sizes[number]) if known else None
                sink = open_sink(
                    name,
                    inputs.layout,
                    inputs.dtype,
                    count,
                    written=written,
                    converted=rows,
                    line_end=inputs.order.end,
                    head=inputs.head,
                    most=most,
                    compression=compression,
                )
                self.sinks.append(sink)
                self._all.append(sink)
            if margin is not None and margin.file is not None:
                self._counts = open_sink(margin.file, COUNTS, COUNTS.dtype, None, most=_COUNT_BYTES * items)
                self._all.append(self._counts)
            join = job.operation.join
            if isinstance(join, Diff) and join.changes is not None:
                from gpumerge_cli.engine.changes import (  # not on the way of other jobs
                    HEADER,
                    ChangedColumns,
                    ChangesWriter,
                )

                layout = Layout(format_named("text"), Items("text"))
                changes = open_sink(join.changes, layout, None, None, head=HEADER, most=inputs.nbytes)
                self._all.append(changes)
                columns = inputs.written.changes or ChangedColumns(join, inputs).rows
                self._changes = ChangesWriter(self.sinks, changes, columns)
        except BaseException:
            self.abort()
            raise
        self.seekable = self.sinks[0].seekable
        """Whether writes may come in any order."""

    def writer(self, *, planned: bool, start: int = 0) -> SinkWriter:
        """A writer of items to the sinks, and of counts or changes to theirs. planned, start: see SinkWriter."""
        if self._changes is not None:
            return self._changes
        margin = self._operation.margin
        if margin is not None and margin.rules is not None:
            from gpumerge_cli.engine.sum_writer import SummedRowWriter, SumWriter  # not on the way of other jobs

            if margin.rules.in_rows:
                return SummedRowWriter(self.sinks)
            return SumWriter(self.sinks, margin.rules)
        if margin is not None and margin.is_apart and self._counts is None:
            return NumberedRowWriter(self.sinks, self._order)
        if self._counts is None:
            return SinkWriter(self.sinks, planned=planned, start=start)
        return CountingWriter(self.sinks, self._counts)

    @property
    def grid(self) -> tuple[int, int]:
        """(bytes of a block of the file, the position of the first item), for workers that must not share blocks.

        (1, 0) for several parts, which few workers share, and for an output that is not a file.
        """
        spot = self.sinks[0].spot
        if not isinstance(spot, SinkLocation) or len(self.sinks) > 1:
            return 1, 0
        return max(1, os.stat(spot.path).st_blksize), spot.start

    def reserve_space(self, *, by_devices: bool) -> None:
        """Reserve the space of each part, as far as it is known. by_devices: only devices produce the output."""
        operation = self._operation
        if operation.keeps_sizes:
            self.reserve(self.sizes)
            if by_devices:
                self._populate()
        elif operation.equals is Equals.UNION and operation.margin is None:
            with suppress(OutputError):  # they may need less; `finish` gives back some
                self.reserve(self.sizes)

    def reserve(self, sizes: Sequence[int]) -> None:
        """Reserve so many bytes of items of each part; again, once sizes are better known. See Sink."""
        if sizes != self._reserved:
            for sink, size in zip(self.sinks, sizes, strict=True):
                sink.reserve(size, self._threads)
        self._reserved = sizes

    def _populate(self) -> None:
        """Bring the reserved pages into memory while a device does the work and the cores have nothing else to do.

        Not if it is large for the memory: then the system would have to write it to storage to find room.
        """
        if sum(self._reserved) <= available_memory() // _SHARE:
            processes = self._threads or min(cores(), _MOST_AHEAD)
            for sink in self.sinks[:processes]:
                sink.populate(max(1, processes // len(self.sinks)))

    def end_with(self, text: bytes, outcome: Outcome) -> None:
        """Write `text` behind all items of the last part. Raises OutputError."""
        part, sink = outcome.per_part.setdefault(len(self.sinks) - 1, PartTotal()), self.sinks[-1]
        data = sink.encode(text if self._shown is None else self._shown(text))
        sink.write_at(part.nbytes, data)
        part.nbytes += len(data)

    def finish(self, outcome: Outcome, *, durable: bool) -> None:
        """Do all slow work before `commit`; the output does not appear yet. Raises OutputError.

        durable: see Sink.
        """
        per_part = [outcome.per_part.get(number, PartTotal()) for number in range(len(self.sinks))]
        items, expected = sum(part.items for part in per_part), sum(outcome.counts) - outcome.dropped
        if items != expected:  # a fault of this program, which must not cost anybody an item
            raise OutputError(f"{items} items were to be written instead of {expected}", where=self.names[0])
        if self._counts is not None:
            per_part.append(PartTotal(items, _COUNT_BYTES * items))
        if self._changes is not None:
            per_part.append(PartTotal(0, self._changes.nbytes))
        for sink, part in zip(self._all, per_part, strict=True):
            sink.finish(nbytes=part.nbytes, count=part.items, durable=durable)

    def commit(self, *, durable: bool) -> None:
        """Give all files their names, once they are finished.

        If one fails, those already in place are taken back. Raises OutputError.
        """
        try:
            # Objects come last: what they replace cannot be kept.
            for sink in sorted(self._all, key=lambda sink: is_url(sink.name)):
                sink.commit(durable=durable, keep=len(self._all) > 1)
        except OutputError as error:
            stay = [sink.name for sink in self._all if not sink.take_back()]
            what = "parts" if len(self._all) == len(self.sinks) else "files"
            if len(self._all) > 1:
                error.way_out = f"these {what} are new: {', '.join(stay)}" if stay else f"all {what} are as they were"
            raise
        if len(self._all) > 1:
            self.abort()

    def abort(self) -> None:
        """Remove what was written; after `commit`, what was kept of several files that were replaced."""
        for sink in self._all:
            with suppress(OSError):
                sink.abort()

    def parts(self, outcome: Outcome) -> tuple[OutputPart, ...]:
        """The content of each part, for a report."""
        found = (outcome.per_part.get(number, PartTotal()) for number in range(len(self.names)))
        return tuple(OutputPart(name, one.items, one.nbytes) for name, one in zip(self.names, found, strict=True))


def _items_of(inputs: Inputs, job: Job) -> OutputItems:
    """The items of a job, for an output of rows."""
    margin = job.operation.margin
    count = None if margin is None or margin.count == "apart" else margin.count
    has_names = margin is not None and bool(margin.names)
    joined, shown = job.operation.join is not None, inputs.written.shown
    return OutputItems(inputs.sources, inputs.order, shown, inputs.dtype, inputs.head, count, has_names, joined)
