"""Inputs: positioned reads, whatever the input is."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import stat
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from typing import IO

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError, as_os_error, input_error
from gpumerge_cli.extents import DecompressedCopy, Extent
from gpumerge_cli.formats import compressed
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.read_ahead import read_ahead_of, take
from gpumerge_cli.formats.spool import SharedSpool, new_spool

# One call moves at most 2^31 - 4096 bytes on Linux.
_LARGEST_READ = 1 << 30
_SPARED_DESCRIPTORS = 64
_PIECE = 1 << 16


class SeekableInput:
    """An input, read at any position from any thread.

    A pipe or a compressed file is first copied, as it flows out or decompressed, to an unnamed temporary file.
    Descriptors are few: once this process has few left, further files are opened when they are read, one a thread at a
    time, so any number of inputs can be merged in one pass.

    plain: whatever its name says, it is not compressed. progress: called with the share of a compressed file that was
    decompressed, again and again. folder: for a copy of what cannot be read in place; None for the system's. copy: its
    content, decompressed by others, which is read in its place. stays: others who share standard input still get all of
    it; else they go on at its end.
    """

    tag = ""
    """Tells the content of an object of a store, or of a copy, from that of others under its name; else ""."""

    def __init__(
        self,
        name: str,
        *,
        plain: bool = False,
        progress: Callable[[float], None] = lambda share: None,
        folder: str | None = None,
        copy: DecompressedCopy | None = None,
        stays: bool = False,
    ) -> None:
        self.name = name
        self.tag = copy.tag if copy is not None else ""
        self._folder = folder
        self._path = copy.path if copy is not None else name
        packed = "" if plain or copy is not None else compressed.compression_of(name)
        ahead = None if copy is not None else take(name)
        descriptor = _opened_file(name, self._path) if ahead is None else ahead.descriptor
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, "")
            in_place = not packed and ahead is None and _can_be_read_in_place(descriptor, status)
            self.start = _position(descriptor, stays=stays) if in_place and name == STDIO else 0
            if ahead is not None:
                with new_spool(name, folder) as out:
                    ahead.copy(out)
                    out.flush()
                    spool = os.dup(out.fileno())
            elif not in_place:
                spool = _spooled(descriptor, name, packed, progress, folder)
            if not in_place:
                os.close(descriptor)
                descriptor = spool
                status = os.fstat(descriptor)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise input_error(error, name) from None
            raise
        self.size = max(0, status.st_size - self.start)
        self._state = _state_of(status)
        self._descriptor = descriptor
        self._shared: SharedSpool | None = None
        if descriptor >= _kept_descriptors() and not in_place:
            self._shared, self.start = SharedSpool.of_all(descriptor, name, folder)
            self._descriptor = self._shared.descriptor
        elif descriptor >= _kept_descriptors() and name != STDIO:
            os.close(descriptor)
            self._descriptor = -1

    def replaced(self, write: Callable[[IO[bytes]], None]) -> SeekableInput:
        """This file as what `write` writes to a temporary file; this one is closed."""
        copy = self.beside(write)
        self.close()
        return copy

    def beside(self, write: Callable[[IO[bytes]], None], folder: str | None = None) -> SeekableInput:
        """An input of this name that holds what `write` writes to a temporary file; this one stays open.

        folder: that of the file; None for the one of copies of this input.
        """
        with new_spool(self.name, folder or self._folder) as spool:
            write(spool)
            spool.flush()
            descriptor = os.dup(spool.fileno())
        copy = SeekableInput.__new__(SeekableInput)
        status = os.fstat(descriptor)
        copy.name, copy.start, copy.size, copy._folder = self.name, 0, status.st_size, self._folder
        copy._state, copy._descriptor, copy._shared = _state_of(status), descriptor, None
        copy.tag, copy._path = self.tag, self.name
        return copy

    def extent(self, start: int, held: int, swap: int = 0) -> Extent | None:
        """The place of the `held` bytes from byte `start` on; None if the file is opened when it is read."""
        return None if self._descriptor < 0 else Extent(self._descriptor, self.start + start, held, swap)

    def pieces(self, count: int, first: int = 0) -> Iterator[bytes]:
        """The content from byte `first` on, `count` bytes at a time. Raises InputError if the file ends too soon."""
        for start in range(first, self.size, count):
            yield self.read_exactly(start, min(count, self.size - start))

    def read_into(self, position: int, out: Bytes) -> None:
        """Fill `out` from byte `position` on. Raises InputError if the file ends before that."""
        view = memoryview(out)
        at = self.start + position
        with self._opened() as descriptor:
            while len(view):
                try:
                    count = os.preadv(descriptor, [view[:_LARGEST_READ]], at)
                except OSError as error:
                    raise input_error(error, self.name) from None
                if count == 0:
                    raise InputError(
                        f"the file ends at byte {at - self.start}, {self.start + self.size - at} bytes sooner than "
                        "when it was opened",
                        where=self.name,
                        way_out="merge it again when nothing writes to it",
                    )
                view = view[count:]
                at += count

    def read(self, position: int, count: int) -> bytes:
        """Up to `count` bytes from byte `position` on, fewer only at the end of the file."""
        count = max(0, min(count, self.size - position))
        try:
            if self._descriptor >= 0:
                return os.pread(self._descriptor, count, self.start + position)
            with self._opened() as descriptor:
                return os.pread(descriptor, count, position)
        except OSError as error:
            raise input_error(error, self.name) from None

    def read_exactly(self, position: int, count: int) -> bytes:
        """`count` bytes from byte `position` on. Raises InputError if the file ends before that."""
        data = self.read(position, count)
        if len(data) < count:
            out = bytearray(count)
            self.read_into(position, out)
            return bytes(out)
        return data

    def check_unchanged(self) -> None:
        """Raise InputError if the file was written to, or replaced by another, since it was opened."""
        if self._shared is not None:
            return
        if self._descriptor < 0:
            _held.file = None  # the thread may still hold the file that was here before
        with self._opened() as descriptor:
            self._compare(os.fstat(descriptor))

    def close(self) -> None:
        """Give the descriptor back; a second call does nothing."""
        if self._shared is not None:
            self._shared, self._descriptor = None, -1
        elif self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        elif _held.file is not None and _held.file.owner is self:
            _held.file = None

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        if self._descriptor >= 0:
            yield self._descriptor
            return
        if _held.file is None or _held.file.owner is not self:
            _held.file = None  # closed before the next one is opened
            held = _Held(self, _opened_file(self.name, self._path))
            self._compare(os.fstat(held.descriptor))
            _held.file = held
        yield _held.file.descriptor

    def _compare(self, status: os.stat_result) -> None:
        if _state_of(status) != self._state:
            raise changed_error(self.name)


def _opened_file(name: str, path: str) -> int:
    """The descriptor of the input `name`, which lies at `path` if it is not standard input."""
    if not name:
        raise InputError("'' is not a file name", way_out="name a file, or - for standard input")
    if name == STDIO and sys.stdin is None:
        raise InputError("it is closed", where="standard input", way_out="name a file")
    try:
        if name == STDIO:
            return os.dup(sys.stdin.fileno())
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise input_error(as_os_error(error), name) from None


def file_beginning(name: str) -> Generator[bytes, None, None]:
    """The content of a file or pipe as it stands, in pieces. See naming.beginning_of."""
    if _stays_readable(name):
        with contextlib.closing(SeekableInput(name, plain=True, stays=True)) as file:
            yield from file.pieces(_PIECE)
        return
    try:
        yield from read_ahead_of(name, lambda: _opened_file(name, name)).pieces()
    except OSError as error:
        raise input_error(error, name) from None


def _stays_readable(name: str) -> bool:
    """Whether an input that was read can be read again."""
    if name != STDIO:
        return os.path.isfile(name)
    with contextlib.suppress(OSError, ValueError):
        descriptor = -1 if sys.stdin is None else sys.stdin.fileno()
        return descriptor >= 0 and _can_be_read_in_place(descriptor, os.fstat(descriptor))
    return False


def check_file(name: str) -> None:
    """Raise the InputError that opening the input would, as far as that is known without opening it.

    Opening or reading a pipe or a device may take for ever.
    """
    if not name or name == STDIO:
        return  # opening it will report that at once
    try:
        if stat.S_ISDIR(os.stat(name).st_mode):
            raise IsADirectoryError(errno.EISDIR, "")
        if not os.access(name, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise PermissionError(errno.EACCES, "")
    except (OSError, ValueError) as error:
        raise input_error(as_os_error(error), name) from None


class _Held:
    """A descriptor that is closed when nothing refers to it any more, the end of its thread included."""

    def __init__(self, owner: SeekableInput, descriptor: int) -> None:
        self.owner = owner
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)


class _HeldByThread(threading.local):
    file: _Held | None = None


_held = _HeldByThread()
"""The one file that a thread has opened for reading and not yet closed: most reads of a file follow each other."""


def _position(descriptor: int, *, stays: bool) -> int:
    """The position from which an open file is read. Moves it to the end unless it `stays`."""
    start = os.lseek(descriptor, 0, os.SEEK_CUR)
    if not stays:
        os.lseek(descriptor, 0, os.SEEK_END)
    return start


def _can_be_read_in_place(descriptor: int, status: os.stat_result) -> bool:
    """True if the file can be read at any position. Pipes cannot, nor files of /sys, whose sizes are made up."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if not status.st_size:
        return not os.pread(descriptor, 1, 0)
    return os.pread(descriptor, 1, status.st_size - 1) != b""


def _state_of(status: os.stat_result) -> tuple[int, ...]:
    """Numbers that change when a file is written to or replaced."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def open_files_limit() -> int:
    """The number of files that this process may have open at once, as many as the system lets it have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft


def _kept_descriptors() -> int:
    """The number from which on descriptors are not kept: a few are left for outputs, pipes and libraries."""
    return max(0, open_files_limit() - _SPARED_DESCRIPTORS)


def _spooled(descriptor: int, name: str, packed: str, progress: Callable[[float], None], folder: str | None) -> int:
    """The descriptor of an unnamed temporary file that holds all `descriptor` gives, decompressed if it is `packed`."""
    with new_spool(name, folder) as spool:
        with os.fdopen(os.dup(descriptor), "rb", buffering=0) as raw:
            before = os.fstat(descriptor)
            if packed and not stat.S_ISREG(before.st_mode):
                with new_spool(name, folder) as whole:  # readers of compressed data go back and forth in them
                    _copy(raw, whole, name, "", progress)
                    whole.seek(0)
                    _copy(whole, spool, name, packed, progress)
            else:
                _copy(raw, spool, name, packed, progress)
            if stat.S_ISREG(before.st_mode) and _state_of(os.fstat(descriptor)) != _state_of(before):
                raise changed_error(name)
        spool.flush()
        return os.dup(spool.fileno())


def unpack_file(name: str, out: compressed.Writable, progress: Callable[[float], None]) -> None:
    """Write the decompressed content of a file to `out`. See naming.unpack_input."""
    check_file(name)
    try:
        with open(name, "rb", buffering=0) as raw:
            before = os.fstat(raw.fileno())
            compressed.unpack(raw, out, name, before.st_size, progress)
            if _state_of(os.fstat(raw.fileno())) != _state_of(before):
                raise changed_error(name)
    except OSError as error:
        raise input_error(error, name) from None


def _copy(raw: IO[bytes], spool: IO[bytes], name: str, packed: str, progress: Callable[[float], None]) -> None:
    if packed:
        compressed.unpack(raw, spool, name, os.fstat(raw.fileno()).st_size, progress)
    else:
        import shutil

        shutil.copyfileobj(raw, spool, 1 << 20)


def changed_error(name: str) -> InputError:
    """The error for a file that something else wrote to meanwhile."""
    return InputError("the file changed while it was read", where=name, way_out="merge it when nothing writes to it")
