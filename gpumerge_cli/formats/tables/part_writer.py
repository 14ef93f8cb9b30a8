"""Groups that one process encodes, and another one puts into the file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.formats.tables.table import TableWriter


class PartWriter(TableWriter):
    """Encodes groups as another writer does, and keeps what that must know of them. See TableWriter.detached."""

    def __init__(self, writer: TableWriter) -> None:
        self._writer = writer
        self.needs_utf8 = writer.needs_utf8
        self.takes_dictionaries = writer.takes_dictionaries
        self.groups: list[tuple[Any, int]] = []
        """The facts of each group, and its bytes."""

    def encoded(self, rows: pa.Table) -> Any:
        """See TableWriter."""
        return self._writer.encoded(rows)

    def appended(self, group: Any, start: int) -> Bytes:
        """See TableWriter."""
        facts, data = self._writer.detached(group)
        self.groups.append((facts, memoryview(data).nbytes))
        return data

    def end(self, start: int) -> bytes:
        """See TableWriter."""
        return b""
