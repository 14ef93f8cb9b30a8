"""Files that appear whole or not at all: made beside their place, under a name of their own, and renamed into it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_TEMPORARY = ".gpumerge-"
_TOKEN = 6  # bytes
_LOCKED_BY_OTHERS = 1.0  # seconds; who only looks whether a file is locked holds it for microseconds
_HEXADECIMAL = re.compile(f"[0-9a-f]{{{2 * _TOKEN}}}")


class Replacement:
    """A new file for the place that `name` says, open to read and write as `descriptor`; a link stays a link.

    The file that it replaces passes its owner and permissions on. mode: permissions where there is none, before the
    umask. Raises OSError; where the folder takes no new file, its `filename` is the new file's, not the place.
    """

    def __init__(self, name: str | Path, mode: int = 0o666) -> None:
        self.place = Path(os.path.realpath(name))
        self.temporary = self.place.with_name(_prefix(self.place) + os.urandom(_TOKEN).hex())
        self.descriptor = -1
        self.in_place = False
        self._kept: Path | None = None
        self._returns = False  # what was there can be put there again
        self._settled = False
        _unfinished.add(self.temporary)  # before it is there, so that no moment is left for a signal to leave it
        try:
            before = _status_of(self.place)
            # First, so that of runs that are killed one after the other never more than one is left.
            if self.place not in _swept:
                _remove_left({self.place})
            self.descriptor = _locked(self.temporary, mode if before is None else 0o600)
        except OSError:
            _unfinished.discard(self.temporary)
            raise
        try:
            if before is not None:
                _be_like(self.descriptor, before)
        except BaseException:
            self.abort()
            raise

    def settle(self, *, durable: bool = False) -> None:
        """Have the file system say now whether a write failed. durable: the bytes are forced to storage.

        Nothing is written afterwards; further calls do nothing. Raises OSError.
        """
        if self._settled:
            return
        try:
            if durable:
                os.fsync(self.descriptor)
            # Some file systems, such as NFS, tell only as a descriptor is closed that a write failed.
            os.close(os.dup(self.descriptor))
        except OSError:
            self.abort()
            raise
        self._settled = True

    def commit(self, *, durable: bool = False, keep: bool = False) -> None:
        """Put the file in its place, in one step. durable: as of `settle`, which is done before. Raises OSError.

        keep: the file that it replaces is kept, so that `take_back` can put it there again, until `abort`.
        """
        self.settle(durable=durable)
        try:
            if keep:
                self._keep()
            os.replace(self.temporary, self.place)
            self.in_place = True
        except OSError:
            self.abort()
            raise
        _unfinished.discard(self.temporary)
        _swept.discard(self.place)
        os.close(self.descriptor)
        self.descriptor = -1

    def take_back(self) -> bool:
        """After a commit that kept what there was, have the place as it was before; whether that could be."""
        if not self.in_place:
            return True
        if not self._returns:
            return False
        try:
            if self._kept is None:
                os.unlink(self.place)
            else:
                os.replace(self._kept, self.place)
        except OSError:
            return False
        self.in_place = False
        return True

    def _keep(self) -> None:
        """Give what lies at the place a second name, if the file system has links."""
        other = self.place.with_name(_prefix(self.place) + os.urandom(_TOKEN).hex())
        _unfinished.add(other)
        try:
            os.link(self.place, other)
            self._kept, self._returns = other, True
        except OSError as error:
            _unfinished.discard(other)
            self._returns = error.errno == errno.ENOENT

    def _is_at_its_place(self) -> bool:
        """Whether the place holds the new file. Others may have removed it under its temporary name."""
        try:
            return os.path.samestat(os.stat(self.place), os.fstat(self.descriptor))
        except OSError:
            return False

    def sync_name(self) -> None:
        """Force the name of a file that is in its place to storage. Raises OSError."""
        descriptor = os.open(self.place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def abort(self) -> bool:
        """Remove what was written, unless it is in its place, as after `commit`, and what was kept; whether it is."""
        if self.descriptor >= 0:
            self.in_place = self._is_at_its_place()  # a signal may come with the rename
            _remove(self.temporary)
            os.close(self.descriptor)
            self.descriptor = -1
        if self._kept is not None:
            _remove(self._kept)
            self._kept = None
        return self.in_place


def is_stream(name: str | Path) -> bool:
    """Whether the name is that of a pipe or a device, into which outputs are written. Other files are replaced."""
    try:
        kind = os.stat(name).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


class Stream:
    """A pipe or device, open to write as `descriptor`, with the methods of a Replacement. Raises OSError.

    Opening a pipe waits until somebody reads from it.
    """

    def __init__(self, name: str | Path) -> None:
        self.descriptor = os.open(name, os.O_WRONLY | os.O_CLOEXEC)

    def commit(self) -> None:
        """End the stream."""
        self.abort()

    def abort(self) -> None:
        """End the stream; a second call does nothing."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


@contextmanager
def replacing(name: str | Path, mode: int = 0o666, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its place when the body ends and is removed where it raises. Raises OSError.

    durable: the file and its name are forced to storage. A pipe or device is written into.
    """
    made = Stream(name) if is_stream(name) else Replacement(name, mode)
    try:
        with open(made.descriptor, "wb", closefd=False) as file:
            yield file
        if isinstance(made, Stream):
            made.commit()
        else:
            made.commit(durable=durable)
            if durable:
                made.sync_name()
    finally:
        made.abort()


_unfinished: set[Path] = set()
"""Temporary files that are neither committed nor aborted."""


def remove_unfinished() -> None:
    """Remove the temporary files of all unfinished replacements. The program calls it as it ends."""
    for path in list(_unfinished):
        _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
    _unfinished.discard(path)


def _prefix(place: Path) -> str:
    """The start of the names of temporary files for `place`. File systems limit the bytes of names."""
    return f".{os.fsdecode(os.fsencode(place.name)[:200])}{_TEMPORARY}"


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


def sweep(names: Iterable[str | Path]) -> None:
    """Do for many places, whose replacements come next, what each would do alone: look for what killed runs left.

    Each folder is read once, so it may take in thousands of files.
    """
    places = {Path(os.path.realpath(name)) for name in names}
    _remove_left(places)
    _swept.update(places)


_swept: set[Path] = set()
"""Places that `sweep` looked after, and that no replacement was put into since."""


def _remove_left(places: Iterable[Path]) -> None:
    """Remove the temporary files of runs on these places that were killed: those that nobody holds locked."""
    folders: dict[Path, set[str]] = {}
    for place in places:
        folders.setdefault(place.parent, set()).add(_prefix(place))
    for folder, prefixes in folders.items():
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                start, token = entry.name[: -2 * _TOKEN], entry.name[-2 * _TOKEN :]
                if start in prefixes and _HEXADECIMAL.fullmatch(token):
                    _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    with contextlib.suppress(OSError):
        # This program makes no links and no pipes. Opening a pipe would wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        finally:
            os.close(descriptor)
