"""Rows of a table from records of CSV: columns of strings, named by the header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.csv_dialect import Dialect, dialect_of
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.formats.tables.facts import SortedColumn
from gpumerge_cli.formats.tables.text_rows import TextRows, names_of_columns
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.units import visible

if TYPE_CHECKING:
    from gpumerge_cli.formats.output_items import OutputItems

_SHOWN = 40
_BLANK = (b"\n\n", b"\n\r\n")
_NO_UTF8 = "convert the files, for example with iconv -t UTF-8, or write CSV"


class CsvRows(TextRows):
    """See TextRows. Raises InputError for a header that does not name the columns."""

    def __init__(self, items: OutputItems) -> None:
        super().__init__(items)
        order = items.order.text or LineOrder()
        self._dialect = dialect_of(order.requested)
        names = self._names()
        ahead = items.has_names + (items.count == "ahead")
        count = {"ahead": 0, "after": len(names) - 1}.get(items.count or "")
        self.schema = pa.schema([(name, pa.int64() if at == count else pa.string()) for at, name in enumerate(names)])
        self._width = len(names) - ahead - (items.count == "after")
        separator = self._dialect.separator
        self._is_usual = self._dialect.quotes != "backslash" and len(separator) == 1 and separator.isascii()
        named = names[ahead : ahead + self._width]
        self.sorted_by = () if items.is_joined else _sorted_by(order.requested, named)

    def _names(self) -> list[str]:
        head = bytes(self.text(self._items.head)).removeprefix(BOM) if self._items.head else b""
        where = self._items.sources[0].name
        try:
            records = list(_records(head, self._dialect))
        except csv.Error as error:
            raise InputError(f"its header is not CSV: {error}", where=where, way_out="check its quotes") from None
        if not records:
            way_out = "name the columns in a header, and add --header 1, or write CSV"
            raise InputError("it has no header that names the columns of a table", where=where, way_out=way_out)
        return names_of_columns(records[-1], f"{where}:{len(records)}")

    def parsed(self, text: Bytes) -> pa.Table:
        """See TextRows."""
        data = bytes(text)
        columns = self._by_arrow(data) if self._is_usual and _is_usual(data) else self._by_parser(data)
        made = [
            one if one.type == field.type else one.cast(field.type)
            for one, field in zip(columns, self.schema, strict=True)
        ]
        return pa.Table.from_arrays(made, schema=self.schema)

    def _by_arrow(self, text: bytes) -> list[Any]:
        names = [str(number) for number in range(len(self.schema))]
        has_quotes = self._dialect.quotes == "doubled" and b'"' in text
        read = pyarrow.csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names)
        parse = pyarrow.csv.ParseOptions(
            delimiter=self._dialect.separator.decode(),
            quote_char='"' if has_quotes else False,
            double_quote=True,
            escape_char=False,
            newlines_in_values=has_quotes,
            ignore_empty_lines=False,
        )
        convert = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, null_values=[]
        )
        found = pyarrow.csv.read_csv(pa.BufferReader(text), read, parse, convert)
        return list(found.columns)

    def _by_parser(self, text: bytes) -> list[Any]:
        records = list(_records(text, self._dialect))
        if any(len(record) != len(self.schema) for record in records):
            raise ValueError("records differ in their fields")
        return [pa.array(column, pa.binary()).cast(pa.string()) for column in zip(*records, strict=True)]

    def fault(self, text: Bytes) -> tuple[int, str, str] | None:
        """See TextRows."""
        for number, record in enumerate(_records(bytes(text), self._dialect)):
            if len(record) != self._width:
                shown = visible(self._dialect.separator.join(record)[:_SHOWN].decode("utf-8", "replace"))
                has = "1 field" if len(record) == 1 else f"{len(record)} fields"
                what = f"it has {has}, {shown!r}, and the header has {self._width}"
                return number, what, "mend the record, or write CSV"
            for field in record:
                try:
                    field.decode()
                except UnicodeDecodeError:
                    shown = visible(field[:_SHOWN].decode("utf-8", "replace"))
                    return number, f"the field {shown!r} is not UTF-8", _NO_UTF8
        return None


def _records(text: bytes, dialect: Dialect) -> Iterator[list[bytes]]:
    """The fields of records. An empty line is a record of one empty field. Raises csv.Error."""
    for row in dialect.rows(io.StringIO(text.decode("latin-1"), newline="\n")):
        yield [field.encode("latin-1") for field in row] or [b""]


def _is_usual(text: bytes) -> bool:
    """Whether Arrow reads records as others do: it takes each carriage return and empty line for something else."""
    if text.startswith((b"\n", b"\r\n")) or any(blank in text for blank in _BLANK):
        return False
    return text.count(b"\r") == text.count(b"\r\n")


def _sorted_by(order: LineOrder, names: list[str]) -> tuple[SortedColumn, ...]:
    """The columns among the first keys that compare as strings of tables do."""
    found: list[SortedColumn] = []
    for key in order.keys:
        field = key.start_field
        plain = LineKey(start_field=field, end_field=field, reverse=key.reverse)
        if replace(key, name="", option="--field") != plain or order.locale or field >= len(names):
            break
        found.append(SortedColumn((names[field],), key.reverse, nulls_first=False))
    return tuple(found)
