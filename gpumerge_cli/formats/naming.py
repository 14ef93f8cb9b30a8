"""Inputs by their names, which are those of files or URLs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from gpumerge_cli.errors import GpumergeError, InputError
from gpumerge_cli.extents import DecompressedCopy
from gpumerge_cli.formats import input as files
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.codecs import CODECS
from gpumerge_cli.formats.compressed import Writable, compression_of, unpacked
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.urls import is_url, shown

_PIECE = 1 << 16


def open_input(
    name: str,
    *,
    plain: bool = False,
    progress: Callable[[float], None] = lambda share: None,
    folder: str | None = None,
    copy: DecompressedCopy | None = None,
    memory: int | None = None,
) -> SeekableInput:
    """Open the input `name`. Raises InputError, UsageError.

    memory: the bytes that the job may take, of which all its inputs keep a share; None if it does not say. The other
    arguments are SeekableInput's.
    """
    if copy is not None:
        return SeekableInput(shown(name), folder=folder, copy=copy)
    if is_url(name):
        from gpumerge_cli.formats.stored_input import open_url

        return open_url(name, plain=plain, progress=progress, folder=folder)
    if not plain and compression_of(name):
        from gpumerge_cli.formats.blocked_input import open_blocked

        blocked = open_blocked(name, progress, folder, memory)
        if blocked is not None:
            return blocked
    return SeekableInput(name, plain=plain, progress=progress, folder=folder)


def beginning_of(name: str, *, plain: bool = False) -> Generator[bytes, None, None]:
    """The content of an input in pieces, decompressed unless `plain`; open_input still gives all of it afterwards.

    A pipe is read piece by piece as it comes, and not beyond the last piece that was asked for. Close the generator.
    Raises InputError, UsageError.
    """
    if is_url(name):
        with closing(open_input(name, plain=plain)) as file:
            yield from file.pieces(_PIECE)
    elif not plain and compression_of(name):
        yield from unpacked(name)
    else:
        yield from files.file_beginning(name)


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


def codec_of_inputs(output: str, inputs: Sequence[str]) -> str | None:
    """The --compression of an output where its suffix leaves a choice, as .gz does: that of the compressed inputs.

    None if they are of different ones, or if nothing is known about them. Raises InputError.
    """
    packed = [name for name in inputs if compression_of(name)]
    special = [codec for codec in CODECS.values() if codec.general and codec.general == compression_of(output)]
    if not packed or not special or not all(is_url(name) or os.path.isfile(name) for name in packed):
        return None
    starts = [_start_of(name) for name in packed]
    return next((one.option for one in special if all(re.match(one.begins, start, re.S) for start in starts)), None)


def _start_of(name: str) -> bytes:
    with closing(beginning_of(name, plain=True)) as pieces:
        return next(pieces, b"")


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


def read_all(name: str, *, plain: bool = False) -> bytes:
    """The content of an input, decompressed unless `plain`. Raises InputError."""
    file = open_input(name, plain=plain)
    try:
        return bytes(file.read_exactly(0, file.size))
    finally:
        file.close()


def read_names(name: str) -> tuple[str, ...]:
    """The names in the file `name`, each ended by a NUL byte. Raises InputError if there are none, or an empty one."""
    data = read_all(name, plain=True)
    names = [os.fsdecode(part) for part in data.removesuffix(b"\0").split(b"\0")] if data else []
    if not names:
        raise InputError("it names no file", where=name, way_out="give it names that each end in a NUL byte")
    if b"\n" in data and b"\0" not in data and not os.path.exists(names[0]):
        way_out = "end each in NUL, as find -print0 does, or tr '\\n' '\\0'"
        raise InputError("its names end in newlines, not in NUL bytes", where=name, way_out=way_out)
    for number, one in enumerate(names, start=1):
        if not one:
            raise InputError(
                "a name is empty", where=f"{name}:{number}", way_out="give each name once, ended by one NUL"
            )
        if one == STDIO and name == STDIO:
            raise InputError(
                "- cannot be both a file and the list of files", where=f"{name}:{number}", way_out="list it in a file"
            )
    return tuple(names)
