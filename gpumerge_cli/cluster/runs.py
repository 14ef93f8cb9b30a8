"""Sorted runs in a shared folder, as sources of the merge that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.cluster.shipment import Shipment
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.fixed_source import FixedSource
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.line_source import LineSource

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype


def run_sources(shipment: Shipment) -> list[Source]:
    """The runs that are the inputs of a shipment, opened. Raises InputError."""
    found: list[Source] = []
    try:
        for one in shipment.inputs:
            found.append(run_source(one.path, shipment.dtype, shipment.order.end))
    except BaseException:
        for source in found:
            source.close()
        raise
    return found


def run_source(path: str, dtype: Dtype | None, end: bytes) -> Source:
    """A run as a source. dtype: of its items, in native byte order; None for lines that end with `end`."""
    file = SeekableInput(path, plain=True)
    return LineSource(file, end[0]) if dtype is None else FixedSource(file, dtype, 0, file.size)
