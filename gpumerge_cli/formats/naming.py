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
    told: Callable[[float], None] = lambda share: None,
    folder: str | None = None,
    copy: DecompressedCopy | None = None,
) -> SeekableInput:
    """Open the input that `name` says. The arguments are SeekableInput's. Raises InputError, UsageError."""
    if copy is not None:
        return SeekableInput(shown(name), folder=folder, copy=copy)
    if is_url(name):
        from gpumerge_cli.formats.stored_input import open_url

        return open_url(name, plain=plain, told=told, folder=folder)
    return SeekableInput(name, plain=plain, told=told, folder=folder)


def unpack_input(name: str, out: Writable, told: Callable[[float], None]) -> str:
    """Write the decompressed content of an input to `out`. Returns the tag of its state, "" if nobody knows it.

    told: called with the share that was gone through, again and again. Raises InputError, UsageError, and what `out`
    and `told` do.
    """
    if is_url(name):
        from gpumerge_cli.formats.stored_input import unpack_url

        return unpack_url(name, out, told)
    files.unpack_file(name, out, told)
    status = os.stat(name)
    return f"{status.st_size} {status.st_mtime_ns}"


def look_at(name: str) -> None:
    """Raise the error that opening the input would, as far as that is known without asking a store or a pipe."""
    if is_url(name):
        from gpumerge_cli.formats.stores.lookup import object_of

        object_of(name)
    else:
        files.look_at(name)


def size_of(name: str) -> int:
    """Bytes of the file or object. Raises OSError, ValueError, InputError or UsageError."""
    if is_url(name):
        from gpumerge_cli.formats.stored_input import look_at_url

        return look_at_url(name)
    return os.stat(name).st_size


def size_told(name: str) -> int:
    """Bytes of the file or object, for progress; 0 if nobody knows them, or opening it will fail."""
    try:
        return 0 if name == STDIO else size_of(name)
    except (OSError, ValueError, GpumergeError):
        return 0
