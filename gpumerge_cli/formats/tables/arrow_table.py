"""Arrow's IPC files and streams as tables."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.tables.arrow_codecs import batch_bytes, codec_of, codec_to_write
from gpumerge_cli.formats.tables.dictionaries import too_long
from gpumerge_cli.formats.tables.input_file import opened
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.table import Stored, Table, TableWriter, arrow_errors, with_valid_names

MAGIC = b"ARROW1"
_FIRST = (0,)


def arrow_table(file: SeekableInput) -> Table:
    """The table in an IPC file or stream. Raises InputError."""
    start = file.read(0, len(MAGIC))
    return ArrowFile(file) if start == MAGIC else ArrowStream(file)


class ArrowFile(Table):
    """An opened IPC file, as Feather version 2 is one."""

    has_utf8 = True

    def __init__(self, file: SeekableInput) -> None:
        self.name = file.name
        self._file = file
        with arrow_errors(self.name):
            self._reader = pa.ipc.open_file(opened(file))
            self.schema = with_valid_names(self._reader.schema)

    @cached_property
    def group_rows(self) -> Sequence[int]:  # type: ignore[override]
        """See Table."""
        with arrow_errors(self.name):
            return [batch.num_rows for batch in self._at(_FIRST, 0)]

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        with arrow_errors(self.name):
            for batch in self._only(columns, group):
                for at in range(0, batch.num_rows, rows):
                    yield batch.slice(at, rows)

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        with arrow_errors(self.name):
            return any(_has_nulls(batch, path) for batch in self._only(path[:1]))

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._file.size

    @property
    def codec(self) -> str:
        """Its compression."""
        return codec_of(opened(self._file), is_file=True)

    @property
    def stored(self) -> Stored:
        """See Table."""
        return Stored(self._file.size, group_bytes=batch_bytes(opened(self._file), is_file=True))

    def again(self) -> ArrowFile:
        """See Table."""
        return ArrowFile(self._file)

    def _only(self, columns: Sequence[str] | None, group: int = 0) -> Iterator[pa.RecordBatch]:
        """The batches from one on, with some columns."""
        names = self.schema.names
        places = [] if columns is None else [number for number, name in enumerate(names) if name in columns]
        yield from self._at(places, group)

    def _at(self, places: Sequence[int], group: int) -> Iterator[pa.RecordBatch]:
        """The batches from one on, with the columns of these numbers; [] for all."""
        reader = self._reader
        if places and len(places) < len(self.schema):
            options = pa.ipc.IpcReadOptions(included_fields=list(places))
            reader = pa.ipc.open_file(opened(self._file), options=options)
        for number in range(group, reader.num_record_batches):
            batch = reader.get_batch(number)
            batch.validate(full=True)
            yield batch


class ArrowStream(Table):
    """An opened IPC stream. It is read from its start to reach any batch."""

    has_utf8 = True
    reads_forward = True

    def __init__(self, file: SeekableInput) -> None:
        self.name = file.name
        self._file = file
        with arrow_errors(self.name):
            self.schema = with_valid_names(self._reader().schema)

    @cached_property
    def group_rows(self) -> Sequence[int]:  # type: ignore[override]
        """See Table."""
        with arrow_errors(self.name):
            return [batch.num_rows for batch in self._reader(_FIRST)]

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        with arrow_errors(self.name):
            for number, batch in enumerate(self._only(columns)):
                if number < group:
                    continue
                batch.validate(full=True)
                for at in range(0, batch.num_rows, rows):
                    yield batch.slice(at, rows)

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        with arrow_errors(self.name):
            return any(_has_nulls(batch, path) for batch in self._only(path[:1]))

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._file.size

    @property
    def codec(self) -> str:
        """Its compression."""
        return codec_of(opened(self._file), is_file=False)

    @property
    def stored(self) -> Stored:
        """See Table."""
        return Stored(self._file.size, group_bytes=batch_bytes(opened(self._file), is_file=False))

    def again(self) -> ArrowStream:
        """See Table."""
        return ArrowStream(self._file)

    def _only(self, columns: Sequence[str] | None) -> Any:
        names = self.schema.names
        return self._reader([] if columns is None else [at for at, name in enumerate(names) if name in columns])

    def _reader(self, places: Sequence[int] = ()) -> Any:
        """Reads the batches, with the columns of these numbers; () for all."""
        options = pa.ipc.IpcReadOptions(included_fields=list(places) or None)
        return pa.ipc.open_stream(opened(self._file), options=options)


class ArrowWriter(TableWriter):
    """Makes an IPC file or stream."""

    needs_utf8 = True

    def __init__(self, schema: pa.Schema, settings: TableSettings, *, stream: bool) -> None:
        if not stream:
            _check_dictionaries(schema)
        self._out = io.BytesIO()
        usual = settings.like.codec if isinstance(settings.like, ArrowFile | ArrowStream) else "none"
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True, compression=codec_to_write(settings, usual))
        make = pa.ipc.new_stream if stream else pa.ipc.new_file
        self._writer = make(self._out, schema, options=options)
        self._schema = schema
        self._dictionaries: dict[int, Any] = {}
        self.head = self._new()

    def encoded(self, rows: Any) -> Any:
        """See TableWriter."""
        return rows.combine_chunks()

    def appended(self, group: Any, start: int) -> bytes:
        """See TableWriter."""
        columns = [self._extended(number, column) for number, column in enumerate(group.columns)]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        return self._new()

    def end(self, start: int) -> bytes:
        """See TableWriter."""
        self._writer.close()
        return self._new()

    def _extended(self, number: int, column: Any) -> Any:
        """A column whose dictionary extends that of the groups ahead, as a file demands."""
        if not pa.types.is_dictionary(column.type):
            return column
        made = []
        for chunk in column.chunks:
            known = self._dictionaries.get(number, chunk.dictionary.slice(0, 0))
            new = chunk.dictionary.filter(pa.compute.invert(pa.compute.is_in(chunk.dictionary, known)))
            known = pa.concat_arrays([known, pa.compute.drop_null(pa.compute.unique(new))])
            self._dictionaries[number] = known
            places = pa.compute.index_in(chunk.dictionary, known)
            try:
                indices = places.take(chunk.indices).cast(column.type.index_type)
            except pa.ArrowInvalid:
                raise too_long(self._schema.field(number).name, column.type) from None
            made.append(pa.DictionaryArray.from_arrays(indices, known, ordered=column.type.ordered))
        return pa.chunked_array(made, column.type)

    def _new(self) -> bytes:
        data = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return data


def _has_nulls(batch: Any, path: Sequence[str]) -> bool:
    found = batch.column(path[0])
    if len(path) > 1 or pa.types.is_run_end_encoded(found.type) or isinstance(found.type, pa.BaseExtensionType):
        return True
    return bool(found.null_count or (pa.types.is_dictionary(found.type) and found.dictionary.null_count))


def _check_dictionaries(schema: pa.Schema) -> None:
    """Raise OutputError for dictionaries inside other types, which a file cannot have extended."""

    def holds(type: Any) -> bool:
        if isinstance(type, pa.BaseExtensionType):
            return holds(type.storage_type)
        if pa.types.is_dictionary(type):
            return True
        return any(holds(type.field(number).type) for number in range(type.num_fields))

    for field in schema:
        if holds(field.type) and not pa.types.is_dictionary(field.type):
            what = f"the column {field.name} has a dictionary inside another type"
            raise OutputError(what, way_out="write a stream, .arrows, or Parquet")
