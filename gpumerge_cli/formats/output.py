"""Outputs by their names: the right kind of output for each, and what becomes of all as the program ends."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from gpumerge_cli.errors import OutputError, output_error
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.output_file import OutputFile, placed_files
from gpumerge_cli.formats.output_stream import OutputStream, begun_streams, descriptor_named
from gpumerge_cli.temporary_files import remove_temporaries
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from gpumerge_cli.formats.stored_output import StoredOutput


def remove_unfinished() -> list[tuple[str, str]]:
    """Remove the temporary files of all unfinished outputs. The program calls it as it ends.

    Returns the files that stay, because they cannot be removed, with the reasons.
    """
    left = remove_temporaries()
    placed_files.clear()
    begun_streams.clear()
    stored = _stored_outputs()
    if stored is not None:
        for one in list(stored.unfinished_uploads):
            one.abort()
        stored.placed_objects.clear()
    return left


def _stored_outputs() -> ModuleType | None:
    """The module of outputs by URL, if there was one."""
    return sys.modules.get("gpumerge_cli.formats.stored_output")


def given() -> str:
    """A sentence for users: which outputs exist if the program ends now."""
    names = [name for name, place in placed_files.items() if os.path.exists(place)]
    stored = _stored_outputs()
    whole = [f"{name} is complete" for name in names + ([] if stored is None else stored.placed_objects)]
    return ", ".join(whole + [f"{name} has a part of the output" for name in begun_streams]) or "no output was written"


def open_output(name: str, most: int = 0) -> OutputFile | OutputStream | StoredOutput:
    """The right kind of output for `name`. Raises OutputError, and UsageError for some URLs.

    most: about the bytes that a run may write, to it and others; 0 if nobody knows.
    """
    if is_url(name):
        from gpumerge_cli.formats.stored_output import StoredOutput

        return StoredOutput(name, most)
    if not name or name.endswith("/"):
        raise OutputError(f"{name!r} is not a file name", way_out="name a file, or - for standard output")
    if descriptor_named(name) is not None:
        return OutputStream(name)
    try:
        kind = os.stat(name).st_mode
    except FileNotFoundError:
        return OutputFile(name, most)
    except OSError as error:
        raise output_error(error, name) from None
    return OutputFile(name, most) if stat.S_ISREG(kind) or stat.S_ISDIR(kind) else OutputStream(name)


def check_writable(name: str) -> None:
    """Raise the OutputError that opening the output would, and leave it as it is.

    Pipes and devices are not opened: that may wait for a reader.
    """
    if name == STDIO or descriptor_named(name) is not None:
        return
    if is_url(name) or not os.path.exists(name) or os.path.isfile(name) or os.path.isdir(name):
        open_output(name).abort()
    elif not os.access(name, os.W_OK):
        raise output_error(PermissionError(errno.EACCES, ""), name)


def same_output(name: str, other: str) -> bool:
    """Whether two outputs go to the same file, or to the same open file or pipe."""
    numbers = [descriptor_named(one) for one in (name, other)]
    if any(number is None for number in numbers):
        return numbers == [None, None] and os.path.realpath(name) == os.path.realpath(other)
    with contextlib.suppress(OSError):  # opening them will report it
        first, second = (os.fstat(number) for number in numbers if number is not None)
        return os.path.samestat(first, second)
    return False


def refuse_inputs(name: str, inputs: Sequence[str]) -> None:
    """Raise OutputError if the output `name` is an open file that holds one of `inputs`.

    Writing to the open file would change input that is still to be read. An output with a name is safe: it replaces its
    file only when it is complete.
    """
    with contextlib.suppress(OSError, ValueError):  # opening them will report it
        number = descriptor_named(name)
        written = None if number is None else os.fstat(number)
        if written is None or not stat.S_ISREG(written.st_mode) or not written.st_size:
            return
        for one in inputs:
            if os.path.samestat(os.fstat(0) if one == STDIO else os.stat(one), written):
                what = "standard output" if name == STDIO else name
                raise OutputError(
                    f"it is also the input {one}", where=what, way_out="name it with -o, or use another file"
                )
