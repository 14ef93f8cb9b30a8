"""Compares inputs as this machine sees them with those that the client sees."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from errno import EACCES

from gpumerge_cli.cluster.shipment import FileState
from gpumerge_cli.errors import ClusterError, GpumergeError, InputError, OutputError, input_error
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.compressed import output_codec
from gpumerge_cli.formats.format import Format
from gpumerge_cli.urls import is_url, shown


def check_names(names: Sequence[str]) -> None:
    """Raise InputError for inputs that workers cannot read."""
    for name in names:
        if not is_url(name) and (name == STDIO or (os.path.exists(name) and not os.path.isfile(name))):
            raise InputError("a cluster reads files, not pipes", where=name, way_out="write it to a file first")


def check_output(name: str, compression: str | None, *, plain: bool) -> None:
    """Raise OutputError for an output that workers cannot write, as far as its name tells.

    compression, plain: see output_codec.
    """
    special = name == STDIO or (os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name))
    if special or output_codec(name, compression, plain=plain) is not None:
        raise unwritable_error("standard output" if name == STDIO else shown(name))


def unwritable_error(name: str) -> OutputError:
    """The error for an output that workers cannot write. name: in messages."""
    what = "a cluster writes plain files, and objects of S3 whose headers are known before the end"
    return OutputError(what, where=name, way_out="name one with -o that is not compressed, or leave --cluster out")


def rewritten_error(name: str, format: Format) -> OutputError:
    """The error for an output whose lines are not written as they are merged. name: that of the output."""
    other = f", or, {format.unchanged_by}" if format.unchanged_by else ""
    where = "standard output" if name == STDIO else shown(name)
    return OutputError(f"a cluster merges no {format.changed}", where=where, way_out=f"leave --cluster out{other}")


def absolute_name(name: str) -> str:
    """A name that means the same to all machines that share a file system."""
    return name if is_url(name) else os.path.abspath(name)


def name_as_given(error: GpumergeError, names: Sequence[str]) -> None:
    """Have the error of a worker, which knows absolute names alone, name an input as the job does, one of `names`."""
    for name in names:
        path = absolute_name(name)
        if path != name and error.where.startswith(path) and error.where[len(path) :][:1] in ("", ":", "@"):
            error.where = name + error.where[len(path) :]
            return


def file_state(name: str) -> FileState:
    """An input as this machine sees it. Raises InputError for one that workers cannot read."""
    check_names((name,))
    if is_url(name):
        return FileState(name, -1, 0)
    path = os.path.abspath(name)
    try:
        status = os.stat(path)
    except OSError as error:
        raise input_error(error, name) from None
    return FileState(path, status.st_size, status.st_mtime_ns)


def check_inputs(inputs: Sequence[FileState]) -> None:
    """Raise ClusterError for an input that this worker does not see as the client does."""
    for one in inputs:
        if one.size < 0:
            continue
        try:
            status = os.stat(one.path)
            if not os.access(one.path, os.R_OK):
                raise PermissionError(EACCES, os.strerror(EACCES))
        except OSError as error:
            problem = input_error(error, one.path)
            way_out = "put it on a file system that all machines have, under one path"
            if isinstance(error, PermissionError):
                way_out = "run workers as the user who gives the command"
            raise ClusterError(
                f"the worker at {socket.gethostname()} cannot read it: {problem.what}", where=one.path, way_out=way_out
            ) from None
        if (status.st_size, status.st_mtime_ns) != (one.size, one.mtime):
            raise ClusterError(
                f"the worker at {socket.gethostname()} has another file there", where=one.path,
                way_out="put it on a file system that all machines have, and let nothing write to it",
            )  # fmt: skip
