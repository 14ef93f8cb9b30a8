"""The types, compressions and encodings by which a Parquet file stores its columns. Outputs follow them."""

from __future__ import annotations

from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.parquet_facts import (
    ColumnField,
    GroupField,
    ParquetFooter,
    SchemaField,
    chunks_of,
    column_metadata,
    damaged_footer,
    number_in,
    structs_in,
    value_in,
    values_in,
)  # fmt: skip
from gpumerge_cli.formats.tables.table import StoredColumn
from gpumerge_cli.formats.tables.thrift import BINARY, I32, DamagedError, Struct

CODECS = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4")
"""The compressions by their numbers. The first lz4 is one of Hadoop alone, the second one is what is written."""
_DICTIONARIES = (2, 8)
_ENCODINGS = {
    5: "DELTA_BINARY_PACKED",
    6: "DELTA_LENGTH_BYTE_ARRAY",
    7: "DELTA_BYTE_ARRAY",
    9: "BYTE_STREAM_SPLIT",
}
"""Those of values that a writer chooses on purpose, by their numbers."""
_FEW = 10_000
"""A large share of fewer values may be distinct, even if it is not of more values."""
_DATA_PAGES = (0, 3)
_INT32, _INT64, _INT96 = 1, 2, 3
_DECIMAL = 5


def stored_columns(footer: ParquetFooter, number: int | None = None) -> tuple[StoredColumn, ...]:
    """The columns of a group of a file, by default the largest one; () if it has no groups. Raises InputError."""
    try:
        if number is None:
            rows = [number_in(dict(thrift.fields(group)), GroupField.num_rows) for group in footer.groups]
            if not any(rows):
                return ()
            number = rows.index(max(rows))
        return tuple(_stored(column_metadata(chunk)) for chunk in chunks_of(thrift.read(footer.groups[number])))
    except DamagedError as error:
        raise damaged_footer(footer.name, str(error)) from None


def shape_of(footer: ParquetFooter) -> tuple[tuple[object, ...], ...]:
    """The names and physical types of the schema. Files of one shape can have each other's groups. Raises InputError.

    Two files whose Arrow schemas are equal may differ in it, as decimals do, which are integers or bytes.
    """
    ids = (SchemaField.type, SchemaField.type_length, SchemaField.repetition, SchemaField.name, SchemaField.children)
    found = [tuple(one[id].value if id in one else None for id in ids) for one in elements_of(footer)]
    return ((found[0][-1],), *found[1:]) if found else ()


def is_int96(footer: ParquetFooter) -> bool:
    """Whether timestamps are in the form that old versions of Spark and Impala write. Raises InputError."""
    return any(SchemaField.type in one and one[SchemaField.type].value == _INT96 for one in elements_of(footer))


def has_integer_decimals(footer: ParquetFooter) -> bool:
    """Whether decimals of few digits are integers. Raises InputError."""
    return any(
        SchemaField.converted_type in one
        and one[SchemaField.converted_type].value == _DECIMAL
        and SchemaField.type in one
        and one[SchemaField.type].value in (_INT32, _INT64)
        for one in elements_of(footer)
    )


def _stored(column: Struct) -> StoredColumn:
    path = tuple(name.decode(errors="replace") for name in values_in(column, ColumnField.path, BINARY))
    number = number_in(column, ColumnField.codec)
    codec = CODECS[number] if 0 <= number < len(CODECS) else ""
    pages: dict[int, int] = {}
    if ColumnField.encoding_stats in column:
        for one in structs_in(column, ColumnField.encoding_stats):
            if number_in(one, 1) in _DATA_PAGES:
                pages[number_in(one, 2)] = number_in(one, 3)
    else:  # a writer that does not say it, but as a rule keeps to one encoding
        encodings = values_in(column, ColumnField.encodings, I32)
        chosen = next((one for one in encodings if one in _DICTIONARIES or one in _ENCODINGS), 0)
        pages[chosen] = 1
    usual = max(pages, key=lambda encoding: pages[encoding], default=0)
    dictionary = usual in _DICTIONARIES
    is_whole = not pages.keys() - set(_DICTIONARIES)  # else it was given up as too large
    pays = dictionary and is_whole and _pays(column)
    return StoredColumn(path, codec, dictionary, pays, _ENCODINGS.get(usual, ""))


def _pays(column: Struct) -> bool:
    if ColumnField.dictionary_page_offset not in column or number_in(column, ColumnField.num_values) < _FEW:
        return True
    size = number_in(column, ColumnField.data_page_offset) - number_in(column, ColumnField.dictionary_page_offset)
    return 2 * size < number_in(column, ColumnField.total_compressed_size)


def elements_of(footer: ParquetFooter) -> list[Struct]:
    """The structs SchemaElement of a schema. Raises InputError."""
    try:
        found = [thrift.read(one) for one in thrift.structs(footer.schema)]
        for one in found:
            value_in(one, SchemaField.name, BINARY)
    except DamagedError as error:
        raise damaged_footer(footer.name, str(error)) from None
    return found
