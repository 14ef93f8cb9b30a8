"""Arrow's IPC files. Feather version 2 is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpumerge_cli.formats.format import register_format
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.rows import RowFormat

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.settings import TableSettings
    from gpumerge_cli.formats.tables.table import Table, TableWriter


class Arrow(RowFormat):
    """See above. A stream is read under this name, too."""

    name = "arrow"
    suffixes: Mapping[str, str] = {".arrow": "", ".feather": ""}
    begins = rb"ARROW1\x00\x00"
    word = "Arrow"
    is_stream = False

    def table(self, file: SeekableInput) -> Table:
        """See RowFormat."""
        from gpumerge_cli.formats.tables.arrow_table import arrow_table

        return arrow_table(file)

    def writer(self, schema: Any, settings: TableSettings) -> TableWriter:
        """See RowFormat."""
        from gpumerge_cli.formats.tables.arrow_writers import arrow_writer

        return arrow_writer(schema, settings, stream=self.is_stream)


register_format(Arrow())
