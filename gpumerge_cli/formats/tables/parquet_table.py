"""Parquet files as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.tables.input_file import opened
from gpumerge_cli.formats.tables.parquet_facts import MAGIC, GroupFacts, RowGroup
from gpumerge_cli.formats.tables.parquet_footer import composed, split
from gpumerge_cli.formats.tables.table import Table, TableWriter, arrow_errors

_BUFFER = 1 << 20
"""Bytes of a column that are read at once."""


class ParquetTable(Table):
    """An opened Parquet file. Raises InputError if it is none."""

    def __init__(self, file: SeekableInput) -> None:
        self.name = file.name
        self._file = file
        with arrow_errors(self.name):
            self._reader = pq.ParquetFile(opened(file), buffer_size=_BUFFER, pre_buffer=False)
            self.metadata = self._reader.metadata
            self.schema = self._reader.schema_arrow
            groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        self.group_rows = [group.num_rows for group in groups]
        self._groups = groups

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        with arrow_errors(self.name):
            yield from self._reader.iter_batches(
                rows, row_groups=range(group, len(self.group_rows)), columns=columns, use_threads=True
            )

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        wanted = ".".join(path)
        for group in self._groups:
            for number in range(group.num_columns):
                column = group.column(number)
                if column.path_in_schema == wanted:
                    facts = column.statistics
                    if facts is None or not facts.has_null_count or facts.null_count:
                        return True
        return False

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return sum(group.total_byte_size for group in self._groups)

    def again(self) -> ParquetTable:
        """See Table."""
        return ParquetTable(self._file)


class ParquetWriter(TableWriter):
    """Makes a Parquet file of row groups that are encoded one by one."""

    head = MAGIC

    def __init__(self, schema: pa.Schema) -> None:
        self._template, _ = split(_file_of(schema.empty_table()))
        self._groups: list[tuple[int, GroupFacts]] = []

    def encoded(self, rows: Any) -> RowGroup:
        """See TableWriter."""
        (group,) = split(_file_of(rows))[1]
        return group

    def appended(self, group: RowGroup, start: int) -> Bytes:
        """See TableWriter."""
        self._groups.append((start, group.facts))
        return group.data

    def end(self, start: int) -> bytes:
        """See TableWriter."""
        return composed(self._template, self._groups, start)


def _file_of(rows: Any) -> bytes:
    """Rows as a Parquet file of one group."""
    out = pa.BufferOutputStream()
    pq.write_table(rows, out, compression="zstd", row_group_size=max(1, rows.num_rows))
    made: bytes = out.getvalue().to_pybytes()
    return made
