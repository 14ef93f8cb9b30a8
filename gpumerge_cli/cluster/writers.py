"""The writers of a worker: to a range of the output, to a file of a run in a shared folder, or nowhere."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from zlib import crc32

from gpumerge_cli.cluster.shipment import FinishedRun
from gpumerge_cli.engine.parts import by_lines
from gpumerge_cli.engine.task import Position
from gpumerge_cli.engine.writers import Merged, NullWriter
from gpumerge_cli.errors import OutputError, output_error
from gpumerge_cli.extents import UploadLocation
from gpumerge_cli.formats.base import Sink
from gpumerge_cli.formats.fixed_source import foreign_keys
from gpumerge_cli.formats.sink import in_order_of
from gpumerge_cli.formats.stored_output import part_number
from gpumerge_cli.formats.stores.base import StoreError
from gpumerge_cli.measure import Span
from gpumerge_cli.replacement import check_name

_LARGEST_WRITE = 1 << 30
_BLOCK = 1 << 22


class RangeWriter(NullWriter):
    """Writes the pieces of each task one behind the other, from its offset on. See engine.writers.ResultWriter.

    planned: every piece has as many bytes as the plan says, so compiled code may write it itself.
    """

    def __init__(self, sinks: Sequence[Sink], *, planned: bool) -> None:
        super().__init__()
        self._sinks = sinks
        found = [sink.target for sink in sinks] if planned else []
        self.targets = [target for target in found if target is not None]
        self._local = threading.local()  # end: of what this thread has written of its task

    def begin(self, position: Position) -> None:
        """The calling thread begins a task."""
        self._local.end = position.offset

    def end(self, position: Position) -> str:
        """The calling thread has written all of its task; the tag of the part that went to a store, "" if none did."""
        return ""

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        written, sink = 0, self._sinks[position.part]
        for piece in by_lines(merged.outputs(), sink.line_end):
            start = time.perf_counter()
            data = sink.encode(piece)
            sink.write_at(self._local.end + written, data)
            written += len(data)
            merged.spans.append(Span("write", time.perf_counter() - start, len(data)))
        self._local.end += written  # not before: a device may lose a piece that is half written, and make it again
        return written


class SizeWriter(RangeWriter):
    """Counts the bytes of results, and writes nothing."""

    def __init__(self) -> None:
        super().__init__((), planned=False)

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        known = merged.merged_bytes
        return known if known >= 0 else sum(map(len, merged.outputs()))


class UploadWriter(RangeWriter):
    """Sends the result of each task to a store, as one part of an object. It lies in memory until it is whole."""

    def __init__(self, spots: Sequence[UploadLocation]) -> None:
        super().__init__((), planned=False)
        self._spots = spots
        self._foreign = [None if spot.dtype is None else foreign_keys(spot.dtype) for spot in spots]

    def begin(self, position: Position) -> None:
        self._local.data = bytearray()

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        data = self._local.data
        start = len(data)
        try:
            for piece in merged.outputs():
                data += memoryview(in_order_of(self._foreign[position.part], piece))
        except BaseException:
            del data[start:]  # it may be made again
            raise
        return len(data) - start

    def end(self, position: Position) -> str:
        spot, data = self._spots[position.part], self._local.data
        self._local.data = bytearray()
        if not data:
            return ""
        if not position.offset:
            data[:0] = spot.head
        try:
            tag: str = spot.upload.send(part_number(position.offset, spot.part_bytes), data)
        except StoreError as error:
            raise OutputError(error.what, where=spot.name, way_out=error.way_out) from None
        return tag


class RunFileWriter(RangeWriter):
    """Writes each result to a file of its own in a folder, named by its part; the file appears whole or not at all.

    sums: checksums are wanted.
    """

    def __init__(self, folder: str, *, sums: bool) -> None:
        super().__init__((), planned=False)
        self._folder = Path(folder)
        self._sums = sums

    @property
    def crc(self) -> int:
        """The CRC-32 of the run that the calling thread has written last; 0 if there are no sums."""
        return int(getattr(self._local, "crc", 0))

    def has(self, part: int, known: FinishedRun) -> bool:
        """Whether the run of that part is there, with all its bytes."""
        found = 0
        try:
            with open(self._folder / run_name(part), "rb") as file:
                if os.fstat(file.fileno()).st_size != known.size:
                    return False
                while block := file.read(_BLOCK):
                    found = crc32(block, found)
        except OSError:
            return False
        self._local.crc = found
        return found == known.crc

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        start = time.perf_counter()
        final = self._folder / run_name(position.part)
        path = final.with_name(f"{final.name}.{os.urandom(6).hex()}")
        self._local.crc = 0
        try:
            with open(path, "xb", buffering=0) as file:
                try:
                    for part in merged.outputs():
                        view = memoryview(part)
                        if self._sums:
                            self._local.crc = crc32(view, self._local.crc)
                        while len(view):
                            view = view[file.write(view[:_LARGEST_WRITE]) or 0 :]
                    self._name(path, file.fileno(), position.part, merged.merged_bytes)
                except BaseException:
                    os.unlink(path)
                    raise
        except OSError as error:
            raise output_error(error, str(self._folder)) from None
        merged.spans.append(Span("spill", time.perf_counter() - start, merged.merged_bytes))
        return merged.merged_bytes

    def _name(self, path: Path, descriptor: int, part: int, nbytes: int) -> None:
        """Give a run its name, unless it is there: others may read the one of a twin by now, and compare its time.

        A run of an earlier sort may be torn, so its checksum tells whether it stays.
        """
        final, crc = self._folder / run_name(part), self.crc
        rename_once(
            path, descriptor, final, stays=lambda: not self._sums or self.has(part, FinishedRun(nbytes, crc, ()))
        )
        self._local.crc = crc  # not that of the run that was there
        path.unlink(missing_ok=True)


def rename_once(path: Path, descriptor: int, final: Path, stays: Callable[[], bool] = lambda: True) -> None:
    """Give a file the name `final`, unless a file that `stays` has it. `path` may be left. Raises OSError.

    descriptor: the file, still open; a file of another program that took its name meanwhile is refused.
    """
    check_name(path, descriptor)
    try:
        os.link(path, final)
    except OSError:  # there is one, or the file system has no links
        if final.exists() and stays():
            return
        os.replace(path, final)
    check_name(final, descriptor)


def run_name(number: int) -> str:
    """The name of a run's file."""
    return f"run-{number:06}"
