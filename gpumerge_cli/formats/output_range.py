"""A file that another process has made: this one only writes bytes of it, each in its place."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Any

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import OutputError, lost_output, output_error
from gpumerge_cli.extents import SinkLocation, Target
from gpumerge_cli.formats.output_stream import LARGEST_WRITE, WRITERS, write_all
from gpumerge_cli.native.mapping import Mapping


class OutputRange:
    """The file of a place, which must be there, opened to write at any position. It is never cut, and stays as it is.

    Bytes that the place has mapped are written by a mapping if they are all there; else calls write, and take turns on
    one file. Raises OutputError, also if another file has the name by now: nothing is written to that.
    """

    seekable = True

    def __init__(self, place: SinkLocation) -> None:
        self.name = place.name
        self._place = place
        self._mapping: Mapping | None = None
        # Opening a pipe would wait for who reads it.
        how = (os.O_RDWR if place.mapped else os.O_WRONLY) | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self._descriptor = os.open(place.path, how)
        except FileNotFoundError:
            raise _removed(place.name) from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, or a pipe or socket
                raise _replaced(place.name) from None
            raise output_error(error, place.name) from None
        status = os.fstat(self._descriptor)
        if not _is_same(status, place.identity):
            self.abort()
            raise _replaced(place.name)
        if place.mapped and status.st_size >= place.mapped:
            with suppress(OSError):  # then it is written by calls
                self._mapping = Mapping(self._descriptor, place.mapped)

    def spot(self, start: int, dtype: Any) -> SinkLocation:
        """The same place."""
        mapped = 0 if self._mapping is None else self._mapping.nbytes
        return replace(self._place, start=start, dtype=dtype, mapped=mapped)

    def sent(self, start: int, nbytes: int, tag: str) -> None:
        """Nobody sends parts of it."""

    def stop(self) -> None:
        """Writes come to an end by themselves."""

    def target(self, start: int, swap: int) -> Target | None:
        """The place of the bytes from `start` on."""
        memory = 0 if self._mapping is None else self._mapping.address
        return Target(self.name, self._descriptor, start, LARGEST_WRITE, WRITERS, swap, memory)

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """The process that made the file has taken its room."""

    def end_at(self, nbytes: int) -> None:
        """The process that made the file looks at its size, and ends it."""

    def populate(self, threads: int) -> None:
        """The processes that write bring the pages into memory as they come to them."""

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data` at byte `position`. Raises OutputError."""
        if self._mapping is not None:
            if not self._mapping.write(position, data):
                raise lost_output(self.name)
        else:
            write_all(self._descriptor, data, position, self.name)

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


def _is_same(status: os.stat_result, identity: tuple[int, int] | None) -> bool:
    """Whether a file is the one that a place names. Device 0 stands for any."""
    return identity is None or (identity[0] in (0, status.st_dev) and identity[1] == status.st_ino)


def _replaced(name: str) -> OutputError:
    way_out = "write to a folder that nobody else may change, and run it again"
    return OutputError("another program replaced its temporary file", where=name, way_out=way_out)


def _removed(name: str) -> OutputError:
    return OutputError("its temporary file was removed", where=name, way_out="run it again")
