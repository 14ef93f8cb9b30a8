"""Temporary files beside the places of outputs: their names, their locks, and what removes them.

A program locks its temporary files as long as it lives, and removes those that it has not finished as it ends. Files
without a lock were left by killed runs, and later runs remove them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpumerge_cli.patterns import pattern

if TYPE_CHECKING:
    from pathlib import Path

_TEMPORARY = ".gpumerge-"
_TOKEN = 6  # bytes
_LOCKED_BY_OTHERS = 1.0  # seconds; who only looks whether a file is locked holds it for microseconds
_HEXADECIMAL = pattern(f"[0-9a-f]{{{2 * _TOKEN}}}")

Identity = tuple[int, int]
"""The device and the number of a file, which no other file has as long as it is open or has a name."""

unfinished: dict[str, Identity | None] = {}
"""Temporary files that are neither committed nor aborted, or that could not be removed; None: not made yet."""

swept: set[str] = set()
"""Places that `remove_leftovers` has handled, and that no replacement was put into since."""


def remove_temporaries() -> list[tuple[str, str]]:
    """Remove the temporary files of all unfinished replacements. The program calls it as it ends.

    Returns those that stay, because they cannot be removed, with the reasons.
    """
    left = []
    for path in list(unfinished):
        problem = remove_temporary(path)
        if problem is not None:
            left.append((path, problem))
    unfinished.clear()
    return left


def remove_temporary(path: str) -> str | None:
    """Remove a temporary file, unless its name is another file's by now. The reason if it cannot be removed."""
    if path not in unfinished:
        return None
    known, found = unfinished[path], identity_of(path)
    if found is not None and known in (None, found):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            return os.strerror(error.errno or errno.EIO).lower()
    unfinished.pop(path, None)
    return None


def identity(status: os.stat_result) -> Identity:
    """The identity of a file with this status."""
    return status.st_dev, status.st_ino


def identity_of(path: str | Path) -> Identity | None:
    """The identity of what has this name, which may be a link; None if nothing has."""
    try:
        return identity(os.lstat(path))
    except OSError:
        return None


def temporary_name(place: str) -> str:
    """A new name for a temporary file beside `place`."""
    folder, name = os.path.split(place)
    return os.path.join(folder, _prefix(name) + os.urandom(_TOKEN).hex())


def _prefix(name: str) -> str:
    """The start of the names of temporary files for a file. File systems limit the bytes of names."""
    return f".{os.fsdecode(os.fsencode(name)[:200])}{_TEMPORARY}"


def make_locked(path: str, mode: int) -> int:
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
            remove_temporary(path)
            raise
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file. Returns False if another process holds it; file systems without locks count as locked."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # then nobody can lock it, and nobody removes it
    return True


def remove_leftovers(names: Iterable[str | Path]) -> None:
    """Remove the temporary files that killed runs left beside many places, whose replacements come next.

    Each replacement would do the same for its own place; here each folder is read once for all of them.
    """
    places = {os.path.realpath(name) for name in names}
    remove_left(places)
    swept.update(places)


def remove_left(places: Iterable[str]) -> None:
    """Remove the temporary files of killed runs on these places: those that no process holds locked."""
    folders: dict[str, set[str]] = {}
    for place in places:
        folder, name = os.path.split(place)
        folders.setdefault(folder, set()).add(_prefix(name))
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
            if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                os.unlink(path)
        finally:
            os.close(descriptor)
