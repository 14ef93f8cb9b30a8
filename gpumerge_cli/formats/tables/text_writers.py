"""Outputs of tables as text: CSV, and JSON Lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats.tables.column_paths import values_type
from gpumerge_cli.formats.tables.table import TableWriter
from gpumerge_cli.formats.tables.text_values import (
    csv_fields,
    is_nested,
    joined_fields,
    json_objects,
    json_values,
    lines_of_texts,
)
from gpumerge_cli.units import quoted_value


class TextWriter(TableWriter):
    """Makes lines of rows. text: the lines of a RecordBatch, from any thread. head: the lines ahead of them."""

    needs_utf8 = True

    def __init__(self, text: Callable[[pa.RecordBatch], Any], head: bytes = b"") -> None:
        self._text = text
        self.head = head

    def encoded(self, rows: pa.Table) -> bytes:
        """See TableWriter. Raises OutputError for bytes that are not UTF-8."""
        try:
            return b"".join(self._text(batch) for batch in rows.to_batches())
        except (pa.ArrowException, UnicodeDecodeError) as error:
            what = f"a value cannot be written as text: {error}".splitlines()[0]
            raise OutputError(what, way_out="write Parquet or Arrow, or leave columns of bytes out") from None

    def appended(self, group: bytes, start: int) -> bytes:
        """See TableWriter."""
        return group

    def end(self, start: int) -> bytes:
        """See TableWriter."""
        return b""


def csv_writer(schema: pa.Schema, separator: str) -> TextWriter:
    """The writer of CSV with a header. Raises OutputError for columns whose values hold values."""
    for field in schema:
        if is_nested(field.type):
            what = f"the column {field.name} is {field.type}, which a field of CSV cannot hold"
            raise OutputError(what, way_out="write JSON Lines (.jsonl), or Parquet or Arrow")

    def fields(array: Any) -> Any:
        found = csv_fields(array, separator)
        # A line without any byte would be no record.
        return pa.array([text or '""' for text in found.to_pylist()], found.type) if len(schema) == 1 else found

    def text(batch: pa.RecordBatch) -> Any:
        return lines_of_texts(joined_fields([fields(column) for column in batch.columns], separator))

    names = [csv_fields(pa.array([name]), separator) for name in schema.names]
    return TextWriter(text, bytes(lines_of_texts(joined_fields(names, separator))) if names else b"")


def json_writer(schema: pa.Schema) -> TextWriter:
    """The writer of JSON Lines: an object for each row. Raises OutputError for objects with two members of one name."""
    _check_names(pa.struct(list(schema)))

    def text(batch: pa.RecordBatch) -> Any:
        return lines_of_texts(
            json_objects(schema.names, [json_values(column) for column in batch.columns], batch.num_rows)
        )

    return TextWriter(text)


def _check_names(type: pa.DataType) -> None:
    """Raise OutputError if a struct within a type, or the type itself, has several fields of one name."""
    fields = [type.field(number) for number in range(type.num_fields)]
    if pa.types.is_struct(type):
        names = [field.name for field in fields]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            what = f"{names.count(twice)} columns have the name {quoted_value(twice)}, and readers of JSON keep one"
            raise OutputError(what, way_out="write CSV, Parquet or Arrow, or give them names of their own")
    for field in fields:
        _check_names(values_type(field.type))


class CompressedText(TableWriter):
    """The output of another writer, compressed. compress: makes its bytes of some. tail: the bytes behind all."""

    needs_utf8 = True

    def __init__(self, writer: TableWriter, compress: Callable[[bytes], bytes], tail: bytes) -> None:
        self._writer = writer
        self._compress = compress
        self._tail = tail
        self.head = compress(writer.head)

    def encoded(self, rows: pa.Table) -> bytes:
        """See TableWriter."""
        return self._compress(self._writer.encoded(rows))

    def appended(self, group: bytes, start: int) -> bytes:
        """See TableWriter."""
        return group

    def end(self, start: int) -> bytes:
        """See TableWriter."""
        return self._tail
