"""Parquet files as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.tables.input_file import opened
from gpumerge_cli.formats.tables.parquet_facts import ParquetFooter
from gpumerge_cli.formats.tables.parquet_footer import footer_of
from gpumerge_cli.formats.tables.table import Table, arrow_errors

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

    @cached_property
    def footer(self) -> ParquetFooter:
        """Its footer, of which pyarrow does not tell all. Raises InputError."""
        return footer_of(self.read, self._file.size, self.name)

    def read(self, start: int, size: int) -> bytes:
        """Bytes of the file. Raises InputError if it ends before."""
        return self._file.read_exactly(start, size)

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        with arrow_errors(self.name):
            yield from self._reader.iter_batches(
                rows, row_groups=range(group, len(self.group_rows)), columns=columns, use_threads=True
            )

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        number = self._leaf(path)
        for group in self._groups if number is not None else ():
            facts = group.column(number).statistics
            if facts is None or not facts.has_null_count or facts.null_count:
                return True
        return False

    def extremes(self, group: int, path: Sequence[str]) -> tuple[Any, Any, bool] | None:
        """See Table."""
        number = self._leaf(path)
        facts = None if number is None else self._groups[group].column(number).statistics
        if facts is None or not facts.has_null_count:
            return None
        try:
            if facts.has_min_max:
                return facts.min, facts.max, facts.null_count > 0
        except (pa.ArrowException, ValueError, OverflowError, ImportError):  # beyond Python's dates
            return None
        return (None, None, True) if facts.null_count == self.group_rows[group] else None

    def _leaf(self, path: Sequence[str]) -> int | None:
        """The number of a column among the leaves of the schema; None for one that is not a leaf."""
        wanted, schema = ".".join(path), self.metadata.schema
        return next((number for number in range(len(schema)) if schema.column(number).path == wanted), None)

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return sum(group.total_byte_size for group in self._groups)

    def again(self) -> ParquetTable:
        """See Table."""
        return ParquetTable(self._file)
