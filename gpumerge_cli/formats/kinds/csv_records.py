"""CSV: lines whose fields may be quoted, and may hold ends of lines then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import Column, Counted, Format, Layout, PreparedSources, Written, register_format
from gpumerge_cli.order.rules import NUL, LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Source
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.line_source import LineSource
    from gpumerge_cli.order.equals import Margin
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.kinds import Order


class Csv(Format):
    """See formats/csv_lines.py, which turns records into lines. No suffix selects it: plain lines are merged faster."""

    name = "csv"
    holds = "lines"
    word = "CSV"
    option = "--csv"
    names_in_header = True
    is_implied = True

    def readings(self, items: Items) -> int:
        """See Format."""
        return 1

    def check_items(self, items: Items) -> None:
        """See Format."""
        if items.terminator == NUL:
            raise UsageError("records of CSV end in newlines", way_out="leave -z out")
        if items.record_start:
            what = "--record-start: records of CSV have lines within quotes"
            raise UsageError(what, way_out="leave it out, or leave --csv and --field out")

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> LineSource:
        """See Format. The source has the lines of the file; `prepared` makes records of them."""
        from gpumerge_cli.formats.line_source import LineSource

        return LineSource(file, layout.items.terminator, layout.items.header_lines, marked=True)

    def refuse(self, name: str, start: bytes, items: Items) -> None:
        """See Format."""
        from gpumerge_cli.formats.csv_lines import refuse

        refuse(name, start, items)

    def order(self, layout: Layout, dtype: Dtype | None) -> Order:
        """See Format."""
        from gpumerge_cli.formats.csv_lines import order_of_fields
        from gpumerge_cli.order.kinds import Order

        return Order.lines(order_of_fields(layout.items.line_order))

    def prepared(
        self, sources: Sequence[Source], layout: Layout, progress: Callable[[int, float], None]
    ) -> PreparedSources:
        """See Format."""
        from gpumerge_cli.formats.csv_lines import records_of
        from gpumerge_cli.formats.line_source import LineSource
        from gpumerge_cli.order.kinds import Order

        lines = [source for source in sources if isinstance(source, LineSource)]
        records = records_of(lines, layout.items.line_order, progress, layout.items.line_ends)
        copied = records.shown is not None
        return PreparedSources(
            tuple(records.sources), Order.lines(records.order), Written(records.shown), is_copied=copied
        )

    def columns(self, name: str, items: Items) -> tuple[Column, ...] | None:
        """See Format. Record number `header_lines` has the names. Raises InputError if there is no such record."""
        from gpumerge_cli.formats.csv_lines import header_fields

        names = header_fields(name, items)
        return None if names is None else tuple(map(Column, names))

    def same_header(self, header: bytes, other: bytes, items: Items) -> bool:
        """See Format. Quotes make no difference either."""
        from gpumerge_cli.formats.csv_dialect import dialect_of
        from gpumerge_cli.formats.csv_lines import same_fields

        return same_fields(header, other, dialect_of(items.line_order))

    def counted(self, margin: Margin, head: bytes, order: Order, written: Written) -> Counted:
        """See Format. The column is the first one of the records, or the last one."""
        from gpumerge_cli.formats.csv_counts import counted_records

        return counted_records(margin, head, order.text or LineOrder(), written)

    def item_of(self, words: Sequence[bytes], order: Order) -> bytes:
        """See Format."""
        from gpumerge_cli.formats.csv_lines import line_of_record

        (record,) = words
        return line_of_record(record, order.text or LineOrder())


register_format(Csv())
