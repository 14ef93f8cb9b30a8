"""The cache: a folder for compiled code and the results of `info --measure`. The program can make all of it again."""

from __future__ import annotations

import errno
import os

from gpumerge_cli.trust import distrusted, warn_once

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from pathlib import Path


def cache_folder() -> str:
    """The user's cache folder, after the XDG base directory specification. It need not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "gpumerge")


def read_cached(path: str | Path) -> bytes:
    """The bytes of the file. Raises OSError, also if another user could have written the file; a line says so once."""
    with open(path, "rb", opener=_without_waiting) as file:  # first, because most often there is none
        for folder in _folders(path):
            _check_trusted(folder, folder.stat())
        _check_trusted(path, os.fstat(file.fileno()))
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    """Open a file for `open`. If another user made it a pipe, a plain open would wait for a writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def write_cached(path: str | Path, data: bytes) -> None:
    """Write a file for `read_cached`, in one step. Raises OSError, also if `read_cached` would refuse the file."""
    from pathlib import Path

    from gpumerge_cli.replacement import replacing

    folders = _folders(path)
    for folder in folders or [Path(path).parent]:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    for folder in folders:
        _check_trusted(folder, folder.stat())
    with replacing(path, 0o600) as file:
        file.write(data)


def _folders(path: str | Path) -> list[Path]:
    """The cache folder and the folders in it that lead to `path`, outermost first."""
    from pathlib import Path  # most often there is no file

    top = Path(cache_folder())
    return [folder for folder in reversed(Path(path).parents) if folder.is_relative_to(top)]


def _check_trusted(path: str | Path, status: os.stat_result) -> None:
    why = distrusted(str(path), status)
    if why:
        warn_once(f"the cache is not used: {why}")
        raise PermissionError(errno.EACCES, why, str(path))
