"""Lines of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import Counted, Format, Layout, Named, PreparedSources, Written, register_format
from gpumerge_cli.order.rules import NUL, LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Source
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.line_source import LineSource
    from gpumerge_cli.order.equals import Margin
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.kinds import Order
    from gpumerge_cli.order.sums import SumRequest, SumRules


class Text(Format):
    """Lines that are written as they are read."""

    name = "text"
    holds = "lines"
    suffixes = dict.fromkeys(("", ".txt", ".text", ".csv", ".tsv", ".log", ".lst"), "")
    about = "lines of text"
    word = "text"

    def check_items(self, items: Items) -> None:
        """See Format."""
        if items.counted and (items.record_start or items.line_ends or items.terminator == NUL):
            option = items.line_option if items.record_start or items.line_ends else "-z"
            raise UsageError(f"{option}: --counted is for lines that end in newlines", way_out=f"leave {option} out")
        if items.line_order.quotes != "doubled":
            what = f"--quotes {items.line_order.quotes}: fields of plain lines are never quoted"
            raise UsageError(what, way_out="leave it out; --csv or --field reads fields that may be quoted")
        if not items.record_start and not items.line_ends:
            return
        option = items.line_option
        if items.terminator == NUL:
            raise UsageError(f"{option} and -z: lines end in newlines, or in NUL", way_out="leave one of the two out")
        if items.shown is not None:
            raise UsageError(
                f"{option} and --debug: keys of such lines are not underlined", way_out="leave --debug out"
            )
        if items.record_start:
            from gpumerge_cli.formats.line_records import pattern_of
            from gpumerge_cli.native.record_starts import check_pattern

            pattern = pattern_of(items.record_start)
            if pattern is not None:
                check_pattern(pattern)

    def readings(self, items: Items) -> int:
        """See Format."""
        return int(bool(items.record_start or items.line_ends or items.counted))

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> LineSource:
        """See Format."""
        from gpumerge_cli.formats.line_source import LineSource

        items = layout.items
        return LineSource(file, items.terminator, items.header, marked=not items.plain)

    def counted(self, margin: Margin, head: bytes, order: Order, written: Written) -> Counted:
        """See Format. The numbers stand beside lines, in no column of theirs."""
        return Counted(margin, head, written)

    def summed(self, request: SumRequest, order: Order, dtype: Dtype | None, written: Written) -> SumRules:
        """See Format."""
        from gpumerge_cli.formats.line_sums import summed_fields_of

        return summed_fields_of(request, order.text or LineOrder())

    def prepared(
        self, sources: Sequence[Source], layout: Layout, progress: Callable[[int, float], None]
    ) -> PreparedSources:
        """See Format."""
        items = layout.items
        if items.counted:
            from gpumerge_cli.formats.counted_lines import counted_sources
            from gpumerge_cli.formats.line_source import LineSource

            return counted_sources([one for one in sources if isinstance(one, LineSource)], items, progress)
        if not items.record_start and not items.line_ends:
            return super().prepared(sources, layout, progress)
        from gpumerge_cli.formats.line_ends import shown_with, without_returns, written_end
        from gpumerge_cli.formats.line_records import records_of_lines
        from gpumerge_cli.formats.line_source import LineSource
        from gpumerge_cli.order.kinds import Order

        lines = [source for source in sources if isinstance(source, LineSource)]
        order, newline = items.line_order, b"\n"
        if items.line_ends:
            newline = written_end(items.line_ends, lines)
            advance = (lambda number, share: None) if items.record_start else progress
            lines = [without_returns(source, partial(advance, number)) for number, source in enumerate(lines)]
        shown = shown_with(newline)
        if items.record_start:
            lines, order, shown = records_of_lines(lines, items, newline, progress)
        copied = any(line is not source for line, source in zip(lines, sources, strict=True))
        return PreparedSources(tuple(lines), Order.lines(order), Written(shown), is_copied=copied)

    def named(self, title: str, names: Sequence[str], head: bytes, order: Order, written: Written) -> Named:
        """See Format. A tab stands behind each name."""
        from gpumerge_cli.formats.source_column import names_of_lines

        return names_of_lines(title, names, head, order, written)

    def refuse(self, name: str, start: bytes, items: Items) -> None:
        """See Format."""
        from gpumerge_cli.formats.beginnings import refuse_binary, refuse_wide

        if not items.tells_format:
            refuse_binary(name, start, plain=items.plain)
            if not items.plain:
                refuse_wide(name, start, in_fields=False)


register_format(Text())
