"""The work of a worker that decompresses inputs: each task makes a plain copy of one in a shared folder."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO, Any

from gpumerge_cli.cluster.file_checks import check_inputs
from gpumerge_cli.cluster.shipment import Shipment
from gpumerge_cli.cluster.writers import rename_once
from gpumerge_cli.engine.task import Task, TaskResult
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import ClusterError, output_error
from gpumerge_cli.formats.naming import unpack_input
from gpumerge_cli.measure import Span


def copy_name(number: int) -> str:
    """The name of the copy of an input."""
    return f"copy-{number:06}"


class Unpacker:
    """Decompresses the inputs of a shipment to its folder. A copy appears whole or not at all."""

    def __init__(self, shipment: Shipment) -> None:
        self.shipment = shipment
        self.active = 0
        self.writer = NullWriter()

    def do(self, task: Task) -> tuple[TaskResult, str]:
        """Decompress the input that is the task's part; the result, and the tag of the input's state.

        Raises InputError, OutputError, ClusterError.
        """
        number, start = task.position.part, time.perf_counter()
        one = self.shipment.inputs[number]
        final = Path(self.shipment.folder) / copy_name(number)
        path = final.with_name(f"{final.name}.{os.urandom(6).hex()}")
        check_inputs([one])
        try:
            with open(path, "xb", buffering=0) as file:
                tag = unpack_input(one.path, _Copy(file, self.shipment.folder), self._check_running)
                nbytes = file.tell()
                check_inputs([one])
                # A duplicate of this task may have made the copy, which others may read by now.
                rename_once(path, file.fileno(), final)
        except OSError as error:
            raise output_error(error, self.shipment.folder) from None
        finally:
            path.unlink(missing_ok=True)
        spans = [Span("decompress", time.perf_counter() - start, nbytes)]
        return TaskResult(counts=[0], written=nbytes, nbytes=task.nbytes, spans=spans, part=number), tag

    def _check_running(self, share: float) -> None:
        if self.writer.is_over(0):
            raise ClusterError("the run was stopped")

    def stop(self) -> None:
        """Have tasks under way end soon."""
        self.writer.stop()

    def close(self) -> None:
        """It keeps nothing."""


class _Copy:
    """A file to be written, whose errors are the output's."""

    def __init__(self, file: IO[bytes], folder: str) -> None:
        self._file = file
        self._folder = folder

    def write(self, data: Any, /) -> int:
        """See Writable. Raises OutputError."""
        view = memoryview(data)
        try:
            while len(view):
                view = view[self._file.write(view) :]
        except OSError as error:
            raise output_error(error, self._folder) from None
        return len(data)
