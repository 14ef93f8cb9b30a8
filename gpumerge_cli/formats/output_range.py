"""A file that another process has made: this one only writes bytes of it, each in its place."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from gpumerge_cli.backends.cpu.mapping import Mapping
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import OutputError, lost_output, output_error
from gpumerge_cli.extents import Spot, Target
from gpumerge_cli.formats.output_stream import FEW_CORES, LARGEST_WRITE


class OutputRange:
    """The file at `path`, which must be there, opened to write at any position. It is never cut, and stays as it is.

    name: the name in messages. mapped: bytes of the file, which are all there, to be written by a mapping; 0 to write
    by calls, which take turns on one file. Raises OutputError.
    """

    seekable = True

    def __init__(self, name: str, path: str, mapped: int = 0) -> None:
        self.name = name
        self.path = path
        self._mapping: Mapping | None = None
        self._writers = 1 if len(os.sched_getaffinity(0)) <= FEW_CORES else 2
        try:
            self._descriptor = os.open(path, (os.O_RDWR if mapped else os.O_WRONLY) | os.O_CLOEXEC)
        except FileNotFoundError:
            raise _removed(name) from None
        except OSError as error:
            raise output_error(error, name) from None
        if mapped and os.fstat(self._descriptor).st_size >= mapped:
            with suppress(OSError):  # then it is written by calls
                self._mapping = Mapping(self._descriptor, mapped)

    def spot(self, start: int, dtype: Any) -> Spot:
        """The same place."""
        return Spot(self.name, self.path, start, dtype, 0 if self._mapping is None else self._mapping.nbytes)

    def sent(self, start: int, nbytes: int, tag: str) -> None:
        """Nobody sends parts of it."""

    def stop(self) -> None:
        """Writes come to an end by themselves."""

    def target(self, start: int, swap: int) -> Target | None:
        """The place of the bytes from `start` on."""
        memory = 0 if self._mapping is None else self._mapping.address
        return Target(self.name, self._descriptor, start, LARGEST_WRITE, self._writers, swap, memory)

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """The process that made the file has taken its room."""

    def judge(self, nbytes: int) -> None:
        """The process that made the file looks at its size."""

    def cut(self, nbytes: int) -> None:
        """The process that made the file ends it."""

    def populate(self, threads: int) -> None:
        """The processes that write bring the pages into memory as they come to them."""

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data` at byte `position`. Raises OutputError."""
        if self._mapping is not None:
            if not self._mapping.write(position, data):
                raise lost_output(self.name)
            return
        view = memoryview(data)
        while len(view):
            try:
                count = os.pwrite(self._descriptor, view[: LARGEST_WRITE - position % LARGEST_WRITE], position)
            except OSError as error:
                raise output_error(error, self.name) from None
            view = view[count:]
            position += count

    def finish(self, *, durable: bool = False) -> None:
        """Have the file system take all bytes written so far, and say whether it could. durable: onto storage.

        Raises OutputError, also if the file has no name any more: then nobody would ever read the bytes.
        """
        try:
            if durable:
                os.fsync(self._descriptor)
            # NFS sends what it holds, and tells of errors, as a descriptor is closed.
            os.close(os.dup(self._descriptor))
            gone = not os.fstat(self._descriptor).st_nlink
        except OSError as error:
            raise output_error(error, self.name) from None
        if gone:
            raise _removed(self.name)
        if self._mapping is not None and self._mapping.lost:
            raise lost_output(self.name)

    def commit(self, *, durable: bool = False, keep: bool = False) -> None:
        """The process that made the file puts it in its place."""

    def take_back(self) -> bool:
        """There is nothing to take back."""
        return False

    def abort(self) -> None:
        """Close the file; a second call does nothing."""
        if self._mapping is not None:
            self._mapping.close()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _removed(name: str) -> OutputError:
    return OutputError("its temporary file was removed", where=name, way_out="run it again")
