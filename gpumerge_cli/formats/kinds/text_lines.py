"""Lines of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.formats.format import Format, Layout, Named, register_format

if TYPE_CHECKING:
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.line_source import LineSource
    from gpumerge_cli.order.kinds import Order


class Text(Format):
    """Lines that are written as they are read."""

    name = "text"
    holds = "lines"
    suffixes = dict.fromkeys(("", ".txt", ".text", ".csv", ".tsv", ".log", ".lst"), "")
    about = "lines of text"
    word = "text"

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> LineSource:
        """See Format."""
        from gpumerge_cli.formats.line_source import LineSource

        items = layout.items
        return LineSource(file, items.terminator, items.header_lines, marked=not items.plain)

    def named(self, title: str, names: Sequence[str], head: bytes, order: Order) -> Named:
        """See Format. A tab stands behind each name."""
        from gpumerge_cli.formats.source_column import names_of_lines

        return names_of_lines(title, names, head, order)

    def refuse(self, name: str, start: bytes, items: Items) -> None:
        """See Format."""
        from gpumerge_cli.formats.beginnings import refuse_binary, refuse_wide

        if not items.tells_format:
            refuse_binary(name, start, plain=items.plain)
            if not items.plain:
                refuse_wide(name, start, in_fields=False)


register_format(Text())
