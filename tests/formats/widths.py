"""A small format of lines with named columns: text of fixed width, whose first line says the columns: #id:8 name:12."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.format import Column, Format, Layout, PreparedSources, Written
from gpumerge_cli.formats.header_lines import HeaderLines
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.naming import beginning_of
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import NUL, LineKey, LineOrder

Widths = Sequence[tuple[str, int]]
"""The name of each column, and its bytes."""


class FixedWidth(Format):
    """See above."""

    name = "fwf"
    holds = "lines"
    suffixes: Mapping[str, str] = {".fwf": ""}
    begins = rb"#[^\s:]+:[0-9]+[ \r\n]"
    about = "columns of fixed width"
    word = "text of fixed width"
    joins = False
    names_in_header = True

    def check_items(self, items: Items) -> None:
        order = items.line_order
        if order.separator is not None or order.terminator == NUL or items.header_lines > 1:
            what = "columns of fixed width have no separators, and one line of header"
            raise UsageError(what, way_out="leave -t, -z and --header out")

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> LineSource:
        return LineSource(file, layout.items.terminator, HeaderLines(1), marked=True)

    def prepared(
        self, sources: Sequence[Source], layout: Layout, progress: Callable[[int, float], None]
    ) -> PreparedSources:
        order, headers = layout.items.line_order, []
        for source in sources:
            assert isinstance(source, LineSource), "open makes no others"
            headers += [_widths(source.header, source.name)] if source.header else []
        order = _at_places(order, headers[0]) if headers else order
        return PreparedSources(tuple(sources), Order.lines(order), Written(layout.items.shown))

    def columns(self, name: str, items: Items) -> tuple[Column, ...] | None:
        with contextlib.closing(beginning_of(name, plain=items.plain)) as pieces:
            start = b""
            while b"\n" not in start and (piece := next(pieces, b"")):
                start += piece
        return tuple(Column(column) for column, _ in _widths(start, name)) if start else None


def _widths(start: bytes, name: str) -> Widths:
    """The columns that the first line of a file says. Raises InputError."""
    line = start.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode(errors="surrogateescape").rstrip()
    words = [word.rpartition(":") for word in line.removeprefix("#").split(" ")]
    if not line.startswith("#") or not all(column and width.isdecimal() and int(width) for column, _, width in words):
        what = f"its first line {line[:40]!r} does not say columns"
        raise InputError(what, where=f"{name}:1", way_out="write it as #id:8 name:12")
    return [(column, int(width)) for column, _, width in words]


def _at_places(order: LineOrder, widths: Widths) -> LineOrder:
    """The order with keys at the places of their columns in lines. Raises UsageError."""
    return replace(order, keys=tuple(key if key.whole else _at_place(key, widths) for key in order.keys))


def _at_place(key: LineKey, widths: Widths) -> LineKey:
    if key.start_char or key.end_char or key.end_field != key.start_field:
        raise UsageError(f"{key.option_text}: a key is a whole column", way_out="name columns with --field")
    if key.skip_start or key.skip_end:
        raise UsageError(f"{key.option_text}: b skips no blanks of a column at a fixed place", way_out="leave b out")
    if key.start_field >= len(widths):
        raise UsageError(f"{key.option_text}: there are {len(widths)} columns", way_out="name one of them")
    start = sum(width for _, width in widths[: key.start_field])
    return replace(key, start_field=0, start_char=start, end_field=0, end_char=start + widths[key.start_field][1])
