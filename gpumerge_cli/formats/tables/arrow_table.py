"""Arrow's IPC files and streams as tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.tables.arrow_codecs import batch_bytes, codec_of
from gpumerge_cli.formats.tables.arrow_footer import MAGIC
from gpumerge_cli.formats.tables.input_file import opened
from gpumerge_cli.formats.tables.nested_dictionaries import values_inside, with_values_inside
from gpumerge_cli.formats.tables.table import Stored, Table, arrow_errors, with_valid_names

_FIRST = (0,)
_SAMPLED = 1 << 10
"""Rows whose values say how many bytes rows with dictionaries inside other types take."""
MOST_EMPTY_ROWS = (1 << 31) - 1
"""The most rows of a batch whose values take less than a bit each, as nulls and runs do: the longest array of Arrow's
writers, unless they are asked for longer ones."""


def arrow_table(file: SeekableInput) -> Table:
    """The table in an IPC file or stream. Raises InputError."""
    start = file.read(0, len(MAGIC))
    return ArrowFile(file) if start == MAGIC else ArrowStream(file)


class ArrowTable(Table):
    """An opened IPC file or stream. All batches that it reads are validated."""

    has_utf8 = True

    def __init__(self, file: SeekableInput) -> None:
        self.name = file.name
        self._file = file
        with arrow_errors(self.name):
            stored = with_valid_names(self._reader.schema)
        self.schema = with_values_inside(stored)
        self.stored_schema = None if self.schema == stored else stored

    @cached_property
    def group_rows(self) -> Sequence[int]:  # type: ignore[override]
        """See Table."""
        with arrow_errors(self.name):
            return [batch.num_rows for batch in self._validated(_FIRST)]

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        places = () if columns is None else self._places(columns)
        with arrow_errors(self.name):
            for batch in self._validated(places, group):
                for at in range(0, batch.num_rows, rows):
                    yield self._with_values(batch.slice(at, rows))

    def _with_values(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch with the values of dictionaries inside other types."""
        if self.stored_schema is None:
            return batch
        columns = [values_inside(column) for column in batch.columns]
        fields = [field.with_type(one.type) for field, one in zip(batch.schema, columns, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, batch.schema.metadata))

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        with arrow_errors(self.name):
            return any(_has_nulls(batch, path) for batch in self._validated(self._places(path[:1])))

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return int(self._file.size * self._expansion)

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """See Table. The largest batch, which is read whole, but for other columns."""
        share = 1.0 if columns is None else len(self._places(columns)) / max(1, len(self.schema))
        return int(share * self.bytes_of_rows(None) * max(self.group_rows, default=0) / max(1, self.rows))

    @cached_property
    def _expansion(self) -> float:
        """The bytes of the rows in memory for each byte of the file, as its first batch has them."""
        if (self.codec == "none" and self.stored_schema is None) or not self.rows:
            return 1.0
        with arrow_errors(self.name):
            first = next(batch for batch in self._validated(()) if batch.num_rows)
            if self.stored_schema is not None:
                first = self._with_values(first.slice(0, _SAMPLED))
        each = float(first.nbytes) / float(first.num_rows)
        return max(1.0, each * self.rows / max(1, self._file.size))

    @property
    def codec(self) -> str:
        """Its compression."""
        return codec_of(opened(self._file), is_file=not self.reads_forward)

    @property
    def stored(self) -> Stored:
        """See Table."""
        return Stored(self._file.size, group_bytes=batch_bytes(opened(self._file), is_file=not self.reads_forward))

    def again(self) -> ArrowTable:
        """See Table."""
        return type(self)(self._file)

    def _places(self, columns: Sequence[str]) -> Sequence[int]:
        """The numbers of the columns with these names."""
        return [number for number, name in enumerate(self.schema.names) if name in columns]

    def _validated(self, places: Sequence[int], group: int = 0) -> Iterator[pa.RecordBatch]:
        """The batches from one on, with the columns of these numbers; () for all."""
        options = None
        if places and len(places) < len(self.schema):
            options = pa.ipc.IpcReadOptions(included_fields=list(places))
        for batch in self._read(group, options):
            batch.validate(full=True)
            if batch.num_rows > MOST_EMPTY_ROWS and batch.num_rows > 8 * batch.nbytes:
                what = f"a batch says that it has {batch.num_rows:,} rows, and its values take {batch.nbytes:,} bytes"
                raise InputError(what, where=self.name, way_out="copy or write it again")
            yield batch

    @property
    @abstractmethod
    def _reader(self) -> Any:
        """A reader of the schema, and of all columns."""

    @abstractmethod
    def _read(self, group: int, options: pa.ipc.IpcReadOptions | None) -> Iterator[pa.RecordBatch]:
        """The batches from one on."""


class ArrowFile(ArrowTable):
    """An opened IPC file, as Feather version 2 is one."""

    @cached_property
    def _reader(self) -> Any:
        return pa.ipc.open_file(opened(self._file))

    def _read(self, group: int, options: pa.ipc.IpcReadOptions | None) -> Iterator[pa.RecordBatch]:
        """See ArrowTable."""
        reader = self._reader if options is None else pa.ipc.open_file(opened(self._file), options=options)
        return (reader.get_batch(number) for number in range(group, reader.num_record_batches))


class ArrowStream(ArrowTable):
    """An opened IPC stream. It is read from its start to reach any batch."""

    reads_forward = True

    @property
    def _reader(self) -> Any:
        return pa.ipc.open_stream(opened(self._file))

    def _read(self, group: int, options: pa.ipc.IpcReadOptions | None) -> Iterator[pa.RecordBatch]:
        """See ArrowTable."""
        reader = self._reader if options is None else pa.ipc.open_stream(opened(self._file), options=options)
        return islice(reader, group, None)


def _has_nulls(batch: Any, path: Sequence[str]) -> bool:
    found = batch.column(path[0])
    if len(path) > 1 or pa.types.is_run_end_encoded(found.type) or isinstance(found.type, pa.BaseExtensionType):
        return True
    return bool(found.null_count or (pa.types.is_dictionary(found.type) and found.dictionary.null_count))
