"""Positioned reads from any input, and outputs that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import resource
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gpumerge_cli.errors import InputError, OutputError, input_error, output_error
from gpumerge_cli.formats.base import Bytes

STDIO = "-"
# One call moves at most 2^31 - 4096 bytes on Linux.
_LARGEST_READ = 1 << 30
# A call holds the file's lock, for which other writers spin, and fills page cache in pieces of its own size: calls of
# 128 KiB, which is what cat makes, took half the time of calls of 2 MiB on ext4, with 2 x 1 GB and two cores.
_LARGEST_WRITE = 128 << 10
_TEMPORARY = ".gpumerge-"
_NAMED_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]{1,6})")
_SPARED_DESCRIPTORS = 64


class InputFile:
    """An input, read at any position from any thread.

    A pipe is first copied to an unnamed temporary file. Descriptors are few: once this process has few left, further
    files are opened anew for every read, so any number of inputs can be merged in one pass.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        descriptor = self._open()
        try:
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise input_error(OSError(errno.EISDIR, ""), name)
            reopens = stat.S_ISREG(status.st_mode) and name != STDIO
            if stat.S_ISREG(status.st_mode):
                self.start = os.lseek(descriptor, 0, os.SEEK_CUR) if name == STDIO else 0
            else:
                descriptor = _spooled(descriptor, name)
                status = os.fstat(descriptor)
                self.start = 0
        except BaseException:
            os.close(descriptor)
            raise
        self.size = max(0, status.st_size - self.start)
        self._state = _state_of(status)
        self._descriptor = descriptor
        if reopens and descriptor >= _kept_descriptors():
            os.close(descriptor)
            self._descriptor = -1

    def read_into(self, position: int, out: Bytes) -> None:
        """Fill `out` from byte `position` on. Raises InputError if the file ends before that."""
        view = out.data
        at = self.start + position
        with self._opened() as descriptor:
            while len(view):
                try:
                    count = os.preadv(descriptor, [view[:_LARGEST_READ]], at)
                except OSError as error:
                    raise input_error(error, self.name) from None
                if count == 0:
                    raise InputError(
                        f"the file ends at byte {at - self.start}, {len(view)} bytes sooner than when it was opened",
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
            out = np.empty(count, np.uint8)
            self.read_into(position, out)
            return out.tobytes()
        return data

    def check_unchanged(self) -> None:
        """Raise InputError if the file was written to, or replaced by another, since it was opened."""
        with self._opened() as descriptor:
            self._compare(os.fstat(descriptor))

    def close(self) -> None:
        """Give the descriptor back; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> int:
        if not self.name:
            raise InputError("'' is no name of a file", way_out="name a file, or - for standard input")
        if self.name == STDIO and sys.stdin is None:
            raise InputError("it is closed", where="standard input", way_out="name a file")
        try:
            if self.name == STDIO:
                return os.dup(sys.stdin.fileno())
            return os.open(self.name, os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            raise input_error(_as_os_error(error), self.name) from None

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        if self._descriptor >= 0:
            yield self._descriptor
            return
        descriptor = self._open()
        try:
            self._compare(os.fstat(descriptor))
            yield descriptor
        finally:
            os.close(descriptor)

    def _compare(self, status: os.stat_result) -> None:
        if _state_of(status) != self._state:
            raise InputError(
                "the file changed while it was read", where=self.name, way_out="merge it when nothing writes to it"
            )


def _state_of(status: os.stat_result) -> tuple[int, ...]:
    """What differs once a file was written to or replaced."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _kept_descriptors() -> int:
    """The number from which on descriptors are not kept: a few are left for outputs, pipes and libraries."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    return 1 << 30 if soft == resource.RLIM_INFINITY else max(0, soft - _SPARED_DESCRIPTORS)


def _as_os_error(error: Exception) -> OSError:
    return error if isinstance(error, OSError) else OSError(errno.EBADF, os.strerror(errno.EBADF))


def _spooled(descriptor: int, name: str) -> int:
    """Copy all that `descriptor` gives to an unnamed temporary file; closes it and returns the file's descriptor."""
    try:
        with os.fdopen(os.dup(descriptor), "rb", buffering=0) as pipe, tempfile.TemporaryFile() as spool:
            try:
                shutil.copyfileobj(pipe, spool, 1 << 20)
                spool.flush()
            except OSError as error:
                raise input_error(error, f"{name} (spooled to {tempfile.gettempdir()})") from None
            copy = os.dup(spool.fileno())
    except OSError as error:
        raise input_error(error, name) from None
    os.close(descriptor)
    return copy


class OutputFile:
    """A regular file, written at any position beside its place and renamed into it by `commit`."""

    seekable = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._place = Path(os.path.realpath(name))
        self._temporary = self._place.with_name(f".{self._place.name[:200]}{_TEMPORARY}{secrets.token_hex(6)}")
        try:
            mode = _mode_of(self._place)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._descriptor = os.open(self._temporary, flags, 0o666 if mode is None else 0o600)
        except OSError as error:
            raise output_error(error, name) from None
        try:
            # Held while this process lives, so that a later run can tell a left file from one in the making.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if mode is not None:
                os.fchmod(self._descriptor, mode)
        except OSError as error:
            self.abort()
            raise output_error(error, name) from None
        _remove_left(self._place)

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data` at byte `position`."""
        view = data.data
        while len(view):
            try:
                count = os.pwrite(self._descriptor, view[:_LARGEST_WRITE], position)
            except OSError as error:
                raise output_error(error, self.name) from None
            view = view[count:]
            position += count

    def commit(self, *, durable: bool = False) -> None:
        """Put the file in its place, in one step. durable: its bytes before, its name after are forced to storage."""
        try:
            if durable:
                os.fsync(self._descriptor)
            os.replace(self._temporary, self._place)
        except OSError as error:
            self.abort()
            raise output_error(error, self.name) from None
        os.close(self._descriptor)
        self._descriptor = -1
        if durable:
            _sync_folder(self._place.parent, self.name)

    def abort(self) -> None:
        """Remove what was written; does nothing after `commit`."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
            os.close(self._descriptor)
            self._descriptor = -1


def _sync_folder(folder: Path, name: str) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise output_error(error, name) from None


def _mode_of(place: Path) -> int | None:
    """Permissions of the file to be replaced, None if there is none. Raises OSError for what must not be replaced."""
    try:
        status = os.stat(place)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "")
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, "")
    return stat.S_IMODE(status.st_mode)


def _remove_left(place: Path) -> None:
    """Remove the temporary files of runs on this output that were killed: those that nobody holds locked."""
    prefix = f".{place.name[:200]}{_TEMPORARY}"
    with contextlib.suppress(OSError), os.scandir(place.parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(descriptor)


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
            raise output_error(_as_os_error(error), self.name) from None
        self._position = 0

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data`, which must follow what was written before."""
        assert position == self._position, "a stream is written in order"
        view = data.data
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


def _descriptor_named(name: str) -> int | None:
    """The open descriptor that an output's name stands for, if it does.

    What lies behind such a name may be a regular file, but one that somebody else has open and goes on writing to: it
    must not be replaced.
    """
    if name == STDIO:
        if sys.stdout is None:
            raise OutputError("it is closed", where="standard output", way_out="use -o FILE")
        return sys.stdout.fileno()
    found = _NAMED_DESCRIPTOR.fullmatch(os.path.normpath(name))
    if found is None:
        return None
    return {"stdout": 1, "stderr": 2}.get(found[1]) or int(found[2])


def is_terminal(name: str) -> bool:
    """Whether `name` stands for an open descriptor, and that is a terminal."""
    try:
        number = _descriptor_named(name)
        return number is not None and os.isatty(number)
    except (OSError, ValueError):
        return False


__all__ = ["STDIO", "InputFile", "OutputError", "OutputFile", "OutputStream", "is_terminal", "open_output"]
