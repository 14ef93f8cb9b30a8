"""Lines of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import Format, Layout, register_format

if TYPE_CHECKING:
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.line_source import LineSource


class Text(Format):
    """Lines that are written as they are read."""

    name = "text"
    holds = "lines"
    suffixes = dict.fromkeys(("", ".txt", ".text", ".csv", ".tsv", ".log", ".lst"), "")
    about = "lines of text"
    word = "text"

    def check_items(self, items: Items) -> None:
        """See Format."""
        if items.line_order.quotes != "csv":
            what = f"--quotes {items.line_order.quotes}: fields of plain lines are never quoted"
            raise UsageError(what, way_out="leave it out; --csv or --field reads fields that may be quoted")

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> LineSource:
        """See Format."""
        from gpumerge_cli.formats.line_source import LineSource

        items = layout.items
        return LineSource(file, items.terminator, items.header_lines, marked=not items.plain)

    def refuse(self, name: str, start: bytes, items: Items) -> None:
        """See Format."""
        from gpumerge_cli.formats.beginnings import refuse_binary, refuse_wide

        if not items.tells_format:
            refuse_binary(name, start, plain=items.plain)
            if not items.plain:
                refuse_wide(name, start, in_fields=False)


register_format(Text())
