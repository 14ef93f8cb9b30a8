"""Inputs by their names, which are those of files or URLs."""

from __future__ import annotations

import os
from collections.abc import Callable

from gpumerge_cli.errors import GpumergeError
from gpumerge_cli.extents import DecompressedCopy
from gpumerge_cli.formats import input as files
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.compressed import Writable
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.urls import is_url, shown


def open_input(
    name: str,
    *,
    plain: bool = False,
    progress: Callable[[float], None] = lambda share: None,
    folder: str | None = None,
    copy: DecompressedCopy | None = None,
) -> SeekableInput:
    """Open the input `name`. The arguments are SeekableInput's. Raises InputError, UsageError."""
    if copy is not None:
        return SeekableInput(shown(name), folder=folder, copy=copy)
    if is_url(name):
        from gpumerge_cli.formats.stored_input import open_url

        return open_url(name, plain=plain, progress=progress, folder=folder)
    return SeekableInput(name, plain=plain, progress=progress, folder=folder)


def unpack_input(name: str, out: Writable, progress: Callable[[float], None]) -> str:
    """Write the decompressed content of an input to `out`. Returns the tag of its state, "" if it is unknown.

    progress: called with the share that was gone through, again and again. Raises InputError, UsageError, and what
    `out` and `progress` do.
    """
    if is_url(name):
        from gpumerge_cli.formats.stored_input import unpack_url

        return unpack_url(name, out, progress)
    files.unpack_file(name, out, progress)
    status = os.stat(name)
    return f"{status.st_size} {status.st_mtime_ns}"


def check_input(name: str) -> None:
    """Raise the error of opening the input, as far as it is known without a request to a store or a read of a pipe."""
    if is_url(name):
        from gpumerge_cli.formats.stores.lookup import object_of

        object_of(name)
    else:
        files.check_file(name)


def size_of(name: str) -> int:
    """Bytes of the file or object. Raises OSError, ValueError, InputError or UsageError."""
    if is_url(name):
        from gpumerge_cli.formats.stored_input import size_of_url

        return size_of_url(name)
    return os.stat(name).st_size


def known_size(name: str) -> int:
    """Bytes of the file or object, for progress; 0 if they are unknown, or opening it will fail."""
    try:
        return 0 if name == STDIO else size_of(name)
    except (OSError, ValueError, GpumergeError):
        return 0
