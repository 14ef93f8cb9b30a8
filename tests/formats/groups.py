"""A small format of rows: groups of rows, and a footer that says where they lie.

GRPS, then each group as a stream of Arrow. The footer is JSON: the schema in hexadecimal digits, and (start,
size, rows) of each group; its length follows as 4 bytes, and GRPS.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.rows import RowFormat
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.table import Table, TableWriter

MAGIC = b"GRPS"


class Groups(RowFormat):
    """See above."""

    name = "groups"
    suffixes: Mapping[str, str] = {".grp": ""}
    begins = MAGIC

    def table(self, file: SeekableInput) -> GroupsTable:
        return GroupsTable(file)

    def writer(self, schema: pa.Schema, settings: TableSettings) -> GroupsWriter:
        return GroupsWriter(schema)


class GroupsTable(Table):
    """An opened file."""

    def __init__(self, file: SeekableInput) -> None:
        if file.size < 12 or file.read(file.size - 4, 4) != MAGIC:
            raise InputError("it has no footer", where=file.name, way_out="copy it again")
        (size,) = struct.unpack("<I", file.read_exactly(file.size - 8, 4))
        footer = json.loads(file.read_exactly(file.size - 8 - size, size))
        self.name = file.name
        self.schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(footer["schema"])))
        self.spots: list[tuple[int, int, int]] = footer["groups"]
        self.group_rows = [rows for _, _, rows in self.spots]
        self._file = file

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        for number in range(group, len(self.spots)):
            found = self.group(number)
            yield from (found if columns is None else found.select(columns)).to_batches(rows)

    def group(self, number: int) -> pa.Table:
        """All rows of a group."""
        start, size, _ = self.spots[number]
        return pa.ipc.open_stream(self._file.read_exactly(start, size)).read_all()

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        return True

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        return sum(size for _, size, _ in self.spots)

    def again(self) -> GroupsTable:
        return GroupsTable(self._file)


class GroupsWriter(TableWriter):
    """See TableWriter."""

    head = MAGIC

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._spots: list[tuple[int, int, int]] = []

    def encoded(self, rows: pa.Table) -> tuple[bytes, int]:
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, self._schema) as stream:
            stream.write_table(rows)
        return out.getvalue().to_pybytes(), rows.num_rows

    def appended(self, group: Any, start: int) -> bytes:
        data, rows = group
        self._spots.append((start, len(data), rows))
        return bytes(data)

    def end(self, start: int) -> bytes:
        text = json.dumps({"schema": self._schema.serialize().to_pybytes().hex(), "groups": self._spots}).encode()
        return text + struct.pack("<I", len(text)) + MAGIC


def written(rows: pa.Table, at_once: int = 1 << 20) -> bytes:
    """A file with these rows, so many in each group."""
    writer, data = GroupsWriter(rows.schema), MAGIC
    for at in range(0, rows.num_rows, at_once):
        data += writer.appended(writer.encoded(rows.slice(at, at_once)), len(data))
    return data + writer.end(len(data))


def rows_of(path: str) -> list[tuple[Any, ...]]:
    """All rows of a file."""
    table = GroupsTable(SeekableInput(path))
    rows = [table.group(number) for number in range(len(table.spots))]
    return [tuple(row.values()) for one in rows for row in one.to_pylist()]
