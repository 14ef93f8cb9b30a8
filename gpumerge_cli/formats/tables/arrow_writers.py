"""Writers of Arrow's IPC files and streams.

A stream has dictionaries ahead of the batches that refer to them, so that each batch may extend them. The footer of a
file says where its dictionaries lie: they follow all batches, whole. polars and others read no dictionaries of files
that are extended.
"""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats.tables.arrow_codecs import AHEAD_OF_METADATA, codec_to_write
from gpumerge_cli.formats.tables.arrow_footer import Block, blocks_in, footer_in, with_blocks
from gpumerge_cli.formats.tables.arrow_table import ArrowTable
from gpumerge_cli.formats.tables.dictionaries import too_long, with_dictionaries
from gpumerge_cli.formats.tables.growing_dictionary import GrowingDictionary
from gpumerge_cli.formats.tables.nested_dictionaries import (
    FieldNumbers,
    can_change,
    changed,
    has_dictionary_inside,
    indices_of,
    schema_like,
    with_indices,
)
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.table import TableWriter

_END = b"\xff\xff\xff\xff\0\0\0\0"
"""Ends the messages of a file or stream."""


def arrow_writer(schema: pa.Schema, settings: TableSettings, *, stream: bool) -> TableWriter:
    """The writer of a file or stream. Raises OutputError for columns that it cannot hold."""
    schema = schema_like(schema, settings.like)
    if stream:
        return ArrowWriter(schema, settings, pa.ipc.new_stream)
    if any(pa.types.is_dictionary(field.type) or has_dictionary_inside(field.type) for field in schema):
        return DictionariesLast(schema, settings)
    return ArrowWriter(schema, settings, pa.ipc.new_file)


class ArrowWriter(TableWriter):
    """Makes an IPC stream, or a file without dictionaries. make: the function of pyarrow that makes its writer."""

    needs_utf8 = True

    def __init__(self, schema: pa.Schema, settings: TableSettings, make: Any) -> None:
        self._out = io.BytesIO()
        usual = settings.like.codec if isinstance(settings.like, ArrowTable) else "none"
        self._options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True, compression=codec_to_write(settings, usual))
        self._schema = schema
        self._writer = make(self._out, self._written_schema, options=self._options)
        self._dictionaries: dict[FieldNumbers, GrowingDictionary] = {}
        """By the number of a column, and the path to a dictionary inside it."""
        self.head = self._new()

    @property
    def _written_schema(self) -> pa.Schema:
        return self._schema

    def encoded(self, rows: Any) -> Any:
        """See TableWriter."""
        return with_dictionaries(rows, self._schema).combine_chunks()

    def appended(self, group: Any, start: int) -> bytes:
        """See TableWriter."""
        columns = [self._extended(number, column) for number, column in enumerate(group.columns)]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        return self._new()

    def detached(self, group: Any) -> tuple[Any, Any]:
        """See TableWriter."""
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, group.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as made:
            made.write_table(group)
        return None, memoryview(out.getvalue())

    def attached(self, facts: Any, data: Any) -> Any:
        """See TableWriter."""
        return pa.ipc.open_stream(data).read_all().combine_chunks()

    def end(self, start: int) -> bytes:
        """See TableWriter."""
        self._writer.close()
        return self._new()

    def _extended(self, number: int, column: Any) -> Any:
        """A column whose dictionaries extend those of the groups ahead."""
        type = column.type
        if not (pa.types.is_dictionary(type) or has_dictionary_inside(type)) or not can_change(type):
            return column

        def extended(path: FieldNumbers, array: Any) -> Any:
            if (number, *path) not in self._dictionaries:
                self._dictionaries[number, *path] = GrowingDictionary(array.dictionary.slice(0, 0))
            known = self._dictionaries[number, *path]
            places = known.places_of(array.dictionary)
            try:
                indices = places.take(array.indices).cast(array.type.index_type)
            except pa.ArrowInvalid:
                raise too_long(self._schema.field(number).name, array.type) from None
            return pa.DictionaryArray.from_arrays(indices, known.values, ordered=array.type.ordered)

        return pa.chunked_array([changed(chunk, extended) for chunk in column.chunks], type)

    def _new(self) -> bytes:
        data = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return data


class DictionariesLast(ArrowWriter):
    """Makes an IPC file whose dictionaries follow all batches.

    pyarrow writes the batches as those of a file that has the indices alone. Raises OutputError for dictionaries of
    which it cannot take the indices.
    """

    def __init__(self, schema: pa.Schema, settings: TableSettings) -> None:
        for field in schema:
            if not can_change(field.type):
                what = f"the column {field.name} has a dictionary inside a union, runs or another dictionary"
                raise OutputError(what, way_out="write a stream, .arrows, or Parquet")
        super().__init__(schema, settings, pa.ipc.new_file)
        self.head, self._footer = _empty_file(schema)
        self._skipped, _ = _empty_file(self._written_schema)
        self._left = len(self._skipped)
        """The bytes of the other file's head that are still to come."""

    @property
    def _written_schema(self) -> pa.Schema:
        return pa.schema([field.with_type(with_indices(field.type)) for field in self._schema])

    def appended(self, group: Any, start: int) -> bytes:
        """See TableWriter."""
        columns = []
        for number, column in enumerate(group.columns):
            chunks = [indices_of(chunk) for chunk in self._extended(number, column).chunks]
            columns.append(pa.chunked_array(chunks, with_indices(column.type)))
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._written_schema))
        return self._rest()

    def end(self, start: int) -> bytes:
        """See TableWriter."""
        self._writer.close()
        moved = len(self.head) - len(self._skipped)
        batches = [block._replace(start=block.start + moved) for block in blocks_in(footer_in(self._rest()))]
        dictionaries: list[Block] = []
        data, sizes = self._written_dictionaries() if batches else (memoryview(b""), [])
        for metadata, body in sizes:
            dictionaries.append(Block(start, metadata, body))
            start += metadata + body
        return b"".join([data, _END, with_blocks(self._footer, dictionaries, batches)])

    def _written_dictionaries(self) -> tuple[memoryview, list[tuple[int, int]]]:
        """The messages of all dictionaries, and the bytes of the metadata and of the body of each."""

        def empty(number: int) -> Any:
            def whole(path: FieldNumbers, array: Any) -> Any:
                values = self._dictionaries[number, *path].values
                return pa.DictionaryArray.from_arrays(array.indices, values, ordered=array.type.ordered)

            return changed(pa.nulls(0, self._schema.field(number).type), whole)

        columns = [empty(number) for number in range(len(self._schema))]
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, self._schema, options=self._options) as made:
            made.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        stream = out.getvalue()
        schema, *messages = pa.ipc.MessageReader.open_stream(stream)
        sizes = [(AHEAD_OF_METADATA + one.metadata.size, one.body.size) for one in messages if one.type == "dictionary"]
        start = AHEAD_OF_METADATA + schema.metadata.size
        return memoryview(stream)[start : start + sum(map(sum, sizes))], sizes

    def _rest(self) -> bytes:
        """New bytes behind the head of the other file."""
        data = self._new()
        skipped = min(self._left, len(data))
        self._left -= skipped
        return data[skipped:]


def _empty_file(schema: pa.Schema) -> tuple[bytes, bytes]:
    """(the bytes ahead of the batches of a file, its footer)."""
    out = io.BytesIO()
    pa.ipc.new_file(out, schema).close()
    data = out.getvalue()
    footer = footer_in(data)
    return data[: data.rindex(_END, 0, len(data) - len(footer))], footer
