"""Row groups of Parquet files as bytes: taken out of a file, and described for a place in another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.parquet_facts import (
    COLUMN_INDEX,
    MAGIC,
    OFFSET_INDEX,
    ChunkField,
    ColumnField,
    GroupFacts,
    GroupField,
    ParquetFooter,
    RowGroup,
    SortingColumn,
    chunks_of,
    column_metadata,
    damaged_footer,
    encrypted,
    number_in,
    structs_in,
    value_in,
)  # fmt: skip
from gpumerge_cli.formats.tables.thrift import (
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    DamagedError,
    Field,
    ListValue,
    Struct,
)  # fmt: skip

Read = Callable[[int, int], Bytes]
"""The bytes of a file from a position on, as many as asked for. Raises InputError if the file ends before that."""
_MOST_ORDINALS = 1 << 15
_HEADER_OF_BLOOM_FILTER = 64
"""More than the header of a Bloom filter takes."""
_COLUMN_OFFSETS = (ColumnField.data_page_offset, ColumnField.index_page_offset, ColumnField.dictionary_page_offset)
ByteRange = tuple[int, int]
"""The first byte and the number of bytes of something in a file."""


def taken(read: Read, footer: ParquetFooter, number: int) -> RowGroup:
    """A group of a file that has rows, as its bytes. Raises InputError as facts_of does."""
    facts, pieces = facts_of(read, footer, number)
    return RowGroup(_bytes_of(read, pieces), facts)


def facts_of(read: Read, footer: ParquetFooter, number: int) -> tuple[GroupFacts, list[ByteRange]]:
    """The facts of a group of a file that has rows, and the places of its data there.

    Old statistics whose order readers cannot know are left out. Raises InputError if it is damaged, or not
    in this file.
    """
    try:
        return _facts_of(read, footer, number)
    except DamagedError as error:
        raise damaged_footer(footer.name, f"row group {number + 1}: {error}") from None


def rows_of(footer: ParquetFooter, number: int) -> int:
    """The rows of a group. Raises InputError. The columns of a group without rows may have no place in the file."""
    try:
        return number_in(dict(thrift.fields(footer.groups[number])), GroupField.num_rows)
    except DamagedError as error:
        raise damaged_footer(footer.name, f"row group {number + 1}: {error}") from None


def _facts_of(read: Read, footer: ParquetFooter, number: int) -> tuple[GroupFacts, list[ByteRange]]:
    group = thrift.read(footer.groups[number])
    columns = chunks_of(group)
    pieces: list[ByteRange] = []
    at = 0
    for chunk in columns:
        described = column_metadata(chunk)
        if ChunkField.file_path in chunk:
            raise InputError("its rows are in other files", where=footer.name, way_out="merge these")
        if ChunkField.crypto in chunk or ChunkField.encrypted in chunk:
            raise encrypted(footer.name)
        start, size = _start(described), number_in(described, ColumnField.total_compressed_size)
        pieces.append(_within(footer, (start, size), "a column"))
        _move(described, _COLUMN_OFFSETS, at - start)
        chunk[ChunkField.file_offset] = Field(I64, 0)  # no column metadata ahead of the footer
        at += size
        if footer.column_orders is None:
            _drop_extremes(described)
    for chunk in columns:
        described = column_metadata(chunk)
        if ColumnField.bloom_filter_offset in described:
            place = _within(footer, _bloom_filter(read, footer, described), "a Bloom filter")
            described[ColumnField.bloom_filter_offset] = Field(I64, at)
            described[ColumnField.bloom_filter_length] = Field(I32, place[1])
            pieces.append(place)
            at += place[1]
    if sum(size for _, size in pieces) > footer.size:
        raise DamagedError("its columns are larger than the file")
    column_indexes = [_index(read, footer, chunk, *COLUMN_INDEX) for chunk in columns]
    if footer.column_orders is None:
        column_indexes = [b""] * len(columns)
    offset_indexes = [_index(read, footer, chunk, *OFFSET_INDEX) for chunk in columns]
    to = 0
    for number, (start, size) in enumerate(pieces[: len(columns)]):
        offset_indexes[number] = moved_pages(offset_indexes[number], to - start)
        to += size
    group[GroupField.file_offset] = Field(I64, 0)
    group.setdefault(GroupField.total_compressed_size, Field(I64, to))
    rows = number_in(group, GroupField.num_rows)
    if any(number_in(column_metadata(chunk), ColumnField.num_values) < rows for chunk in columns):
        raise DamagedError(f"a column has fewer values than {rows} rows")
    facts = GroupFacts(rows, at, thrift.written(group), tuple(column_indexes), tuple(offset_indexes))
    return facts, joined_ranges(pieces)


def _within(footer: ParquetFooter, place: ByteRange, what: str) -> ByteRange:
    start, size = place
    if size < 0 or start < len(MAGIC) or start + size > footer.size:
        raise DamagedError(f"{what} lies outside of the file")
    return place


def joined_ranges(pieces: Sequence[ByteRange]) -> list[ByteRange]:
    """The same bytes in fewer ranges."""
    joined: list[ByteRange] = []
    for start, size in pieces:
        if joined and sum(joined[-1]) == start:
            joined[-1] = (joined[-1][0], joined[-1][1] + size)
        else:
            joined.append((start, size))
    return joined


def _bytes_of(read: Read, pieces: Sequence[ByteRange]) -> Bytes:
    found = [read(start, size) for start, size in pieces if size]
    return found[0] if len(found) == 1 else b"".join(found)


def description_at(facts: GroupFacts, position: int, number: int, sorting: Sequence[SortingColumn] | None) -> Struct:
    """The struct RowGroup of the group with this number in a file, whose data lie at `position`.

    The places of its page index are missing. sorting: None keeps its own.
    """
    group = thrift.read(facts.description)
    for chunk in chunks_of(group):
        _move(column_metadata(chunk), (*_COLUMN_OFFSETS, ColumnField.bloom_filter_offset), position)
    _move(group, (GroupField.file_offset,), position)
    group.pop(GroupField.ordinal, None)
    if number < _MOST_ORDINALS:
        group[GroupField.ordinal] = Field(I16, number)
    if sorting is not None:
        group.pop(GroupField.sorting_columns, None)
    if sorting:
        columns: list[Struct] = [
            {1: Field(I32, column.number), 2: _flag(column.descending), 3: _flag(column.nulls_first)}
            for column in sorting
        ]
        group[GroupField.sorting_columns] = Field(LIST, ListValue(STRUCT, columns))
    return group


def sorting_of(group: bytes) -> tuple[SortingColumn, ...]:
    """The columns by which a group says that it is sorted, from the encoded struct RowGroup. Raises DamagedError."""
    found = dict(thrift.fields(group))
    if GroupField.sorting_columns not in found:
        return ()
    columns = (thrift.read(one) for one in thrift.structs(value_in(found, GroupField.sorting_columns, LIST)))
    return tuple(SortingColumn(number_in(one, 1), *(_is_set(one, id) for id in (2, 3))) for one in columns)


def _is_set(struct: Struct, id: int) -> bool:
    return id in struct and struct[id].type == TRUE


def _flag(value: bool) -> Field:
    return Field(TRUE if value else FALSE, value)


def _move(struct: Struct, ids: Sequence[int], by: int) -> None:
    for id in ids:
        if id in struct:
            struct[id] = Field(I64, number_in(struct, id) + by)


def moved_pages(index: bytes, by: int) -> bytes:
    """An OffsetIndex whose pages lie `by` bytes farther on."""
    if not index:
        return b""
    found = thrift.read(index)
    for page in structs_in(found, 1):
        _move(page, (1,), by)
    return thrift.written(found)


def _index(read: Read, footer: ParquetFooter, chunk: Struct, offset_id: int, length_id: int) -> bytes:
    """An index of the pages of a column; b"" if it has none. Its place is taken out of the struct."""
    if offset_id not in chunk or length_id not in chunk:
        place = None
    else:
        place = _within(footer, (number_in(chunk, offset_id), number_in(chunk, length_id)), "its page index")
    for id in (offset_id, length_id):
        chunk.pop(id, None)
    return bytes(read(*place)) if place else b""


def _bloom_filter(read: Read, footer: ParquetFooter, described: Struct) -> ByteRange:
    start = number_in(described, ColumnField.bloom_filter_offset)
    if ColumnField.bloom_filter_length in described:
        return start, number_in(described, ColumnField.bloom_filter_length)
    # Older writers do not say its length, but its header does.
    _within(footer, (start, 0), "a Bloom filter")
    header = bytes(read(start, min(_HEADER_OF_BLOOM_FILTER, footer.size - start)))
    length = thrift.struct_length(header)
    return start, length + number_in(thrift.read(header[:length]), 1)


def _start(described: Struct) -> int:
    """The first byte of a column's pages."""
    first = number_in(described, ColumnField.data_page_offset)
    for id in (ColumnField.dictionary_page_offset, ColumnField.index_page_offset):
        # Old writers say 0 for none.
        if id in described and 0 < number_in(described, id) < first:
            first = number_in(described, id)
        elif id in described and number_in(described, id) <= 0:
            del described[id]
    return first


def _drop_extremes(described: Struct) -> None:
    """Leave out a column's minimum and maximum, whose order depends on who wrote them."""
    if ColumnField.statistics in described:
        statistics: Struct = value_in(described, ColumnField.statistics, STRUCT)
        for id in (1, 2, 5, 6, 7, 8):
            statistics.pop(id, None)
