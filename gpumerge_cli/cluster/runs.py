"""Sorted runs in a shared folder, as sources of the merge that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.cluster.shipment import Shipment
from gpumerge_cli.engine.local_sorts import run_source
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.input import SeekableInput

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype


def run_sources(shipment: Shipment) -> list[Source]:
    """The runs that are the inputs of a shipment, opened. Raises InputError."""
    found: list[Source] = []
    try:
        for one in shipment.inputs:
            found.append(run_at(one.path, shipment.dtype, shipment.order.end))
    except BaseException:
        for source in found:
            source.close()
        raise
    return found


def run_at(path: str, dtype: Dtype | None, end: bytes) -> Source:
    """A run in a file as a source. dtype, end: see run_source."""
    return run_source(SeekableInput(path, plain=True), dtype, end)
