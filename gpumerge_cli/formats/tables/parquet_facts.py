"""The facts of Parquet files: the ids of the fields of a footer, and what this package keeps of them."""

from __future__ import annotations

from typing import Any

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables.thrift import I16, I32, I64, LIST, STRUCT, DamagedError, Encoded, ListValue, Struct

MAGIC = b"PAR1"


class FileField:
    """The fields of FileMetaData."""

    version, schema, num_rows, row_groups, metadata, created_by, column_orders, encryption = range(1, 9)


class SchemaField:
    """The fields of SchemaElement."""

    type, type_length, repetition, name, children, converted_type = range(1, 7)
    logical_type = 10


class GroupField:
    """The fields of RowGroup."""

    columns, total_byte_size, num_rows, sorting_columns, file_offset, total_compressed_size, ordinal = range(1, 8)


class ChunkField:
    """The fields of ColumnChunk."""

    file_path, file_offset, metadata, offset_index_offset, offset_index_length = range(1, 6)
    column_index_offset, column_index_length, crypto, encrypted = range(6, 10)


COLUMN_INDEX = ChunkField.column_index_offset, ChunkField.column_index_length
OFFSET_INDEX = ChunkField.offset_index_offset, ChunkField.offset_index_length
"""The fields of a ColumnChunk that say the place of an index of its pages."""


class ColumnField:
    """The fields of ColumnMetaData."""

    type, encodings, path, codec, num_values, total_uncompressed_size, total_compressed_size = range(1, 8)
    key_values, data_page_offset, index_page_offset, dictionary_page_offset, statistics = range(8, 13)
    encoding_stats, bloom_filter_offset, bloom_filter_length, size_statistics = range(13, 17)


@dataclass(frozen=True)
class SortingColumn:
    """A column by which the rows of all groups are sorted."""

    number: int
    """Among the leaves of the schema."""
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class ParquetFooter:
    """The facts of a Parquet file, but for those of its groups."""

    name: str
    """The file, for errors."""
    size: int
    """Its bytes."""
    version: int
    schema: Encoded
    """A list of SchemaElement. Files with equal bytes have equal schemas."""
    rows: int
    groups: tuple[bytes, ...]
    """The structs of its groups, encoded."""
    metadata: tuple[tuple[bytes, bytes | None], ...]
    """Keys and values, such as the schemas of Arrow, pandas and Spark."""
    created_by: bytes
    column_orders: Encoded | None
    """A list of ColumnOrder. Without it, minima and maxima have no meaning that all readers share."""


@dataclass(frozen=True)
class GroupFacts:
    """The facts of a row group that a footer states."""

    rows: int
    size: int
    """The bytes of its data."""
    description: bytes
    """A struct RowGroup, encoded."""
    column_indexes: tuple[bytes, ...]
    """A struct ColumnIndex of each column, encoded; b"" if it has none."""
    offset_indexes: tuple[bytes, ...]
    """A struct OffsetIndex of each column, encoded; b"" if it has none."""


@dataclass(frozen=True)
class RowGroup:
    """A row group that can be put into another file."""

    data: Bytes
    facts: GroupFacts


def chunks_of(group: Struct) -> list[Struct]:
    """The structs ColumnChunk of a group, which can be changed in place."""
    return structs_in(group, GroupField.columns)


def column_metadata(chunk: Struct) -> Struct:
    """The metadata of a column, which can be changed in place."""
    found: Struct = value_in(chunk, ChunkField.metadata, STRUCT)
    return found


def structs_in(struct: Struct, id: int) -> list[Struct]:
    """The structs of a list."""
    items: ListValue = value_in(struct, id, LIST)
    if items.values and items.type != STRUCT:
        raise DamagedError("a list holds no structs")
    return items.values


def values_in(struct: Struct, id: int, type: int) -> list[Any]:
    """The values of a list of this type."""
    items: ListValue = value_in(struct, id, LIST)
    if items.values and items.type != type:
        raise DamagedError("a list holds other values")
    return items.values


def list_in(struct: Struct, id: int) -> Encoded:
    """A list as its bytes."""
    return Encoded(value_in(struct, id, LIST))


def number_in(struct: Struct, id: int) -> int:
    """The value of an integer."""
    field = struct.get(id)
    if field is None or field.type not in (I16, I32, I64):
        raise DamagedError(f"field {id} is missing")
    number: int = field.value
    return number


def value_in(struct: Struct, id: int, type: int) -> Any:
    """The value of a field that must be there. Raises DamagedError."""
    field = struct.get(id)
    if field is None or field.type != type:
        raise DamagedError(f"field {id} is missing")
    return field.value


def damaged_footer(name: str, what: str) -> InputError:
    """The error of a file whose footer is damaged."""
    return InputError(f"its footer is damaged: {what}", where=name, way_out="copy it again")


def encrypted(name: str) -> InputError:
    """The error of an encrypted file."""
    return InputError("it is encrypted", where=name, way_out="decrypt it first")
