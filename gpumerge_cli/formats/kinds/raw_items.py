"""Raw binary files: nothing but items."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.format import Format, Layout, register_format
from gpumerge_cli.order.key_types import SUFFIXES

if TYPE_CHECKING:
    from gpumerge_cli.formats.fixed_source import FixedSource
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.output_items import OutputItems
    from gpumerge_cli.formats.tables.item_rows import ItemRows


class Raw(Format):
    """Items of a dtype that options or the suffix give."""

    name = "raw"
    holds = "untyped"
    suffixes = SUFFIXES
    about = "raw"
    gives_rows = True

    def rows_of(self, items: OutputItems) -> ItemRows | None:
        """See Format. Fields are columns."""
        from gpumerge_cli.formats.tables.item_rows import record_rows

        return record_rows(items)

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> FixedSource:
        """See Format."""
        from gpumerge_cli.formats.fixed_source import FixedSource

        dtype = layout.dtype
        assert dtype is not None
        over = file.size % dtype.itemsize
        if over:
            of, option = (dtype.name, "--dtype") if dtype.kind != "V" else ("a record", "the record's size")
            raise InputError(
                f"{file.size} bytes are not a multiple of {dtype.itemsize}, the size of {of}: {over} left over",
                where=file.name,
                way_out=f"check {option}, or whether the file is whole",
            )
        return FixedSource(file, dtype, 0, file.size)


register_format(Raw())
