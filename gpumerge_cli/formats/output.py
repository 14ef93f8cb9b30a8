"""Outputs that appear whole or not at all, and streams, which cannot be taken back."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from gpumerge_cli.errors import OutputError, as_os_error, output_error
from gpumerge_cli.extents import Target
from gpumerge_cli.formats.base import STDIO, Bytes

# A call fills page cache in pieces of its own size, as large as its alignment allows. On ext4 calls of 1 MiB wrote 4.5
# to 4.8 GB/s where those of 128 KiB, which cat makes, wrote 2.7 to 4.2: a machine of 16 cores with its memory at hand.
# On a small one whose host first had to find so much of it in one place they took twice as long (both Linux 6).
_FEW_CORES = 2
_LARGEST_WRITE = 128 << 10 if len(os.sched_getaffinity(0)) <= _FEW_CORES else 1 << 20
_TEMPORARY = ".gpumerge-"
_TOKEN = 6  # bytes
_HEXADECIMAL = re.compile(f"[0-9a-f]{{{2 * _TOKEN}}}")
_LOCKED_BY_OTHERS = 1.0  # seconds; who only looks whether a file is locked holds it for microseconds
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
        try:
            self._place = Path(os.path.realpath(name))
        except OSError as error:  # the current folder is gone
            raise output_error(error, name) from None
        self._temporary = self._place.with_name(_prefix(self._place) + os.urandom(_TOKEN).hex())
        _unfinished.add(self._temporary)  # before it is there, so that no moment is left for a signal to leave it
        try:
            before = _status_of(self._place)
            # First, so that of runs that are killed one after the other never more than one is left.
            _remove_left(self._place)
            self._descriptor = _locked(self._temporary, 0o666 if before is None else 0o600)
        except OSError as error:
            _unfinished.discard(self._temporary)
            problem = output_error(error, name)
            if error.filename == str(self._temporary) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                problem.way_out = f"outputs are made beside their place: {self._place.parent} must be writable, too"
            raise problem from None
        try:
            if before is not None:
                _be_like(self._descriptor, before)
        except BaseException as error:
            self.abort()
            if isinstance(error, OSError):
                raise output_error(error, name) from None
            raise

    def target(self, start: int, swap: int) -> Target | None:
        """Where bytes from `start` on go."""
        return Target(self.name, self._descriptor, start, _LARGEST_WRITE, self._writers, swap)

    def reserve(self, nbytes: int) -> None:
        """Have room for `nbytes` in all, if the file system can do that ahead of the writes.

        What does not fit is found before work is put into it, and writes are faster once their room is there.
        """
        # Not os.posix_fallocate, which writes to every block where the file system cannot.
        if nbytes and _libc().fallocate(self._descriptor, 0, 0, nbytes):
            number = ctypes.get_errno()
            if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise output_error(OSError(number, ""), self.name)

    def write_at(self, position: int, data: Bytes) -> None:
        """Write all of `data` at byte `position`."""
        view = data.data
        with self._writing:
            while len(view):
                try:
                    count = os.pwrite(self._descriptor, view[: _LARGEST_WRITE - position % _LARGEST_WRITE], position)
                except OSError as error:
                    raise output_error(error, self.name) from None
                view = view[count:]
                position += count

    def commit(self, *, durable: bool = False) -> None:
        """Put the file in its place, in one step. durable: its bytes before, its name after are forced to storage."""
        try:
            if durable:
                os.fsync(self._descriptor)
            # Some file systems, such as NFS, tell only as a descriptor is closed that a write failed.
            os.close(os.dup(self._descriptor))
            os.replace(self._temporary, self._place)
        except OSError as error:
            self.abort()
            raise output_error(error, self.name) from None
        _unfinished.discard(self._temporary)
        _placed[self.name] = self._place
        os.close(self._descriptor)
        self._descriptor = -1
        if durable:
            _sync_folder(self._place.parent, self.name)

    def abort(self) -> None:
        """Remove what was written; does nothing after `commit`."""
        if self._descriptor >= 0:
            if not self._temporary.exists():  # a signal came with the rename
                _placed[self.name] = self._place
            _remove(self._temporary)
            os.close(self._descriptor)
            self._descriptor = -1


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return libc


_unfinished: set[Path] = set()
"""Temporary files of outputs that are neither committed nor aborted."""


_placed: dict[str, Path] = {}
_begun: list[str] = []
"""Outputs that were committed, by their names; streams that something was written to."""


def remove_unfinished() -> None:
    """Remove the temporary files of all outputs that were not brought to an end. For the end of the program."""
    for path in list(_unfinished):
        _remove(path)
    _placed.clear()
    _begun.clear()


def given() -> str:
    """What there is of outputs if the program ends now, in words for its user."""
    whole = [f"{name} is complete" for name, place in _placed.items() if place.exists()]
    return ", ".join(whole + [f"{name} has a part of the output" for name in _begun]) or "no output was written"


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
    _unfinished.discard(path)


def _prefix(place: Path) -> str:
    """How the names of temporary files for the output at `place` begin; file systems count bytes."""
    return f".{os.fsdecode(os.fsencode(place.name)[:200])}{_TEMPORARY}"


def _sync_folder(folder: Path, name: str) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        problem = output_error(error, name)
        problem.way_out = "the new output is in place, but its name may not be on storage yet"
        raise problem from None


def _status_of(place: Path) -> os.stat_result | None:
    """The status of the file to be replaced, None if there is none. Raises OSError for what must not be replaced."""
    try:
        status = os.stat(place)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "")
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, "")
    return status


def _be_like(descriptor: int, before: os.stat_result) -> None:
    """Give a new file the owner, the group and the permissions of the one that it replaces, as far as is allowed.

    A program that runs as its owner or group may do so for its own alone.
    """
    for owner in (before.st_uid, -1):
        with contextlib.suppress(OSError):
            os.fchown(descriptor, owner, before.st_gid)
            break
    now = os.fstat(descriptor)
    mode = stat.S_IMODE(before.st_mode)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    os.fchmod(descriptor, mode)  # after fchown, which takes these bits away


def _locked(path: Path, mode: int) -> int:
    """The descriptor of a new file, locked as long as this process lives: later runs remove what is not.

    One that begins at the same moment may come between making and locking it: then it is made again.
    """
    until = time.monotonic() + _LOCKED_BY_OTHERS
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            while not _lock(descriptor) and time.monotonic() < until:
                time.sleep(0.001)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            _remove(path)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file, if nobody else has; without a word where the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # then nobody can lock it, and nobody removes it
    return True


def _remove_left(place: Path) -> None:
    """Remove the temporary files of runs on this output that were killed: those that nobody holds locked."""
    prefix = _prefix(place)
    with contextlib.suppress(OSError), os.scandir(place.parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and _HEXADECIMAL.fullmatch(entry.name, len(prefix)):
                _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    with contextlib.suppress(OSError):
        # What this program makes is neither a link nor a pipe, which opening would wait for.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
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
            raise output_error(as_os_error(error), self.name) from None
        self._position = 0

    def target(self, start: int, swap: int) -> Target | None:
        """A stream is written in order."""
        return None

    def reserve(self, nbytes: int) -> None:
        """A stream has no room of its own."""

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
    number = _descriptor_named(name)
    with contextlib.suppress(OSError, ValueError):  # which opening them tells
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
    """Whether `name` stands for an open descriptor, and that is a terminal."""
    try:
        number = _descriptor_named(name)
        return number is not None and os.isatty(number)
    except (OSError, ValueError):
        return False
