"""Checks whether a worker reaches the stores of a run, before the run begins."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from gpumerge_cli.cluster.shipment import FileState
from gpumerge_cli.errors import ClusterError, GpumergeError
from gpumerge_cli.extents import UploadLocation
from gpumerge_cli.formats.stores.base import StoreError
from gpumerge_cli.urls import is_url, shown

_MOST_OBJECTS = 16
"""Objects that a worker reads before a run: one of each of so many folders."""


def check_stores(inputs: Sequence[FileState]) -> None:
    """Raise ClusterError if this worker cannot read the first object of a store, for example without credentials."""
    from gpumerge_cli.formats.stored_input import size_of_url

    first: dict[str, str] = {}
    for one in inputs:
        if is_url(one.path):
            first.setdefault(one.path.rpartition("/")[0], one.path)
    for url in list(first.values())[:_MOST_OBJECTS]:
        try:
            size_of_url(url)
        except GpumergeError as error:
            raise _access_error("read", error, shown(url)) from None


def check_upload(spot: UploadLocation) -> None:
    """Raise ClusterError if this worker cannot reach the upload of an object, for example without credentials."""
    try:
        spot.upload.check()
    except StoreError as error:
        raise _access_error("write", error, spot.name) from None


def _access_error(what: str, error: GpumergeError | StoreError, name: str) -> ClusterError:
    return ClusterError(
        f"the worker at {socket.gethostname()} cannot {what} it: {error.what}", where=name,
        way_out=f"on that machine: {error.way_out}",
    )  # fmt: skip
