"""The check that the inputs of one job hold items of one type. See headers for lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.record_options import item_name

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype


def same_items(sources: Sequence[Source], layouts: Sequence[Layout]) -> None:
    """Raise InputError if the items of a source are of another type than those of the first one."""
    first, its = sources[0], layouts[0]
    for source, layout in zip(sources, layouts, strict=True):
        if not _same(source.dtype, first.dtype) or layout.format.untyped_items != its.format.untyped_items:
            raise InputError(
                f"holds {_items(source, layout)}, but {first.name} holds {_items(first, its)}",
                where=source.name,
                way_out="convert one of them: all inputs need one type",
            )


def _same(dtype: Dtype | None, first: Dtype | None) -> bool:
    if dtype is None or first is None or dtype.kind in "SV" or first.kind in "SV":
        return dtype == first
    return dtype.newbyteorder("=") == first.newbyteorder("=")


def _items(source: Source, layout: Layout) -> str:
    return layout.format.untyped_items if source.dtype is None else item_name(source.dtype)
