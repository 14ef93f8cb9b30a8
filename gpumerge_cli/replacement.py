"""Files that appear whole or not at all: written beside their place under a temporary name, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from gpumerge_cli.temporary_files import (
    identity,
    identity_of,
    make_locked,
    remove_left,
    remove_temporary,
    swept,
    temporary_name,
    unfinished,
)

if TYPE_CHECKING:
    from pathlib import Path


class PlacementError(OSError):
    """A file that did not take its place as it should. way_out: what is at the place now."""

    def __init__(self, what: str, way_out: str) -> None:
        super().__init__(what)
        self.way_out = way_out


class Replacement:
    """A new file for the path `name`, open to read and write as `descriptor`; a symbolic link stays one.

    identity: its device and number. The file that it replaces passes its owner and permissions on. mode: permissions
    where there is none, before the umask. Raises OSError; where the folder takes no new file, its `filename` is the new
    file's, not the place.
    """

    def __init__(self, name: str | Path, mode: int = 0o666) -> None:
        self.place = os.path.realpath(name)
        self.temporary = temporary_name(self.place)
        self.descriptor = -1
        self.in_place = False
        self._foreign = False  # the place holds another program's file, in spite of the rename
        self._kept: str | None = None
        self._watch = -1  # holds the identity of a file that may be taken back: a file that is gone may pass it on
        self._returns = False  # what was there can be put there again
        self._settled = False
        unfinished[self.temporary] = None  # before it is there, so that no moment is left for a signal to leave it
        try:
            before = _status_of(self.place)
            # This comes first, so that killed runs leave at most one temporary file.
            if self.place not in swept:
                remove_left({self.place})
            self.descriptor = make_locked(self.temporary, mode if before is None else 0o600)
        except OSError:
            unfinished.pop(self.temporary, None)
            raise
        self.identity = identity(os.fstat(self.descriptor))
        unfinished[self.temporary] = self.identity
        try:
            if before is not None:
                _be_like(self.descriptor, before)
        except BaseException:
            self.abort()
            raise

    def settle(self, *, durable: bool = False) -> None:
        """Make the file system report now whether a write failed. durable: the bytes are forced to storage.

        Nothing is written afterwards; further calls do nothing. Raises OSError.
        """
        if self._settled:
            return
        try:
            if durable:
                os.fsync(self.descriptor)
            # Some file systems, such as NFS, report a failed write only when a descriptor is closed.
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
            self._check_temporary()
            os.replace(self.temporary, self.place)
            self.in_place = True
            self._check_place()
        except OSError:
            self.abort()
            raise
        unfinished.pop(self.temporary, None)
        swept.discard(self.place)
        try:
            self._close()
        except OSError as error:
            raise PlacementError(
                f"{os.strerror(error.errno or errno.EIO)} as the file was closed",
                "the new output is in place; compare it with its source before you use it",
            ) from error

    def _check_temporary(self) -> None:
        """Raise PlacementError if the temporary file's name is that of another file, which stays as it is."""
        found = identity_of(self.temporary)
        if found == self.identity:
            return
        what = "removed" if found is None else "replaced"
        stays = "" if found is None else f"; {self.temporary} is not of this run, and stays"
        raise PlacementError(
            f"another program {what} its temporary file before it was in place",
            f"what was there before is unchanged{stays}",
        )

    def _check_place(self) -> None:
        """Raise PlacementError if another file has taken the place since the rename. That file is left alone."""
        if identity_of(self.place) == self.identity:
            return
        self.in_place, self._foreign = False, True
        unfinished.pop(self.temporary, None)
        way_out = "it is not the output of this run: move it away, and run again"
        if self._kept is not None:
            way_out += f"; the file that was there before is {self._kept}"
            unfinished.pop(self._kept, None)
            self._kept = None
        raise PlacementError("another program put a different file in its place as it was renamed", way_out)

    def _close(self) -> None:
        """Close the descriptor; it is invalid afterwards even if closing fails. Raises OSError."""
        descriptor, self.descriptor = self.descriptor, -1
        os.close(descriptor)

    def take_back(self) -> bool:
        """After a commit with `keep`, restore the file that was in the place before. Returns whether that succeeded."""
        if not self.in_place:
            return not self._foreign
        if not self._returns or identity_of(self.place) != self.identity:
            return False
        try:
            if self._kept is None:
                os.unlink(self.place)
            elif (before := unfinished.get(self._kept)) is None or identity_of(self._kept) != before:
                return False  # another program put a file of its own there, or removed it
            else:
                os.replace(self._kept, self.place)
        except OSError:
            return False
        self.in_place = False
        return True

    def _keep(self) -> None:
        """Give the file in the place a second name, if the file system has links."""
        other = temporary_name(self.place)
        self._watch = os.dup(self.descriptor)
        unfinished[other] = None
        try:
            os.link(self.place, other)
            self._kept, self._returns = other, True
            unfinished[other] = identity_of(other)
        except OSError as error:
            unfinished.pop(other, None)
            self._returns = error.errno == errno.ENOENT

    def sync_name(self) -> None:
        """Force the name of a file that is in its place to storage. Raises OSError."""
        descriptor = os.open(os.path.dirname(self.place), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def abort(self) -> bool:
        """Remove the new file, unless it is in its place, and the kept one. Returns whether it is in its place."""
        if self.descriptor >= 0:
            # A signal may come with the rename, and others may have taken the temporary name.
            self.in_place = self.in_place or identity_of(self.place) == self.identity
            remove_temporary(self.temporary)
            with contextlib.suppress(OSError):  # nothing more is to be lost
                self._close()
        if self._watch >= 0:
            with contextlib.suppress(OSError):
                os.close(self._watch)
            self._watch = -1
        if self._kept is not None:
            remove_temporary(self._kept)
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
    """A file to write to, which takes its place when the body ends and is removed if the body raises. Raises OSError.

    durable: the file and its name are forced to storage. A pipe or device is written directly.
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


def _status_of(place: str) -> os.stat_result | None:
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
    """Give a new file the owner, the group and the permissions of the file that it replaces, as far as permitted.

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


def check_name(path: str | Path, descriptor: int) -> None:
    """Raise PlacementError if the name is not that of the open file."""
    if identity_of(path) != identity(os.fstat(descriptor)):
        raise PlacementError(f"another program replaced {path} while it was written", "run again")
