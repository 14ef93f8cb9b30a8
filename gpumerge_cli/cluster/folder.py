"""Folders for temporary files that all machines of a cluster share."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from gpumerge_cli.errors import UsageError, output_error
from gpumerge_cli.urls import is_url, shown


class SharedFolder:
    """A folder for temporary files of a run to `output`, which is removed at the end, whatever that is.

    It lies in the first of `folders`, or beside the output: all machines see that. A lock marks it as used, and those
    that killed runs have left are removed. mark: a part of the names of such folders. Raises OutputError.
    """

    def __init__(self, output: str, folders: Sequence[str], mark: str) -> None:
        path = Path(os.path.realpath(output))
        parent = Path(os.path.abspath(folders[0])) if folders else path.parent
        start = f".{os.fsdecode(os.fsencode(path.name)[:200])}{mark}"
        self._lock = -1
        self.path = parent / f"{start}{os.urandom(6).hex()}"
        try:
            self.path = self._made(parent, start)
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with suppress(OSError):
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise output_error(error, str(parent)) from None

    def _made(self, parent: Path, start: str) -> Path:
        """Make the folder in `parent`; its name begins with `start`."""
        remove_stale_folders(parent, start)
        os.mkdir(self.path, 0o700)
        return self.path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()

    def close(self, *, keep: bool = False) -> None:
        """Remove the folder and all that is in it, unless it is kept."""
        if not keep:
            remove_folder(self.path)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def output_path(output: str, folders: Sequence[str], why: str) -> str:
    """A path whose name, and folder if none is named, a shared folder takes. Raises UsageError where it needs one."""
    if not is_url(output):
        return output
    if not folders:
        raise UsageError(why, way_out="name one with -T that all machines see")
    return os.path.join(".", shown(output).rpartition("/")[2])


def remove_stale_folders(parent: Path, start: str) -> None:
    """Remove the folders that killed runs have left: nobody holds their locks."""
    for folder in parent.iterdir():
        if folder.name.startswith(start) and folder.is_dir():
            with suppress(OSError):
                lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_folder(folder)
                finally:
                    os.close(lock)


def remove_folder(folder: Path) -> None:
    """Remove a folder; again, if a worker that was stopped has just put a last file into it."""
    for _ in range(3):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
