"""The columns of row groups of Parquet files: their sizes, dictionaries and statistics.

pyarrow tells all of that, too, but ends the process where the metadata of a column contradict each other.
"""

from __future__ import annotations

import struct
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.column_paths import values_type
from gpumerge_cli.formats.tables.parquet_facts import (
    ChunkField,
    ColumnField,
    GroupField,
    ParquetFooter,
    column_metadata,
    damaged_footer,
    encrypted,
    list_in,
    number_in,
    structs_in,
    value_in,
    values_in,
)  # fmt: skip
from gpumerge_cli.formats.tables.thrift import BINARY, I32, STRUCT, TRUE, DamagedError, Struct

_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BYTES, _FIXED_BYTES = range(8)
_EXACT = Context(prec=100)
_DICTIONARIES, _DIFFERENCES = (2, 8), 7
"""The numbers of encodings: by a dictionary, and DELTA_BYTE_ARRAY."""
_DATA_PAGES = (0, 3)
_NANS = 9
"""The field of Statistics that says the number of NaNs."""
_EXTREMES, _OLD_EXTREMES, _ARE_EXACT = (6, 5), (2, 1), (7, 8)
"""The fields of Statistics that say the least and the greatest value, and whether these are exact."""
_FIRST_PAGES = (ColumnField.data_page_offset, ColumnField.dictionary_page_offset)
"""The fields of a column that say where its pages begin."""


@dataclass(frozen=True)
class ChunkFacts:
    """A column in a row group."""

    physical: int
    """The number of its type in Parquet."""
    num_values: int
    compressed: int
    """The bytes of its pages."""
    uncompressed: int
    has_dictionary: bool
    nulls: int | None
    """The number of nulls; None if it is not said."""
    least: bytes | None
    """The least value, encoded; None if it is not said."""
    greatest: bytes | None
    exact: bool
    """Whether these are values of the column, in the order of its type."""
    nans: int | None
    """The number of NaNs, which are not among these; None if it is not said."""
    start: int
    """The first byte of its pages."""
    text_bytes: int | None
    """The bytes of its values if these are bytes, each as often as it is there; None if it is not said."""
    dictionary_pages: float
    """The share of its pages that refer to its dictionary."""
    expands: bool
    """Whether pages hold only what values differ in, so that these may be any number of bytes."""


class ChunkReader:
    """The columns of all groups of a file. Its functions raise InputError."""

    def __init__(self, footer: ParquetFooter) -> None:
        self._footer = footer
        self._groups: dict[int, list[bytes]] = {}
        self._known: dict[tuple[int, int], ChunkFacts] = {}

    def __call__(self, group: int, leaf: int) -> ChunkFacts:
        """A column of a group. leaf: its number among the leaves of the schema."""
        place = group, leaf
        if place not in self._known:
            try:
                chunk = thrift.read(self._of_group(group)[leaf])
                if ChunkField.crypto in chunk or ChunkField.encrypted in chunk:
                    raise encrypted(self._footer.name)
                self._known[place] = _facts(chunk)
            except (DamagedError, IndexError) as error:
                what = str(error) if isinstance(error, DamagedError) else "a column is missing"
                raise damaged_footer(self._footer.name, f"row group {group}: {what}") from None
        return self._known[place]

    def _of_group(self, group: int) -> list[bytes]:
        if group not in self._groups:
            fields = dict(thrift.fields(self._footer.groups[group]))
            self._groups[group] = list(thrift.structs(list_in(fields, GroupField.columns)))
        return self._groups[group]


def value_of(type: pa.DataType, physical: int, data: bytes) -> Any:
    """The value of an Arrow type that statistics encode, in a form that Arrow takes; None if it cannot be told."""
    type = values_type(type)
    is_decimal = pa.types.is_decimal(type)
    try:
        if physical == _BOOLEAN:
            return bool(data[0])
        if physical in (_INT32, _INT64):
            if len(data) != (4 if physical == _INT32 else 8) or pa.types.is_date64(type):
                return None
            number = int.from_bytes(data, "little", signed=not pa.types.is_unsigned_integer(type))
            if pa.types.is_unsigned_integer(type):
                number &= (1 << type.bit_width) - 1
            return _decimal(number, type) if is_decimal else number
        if physical in (_FLOAT, _DOUBLE):
            return struct.unpack("<f" if physical == _FLOAT else "<d", data)[0]
        if physical == _INT96:
            return None
        if is_decimal:
            return _decimal(int.from_bytes(data, "big", signed=True), type)
        if pa.types.is_float16(type):
            return struct.unpack("<e", data)[0]
        is_text = pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type)
        return data.decode() if is_text else data
    except (ValueError, struct.error, IndexError):
        return None


def _decimal(number: int, type: Any) -> Decimal:
    return Decimal(number).scaleb(-type.scale, _EXACT)


def _facts(chunk: Struct) -> ChunkFacts:
    column = column_metadata(chunk)
    statistics: Struct = {}
    if ColumnField.statistics in column:
        statistics = value_in(column, ColumnField.statistics, STRUCT)
    physical = number_in(column, ColumnField.type)
    # Old writers compare bytes in orders of their own.
    is_old = _EXTREMES[0] not in statistics and physical in (_INT32, _INT64, _FLOAT, _DOUBLE)
    ids = _OLD_EXTREMES if is_old else _EXTREMES
    least, greatest = (value_in(statistics, id, BINARY) if id in statistics else None for id in ids)
    return ChunkFacts(
        physical,
        number_in(column, ColumnField.num_values),
        number_in(column, ColumnField.total_compressed_size),
        number_in(column, ColumnField.total_uncompressed_size),
        ColumnField.dictionary_page_offset in column,
        number_in(statistics, 3) if 3 in statistics else None,
        least,
        greatest,
        ids == _EXTREMES and all(_is_exact(statistics, id, physical) for id in _ARE_EXACT),
        number_in(statistics, _NANS) if _NANS in statistics else None,
        min(number_in(column, id) for id in _FIRST_PAGES if id == _FIRST_PAGES[0] or _is_stated(column, id)),
        _text_bytes(column),
        *_encoded(column),
    )


def _text_bytes(column: Struct) -> int | None:
    if ColumnField.size_statistics not in column:
        return None
    sizes: Struct = value_in(column, ColumnField.size_statistics, STRUCT)
    return number_in(sizes, 1) if 1 in sizes else None


def _encoded(column: Struct) -> tuple[float, bool]:
    """(the share of pages that refer to a dictionary, whether there are pages of differences)."""
    has_differences = _DIFFERENCES in values_in(column, ColumnField.encodings, I32)
    if ColumnField.dictionary_page_offset not in column:
        return 0.0, has_differences
    if ColumnField.encoding_stats not in column:
        return 1.0, has_differences
    counts = [
        (number_in(one, 2) in _DICTIONARIES, max(0, number_in(one, 3)))
        for one in structs_in(column, ColumnField.encoding_stats)
        if number_in(one, 1) in _DATA_PAGES
    ]
    whole = sum(count for _, count in counts)
    return (sum(count for refers, count in counts if refers) / whole if whole else 0.0), has_differences


def _is_stated(column: Struct, offset: int) -> bool:
    """Whether a page has an offset. Old writers say 0 for none."""
    return offset in column and number_in(column, offset) > 0


def _is_exact(statistics: Struct, id: int, physical: int) -> bool:
    """Whether an extreme is a value. Only bytes can be shortened, so that others need not say it."""
    if id in statistics:
        return statistics[id].type == TRUE
    return physical not in (_BYTES, _FIXED_BYTES)
