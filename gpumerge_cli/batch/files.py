"""The files that jobs read and write: finds unusable ones and ones with two writers, and the order of jobs."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection

from gpumerge_cli.batch.draft import Draft
from gpumerge_cli.batch.expand import Folder
from gpumerge_cli.errors import OutputError, UsageError, as_os_error, output_error
from gpumerge_cli.formats.naming import check_input, size_of
from gpumerge_cli.formats.stores.lookup import object_of
from gpumerge_cli.urls import is_url

_DESCRIPTOR = re.compile(r"-|/dev/(stdout|stderr|fd/.*)|/proc/self/fd/.*")


class Files:
    """The files of all jobs, by their real paths. Methods raise UsageError, InputError or OutputError."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._writers: dict[str, tuple[Draft, int]] = {}

    def write(self, name: str, draft: Draft, line: int) -> None:
        """Note that a job writes a file, by this line of the job file."""
        path, real = self._folder.path(name), self._folder.real(name)
        other, first = draft, line
        if not os.path.exists(path) or os.path.isfile(path):  # any number of jobs may write to a device
            # This comes before all checks: a job that reads a refused name has not made the mistake.
            other, first = self._writers.setdefault(real, (draft, line))
        _check_output(name, path)
        if real in self._folder.taken:
            raise UsageError(f"{path} is {self._folder.taken[real]}", way_out="name another file")
        if other is not draft:
            raise UsageError(
                f"{path} is written by job {other.name} of line {first} already", way_out="name another file"
            )

    def read(self, name: str, draft: Draft) -> tuple[int | None, int]:
        """Note that a job reads a file; returns the number of the job that makes it, or None and the file's bytes."""
        self._folder.refuse_replaced(name)
        writer, _ = self._writers.get(self._folder.real(name), (draft, 0))
        if writer is not draft:
            return writer.number, 0
        path = self._folder.path(name)
        check_input(path)
        return None, size_of(path)

    def refuse_replacing(self, output: str, inputs: Collection[str]) -> None:
        """Refuse to replace one of several inputs: a job that is killed and runs again would merge it in twice."""
        real = self._folder.real(output)
        if len(inputs) > 1 and real in map(self._folder.real, inputs):
            message = f"it replaces {real}, one of its inputs: a second run would merge it twice"
            raise UsageError(message, way_out="name another output")


def _check_output(name: str, path: str) -> None:
    if not name or name.endswith("/"):
        raise OutputError(f"{name!r} is not the name of a file", where="output", way_out="name a file")
    if _DESCRIPTOR.fullmatch(name):
        raise OutputError("a job writes a file", where=name, way_out="name one")
    if is_url(path):
        object_of(path, written=True)
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise OutputError("there is no such folder", where=folder, way_out="make it first")
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "")
        if not os.access(path if os.path.exists(path) else folder, os.W_OK):
            raise PermissionError(errno.EACCES, "")
    except (OSError, ValueError) as error:
        raise output_error(as_os_error(error), path) from None
