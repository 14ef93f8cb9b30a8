"""Outputs that are streams: written in order, and nothing to take back."""

from __future__ import annotations

import os
import sys
from typing import Any

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import as_os_error, output_error
from gpumerge_cli.extents import Target
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.patterns import pattern

# A call fills page cache in pieces of its own size, as large as its alignment allows. On ext4 calls of 1 MiB wrote 4.5
# to 4.8 GB/s where those of 128 KiB, which cat makes, wrote 2.7 to 4.2: a machine of 16 cores with its memory at hand.
# On a small one whose host first had to find so much of it in one place they took twice as long (both Linux 6).
_FEW_CORES = 2
LARGEST_WRITE = 128 << 10 if len(os.sched_getaffinity(0)) <= _FEW_CORES else 1 << 20
# A file takes one writer at a time. A second one is ready when it is done, if there is a core for it to wait on;
# further ones would only be in the way.
WRITERS = 1 if len(os.sched_getaffinity(0)) <= _FEW_CORES else 2
_NAMED_DESCRIPTOR = pattern(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]{1,6})")

begun_streams: list[str] = []
"""Streams that something was written to."""


class OutputStream:
    """Standard output, or a device or pipe named as output: written in order, nothing to take back."""

    seekable = False
    rewrites = False

    def __init__(self, name: str) -> None:
        self.name = "standard output" if name == STDIO else name
        number = descriptor_named(name)
        try:
            if number is not None:
                self._descriptor = os.dup(number)
            else:
                self._descriptor = os.open(name, os.O_WRONLY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise output_error(as_os_error(error), self.name) from None
        self._position = 0

    def spot(self, start: int, dtype: Any) -> None:
        """Other processes cannot write to a stream."""

    def sent(self, start: int, nbytes: int, tag: str) -> None:
        """Nobody sends parts of it."""

    def target(self, start: int, swap: int) -> Target | None:
        """A stream is written in order."""
        return None

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """A stream has no room of its own."""

    def end_at(self, nbytes: int) -> None:
        """It ends behind what was written, and nobody can cut what went out."""

    def stop(self) -> None:
        """No thread waits here for another one's data."""

    def populate(self, threads: int) -> None:
        """A stream is not mapped."""

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data`, which must follow what was written before."""
        assert position == self._position, "a stream is written in order"
        view = memoryview(data)
        if len(view) and self.name not in begun_streams:
            begun_streams.append(self.name)
        self._position += len(view)
        while len(view):
            try:
                view = view[os.write(self._descriptor, view[:LARGEST_WRITE]) :]
            except BrokenPipeError:
                raise
            except OSError as error:
                raise output_error(error, self.name) from None

    def finish(self, *, durable: bool = False) -> None:
        """A stream is at its end once it is closed."""

    def commit(self, *, durable: bool = False, keep: bool = False) -> None:
        """Close the stream; the arguments mean nothing here. Some file systems tell only now that a write failed."""
        descriptor, self._descriptor = self._descriptor, -1
        try:
            os.close(descriptor)
        except OSError as error:
            raise output_error(error, self.name) from None

    def take_back(self) -> bool:
        """Nothing to take back: bytes in a stream stay there."""
        return False

    def abort(self) -> None:
        """Close the stream."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def write_all(descriptor: int, data: Bytes, position: int, name: str) -> None:
    """Write all of `data` at byte `position` of a file. name: its name in errors. Raises OutputError."""
    view = memoryview(data)
    while len(view):
        try:
            count = os.pwrite(descriptor, view[: LARGEST_WRITE - position % LARGEST_WRITE], position)
        except OSError as error:
            raise output_error(error, name) from None
        view = view[count:]
        position += count


def descriptor_named(name: str) -> int | None:
    """The open descriptor that an output's name stands for, if it does.

    Outputs are written into such a descriptor. A regular file there is not replaced, because the process that opened it
    may go on writing to it.
    """
    if name == STDIO:
        return sys.stdout.fileno()
    found = _NAMED_DESCRIPTOR.fullmatch(os.path.normpath(name))
    if found is None:
        return None
    return {"stdout": 1, "stderr": 2}.get(found[1]) or int(found[2])


def is_terminal(name: str) -> bool:
    """True if `name` stands for an open descriptor that is a terminal."""
    try:
        number = descriptor_named(name)
        return number is not None and os.isatty(number)
    except (OSError, ValueError):
        return False
