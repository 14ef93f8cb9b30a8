"""Parts of an output of rows: workers encode groups to files in a shared folder, and the client puts them together.

A footer says where each group lies, and only the client knows that.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.cluster.folder import SharedFolder, output_path
from gpumerge_cli.cluster.shipment import Reply
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.sum_writer import SummedRowWriter
from gpumerge_cli.engine.task import Position, Task
from gpumerge_cli.engine.writers import Merged, NullWriter, NumberedRowWriter, ResultWriter, SinkWriter
from gpumerge_cli.errors import OutputError, output_error
from gpumerge_cli.formats.base import STDIO, Source
from gpumerge_cli.formats.registry import rows_writer
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.gather import Gather
    from gpumerge_cli.formats.tables.join_gather import JoinGather
    from gpumerge_cli.formats.tables.part_writer import PartWriter
    from gpumerge_cli.formats.tables.sink import RowSink
    from gpumerge_cli.formats.tables.table import TableWriter
    from gpumerge_cli.formats.tables.table_ranges import TableRanges

_MARK = ".gpumerge-parts-"
_NAME = re.compile("part-[0-9]{6,}[.][0-9a-f]{12}")


@dataclass(frozen=True)
class EncodedRows:
    """The result of a task, in a file of the shared folder."""

    file: str
    """Its name there."""
    groups: Sequence[tuple[Any, int]]
    """The facts of each group, see TableWriter.detached, and its bytes."""


class PartFile:
    """A file in the shared folder that a task writes. It stays if all was written."""

    seekable = False

    def __init__(self, folder: str, number: int) -> None:
        self.name = f"part-{number:06}.{os.urandom(6).hex()}"
        self._folder = folder
        self._path = os.path.join(folder, self.name)
        try:
            self._file = open(self._path, "xb", buffering=0)  # noqa: SIM115 - closed by finish or abort
        except OSError as error:
            raise output_error(error, folder) from None

    def write_at(self, position: int, data: Bytes) -> None:
        """Write data behind all others. Raises OutputError."""
        view = memoryview(data).cast("B")
        try:
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            raise output_error(error, self._folder) from None

    def finish(self, *, durable: bool = False) -> None:
        """Close the file, so that other machines see its bytes."""
        try:
            self._file.close()
        except OSError as error:
            raise output_error(error, self._folder) from None

    def stop(self) -> None:
        """Nobody waits."""

    def abort(self) -> None:
        """Remove it."""
        self._file.close()
        Path(self._path).unlink(missing_ok=True)


class RowWriter(NullWriter):
    """Writes the rows of a task's items to a file. See ResultWriter.

    order: of the items. outer: knows whether results are wanted.
    """

    def __init__(
        self,
        folder: str,
        number: int,
        gather: Gather | JoinGather,
        part: PartWriter,
        order: Order,
        outer: ResultWriter,
    ) -> None:
        from gpumerge_cli.formats.tables.sink import RowSink
        from gpumerge_cli.formats.tables.summed import SumColumns

        super().__init__()
        self.file = PartFile(folder, number)
        self._sink = RowSink(self.file, gather, part, line_end=order.end[0] if order.end else None)
        self._part = part
        self._outer = outer
        self._is_whole = False
        sinks = [self._sink]
        numbered = gather.numbered
        self._writer = SinkWriter(sinks, planned=False)
        if isinstance(numbered, SumColumns):
            self._writer = SummedRowWriter(sinks)
        elif numbered is not None:
            self._writer = NumberedRowWriter(sinks, order)

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        return self._writer.put(turn, position, merged, last=last)

    def is_over(self, turn: int) -> bool:
        return self._writer.is_over(turn) or self._outer.is_over(turn)

    def end(self) -> EncodedRows:
        """All items were written."""
        if isinstance(self._writer, SummedRowWriter):
            self._writer.end()
        self._sink.finish()
        self._is_whole = True
        return EncodedRows(self.file.name, self._part.groups)

    def close(self) -> None:
        """Remove the file, unless all items were written."""
        if not self._is_whole:
            self.file.abort()


@dataclass(frozen=True)
class RowParts:
    """Gives each task of a worker its writer."""

    folder: str
    gather: Gather | JoinGather
    writer: Callable[[Gather | JoinGather], TableWriter]
    order: Order
    """Compares the items."""

    @classmethod
    def of(cls, job: Job, inputs: Inputs, folder: str) -> RowParts | None:
        """The parts of an output of rows; None for other items."""
        rows = inputs.written.rows
        if rows is None or not folder:
            return None

        def writer(gather: Gather | JoinGather) -> TableWriter:
            return rows_writer(job.output.name, inputs.layout, gather.output_schema, gather.settings)

        return cls(folder, rows, writer, inputs.order)

    def over(self, runs: Sequence[Source], order: Order) -> RowParts:
        """The parts of an output of runs. order: of their items."""
        tables = [run.table for run in cast("Sequence[TableRanges]", runs)]
        return replace(self, gather=cast("Gather", self.gather).of_runs(tables, order.item_bytes), order=order)

    def begun(self, task: Task, outer: ResultWriter) -> RowWriter:
        """The writer of a task."""
        from gpumerge_cli.formats.tables.part_writer import PartWriter

        gather = self.gather.again()
        return RowWriter(self.folder, task.turn, gather, PartWriter(self.writer(gather)), self.order, outer)


class PartCollector:
    """Puts the parts of an output together as they come, in their order."""

    def __init__(self, output: Output, folder: Path) -> None:
        self._output = output
        self.folder = folder
        """That of the parts."""
        self._waiting: dict[tuple[int, int], tuple[Task, EncodedRows]] = {}
        self._ends = [0] * len(output.sinks)  # the offset of the next task of each part of the output

    def on_done(self, task: Task, answer: Reply) -> None:
        """Take the result of a task, and write all that have their turn. Raises OutputError."""
        rows, part = answer.result.rows, task.position.part
        assert isinstance(rows, EncodedRows), "of an output of rows"
        self._waiting[part, task.position.offset] = task, rows
        while (part, self._ends[part]) in self._waiting:
            task, rows = self._waiting.pop((part, self._ends[part]))
            sink = cast("RowSink", self._output.sinks[part])
            sink.add(self._groups(rows))
            self._ends[part] += task.nbytes

    def _groups(self, rows: EncodedRows) -> Iterator[tuple[Any, Bytes]]:
        """The facts and bytes of each group in a file, which is removed."""
        path = self.folder / rows.file
        try:
            if _NAME.fullmatch(rows.file) is None:
                raise FileNotFoundError
            with open(path, "rb") as file:
                for facts, nbytes in rows.groups:
                    data = file.read(nbytes)
                    if len(data) < nbytes:
                        raise OutputError("a temporary file has become shorter", where=str(path))
                    yield facts, data
            path.unlink()
        except OSError as error:
            raise output_error(error, str(path)) from None


def parts_folder(job: Job, output: Output, *, here: bool) -> SharedFolder:
    """The folder of the parts of an output. Raises UsageError if none is known that all see. here: see Workers."""
    name, folders = output.names[0], job.resources.folders
    if here and not folders:
        folders = (tempfile.gettempdir(),)
    if name == STDIO:
        return SharedFolder(os.path.join(".", "rows"), folders, _MARK)
    return SharedFolder(output_path(name, folders, "rows to an object need a folder for their parts"), folders, _MARK)
