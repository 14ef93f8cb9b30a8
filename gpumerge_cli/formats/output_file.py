"""An output that is a file, which appears whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import threading
from functools import lru_cache
from typing import Any

from gpumerge_cli import costs
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import lost_output, output_error
from gpumerge_cli.extents import SinkLocation, Target
from gpumerge_cli.formats.output_stream import LARGEST_WRITE, WRITERS, write_all
from gpumerge_cli.native.mapping import Mapping
from gpumerge_cli.replacement import Replacement

# Mapping a file and taking the signal of its loss cost more than a few calls.
_LEAST_MAPPED = 8 << 20
# Room that is taken ahead of writes, where the size is not known. Shorter outputs take none.
_AHEAD = 64 << 20
_LEAST_AHEAD = 8 << 20
_KEEP_SIZE = 1  # of fallocate
FORCED = "GPUMERGE_TEST_MAPPED"
"""A variable that has outputs mapped (1) or not (0), whatever the cost model says; for measuring and tests."""

placed_files: dict[str, str] = {}
"""Files that were committed, by the names of their outputs."""


class OutputFile:
    """A regular file, written at any position beside its place and renamed into it by `commit`.

    most: about the bytes that a run may write, to this file and others; 0 if nobody knows.
    """

    seekable = True
    rewrites = True

    def __init__(self, name: str, most: int = 0) -> None:
        self.name = name
        self._most = most
        self._writing = threading.Semaphore(WRITERS)
        self._mapping: Mapping | None = None
        self._written = 0  # the end of the bytes that write_at wrote
        self._reserved = 0  # bytes that `reserve` was last called for
        self._held = 0  # those of them that have their room on the file system
        self._ahead = 0  # bytes for which `write_at` took room
        self._takes_room = most > 0
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

    def spot(self, start: int, dtype: Any) -> SinkLocation:
        """The temporary file, to which other processes can write items from byte `start` on."""
        mapped = 0 if self._mapping is None else self._mapping.nbytes
        return SinkLocation(self.name, self._made.temporary, start, dtype, mapped, self._made.identity)

    def sent(self, start: int, nbytes: int, tag: str) -> None:
        """Nobody sends parts of it."""

    def target(self, start: int, swap: int) -> Target | None:
        """The place of the bytes from `start` on."""
        memory = 0 if self._mapping is None else self._mapping.address
        return Target(self.name, self._made.descriptor, start, LARGEST_WRITE, WRITERS, swap, memory)

    def reserve(self, nbytes: int, threads: int | None = None) -> None:
        """Have room for `nbytes` in all, in place of an earlier size, if the file system can do that ahead of writes.

        An output that does not fit is refused before any work, and writes into reserved room are faster. Then the file
        is mapped if `threads` (None: one a core) write it faster so.
        """
        # Not os.posix_fallocate, which writes to every block where the file system cannot.
        if self._mapping is not None:
            self._mapping.close()
            self._mapping = None
        self._reserved, self._held = nbytes, 0
        if os.fstat(self._made.descriptor).st_size > nbytes:
            os.ftruncate(self._made.descriptor, nbytes)
        if not nbytes:
            return
        if _libc().fallocate(self._made.descriptor, 0, 0, nbytes):
            number = ctypes.get_errno()
            if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise output_error(OSError(number, ""), self.name)
        # Some file systems promise room that they do not take. A mapping would lose what does not fit.
        elif os.fstat(self._made.descriptor).st_blocks * 512 < nbytes:
            return
        else:
            self._held = nbytes
        if self._held and mapping_pays(nbytes, threads):
            with contextlib.suppress(OSError):  # then it is written by calls
                self._mapping = Mapping(self._made.descriptor, nbytes)

    def end_at(self, nbytes: int) -> None:
        """Give back the room that was reserved behind `nbytes`, which were written at least.

        Raises OutputError if others have cut the file since. Later writes make it as long again, but they give back no
        room that was reserved for what was lost.
        """
        status = os.fstat(self._made.descriptor)
        short = status.st_size < max(nbytes, self._written)
        if short or status.st_blocks * 512 < min(nbytes, self._held):
            raise lost_output(self.name)
        if self._reserved > nbytes:
            self._end_mapping()
            try:
                os.ftruncate(self._made.descriptor, nbytes)
            except OSError as error:
                raise output_error(error, self.name) from None

    def stop(self) -> None:
        """No thread waits here for another one's data."""

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
        end = position + len(data)
        with self._writing:
            if self._takes_room and not self._held:
                self._take_room(end)
            write_all(self._made.descriptor, data, position, self.name)
            self._written = max(self._written, end)

    def _take_room(self, end: int) -> None:
        """Take room for the bytes up to `end` and some more, if the file system can. The size stays as it is.

        Otherwise some file systems look for room as the file replaces another one, for all of it at once. On ext4 the
        rename of 0.8 GB took 0.35 s then, and 0.05 s with this room. None is taken from a file system that may become
        full: others, and other files of this run, could lack it.
        """
        if end <= max(self._ahead, _LEAST_AHEAD):
            return
        free = os.fstatvfs(self._made.descriptor)
        if free.f_bavail * free.f_frsize < self._most + _AHEAD:
            return
        start, self._ahead = self._ahead, end + min(_AHEAD, end)
        if _libc().fallocate(self._made.descriptor, _KEEP_SIZE, start, self._ahead - start):
            self._takes_room = False  # some of it may be taken; what does not fit is told by the write

    def _give_back_room(self) -> None:
        """Give back what _take_room took behind the end of the file."""
        if self._ahead:
            size = os.fstat(self._made.descriptor).st_size
            os.ftruncate(self._made.descriptor, size + 1)  # some file systems do nothing where the size stays the same
            os.ftruncate(self._made.descriptor, size)
            self._ahead = 0

    def finish(self, *, durable: bool = False) -> None:
        """Do all of `commit` that the loss of a write, or a lack of room, may make fail; further calls do nothing."""
        self._end_mapping()
        try:
            self._give_back_room()
            self._made.settle(durable=durable)
        except OSError as error:
            raise output_error(error, self.name) from None

    def commit(self, *, durable: bool = False, keep: bool = False) -> None:
        """Put the file in its place, in one step. durable: its bytes before, its name after are forced to storage.

        keep: what it replaces, so that `take_back` can put it there again, until `abort`.
        """
        self.finish(durable=durable)
        try:
            self._made.commit(durable=durable, keep=keep)
        except OSError as error:
            if self._made.in_place:
                placed_files[self.name] = self._made.place
            raise output_error(error, self.name) from None
        placed_files[self.name] = self._made.place
        if durable:
            try:
                self._made.sync_name()
            except OSError as error:
                problem = output_error(error, self.name)
                problem.way_out = "the new output is in place, but its name may not be on storage yet"
                raise problem from None

    def take_back(self) -> bool:
        """After a commit that keeps what there was, have the place as it was before; whether that could be done."""
        if not self._made.take_back():
            return False
        placed_files.pop(self.name, None)
        return True

    def abort(self) -> None:
        """Remove what was written; after `commit`, what it has kept."""
        if self._mapping is not None:
            self._mapping.close()
        if self._made.abort():
            placed_files[self.name] = self._made.place

    def _end_mapping(self) -> None:
        """Unmap the file, so that forcing it to storage takes all of it. Raises OutputError if bytes were lost."""
        if self._mapping is None:
            return
        short = os.fstat(self._made.descriptor).st_size < self._mapping.nbytes
        lost = self._mapping.lost or short
        self._mapping.close()
        self._mapping = None
        if lost:
            raise lost_output(self.name)


def mapping_pays(nbytes: int, threads: int | None) -> bool:
    """Whether so many threads write a file of `nbytes` faster by a mapping than by calls."""
    forced = os.environ.get(FORCED)
    if forced is not None:
        return forced == "1"
    cores = len(os.sched_getaffinity(0))
    return nbytes >= _LEAST_MAPPED and costs.load_costs().maps(cores if threads is None else min(threads, cores))


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return libc
