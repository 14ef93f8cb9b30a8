"""Outputs that appear whole or not at all, and streams, which cannot be taken back."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import stat
import sys
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from gpumerge_cli import replacement
from gpumerge_cli.backends import costs
from gpumerge_cli.backends.cpu.mapping import Mapping
from gpumerge_cli.errors import OutputError, as_os_error, lost_output, output_error
from gpumerge_cli.extents import Target
from gpumerge_cli.formats.base import STDIO, Bytes
from gpumerge_cli.replacement import Replacement

# A call fills page cache in pieces of its own size, as large as its alignment allows. On ext4 calls of 1 MiB wrote 4.5
# to 4.8 GB/s where those of 128 KiB, which cat makes, wrote 2.7 to 4.2: a machine of 16 cores with its memory at hand.
# On a small one whose host first had to find so much of it in one place they took twice as long (both Linux 6).
_FEW_CORES = 2
_LARGEST_WRITE = 128 << 10 if len(os.sched_getaffinity(0)) <= _FEW_CORES else 1 << 20
# Mapping a file and taking the signal of its loss cost more than a few calls.
_LEAST_MAPPED = 8 << 20
FORCED = "GPUMERGE_TEST_MAPPED"
"""A variable that has outputs mapped (1) or not (0), whatever the cost model says; for measuring and tests."""
_NAMED_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]{1,6})")


class OutputFile:
    """A regular file, written at any position beside its place and renamed into it by `commit`."""

    seekable = True

    def __init__(self, name: str) -> None:
        self.name = name
        # A file takes one writer at a time. A second one is ready when it is done, if there is a core for it to wait
        # on; further ones would only be in the way.
        self._writers = 1 if len(os.sched_getaffinity(0)) <= _FEW_CORES else 2
        self._writing = threading.Semaphore(self._writers)
        self._mapping: Mapping | None = None
        try:
            self._made = Replacement(name)
        except OSError as error:
            problem = output_error(error, name)
            place = os.path.realpath(name) if error.filename else name  # the current folder may be gone
            denied = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            if denied and error.filename not in (None, place):  # it is the new file's name
                folder = os.path.dirname(place)
                problem.way_out = f"outputs are made beside their place: {folder} must be writable, too"
            raise problem from None

    def target(self, start: int, swap: int) -> Target | None:
        """The place of the bytes from `start` on."""
        memory = 0 if self._mapping is None else self._mapping.address
        return Target(self.name, self._made.descriptor, start, _LARGEST_WRITE, self._writers, swap, memory)

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """Have room for `nbytes` in all, if the file system can do that ahead of the writes.

        An output that does not fit is refused before any work, and writes into reserved room are faster. Then the file
        is mapped if `threads` (None: one a core) write it faster so.
        """
        # Not os.posix_fallocate, which writes to every block where the file system cannot.
        if not nbytes:
            return
        if _libc().fallocate(self._made.descriptor, 0, 0, nbytes):
            number = ctypes.get_errno()
            if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise output_error(OSError(number, ""), self.name)
        # Some file systems promise room that they do not take. A mapping would lose what does not fit.
        elif os.fstat(self._made.descriptor).st_blocks * 512 >= nbytes and mapping_pays(nbytes, threads):
            with contextlib.suppress(OSError):  # then it is written by calls
                self._mapping = Mapping(self._made.descriptor, nbytes)

    def populate(self, threads: int) -> None:
        """Have so many threads bring a mapped file's pages into memory until `commit` or `abort`; at once back."""
        if self._mapping is not None:
            self._mapping.populate(threads)

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data` at byte `position`."""
        if self._mapping is not None:
            if not self._mapping.write(position, data):
                raise lost_output(self.name)
            return
        view = data.data
        with self._writing:
            while len(view):
                try:
                    count = os.pwrite(
                        self._made.descriptor, view[: _LARGEST_WRITE - position % _LARGEST_WRITE], position
                    )
                except OSError as error:
                    raise output_error(error, self.name) from None
                view = view[count:]
                position += count

    def commit(self, *, durable: bool = False) -> None:
        """Put the file in its place, in one step. durable: its bytes before, its name after are forced to storage."""
        self._end_mapping()
        try:
            self._made.commit(durable=durable)
        except OSError as error:
            raise output_error(error, self.name) from None
        _placed[self.name] = self._made.place
        if durable:
            try:
                self._made.sync_name()
            except OSError as error:
                problem = output_error(error, self.name)
                problem.way_out = "the new output is in place, but its name may not be on storage yet"
                raise problem from None

    def abort(self) -> None:
        """Remove what was written; does nothing after `commit`."""
        if self._mapping is not None:
            self._mapping.close()
        if self._made.abort():
            _placed[self.name] = self._made.place

    def _end_mapping(self) -> None:
        """Unmap the file, so that forcing it to storage takes all of it. Raises OutputError if bytes were lost."""
        if self._mapping is None:
            return
        short = os.fstat(self._made.descriptor).st_size < self._mapping.nbytes
        lost = self._mapping.lost or short
        self._mapping.close()
        if lost:
            raise lost_output(self.name)


def mapping_pays(nbytes: int, threads: int | None) -> bool:
    """Whether so many threads write a file of `nbytes` faster by a mapping than by calls."""
    forced = os.environ.get(FORCED)
    if forced is not None:
        return forced == "1"
    cores = len(os.sched_getaffinity(0))
    return nbytes >= _LEAST_MAPPED and costs.load().maps(cores if threads is None else min(threads, cores))


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return libc


_placed: dict[str, Path] = {}
_begun: list[str] = []
"""Outputs that were committed, by their names; streams that something was written to."""


def remove_unfinished() -> None:
    """Remove the temporary files of all outputs that were not brought to an end. For the end of the program."""
    replacement.remove_unfinished()
    _placed.clear()
    _begun.clear()


def given() -> str:
    """A sentence for users: which outputs exist if the program ends now."""
    whole = [f"{name} is complete" for name, place in _placed.items() if place.exists()]
    return ", ".join(whole + [f"{name} has a part of the output" for name in _begun]) or "no output was written"


class OutputStream:
    """Standard output, or a device or pipe named as output: written in order, nothing to take back."""

    seekable = False

    def __init__(self, name: str) -> None:
        self.name = "standard output" if name == STDIO else name
        number = _descriptor_named(name)
        try:
            if number is not None:
                self._descriptor = os.dup(number)
            else:
                self._descriptor = os.open(name, os.O_WRONLY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise output_error(as_os_error(error), self.name) from None
        self._position = 0

    def target(self, start: int, swap: int) -> Target | None:
        """A stream is written in order."""
        return None

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """A stream has no room of its own."""

    def populate(self, threads: int) -> None:
        """A stream is not mapped."""

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data`, which must follow what was written before."""
        assert position == self._position, "a stream is written in order"
        view = data.data
        if self._position == 0:
            _begun.append(self.name)
        self._position += len(view)
        while len(view):
            try:
                view = view[os.write(self._descriptor, view[:_LARGEST_WRITE]) :]
            except BrokenPipeError:
                raise
            except OSError as error:
                raise output_error(error, self.name) from None

    def commit(self, *, durable: bool = False) -> None:
        """Close the stream; durable means nothing here. Some file systems tell only now that a write failed."""
        descriptor, self._descriptor = self._descriptor, -1
        try:
            os.close(descriptor)
        except OSError as error:
            raise output_error(error, self.name) from None

    def abort(self) -> None:
        """Close the stream."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def open_output(name: str) -> OutputFile | OutputStream:
    """The right kind of output for `name`. Raises OutputError."""
    if not name or name.endswith("/"):
        raise OutputError(f"{name!r} is no name of a file", way_out="name a file, or - for standard output")
    if _descriptor_named(name) is not None:
        return OutputStream(name)
    try:
        kind = os.stat(name).st_mode
    except FileNotFoundError:
        return OutputFile(name)
    except OSError as error:
        raise output_error(error, name) from None
    return OutputFile(name) if stat.S_ISREG(kind) or stat.S_ISDIR(kind) else OutputStream(name)


def look_at(name: str) -> None:
    """Raise the OutputError that opening the output would, and leave it as it is.

    Pipes and devices are not opened: that may wait for a reader.
    """
    if name == STDIO or _descriptor_named(name) is not None:
        return
    if not os.path.exists(name) or os.path.isfile(name) or os.path.isdir(name):
        open_output(name).abort()
    elif not os.access(name, os.W_OK):
        raise output_error(PermissionError(errno.EACCES, ""), name)


def refuse_inputs(name: str, inputs: Sequence[str]) -> None:
    """Raise OutputError if the output `name` is an open file that holds one of `inputs`.

    What is written to it changes what is still to be read. Outputs with names of their own replace files as a whole.
    """
    with contextlib.suppress(OSError, ValueError):  # opening them will report it
        number = _descriptor_named(name)
        written = None if number is None else os.fstat(number)
        if written is None or not stat.S_ISREG(written.st_mode) or not written.st_size:
            return
        for one in inputs:
            if os.path.samestat(os.fstat(0) if one == STDIO else os.stat(one), written):
                what = "standard output" if name == STDIO else name
                raise OutputError(
                    f"it is the input {one}, too", where=what, way_out="name it with -o, or use another file"
                )


def _descriptor_named(name: str) -> int | None:
    """The open descriptor that an output's name stands for, if it does.

    What lies behind such a name may be a regular file, but one that somebody else has open and goes on writing to: it
    must not be replaced.
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
        number = _descriptor_named(name)
        return number is not None and os.isatty(number)
    except (OSError, ValueError):
        return False
