"""Parquet files made of row groups that were encoded elsewhere: by pyarrow into memory, or in another file.

A file is MAGIC, then the data of all groups, then `composed(...)`: the page index, the footer, its length, MAGIC.

    template = split(an empty file that pyarrow wrote)                 -> its ParquetFooter: schema, metadata, versions
    footer, groups = split(a file of one or more groups in memory)     -> ParquetFooter, [RowGroup]
    group = taken(read, footer_of(read, size, name), number)           -> RowGroup of an input, its pages not decoded
    ends = composed(template, [(start of its data in the new file, RowGroup.facts), ...], start of these bytes)

A group's data may lie anywhere in the new file, and hold its pages and Bloom filters. Facts are small: pages of its
columns as an index, and statistics. Offsets in them count from the start of the data, until `composed` moves them.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.parquet_facts import (
    COLUMN_INDEX,
    MAGIC,
    OFFSET_INDEX,
    ChunkField,
    FileField,
    GroupFacts,
    GroupField,
    ParquetFooter,
    RowGroup,
    SortingColumn,
    chunks_of,
    column_metadata,
    damaged_footer,
    encrypted,
    list_in,
    number_in,
    value_in,
)  # fmt: skip
from gpumerge_cli.formats.tables.parquet_groups import Read, description_at, moved_pages, rows_of, taken
from gpumerge_cli.formats.tables.thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    DamagedError,
    Field,
    ListValue,
    Struct,
)  # fmt: skip

_ENCRYPTED = b"PARE"
_TAIL = 8
"""The length of the footer and MAGIC."""
_LARGEST_FOOTER = 1 << 30


def split(file: Bytes, name: str = "") -> tuple[ParquetFooter, list[RowGroup]]:
    """The footer of a whole file in memory, and its groups that have rows, whose data are views of it.

    Raises InputError, which names the file `name`.
    """

    view = memoryview(file)

    def read(start: int, size: int) -> Bytes:
        if size > len(file) - start:
            raise InputError("it ends too soon", where=name, way_out="copy it again")
        return view[start : start + size]

    footer = footer_of(read, len(file), name)
    return footer, [taken(read, footer, number) for number in range(len(footer.groups)) if rows_of(footer, number)]


def footer_of(read: Read, size: int, name: str) -> ParquetFooter:
    """The footer of a file of `size` bytes. Raises InputError for one that is not Parquet, is damaged, or encrypted."""
    try:
        return _footer_of(read, size, name)
    except DamagedError as error:
        raise damaged_footer(name, str(error)) from None


def composed(
    template: ParquetFooter,
    groups: Sequence[tuple[int, GroupFacts]],
    start: int,
    sorting: Sequence[SortingColumn] | None = None,
) -> bytes:
    """The bytes behind the data of all groups: page index, footer, its length, MAGIC.

    template: its schema, versions and metadata are those of the new file. groups: in the order of their rows, each with
    the start of its data. start: the position of these bytes. sorting: of all groups; None keeps what the groups say.
    """
    out: list[bytes] = []
    column_places = _places([facts.column_indexes for _, facts in groups], start, out)
    pages = [[moved_pages(index, at) for index in facts.offset_indexes] for at, facts in groups]
    offset_places = _places(pages, start + sum(map(len, out)), out)
    made_groups = []
    for number, (position, facts) in enumerate(groups):
        group = description_at(facts, position, number, sorting)
        _set_places(group, COLUMN_INDEX, column_places[number])
        _set_places(group, OFFSET_INDEX, offset_places[number])
        made_groups.append(thrift.written(_by_id(group)))
    rows = sum(facts.rows for _, facts in groups)
    return b"".join([*out, footer_bytes(template, rows, made_groups)])


def footer_bytes(template: ParquetFooter, rows: int, groups: Sequence[bytes]) -> bytes:
    """A footer with the schema, versions and metadata of another one, its length, MAGIC. groups: structs, encoded."""
    made: Struct = {
        FileField.version: Field(I32, template.version),
        FileField.schema: Field(LIST, template.schema),
        FileField.num_rows: Field(I64, rows),
        FileField.row_groups: Field(LIST, thrift.list_of(list(groups))),
    }
    if template.metadata:
        made[FileField.metadata] = Field(LIST, thrift.list_of([_key_value(*pair) for pair in template.metadata]))
    if template.created_by:
        made[FileField.created_by] = Field(BINARY, template.created_by)
    if template.column_orders is not None:
        made[FileField.column_orders] = Field(LIST, template.column_orders)
    footer = thrift.written(made)
    return b"".join([footer, struct.pack("<I", len(footer)), MAGIC])


def _footer_of(read: Read, size: int, name: str) -> ParquetFooter:
    end = bytes(read(size - _TAIL, _TAIL)) if size >= _TAIL + len(MAGIC) else b""
    if end[4:] == _ENCRYPTED:
        raise encrypted(name)
    if end[4:] != MAGIC:
        raise InputError("it has no footer of Parquet at its end", where=name, way_out="copy it again")
    (length,) = struct.unpack("<I", end[:4])
    if length > min(size - _TAIL - len(MAGIC), _LARGEST_FOOTER):
        raise DamagedError(f"its footer is {length:,} bytes long")
    found = {}
    for id, field in thrift.fields(bytes(read(size - _TAIL - length, length))):
        if id == FileField.encryption:  # a signature may follow the footer
            raise encrypted(name)
        found[id] = field
    for id, what in ((FileField.schema, "schema is"), (FileField.row_groups, "row groups are")):
        if id not in found:
            raise DamagedError(f"its {what} missing")
    pairs = thrift.structs(list_in(found, FileField.metadata)) if FileField.metadata in found else ()
    metadata = [thrift.read(pair) for pair in pairs]
    return ParquetFooter(
        name,
        size,
        number_in(found, FileField.version),
        list_in(found, FileField.schema),
        number_in(found, FileField.num_rows),
        tuple(thrift.structs(list_in(found, FileField.row_groups))),
        tuple((value_in(pair, 1, BINARY), value_in(pair, 2, BINARY) if 2 in pair else None) for pair in metadata),
        value_in(found, FileField.created_by, BINARY) if FileField.created_by in found else b"",
        list_in(found, FileField.column_orders) if FileField.column_orders in found else None,
    )


def _key_value(key: bytes, value: bytes | None) -> bytes:
    made: Struct = {1: Field(BINARY, key)}
    if value is not None:
        made[2] = Field(BINARY, value)
    return thrift.written(made)


def _places(indexes: Sequence[Sequence[bytes]], at: int, out: list[bytes]) -> list[list[tuple[int, int]]]:
    """Put indexes of each group's columns behind `out`, from position `at` on. Returns their places and sizes."""
    places = []
    for of_group in indexes:
        places.append([(at, 0)] * len(of_group))
        for column, index in enumerate(of_group):
            places[-1][column] = (at, len(index))
            out.append(index)
            at += len(index)
    return places


def _set_places(group: Struct, ids: tuple[int, int], places: Sequence[tuple[int, int]]) -> None:
    for chunk, (at, size) in zip(chunks_of(group), places, strict=True):
        if size:
            chunk[ids[0]], chunk[ids[1]] = Field(I64, at), Field(I32, size)


def _by_id(group: Struct) -> Struct:
    """A group whose fields, and those of its columns, are in the order of their ids."""
    columns: list[Struct] = []
    for chunk in chunks_of(group):
        chunk[ChunkField.metadata] = Field(STRUCT, dict(sorted(column_metadata(chunk).items())))
        columns.append(dict(sorted(chunk.items())))
    return dict(sorted({**group, GroupField.columns: Field(LIST, ListValue(STRUCT, columns))}.items()))
