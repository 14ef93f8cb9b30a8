"""CSV: lines whose fields may be quoted, and may hold ends of lines then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.csv_words import SPELLING
from gpumerge_cli.formats.format import (
    Column,
    Counted,
    Format,
    Layout,
    Named,
    PreparedSources,
    Written,
    register_format,
)
from gpumerge_cli.order.rules import NUL, LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Source
    from gpumerge_cli.formats.csv_quotes import CsvShape
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.line_source import LineSource
    from gpumerge_cli.formats.output_items import OutputItems
    from gpumerge_cli.formats.tables.item_rows import ItemRows
    from gpumerge_cli.formats.tables.table import TableWriter
    from gpumerge_cli.order.equals import Margin
    from gpumerge_cli.order.joins import Join
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.kinds import Order
    from gpumerge_cli.order.sums import SumRequest, SumRules


class Csv(Format):
    """See formats/csv_lines.py, which turns records into lines. No suffix selects it: plain lines are merged faster."""

    name = "csv"
    holds = "lines"
    spelling = SPELLING
    word = SPELLING.items
    option = SPELLING.option
    names_in_header = True
    takes_rows = True
    gives_rows = True
    takes_separator = True
    has_schemas = True
    is_implied = True
    tables: Mapping[str, bytes] = {".csv": b",;", ".tsv": b"\t"}
    separators = b"\t;,"
    empty_item = b'""'
    changed = (
        "CSV with newlines in quotes, with quotes that do not enclose whole fields, or with a key of several fields"
    )
    unchanged_by = "if such a key is all, end it in its field, as -k 2,2"

    def rows_of(self, items: OutputItems) -> ItemRows:
        """See Format."""
        from gpumerge_cli.formats.tables.csv_rows import CsvRows

        return CsvRows(items)

    def text_writer(self, schema: Any, suffix: str) -> TableWriter | None:
        """See Format."""
        if suffix not in self.tables:
            return None
        from gpumerge_cli.formats.tables.text_writers import csv_writer

        return csv_writer(schema, self.tables[suffix][:1].decode())

    def readings(self, items: Items) -> int:
        """See Format."""
        return 1

    def check_items(self, items: Items) -> None:
        """See Format."""
        if items.terminator == NUL:
            raise UsageError("records of CSV end in newlines", way_out="leave -z out")
        if items.counted:
            raise UsageError("--counted: the files hold CSV", way_out="leave it out, or sum a column by --sum")
        if items.record_start:
            what = "--record-start: records of CSV have lines within quotes"
            raise UsageError(what, way_out="leave it out, or leave --csv and --field out")

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> LineSource:
        """See Format. The source has the lines of the file; `prepared` makes records of them."""
        from gpumerge_cli.formats.line_source import LineSource

        return LineSource(file, layout.items.terminator, layout.items.header, marked=True)

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
        from gpumerge_cli.formats.csv_dialect import dialect_of
        from gpumerge_cli.formats.csv_lines import records_of
        from gpumerge_cli.formats.line_source import LineSource
        from gpumerge_cli.order.kinds import Order

        lines = [source for source in sources if isinstance(source, LineSource)]
        shapes: Sequence[CsvShape | None] = ()
        if layout.items.schema != "same":
            from gpumerge_cli.formats.csv_schema import arranged

            found = arranged(lines, layout.items, dialect_of(layout.items.line_order), progress)
            lines, shapes = found.sources, found.shapes
        records = records_of(lines, layout.items.line_order, progress, layout.items.line_ends, shapes)
        copied = records.shown is not None or bool(shapes)
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

    def fields_of_header(self, line: bytes, items: Items) -> Sequence[bytes]:
        """See Format."""
        from gpumerge_cli.formats.csv_dialect import dialect_of
        from gpumerge_cli.formats.csv_lines import fields_of_record

        return fields_of_record(line, dialect_of(items.line_order))

    def counted(self, margin: Margin, head: bytes, order: Order, written: Written) -> Counted:
        """See Format. The column is the first one of the records, or the last one."""
        from gpumerge_cli.formats.csv_counts import counted_records

        return counted_records(margin, head, order.text or LineOrder(), written)

    def summed(self, request: SumRequest, order: Order, dtype: Dtype | None, written: Written) -> SumRules:
        """See Format."""
        from gpumerge_cli.formats.line_sums import summed_fields_of

        return summed_fields_of(request, order.text or LineOrder())

    def torn_way_out(self, lines: Sequence[bytes]) -> str:
        """See Format. Quotes enclose the ends of such lines."""
        return "if it is CSV, whose quotes enclose ends of lines, add --csv" if any(map(_is_torn, lines)) else ""

    def key_warning(self, line: bytes, order: LineOrder) -> str:
        """See Format. A key with letters and no end, as -k 2r, is of all fields from there on."""
        from gpumerge_cli.formats.csv_lines import open_key_warning

        return open_key_warning(line, order)

    def check_join(self, sources: Sequence[LineSource], order: LineOrder, filler: bytes) -> None:
        """See Format."""
        from gpumerge_cli.formats.csv_joins import check_join

        check_join(sources, order, filler)

    def header_names(self, header: bytes, join: Join) -> Sequence[bytes]:
        """See Format."""
        from gpumerge_cli.formats.csv_joins import raw_fields

        return raw_fields(header, join.between, join.quotes)

    def joined_header(self, header: bytes, join: Join) -> bytes:
        """See Format. Names of B that other columns have get suffixes."""
        from gpumerge_cli.formats.csv_joins import with_distinct_names

        return with_distinct_names(header, join)

    def named(self, title: str, names: Sequence[str], head: bytes, order: Order, written: Written) -> Named:
        """See Format. The column is the first one."""
        from gpumerge_cli.formats.source_column import names_of_records

        return names_of_records(title, names, head, order.text or LineOrder(), written)

    def item_of(self, words: Sequence[bytes], order: Order) -> bytes:
        """See Format."""
        from gpumerge_cli.formats.csv_lines import line_of_record

        (record,) = words
        return line_of_record(record, order.text or LineOrder())


def _is_torn(line: bytes) -> bool:
    return line.count(b'"') % 2 == 1


register_format(Csv())
