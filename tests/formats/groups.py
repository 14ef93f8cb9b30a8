"""A small format of rows: groups of typed columns with nulls, and a footer that says where the groups lie.

GRPS, then for each group and column a bitmap of the values that are there, and these values: numbers of 8 bytes, or the
lengths of texts as 4 bytes each and then the texts. The footer is JSON, its length as 4 bytes, and GRPS.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.format import Column
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.rows import Group, RowFormat, Values

MAGIC = b"GRPS"
_LETTERS = {"int64": "q", "uint64": "Q", "float64": "d"}


class Groups(RowFormat):
    """See above."""

    name = "groups"
    suffixes: Mapping[str, str] = {".grp": ""}
    begins = MAGIC

    def table(self, file: SeekableInput) -> GroupsTable:
        return GroupsTable(file)

    def writer(self, columns: Sequence[Column]) -> GroupsWriter:
        return GroupsWriter(columns)


class GroupsTable:
    """An opened file. See formats.rows.Table."""

    def __init__(self, file: SeekableInput) -> None:
        if file.size < 12 or file.read(file.size - 4, 4) != MAGIC:
            raise InputError("it has no footer", where=file.name, way_out="copy it again")
        (size,) = struct.unpack("<I", file.read_exactly(file.size - 8, 4))
        footer = json.loads(file.read_exactly(file.size - 8 - size, size))
        self.columns = tuple(Column(name, type) for name, type in footer["columns"])
        self.groups = len(footer["groups"])
        self.spots: list[tuple[int, int, int]] = footer["groups"]
        self._file = file

    def group(self, number: int) -> Sequence[Values]:
        start, size, rows = self.spots[number]
        data, at, found = self._file.read_exactly(start, size), 0, []
        for column in self.columns:
            bits = int.from_bytes(data[at : at + (rows + 7) // 8], "little")
            at += (rows + 7) // 8
            count = bits.bit_count()
            letter = _LETTERS.get(column.type, "I")
            there: list[Any] = list(struct.unpack_from(f"<{count}{letter}", data, at))
            at += struct.calcsize(f"<{count}{letter}")
            if letter == "I":
                lengths, there = there, []
                for length in lengths:
                    there.append(data[at : at + length])
                    at += length
            values = iter(there)
            found.append([next(values) if bits >> row & 1 else None for row in range(rows)])
        return found


class GroupsWriter:
    """See formats.rows.Writer."""

    head = MAGIC

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns

    def group(self, columns: Sequence[Values]) -> bytes:
        made = []
        for column, values in zip(self._columns, columns, strict=True):
            bits = sum(1 << row for row, value in enumerate(values) if value is not None)
            made.append(bits.to_bytes((len(values) + 7) // 8, "little"))
            there = [value for value in values if value is not None]
            if column.type == "bytes":
                made.append(struct.pack(f"<{len(there)}I", *map(len, there)))
                made += there
            else:
                made.append(struct.pack(f"<{len(there)}{_LETTERS[column.type]}", *there))
        return b"".join(made)

    def foot(self, groups: Sequence[Group]) -> bytes:
        spots = [(group.start, group.size, group.rows) for group in groups]
        columns = [(column.name, column.type) for column in self._columns]
        text = json.dumps({"columns": columns, "groups": spots}).encode()
        return text + struct.pack("<I", len(text)) + MAGIC


def written(columns: Sequence[Column], groups: Sequence[Sequence[Values]]) -> bytes:
    """A file with these groups, each of which has the values of all columns."""
    writer, data, spots = GroupsWriter(columns), MAGIC, []
    for values in groups:
        made = writer.group(values)
        spots.append(Group(len(data), len(made), len(values[0])))
        data += made
    return data + writer.foot(spots)


def rows_of(path: str) -> list[tuple[Any, ...]]:
    """All rows of a file."""
    table = GroupsTable(SeekableInput(path))
    return [row for number in range(table.groups) for row in zip(*table.group(number), strict=True)]
