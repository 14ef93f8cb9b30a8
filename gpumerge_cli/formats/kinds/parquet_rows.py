"""Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpumerge_cli.formats.format import register_format
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.rows import RowFormat

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.parquet_table import ParquetTable
    from gpumerge_cli.formats.tables.parquet_writer import ParquetWriter
    from gpumerge_cli.formats.tables.settings import TableSettings


class Parquet(RowFormat):
    """See above."""

    name = "parquet"
    suffixes: Mapping[str, str] = {".parquet": ""}
    begins = rb"PAR1[\x00-\x08\x0b\x0c\x0e-\x1f]"
    word = "Parquet"

    def table(self, file: SeekableInput) -> ParquetTable:
        """See RowFormat."""
        from gpumerge_cli.formats.tables.parquet_table import ParquetTable

        return ParquetTable(file)

    def writer(self, schema: Any, settings: TableSettings) -> ParquetWriter:
        """See RowFormat."""
        from gpumerge_cli.formats.tables.parquet_writer import ParquetWriter

        return ParquetWriter(schema, settings)


register_format(Parquet())
